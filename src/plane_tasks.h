// Tasks of jobs that go through whole planes band by band: some bands of one plane each.
#ifndef NDPOOL_SRC_PLANE_TASKS_H_
#define NDPOOL_SRC_PLANE_TASKS_H_

#include <algorithm>
#include <cstdint>

#include "call.h"
#include "line.h"

namespace ndpool {

class PlaneTasks {
 public:
  PlaneTasks() = default;
  // `rows` rows of `row` elements in a plane, `band` of them at a time.
  PlaneTasks(int64_t planes, int64_t rows, int64_t row, int64_t band)
      : rows_(rows),
        band_(band),
        each_(std::min(rows, std::max<int64_t>(1, kWorthwhile / (band * row)) * band)) {
    parts_ = (rows + each_ - 1) / each_;
    total_ = planes * parts_;
    grain_ = std::max<int64_t>(1, kWorthwhile / (each_ * row));
  }
  int64_t total() const { return total_; }
  int64_t grain() const { return grain_; }
  // f(plane, rows) for each band.
  template <class F>
  void each_band(TaskQueue* queue, F f) const {
    for (Range range; queue->take(&range);) {
      for (int64_t task = range.begin; task < range.end; ++task) {
        const int64_t begin = task % parts_ * each_, end = std::min(rows_, begin + each_);
        for (int64_t r = begin; r < end; r += band_) {
          f(task / parts_, Range{r, std::min(end, r + band_)});
        }
      }
    }
  }

 private:
  static constexpr int64_t kWorthwhile = 16384;  // elements
  int64_t rows_ = 0, band_ = 1, each_ = 1, parts_ = 1, total_ = 0, grain_ = 1;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_PLANE_TASKS_H_
