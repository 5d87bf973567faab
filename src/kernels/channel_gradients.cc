// What flows back to planes whose channels come last: see ChannelRows.
#include "kernels/channels.h"
#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channel_gradients.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/in_order.h"
#include "kernels/tap_numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using N = hn::Vec<Numbers<D>::DN>;

// The windows that hold a cell, `rows` by `windows` of them, and the number with which it has won
// the first; others have smaller ones.
struct Holders {
  const float* g;  // of the first
  const uint8_t* winners;
  int64_t rows, windows;
  int64_t row, channels;  // from row to row of outputs, and from one to the next
  int64_t number, number_down, number_along;
};

// One cell. `fixed_rows` by `fixed_windows` windows (0: as many as there are), in row-major order.
template <int fixed_rows, int fixed_windows, class To>
HWY_INLINE void put_cell(const Holders& h, To* to) {
  const D d;
  const int64_t row = h.row, channels = h.channels;
  const int64_t rows = fixed_rows > 0 ? fixed_rows : h.rows;
  const int64_t windows = fixed_windows > 0 ? fixed_windows : h.windows;
  const float* g = h.g;
  const uint8_t* winners = h.winners;
  for (int64_t left = channels; left > 0; left -= static_cast<int64_t>(hn::Lanes(d))) {
    V sum = hn::Zero(d);  // so that none is -0
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < windows; ++j) {
        const int64_t number = h.number - i * h.number_down - j * h.number_along;
        const auto own = Numbers<D>::set(static_cast<uint32_t>(number));
        const int64_t at = i * row + j * channels;
        const auto won = Numbers<D>::equal(Numbers<D>::load(winners + at), own);
        sum = added_where(d, won, sum, hn::LoadU(d, g + at));
      }
    }
    to->put(sum);
    g += hn::Lanes(d);
    winners += hn::Lanes(d);
  }
}

// Gradients and winners are fetched long before they are needed, at the pace of the cells.
class Ahead {
 public:
  explicit Ahead(const ChannelRows& c)
      : cells_(c.down.cells * c.along.cells),
        outputs_(c.down.outputs * c.along.outputs * c.channels),
        each_(c.far ? (outputs_ + cells_ - 1) / cells_ : 0) {}
  HWY_INLINE void enter_row(const ChannelRows& c, int64_t row) {
    const int64_t at = outputs_ / c.down.cells * row + kLater;
    g_ = c.x + at;
    winners_ = c.winners_of_plane + at;
  }
  HWY_INLINE void next() {
    if (each_ == 0) return;
    fetch_later(g_, each_);
    fetch_later(winners_, each_);
    g_ += each_;
    winners_ += each_;
  }

 private:
  static constexpr int64_t kLater = 8192;  // elements
  int64_t cells_, outputs_, each_;
  const float* g_ = nullptr;
  const uint8_t* winners_ = nullptr;
};

template <Way way>
bool collect_rows(const ChannelRows& c) {
  InOrder<way> to(c.to);
  Ahead ahead(c);
  const int64_t row = c.along.outputs * c.channels;
  const int64_t channels = c.channels, cells = c.along.cells, taps = c.along.taps;
  const float* const g = c.x;
  const uint8_t* const winners = c.winners_of_plane;
  Holders h{};
  h.row = row;
  h.channels = channels;
  h.number_down = c.down.stride * taps;
  h.number_along = c.along.stride;
  Holding down(c.down, c.first);
  for (int64_t r = c.first, end = c.first + c.rows; r < end; ++r, down.next()) {
    h.rows = down.count();
    ahead.enter_row(c, r);
    Holding along(c.along);
    for (int64_t cell = 0; cell < cells; ++cell, along.next()) {
      const int64_t at = down.first * row + along.first * channels;
      h.windows = along.count();
      h.g = g + at;
      h.winners = winners + at;
      h.number = down.tap * taps + along.tap;
      ahead.next();
      if (h.rows == 1 && h.windows == 1) {
        put_cell<1, 1>(h, &to);
      } else if (h.rows == 1 && h.windows == 2) {
        put_cell<1, 2>(h, &to);
      } else if (h.rows == 2 && h.windows == 1) {
        put_cell<2, 1>(h, &to);
      } else if (h.rows == 2 && h.windows == 2) {
        put_cell<2, 2>(h, &to);
      } else if (h.rows == 3 && h.windows == 3) {
        put_cell<3, 3>(h, &to);
      } else {
        put_cell<0, 0>(h, &to);
      }
    }
  }
  to.finish();
  return true;
}

bool collect(const ChannelRows& c) {
  const Way way = way_of(c.to, c.streamed);
  if (way == Way::kPlain) return collect_rows<Way::kPlain>(c);
  if (way == Way::kStreamed) return collect_rows<Way::kStreamed>(c);
  return collect_rows<Way::kMoved>(c);
}

constexpr ChannelGradientKernels kTable = {collect};

#else

constexpr ChannelGradientKernels kTable;

#endif

}  // namespace

const ChannelGradientKernels* channel_gradient_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(ChannelGradientKernels, channel_gradient_kernels)
}  // namespace ndpool
#endif
