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
      const uint64_t weight = plan.tap_weight[level];
      const auto window = static_cast<uint64_t>(plan.axes[level].window);
      for (uint64_t n = 0, same = 0, tap = 0; n < 256; ++n) {
        taps_[level][n] = static_cast<uint8_t>(tap);
        if (++same < weight) continue;
        same = 0;
        tap = tap + 1 < window ? tap + 1 : 0;
      }
    }
    int64_t numbers = space.inner;
    for (int level = 0; level < plan.pooled; ++level) numbers *= argmax.box[level].size();
    together_ = std::max<int64_t>(1, kTogether / std::max<int64_t>(1, numbers));
    if (can_compare(numbers)) plane_ = numbers;
  }

  int64_t total() const { return total_; }
  bool good() const { return good_.load(std::memory_order_relaxed); }

  void work(Arena* arena, TaskQueue* queue) const override {
    auto* absent = arena->take<uint8_t>(plane_);
    if (!queue) return;
    uint8_t kinds[16] = {};
    if (plane_ > 0) mark(absent, kinds);
    for (Range range; good() && queue->take(&range);) {
      if (plane_ > 0) {
        const auto* numbers = reinterpret_cast<const uint8_t*>(plane(range.begin));
        if (plan_.kernels->move->are_present(numbers, range.size(), plane_, absent, kinds,
                                             static_cast<uint8_t>(plan_.box_taps))) {
          continue;
        }
        return good_.store(false, std::memory_order_relaxed);
      }
      for (int64_t i = range.begin; i < range.end; i += together_) {
        if (check({i, std::min(i + together_, range.end)})) continue;
        return good_.store(false, std::memory_order_relaxed);
      }
    }
  }

 private:
  // Runs of numbers that together are those of a plane, at one output of an axis only unless that
  // is negative.
  struct Lines {
    int64_t origin = 0, sizes[kMaxPooled + 1], strides[kMaxPooled + 1];
    int last = 0;  // the dimension that runs follow
  };
  Lines lines(int fixed, int64_t output) const {
    Lines l;
    int dims = 0;
    for (int level = 0; level < plan_.pooled; ++level) {
      const Range box = argmax_.box[level];
      if (level == fixed) {
        l.origin = (output - box.begin) * argmax_.pooled[level];
        continue;
      }
      l.sizes[dims] = box.size();
      l.strides[dims++] = argmax_.pooled[level];
    }
    l.sizes[dims] = space_.inner;
    l.strides[dims] = argmax_.inner;
    // Neighbours that continue one another are one dimension.
    for (l.last = dims; l.last > 0; --l.last) {
      int64_t *size = l.sizes + l.last - 1, *stride = l.strides + l.last - 1;
      if (size[1] == 1) continue;
      if (size[0] != 1 && stride[0] != size[1] * stride[1]) break;
      size[0] *= size[1];
      stride[0] = stride[1];
    }
    return l;
  }
  // f(first number, how many, distance) for each run.
  template <class F>
  static void each_line(const char* plane, const Lines& l, F f) {
    plane += l.origin;
    int64_t at[kMaxPooled + 1];
    for (int level = 0; level < l.last; ++level) at[level] = 0;
    for (;;) {
      f(plane, l.sizes[l.last], l.strides[l.last]);
      int level = l.last - 1;
      for (; level >= 0; --level) {
        plane += l.strides[level];
        if (++at[level] < l.sizes[level]) break;
        plane -= l.strides[level] * l.sizes[level];
        at[level] = 0;
      }
      if (level < 0) return;
    }
  }

  const char* plane(int64_t i) const { return plane_address(space_, argmax_, i); }

  // Whether planes of `numbers` numbers follow one another, each of which can be compared with what
  // its place lacks: taps of up to two axes, up to four on each, are bits of a byte.
  bool can_compare(int64_t numbers) const {
    if (plan_.pooled > 2 || space_.inner > 1 || space_.outer_total() > 1 || total_ < kFewPlanes ||
        numbers > kTogether || argmax_.batch != numbers) {
      return false;
    }
    int64_t step = 1;
    for (int level = plan_.pooled - 1; level >= 0; --level) {
      const int64_t size = argmax_.box[level].size();
      if (plan_.axes[level].window > kBits || (size > 1 && argmax_.pooled[level] != step)) {
        return false;
      }
      step *= size;
    }
    return true;
  }
  // The taps that each place lacks, and those that each number names.
  void mark(uint8_t* absent, uint8_t* kinds) const {
    std::fill(absent, absent + plane_, uint8_t{0});
    int64_t step = 1;
    for (int level = plan_.pooled - 1; level >= 0; --level) {
      const int shift = level * kBits;
      for (int64_t n = 0; n < plan_.box_taps; ++n) {
        kinds[n] |= static_cast<uint8_t>(1U << (shift + taps_[level][n]));
      }
      const Axis& axis = plan_.axes[level];
      const Range box = argmax_.box[level];
      for (int64_t o = box.begin; o < box.end; ++o) {
        const auto window = axis.window_of(o);
        unsigned bits = 0;
        for (int64_t t = 0; t < axis.window; ++t) {
          if (t < window.lead || t >= window.lead + window.cells) bits |= 1U << (shift + t);
        }
        if (bits == 0) continue;
        for (int64_t i = (o - box.begin) * step; i < plane_; i += step * box.size()) {
          for (int64_t j = i; j < i + step; ++j) absent[j] |= static_cast<uint8_t>(bits);
        }
      }
      step *= box.size();
    }
  }

  bool check(Range planes) const {
    bool fine = true;
    const auto below = static_cast<uint64_t>(plan_.box_taps);
    const Lines all = lines(-1, 0);
    for (int64_t i = planes.begin; i < planes.end; ++i) {
      each_line(plane(i), all, [&](const char* first, int64_t count, int64_t distance) {
        fine = fine && plan_.kernels->move->largest(first, count, distance) < below;
      });
    }
    for (int level = 0; level < plan_.pooled; ++level) {
      const Axis& axis = plan_.axes[level];
      for (int64_t o = argmax_.box[level].begin; fine && o < argmax_.box[level].end; ++o) {
        const auto window = axis.window_of(o);
        if (window.lead == 0 && window.cells == axis.window) {
          // Windows that have all taps follow one another.
          if (!axis.adaptive) o = std::max(o, last_complete(axis));
          continue;
        }
        fine = inside(planes, level, o, static_cast<unsigned>(window.lead),
                      static_cast<unsigned>(window.cells));
      }
    }
    return fine;
  }

  // Whether the numbers at one output of an axis name taps that are there.
  bool inside(Range planes, int level, int64_t output, unsigned lead, unsigned cells) const {
    uint8_t absent[256];
    for (int n = 0; n < 256; ++n) {
      absent[n] = static_cast<uint8_t>(taps_[level][n] - lead) >= static_cast<uint8_t>(cells);
    }
    const auto weight = static_cast<unsigned>(plan_.tap_weight[level]);
    const auto least = static_cast<uint8_t>(lead * weight);
    const auto most = static_cast<uint8_t>(cells * weight - 1);
    unsigned outside = 0;  // no branches: what comes next cannot be foreseen
    const Lines some = lines(level, output);
    for (int64_t i = planes.begin; i < planes.end; ++i) {
      each_line(plane(i), some, [&](const char* first, int64_t count, int64_t distance) {
        const auto* number = reinterpret_cast<const uint8_t*>(first);
        if (level == 0 && distance == 1) {
          // Numbers grow with the taps of the first axis: many can be compared at a time.
          uint8_t beyond = 0;
          for (int64_t k = 0; k < count; ++k) {
            beyond |= static_cast<uint8_t>(number[k] - least) > most ? uint8_t{1} : uint8_t{0};
          }
          outside |= beyond;
          return;
        }
        int64_t k = 0;
        for (; k + 4 <= count; k += 4, number += 4 * distance) {
          outside |=
              static_cast<unsigned>(absent[number[0]] | absent[number[distance]] |
                                    absent[number[2 * distance]] | absent[number[3 * distance]]);
        }
        for (; k < count; ++k, number += distance) outside |= absent[*number];
      });
    }
    return outside == 0;
  }

  static int64_t last_complete(const Axis& axis) {
    return geometry::floor_div(axis.cells - axis.extent() + axis.pad_lo, axis.stride);
  }

  const Plan& plan_;
  const Space& space_;
  const Bound& argmax_;
  static constexpr int64_t kTogether = 16384;  // numbers, which stay in the first cache
  static constexpr int64_t kFewPlanes = 16;
  static constexpr int kBits = 4;
  int64_t total_, together_ = 1;
  int64_t plane_ = 0;  // numbers of one, if they are compared with what lies at their places
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
