// A box of outputs cut into rows: each task is one row of outputs (a part of it, if it is long) of
// one or several planes.
#ifndef NDPOOL_SRC_ROWS_H_
#define NDPOOL_SRC_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.h"
#include "layout.h"
#include "line.h"

namespace ndpool {

struct RowTask {
  int64_t outer = 0, batch = 0, rows = 1, inner_begin = 0, inner = 1;
  int64_t across[kMaxPooled]{};  // outputs on the pooled axes but the last
  Range outputs;                 // on the last
};

class RowTasks {
 public:
  RowTasks() = default;
  // `target` is the array whose box of outputs is computed.
  RowTasks(const Space& space, const Bound& target, int64_t rows, int64_t outputs, int64_t inner)
      : space_(&space),
        target_(&target),
        rows_(rows),
        outputs_(std::max<int64_t>(1, outputs)),
        inner_(inner) {
    const auto pieces = [](int64_t whole, int64_t piece) { return (whole + piece - 1) / piece; };
    groups_ = pieces(space.batch, rows);
    inner_pieces_ = pieces(space.inner, inner);
    row_pieces_ = pieces(target.box[space.pooled - 1].size(), outputs_);
    total_ = space.outer_total() * groups_ * inner_pieces_ * row_pieces_;
    for (int level = 0; level + 1 < space.pooled; ++level) total_ *= target.box[level].size();
  }

  int64_t total() const { return total_; }
  // Tasks that together move about as much as makes a thread worth its start.
  int64_t grain() const {
    return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, rows_ * outputs_ * inner_));
  }

  RowTask at(int64_t task) const {
    RowTask t;
    const int last = space_->pooled - 1;
    const Range row = target_->box[last];
    t.outputs.begin = row.begin + task % row_pieces_ * outputs_;
    t.outputs.end = std::min(row.end, t.outputs.begin + outputs_);
    task /= row_pieces_;
    for (int level = last - 1; level >= 0; --level) {
      const Range box = target_->box[level];
      t.across[level] = box.begin + task % box.size();
      task /= box.size();
    }
    t.inner_begin = task % inner_pieces_ * inner_;
    t.inner = std::min(inner_, space_->inner - t.inner_begin);
    task /= inner_pieces_;
    t.batch = task % groups_ * rows_;
    t.rows = std::min(rows_, space_->batch - t.batch);
    t.outer = task / groups_;
    return t;
  }

 private:
  const Space* space_ = nullptr;
  const Bound* target_ = nullptr;
  int64_t rows_ = 1, outputs_ = 1, inner_ = 1;
  int64_t groups_ = 1, inner_pieces_ = 1, row_pieces_ = 1, total_ = 0;
};

// The address of a task's first plane in an array, at its first inner element.
inline char* plane_address(const Space& space, const Bound& array, const RowTask& task) {
  return outer_address(space, array, task.outer) + task.batch * array.batch +
         task.inner_begin * array.inner;
}

// The address of a task's first output in an array of outputs.
inline char* row_address(const Space& space, const Bound& array, const RowTask& task) {
  const int last = space.pooled - 1;
  char* at = plane_address(space, array, task);
  for (int level = 0; level < last; ++level) {
    at += (task.across[level] - array.box[level].begin) * array.pooled[level];
  }
  return at + (task.outputs.begin - array.box[last].begin) * array.pooled[last];
}

// The outputs of a task as elements of an array.
inline Strided row_shape(const Space& space, const Bound& array, const RowTask& task) {
  return {task.rows,  task.outputs.size(), task.inner, array.batch, array.pooled[space.pooled - 1],
          array.inner};
}

// A box of outputs of the last two axes, of one or several planes.
struct BandTask {
  int64_t outer = 0, batch = 0, planes = 1, inner_begin = 0, inner = 1;
  int64_t across[kMaxPooled]{};  // outputs on the pooled axes but the last two
  Range rows{0, 1};              // on the last but one (of one pooled axis: [0, 1))
  Range outputs;                 // on the last
};

// Bands in the order of memory, one after another; or, going down, all of a column of bands first.
class BandTasks {
 public:
  BandTasks() = default;
  BandTasks(const Space& space, const Bound& target, int64_t planes, int64_t rows, int64_t outputs,
            int64_t inner, bool down = false)
      : space_(&space), target_(&target), down_(down), step_{planes, rows, outputs, inner} {
    const int last = space.pooled - 1;
    rows_ = last > 0 ? target.box[last - 1] : Range{0, 1};
    const auto pieces = [](int64_t whole, int64_t piece) { return (whole + piece - 1) / piece; };
    total_ = space.outer_total() * pieces(space.batch, planes) * pieces(rows_.size(), rows) *
             pieces(target.box[last].size(), outputs) * pieces(space.inner, inner);
    for (int level = 0; level + 2 < space.pooled; ++level) total_ *= target.box[level].size();
  }

  int64_t total() const { return total_; }
  int64_t grain() const {
    // A column that is begun in the middle costs more.
    constexpr int64_t kMostDown = 8;
    const int64_t column = down_ ? std::min(kMostDown, (rows_.size() - 1) / step_[1] + 1) : 1;
    return std::max<int64_t>(
        column, 16384 / std::max<int64_t>(1, step_[0] * step_[1] * step_[2] * step_[3]));
  }

  BandTask at(int64_t task) const {
    BandTask t;
    const auto piece = [&](Range whole, int64_t step) {
      const int64_t count = (whole.size() + step - 1) / step;
      const int64_t begin = whole.begin + task % count * step;
      task /= count;
      return Range{begin, std::min(whole.end, begin + step)};
    };
    const int last = space_->pooled - 1;
    if (down_) t.rows = piece(rows_, step_[1]);
    const Range inner = piece({0, space_->inner}, step_[3]);
    t.inner_begin = inner.begin;
    t.inner = inner.size();
    t.outputs = piece(target_->box[last], step_[2]);
    if (!down_) t.rows = piece(rows_, step_[1]);
    for (int level = last - 2; level >= 0; --level) {
      t.across[level] = piece(target_->box[level], 1).begin;
    }
    const Range planes = piece({0, space_->batch}, step_[0]);
    t.batch = planes.begin;
    t.planes = planes.size();
    t.outer = task;
    return t;
  }

  // The task after `t`.
  void advance(BandTask* t) const {
    const int last = space_->pooled - 1;
    const auto next = [](Range whole, int64_t step, Range* now) {
      const bool more = now->end < whole.end;
      now->begin = more ? now->end : whole.begin;
      now->end = std::min(whole.end, now->begin + step);
      return more;
    };
    if (down_ && next(rows_, step_[1], &t->rows)) return;
    Range inner{t->inner_begin, t->inner_begin + t->inner};
    const bool more_inner = next({0, space_->inner}, step_[3], &inner);
    t->inner_begin = inner.begin;
    t->inner = inner.size();
    if (more_inner || next(target_->box[last], step_[2], &t->outputs)) return;
    if (!down_ && next(rows_, step_[1], &t->rows)) return;
    for (int level = last - 2; level >= 0; --level) {
      if (++t->across[level] < target_->box[level].end) return;
      t->across[level] = target_->box[level].begin;
    }
    Range planes{t->batch, t->batch + t->planes};
    const bool more_planes = next({0, space_->batch}, step_[0], &planes);
    t->batch = planes.begin;
    t->planes = planes.size();
    if (!more_planes) ++t->outer;
  }

 private:
  const Space* space_ = nullptr;
  const Bound* target_ = nullptr;
  Range rows_;
  bool down_ = false;
  int64_t step_[4] = {1, 1, 1, 1};  // planes, rows, outputs, inner
  int64_t total_ = 0;
};

inline char* plane_address(const Space& space, const Bound& array, const BandTask& task) {
  return outer_address(space, array, task.outer) + task.batch * array.batch +
         task.inner_begin * array.inner;
}

// The address of a band's first output in an array of outputs.
inline char* band_address(const Space& space, const Bound& array, const BandTask& task) {
  const int last = space.pooled - 1;
  char* at = plane_address(space, array, task);
  for (int level = 0; level + 1 < last; ++level) {
    at += (task.across[level] - array.box[level].begin) * array.pooled[level];
  }
  if (last > 0) at += (task.rows.begin - array.box[last - 1].begin) * array.pooled[last - 1];
  return at + (task.outputs.begin - array.box[last].begin) * array.pooled[last];
}

}  // namespace ndpool

#endif  // NDPOOL_SRC_ROWS_H_
