// A box of cells cut into smaller ones whose gradients fit the cache. Each box takes the outputs
// that reach it, in row-major order, and adds what they send: one order for every cut.
#ifndef NDPOOL_SRC_BOXES_H_
#define NDPOOL_SRC_BOXES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "arena.h"
#include "call.h"
#include "kernels/kernels.h"
#include "layout.h"
#include "operations.h"
#include "plan.h"

namespace ndpool {

// One box: a plane, a part of its inner elements, and a range of cells on each pooled axis.
struct BoxTask {
  int64_t outer = 0, batch = 0, inner_begin = 0, inner = 1;
  Range cells[kMaxPooled];
  Range outputs[kMaxPooled];  // those that reach the cells

  int64_t elements(int pooled) const {
    int64_t n = inner;
    for (int i = 0; i < pooled; ++i) n *= cells[i].size();
    return n;
  }
};

class BoxTasks {
 public:
  // Boxes of at most `most` cells, with `inner` elements of each.
  BoxTasks(const Plan& plan, const Space& space, const Bound& dx, int64_t inner,
           int64_t most = kBoxElements)
      : plan_(plan), space_(space), dx_(dx), inner_(inner) {
    int64_t room = std::max<int64_t>(1, most / inner);
    total_ = space.outer_total() * space.batch * inner_pieces();
    for (int i = space.pooled - 1; i >= 0; --i) {
      const int64_t size = dx.box[i].size();
      side_[i] = std::max<int64_t>(1, std::min(size, room));
      room = std::max<int64_t>(1, room / side_[i]);
      total_ *= pieces(i);
      elements_ *= side_[i];
    }
  }

  int64_t total() const { return total_; }
  int64_t grain() const { return std::max<int64_t>(1, 4096 / largest()); }
  int64_t largest() const { return elements_ * inner_; }  // elements of a box

  BoxTask at(int64_t task) const {
    BoxTask t;
    for (int i = space_.pooled - 1; i >= 0; --i) {
      t.cells[i].begin = dx_.box[i].begin + task % pieces(i) * side_[i];
      t.cells[i].end = std::min(dx_.box[i].end, t.cells[i].begin + side_[i]);
      t.outputs[i] = outputs_of(plan_.axes[i], t.cells[i]);
      task /= pieces(i);
    }
    t.inner_begin = task % inner_pieces() * inner_;
    t.inner = std::min(inner_, space_.inner - t.inner_begin);
    task /= inner_pieces();
    t.batch = task % space_.batch;
    t.outer = task / space_.batch;
    return t;
  }

 private:
  int64_t pieces(int i) const { return (dx_.box[i].size() + side_[i] - 1) / side_[i]; }
  int64_t inner_pieces() const { return (space_.inner + inner_ - 1) / inner_; }

  const Plan& plan_;
  const Space& space_;
  const Bound& dx_;
  int64_t inner_, total_ = 1, elements_ = 1;
  int64_t side_[kMaxPooled];
};

inline char* plane_of(const Space& space, const Bound& array, const BoxTask& task) {
  return outer_address(space, array, task.outer) + task.batch * array.batch +
         task.inner_begin * array.inner;
}

inline char* position_of(const Bound& array, char* plane, int pooled, const int64_t* position) {
  for (int i = 0; i < pooled; ++i) plane += (position[i] - array.box[i].begin) * array.pooled[i];
  return plane;
}

// Calls f(across) for each row of outputs of a box, in row-major order.
template <class F>
void each_row(const BoxTask& task, int pooled, F f) {
  int64_t across[kMaxPooled]{};
  for (int i = 0; i < pooled; ++i) {
    if (task.outputs[i].size() <= 0) return;
    across[i] = task.outputs[i].begin;
  }
  for (;;) {
    f(across);
    int level = pooled - 2;
    for (; level >= 0; --level) {
      if (++across[level] < task.outputs[level].end) break;
      across[level] = task.outputs[level].begin;
    }
    if (level < 0) return;
  }
}

// Tells whether a row of outputs is the one that was asked about before: a window larger than a box
// is met by many boxes in turn, and need not be measured for each.
class SameRow {
 public:
  bool operator()(const BoxTask& task, const int64_t* across, int pooled, Range outputs) {
    int64_t key[kMaxPooled + 4] = {task.outer, task.batch, task.inner_begin, outputs.begin,
                                   outputs.end};
    std::copy(across, across + pooled - 1, key + 5);
    const bool same = std::equal(key, key + pooled + 4, key_);
    std::copy(key, key + pooled + 4, key_);
    return same;
  }

 private:
  int64_t key_[kMaxPooled + 4] = {-1};
};

// The gradients of one box, added up in lanes of T and stored when complete.
template <class T>
class GradientBox {
 public:
  GradientBox(const Space& space, int64_t elements, Arena* arena)
      : space_(space), sums_(arena->take<T>(elements)) {}

  void start(const BoxTask& task) {
    task_ = &task;
    std::memset(sums_, 0, static_cast<size_t>(task.elements(space_.pooled)) * sizeof(T));
  }
  // Lanes of the row of cells at `position` on the axes before the last; nullptr: not in the box.
  T* row(const int64_t* position) const {
    int64_t at = 0;
    for (int i = 0; i + 1 < space_.pooled; ++i) {
      const Range cells = task_->cells[i];
      if (position[i] < cells.begin || position[i] >= cells.end) return nullptr;
      at = at * cells.size() + position[i] - cells.begin;
    }
    return sums_ + at * task_->cells[space_.pooled - 1].size() * task_->inner;
  }
  Range last() const { return task_->cells[space_.pooled - 1]; }
  int64_t inner() const { return task_->inner; }

  void store(const Bound& dx, StoreFn put) const {
    const int last_axis = space_.pooled - 1;
    char* plane = plane_of(space_, dx, *task_);
    const Strided shape{1, last().size(), inner(), 0, dx.pooled[last_axis], dx.inner};
    const int64_t row_lanes = last().size() * inner();
    int64_t position[kMaxPooled];
    for (int i = 0; i < space_.pooled; ++i) position[i] = task_->cells[i].begin;
    for (const T* from = sums_;; from += row_lanes) {
      put(shape, from, row_lanes, position_of(dx, plane, space_.pooled, position));
      int level = last_axis - 1;
      for (; level >= 0; --level) {
        if (++position[level] < task_->cells[level].end) break;
        position[level] = task_->cells[level].begin;
      }
      if (level < 0) return;
    }
  }

 private:
  const Space& space_;
  T* sums_;
  const BoxTask* task_ = nullptr;
};

template <class Job>
int32_t run_boxes(const Job& job, const Exec& exec, ndpool_error* error) {
  const BoxTasks tasks = job.tasks();
  return run_job(job, tasks.total(), tasks.grain(), exec, error);
}

}  // namespace ndpool

#endif  // NDPOOL_SRC_BOXES_H_
