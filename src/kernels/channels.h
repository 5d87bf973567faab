// Windows on planes whose channels come last, in the order of memory: kernels/channels.cc and
// kernels/channel_gradients.cc.
#ifndef NDPOOL_SRC_KERNELS_CHANNELS_H_
#define NDPOOL_SRC_KERNELS_CHANNELS_H_

#include <algorithm>
#include <cstdint>

#include "lane.h"

namespace ndpool {

// One of the two axes; windows have neighbouring taps.
struct ChannelAxis {
  static constexpr int64_t kMostTaps = 3;  // of windows to be pooled
  int64_t cells = 1, outputs = 1, taps = 1, stride = 1, pad = 0;

  // Some that follow one another, and the tap that the first of them is, or has.
  struct Part {
    int64_t first, count, tap;
  };
  // The cells of a window.
  Part cells_of(int64_t output) const {
    const int64_t begin = output * stride - pad, first = std::max<int64_t>(begin, 0);
    return {first, std::min(begin + taps, cells) - first, first - begin};
  }
};

// The windows that hold a cell, one cell after another: from `first` to before `end`. The cell is
// tap `tap` of the first, and an earlier one of the others.
class Holding {
 public:
  explicit Holding(const ChannelAxis& axis, int64_t cell = 0)
      : first(cell + axis.pad < axis.taps ? 0 : (cell + axis.pad - axis.taps) / axis.stride + 1),
        tap(cell + axis.pad - first * axis.stride),
        axis_(axis),
        begun_((cell + axis.pad) / axis.stride + 1),
        since_((cell + axis.pad) % axis.stride) {}
  int64_t first, tap;
  int64_t count() const { return std::max<int64_t>(std::min(begun_, axis_.outputs) - first, 0); }
  void next() {
    if (++tap >= axis_.taps) {
      ++first;
      tap -= axis_.stride;
    }
    if (++since_ == axis_.stride) {
      ++begun_;
      since_ = 0;
    }
  }

 private:
  ChannelAxis axis_;
  int64_t begun_, since_;  // windows that begin no later; cells since the last of them began
};

// Some rows of a plane of f32, without gaps: outputs from `first` on, or cells.
struct ChannelRows {
  ChannelAxis down, along;
  int64_t channels = 0;  // whole vectors
  int64_t first = 0, rows = 0;
  const float* x = nullptr;                   // the plane: of cells, or of the gradients of outputs
  float* to = nullptr;                        // the first of the rows
  uint8_t* winners = nullptr;                 // that are found: where those of the first row go
  const uint8_t* winners_of_plane = nullptr;  // that are given
  int64_t divisor = 1;
  bool far = false;       // what is read comes from memory
  bool streamed = false;  // what is written goes past the caches

  // Whether windows are what pooling kernels are made for.
  bool has_small_windows() const {
    return (along.taps == 2 || along.taps == ChannelAxis::kMostTaps) &&
           (down.taps == 1 || down.taps == along.taps);
  }
};
// False if there may be NaN among the cells, where that matters.
using ChannelFn = bool (*)(const ChannelRows& rows);

struct ChannelKernels {
  int64_t lanes = 0;       // of a vector; 0: there are no such kernels
  bool any_place = false;  // what is streamed may go anywhere (else: to whole vectors)
  struct Kinds {
    ChannelFn numbers, anything;
  };
  Kinds extremes[2]{}, winners[2]{};  // by Extreme
  ChannelFn average = nullptr;
};
struct ChannelGradientKernels {
  static constexpr int64_t kMostWindows = 16;  // that hold a cell
  ChannelFn collect = nullptr;  // the gradients of the windows that each cell has won
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_CHANNELS_H_
