#include "argmax.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "rows.h"
#include "status.h"
#include "winner.h"

namespace ndpool {
namespace {

// Window by window, for numbers of any width.
// Whether all tap numbers name cells of their windows. Nothing is written.
class EachWindowJob : public Job {
 public:
  EachWindowJob(const Plan& plan, const Space& space, const Bound& argmax)
      : tasks(space, argmax, 1, argmax.box[plan.pooled - 1].size(), space.inner),
        plan_(plan),
        space_(space),
        argmax_(argmax) {}

  RowTasks tasks;
  bool good() const { return good_.load(std::memory_order_relaxed); }

  void work(Arena*, TaskQueue* queue) const override {
    if (!queue) return;
    for (Range range; good() && queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) check(tasks.at(i));
    }
  }

 private:
  void check(const RowTask& task) const {
    WinnerRow windows(plan_, task.across);
    const char* row = row_address(space_, argmax_, task);
    const Strided shape = row_shape(space_, argmax_, task);
    int64_t position[kMaxPooled];
    for (int64_t p = 0; p < shape.positions; ++p) {
      windows.enter_output(task.outputs.begin + p);
      if (!windows.has_cells()) continue;
      for (int64_t c = 0; c < shape.inner; ++c) {
        const char* at = row + p * shape.position_stride + c * shape.inner_stride;
        if (!windows.decode(read_argmax(at, plan_.argmax_type), position)) {
          good_.store(false, std::memory_order_relaxed);
        }
      }
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound& argmax_;
  mutable std::atomic<bool> good_{true};
};

// Numbers of one byte, plane by plane: first that all lie below the taps of the box, then, for the
// few windows that lack a tap on some axis, that the number is not one of those.
class EachPlaneJob : public Job {
 public:
  EachPlaneJob(const Plan& plan, const Space& space, const Bound& argmax)
      : plan_(plan), space_(space), argmax_(argmax), total_(space.outer_total() * space.batch) {
    for (int level = 0; level < plan.pooled; ++level) {
      for (uint64_t n = 0; n < 256; ++n) {
        taps_[level][n] = static_cast<uint8_t>(n / plan.tap_weight[level] %
                                               static_cast<uint64_t>(plan.axes[level].window));
      }
    }
  }

  int64_t total() const { return total_; }
  bool good() const { return good_.load(std::memory_order_relaxed); }

  void work(Arena*, TaskQueue* queue) const override {
    if (!queue) return;
    for (Range range; good() && queue->take(&range);) {
      if (!check(range)) good_.store(false, std::memory_order_relaxed);
    }
  }

 private:
  // Calls f(first number, how many, distance) for runs that together are the plane's numbers, at
  // one output of an axis only unless that is negative.
  template <class F>
  void each_line(const char* plane, int fixed, int64_t output, F f) const {
    int64_t sizes[kMaxPooled + 1], strides[kMaxPooled + 1];
    int dims = 0;
    for (int level = 0; level < plan_.pooled; ++level) {
      const Range box = argmax_.box[level];
      if (level == fixed) {
        plane += (output - box.begin) * argmax_.pooled[level];
        continue;
      }
      sizes[dims] = box.size();
      strides[dims++] = argmax_.pooled[level];
    }
    sizes[dims] = space_.inner;
    strides[dims++] = argmax_.inner;
    // Neighbours that continue one another are one dimension.
    int last = dims - 1;
    for (; last > 0; --last) {
      if (sizes[last] == 1) continue;
      const bool follows = sizes[last - 1] == 1 || strides[last - 1] == sizes[last] * strides[last];
      if (!follows) break;
      sizes[last - 1] *= sizes[last];
      strides[last - 1] = strides[last];
    }
    int64_t at[kMaxPooled + 1]{};
    for (;;) {
      f(plane, sizes[last], strides[last]);
      int level = last - 1;
      for (; level >= 0; --level) {
        plane += strides[level];
        if (++at[level] < sizes[level]) break;
        plane -= strides[level] * sizes[level];
        at[level] = 0;
      }
      if (level < 0) return;
    }
  }

  const char* plane(int64_t i) const { return plane_address(space_, argmax_, i); }

  bool check(Range planes) const {
    bool fine = true;
    const auto below = static_cast<uint64_t>(plan_.box_taps);
    for (int64_t i = planes.begin; i < planes.end; ++i) {
      each_line(plane(i), -1, 0, [&](const char* first, int64_t count, int64_t distance) {
        fine = fine && plan_.kernels->move->largest(first, count, distance) < below;
      });
    }
    for (int level = 0; level < plan_.pooled && fine; ++level) {
      const Axis& axis = plan_.axes[level];
      for (int64_t o = argmax_.box[level].begin; o < argmax_.box[level].end; ++o) {
        const auto window = axis.window_of(o);
        if (window.lead == 0 && window.cells == axis.window) {
          // Windows that have all taps follow one another.
          if (!axis.adaptive) o = std::max(o, last_complete(axis));
          continue;
        }
        for (int64_t i = planes.begin; i < planes.end; ++i) {
          fine = fine && inside(plane(i), level, o, static_cast<unsigned>(window.lead),
                                static_cast<unsigned>(window.cells));
        }
      }
    }
    return fine;
  }

  // Whether the numbers at one output of an axis name taps that are there.
  bool inside(const char* plane, int level, int64_t output, unsigned lead, unsigned cells) const {
    unsigned outside = 0;  // no branches: what comes next cannot be foreseen
    each_line(plane, level, output, [&](const char* first, int64_t count, int64_t distance) {
      for (int64_t i = 0; i < count; ++i) {
        const unsigned tap = taps_[level][static_cast<uint8_t>(first[i * distance])];
        outside |= static_cast<unsigned>(tap - lead >= cells);
      }
    });
    return outside == 0;
  }

  static int64_t last_complete(const Axis& axis) {
    return geometry::floor_div(axis.cells - axis.extent() + axis.pad_lo, axis.stride);
  }

  const Plan& plan_;
  const Space& space_;
  const Bound& argmax_;
  int64_t total_;
  uint8_t taps_[kMaxPooled][256];  // on each axis, of each number
  mutable std::atomic<bool> good_{true};
};

// Finds the first tap number, in row-major order, that names no cell.
int32_t report_bad_argmax(const Plan& plan, const ArrayArg& argmax, ndpool_error* error) {
  const size_t rank = static_cast<size_t>(plan.rank);
  std::vector<int64_t> at(rank, 0), strides(rank);
  int64_t row_major = argmax.element;
  for (size_t axis = rank; axis-- > 0;) {
    const int64_t stride = argmax.strides ? argmax.strides[axis] : row_major;
    strides[axis] = argmax.size[axis] == 1 ? 0 : stride;
    row_major *= argmax.size[axis];
  }
  const char* memory = argmax.data;
  for (int64_t element = 0;; ++element) {
    int64_t output[kMaxPooled], position[kMaxPooled];
    for (int i = 0; i < plan.pooled; ++i) {
      const int number = plan.axis_number[i];
      output[i] = at[static_cast<size_t>(number)] + (argmax.start ? argmax.start[number] : 0);
    }
    WinnerRow windows(plan, output);
    windows.enter_output(output[plan.pooled - 1]);
    const uint64_t tap = read_argmax(memory, plan.argmax_type);
    if (windows.has_cells() && !windows.decode(tap, position)) {
      return fail(error, Message::bad_argmax, -1,
                  {static_cast<int64_t>(tap), element, plan.box_taps});
    }
    for (size_t axis = rank; axis-- > 0;) {
      memory += strides[axis];
      if (++at[axis] < argmax.size[axis]) break;
      memory -= strides[axis] * argmax.size[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

int32_t check_argmax(const Plan& plan, const Space& space, const Bound& bound,
                     const ArrayArg& argmax, const Exec& exec, ndpool_error* error) {
  if (plan.argmax_type == NDPOOL_U8 && !plan.has_empty_windows) {
    const EachPlaneJob job(plan, space, bound);
    if (int32_t code = run_job(job, job.total(), 16, exec, error)) return code;
    return job.good() ? NDPOOL_OK : report_bad_argmax(plan, argmax, error);
  }
  const EachWindowJob job(plan, space, bound);
  const RowTasks& tasks = job.tasks;
  if (int32_t code = run_job(job, tasks.total(), tasks.grain(), exec, error)) return code;
  return job.good() ? NDPOOL_OK : report_bad_argmax(plan, argmax, error);
}

}  // namespace ndpool
