#include "call.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "status.h"

namespace ndpool {
namespace {

int32_t check_box(const Plan& plan, const ndpool_box& given, const std::vector<int64_t>& shape,
                  const char* name, Box* box, ndpool_error* error) {
  if (!given.start) {
    box->size = shape.data();
    return NDPOOL_OK;
  }
  if (!given.size) return fail(error, Message::null_pointer, -1, {}, "the size of a tile's box");
  for (int axis = 0; axis < plan.rank; ++axis) {
    const int64_t start = given.start[axis], size = given.size[axis];
    const int64_t whole = shape[static_cast<size_t>(axis)];
    if (start < 0 || size < 0 || start > whole || size > whole - start) {
      return fail(error, Message::tile_box, axis, {start, size, whole}, name);
    }
  }
  *box = {given.start, given.size};
  return NDPOOL_OK;
}

int32_t check_cover(int axis, Range have, Range want, const char* name, ndpool_error* error) {
  if (want.size() <= 0 || (have.begin <= want.begin && want.end <= have.end)) return NDPOOL_OK;
  return fail(error, Message::tile_not_covered, axis, {have.begin, have.end, want.begin, want.end},
              name);
}

struct Reach {
  uintptr_t low = 0, high = 0;  // high: one past the last byte
};

// The bytes that an array touches; false where they leave the address space, with the axis.
bool reach_of(int rank, const ArrayArg& a, Reach* reach, int* axis) {
  const auto first = reinterpret_cast<uintptr_t>(a.data);
  reach->low = first;
  int64_t row_major = a.element;
  for (*axis = rank - 1; *axis >= 0; --*axis) {
    const int64_t stride = a.strides ? a.strides[*axis] : row_major;
    row_major *= a.size[*axis];
    if (a.size[*axis] == 1) continue;
    int64_t span = 0;
    if (stride == INT64_MIN || __builtin_mul_overflow(stride, a.size[*axis] - 1, &span))
      return false;
    uintptr_t* end = span < 0 ? &reach->low : &reach->high;
    if (__builtin_add_overflow(*end, span, end)) return false;
  }
  *axis = 0;
  return !__builtin_add_overflow(reach->high, first, &reach->high) &&
         !__builtin_add_overflow(reach->high, a.element, &reach->high) &&
         reach->high - reach->low <= uintptr_t{INTPTR_MAX};
}

// Whether each element has bytes of its own: every stride exceeds what the smaller ones span.
bool overlaps_itself(int rank, const ArrayArg& a, int* axis) {
  if (!a.strides) return false;
  int64_t span = a.element;  // bytes from the first to the end of the last element so far
  int64_t beyond = 0;        // strides up to here are done
  for (;;) {
    int smallest = -1;
    for (int i = 0; i < rank; ++i) {
      const int64_t stride = std::llabs(a.strides[i]);
      if (a.size[i] <= 1 || stride <= beyond) {
        if (a.size[i] > 1 && stride == 0) return *axis = i, true;
        continue;
      }
      if (smallest < 0 || stride < std::llabs(a.strides[smallest])) smallest = i;
    }
    if (smallest < 0) return false;
    beyond = std::llabs(a.strides[smallest]);
    int same = 0;
    for (int i = 0; i < rank; ++i) same += a.size[i] > 1 && std::llabs(a.strides[i]) == beyond;
    if (beyond < span || same > 1) return *axis = smallest, true;
    span += beyond * (a.size[smallest] - 1);
  }
}

}  // namespace

// Near the ends dilated windows do not move in step with their cells, so those are looked at one by
// one.
Range cells_of(const Axis& axis, Range outputs) {
  Range cells{INT64_MAX, 0};
  const auto include = [&](int64_t output) {
    const auto w = axis.window_of(output);
    if (w.cells == 0) return;
    cells.begin = std::min(cells.begin, w.first);
    cells.end = std::max(cells.end, w.first + (w.cells - 1) * w.step + 1);
  };
  int64_t o = outputs.begin;
  for (; o < outputs.end && axis.window_of(o).lead > 0; ++o) include(o);
  if (o < outputs.end) include(o);
  int64_t last = outputs.end - 1;
  for (; last > o && axis.window_of(last).cells < axis.window; --last) include(last);
  if (last > o) include(last);
  return cells.end == 0 ? Range{} : cells;
}

int32_t resolve_exec(const ndpool_exec* given, Exec* exec, ndpool_error* error) {
  exec->threads = 0;
  if (given) {
    if (given->runner && !given->runner->parallel_for) {
      return fail(error, Message::null_pointer, -1, {}, "the runner's parallel_for");
    }
    if (given->threads < 0 || given->threads > kMaxThreads) {
      return fail(error, Message::bad_threads, -1, {given->threads, kMaxThreads});
    }
    exec->threads = given->threads;
    exec->scratch = static_cast<char*>(given->scratch);
    exec->scratch_bytes = given->scratch_bytes;
    exec->cancelled = given->cancelled;
    exec->cancelled_context = given->cancelled_context;
  }
  if (exec->threads == 0) exec->threads = get_num_threads();
  exec->runner = default_runner(exec->threads);
  if (given && given->runner) {
    exec->runner = {given->runner->context, given->runner->parallel_for};
  }
  return NDPOOL_OK;
}

int32_t resolve_boxes(const Plan& plan, const ndpool_exec* given, Needs needs, Boxes* boxes,
                      ndpool_error* error) {
  const ndpool_tile whole{};
  const bool tiled = given && given->tile;
  const ndpool_tile& tile = tiled ? *given->tile : whole;
  if (int32_t code = check_box(plan, tile.x, plan.shape, "x", &boxes->x, error)) return code;
  if (int32_t code = check_box(plan, tile.y, plan.output_shape, "y", &boxes->y, error)) return code;
  if (int32_t code = check_box(plan, tile.dx, plan.shape, "dx", &boxes->dx, error)) return code;
  if (!tiled) return NDPOOL_OK;
  const bool forward = needs == Needs::forward, reads_x = needs != Needs::vjp_of_outputs;
  const Box& target = forward ? boxes->y : boxes->dx;
  int pooled = 0;
  for (int axis = 0; axis < plan.rank; ++axis) {
    // What is needed of y and of x: the same on axes that are not pooled.
    Range outputs = target.on(axis), cells = target.on(axis);
    if (plan.is_pooled[static_cast<size_t>(axis)]) {
      const Axis& a = plan.axes[pooled++];
      if (!forward) outputs = outputs_of(a, cells);
      cells = cells_of(a, outputs);
    }
    if (int32_t code = check_cover(axis, boxes->y.on(axis), outputs, "y", error)) return code;
    if (!reads_x) continue;
    if (int32_t code = check_cover(axis, boxes->x.on(axis), cells, "x", error)) return code;
  }
  return NDPOOL_OK;
}

ArrayArg array_arg(const void* data, const int64_t* strides, const Box& box, size_t element) {
  // Inputs are never written: constness is kept by who uses the argument.
  return {static_cast<char*>(const_cast<void*>(data)), strides, box.size, box.start,
          static_cast<int64_t>(element)};
}

int32_t check_arrays(int rank, const NamedArray* arrays, int count, ndpool_error* error) {
  Reach reach[kMaxArrays + 1];
  bool empty[kMaxArrays + 1] = {};
  for (int i = 0; i < count; ++i) {
    const ArrayArg& a = arrays[i].arg;
    for (int axis = 0; axis < rank; ++axis) empty[i] = empty[i] || a.size[axis] == 0;
    if (empty[i]) continue;
    if (!a.data) return fail(error, Message::null_pointer, -1, {}, arrays[i].name);
    int axis = 0;
    if (!reach_of(rank, a, &reach[i], &axis)) {
      const int64_t stride = a.strides ? a.strides[axis] : a.element;
      return fail(error, Message::stride_overflow, axis, {stride, a.size[axis]}, arrays[i].name);
    }
    if (arrays[i].output && overlaps_itself(rank, a, &axis)) {
      return fail(error, Message::output_overlaps_itself, axis, {a.strides[axis], a.size[axis]},
                  arrays[i].name);
    }
  }
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      if (i == j || !arrays[i].output || empty[i] || empty[j]) continue;
      if (reach[i].low < reach[j].high && reach[j].low < reach[i].high) {
        const std::string pair =
            std::string("the output ") + arrays[i].name + " and " + arrays[j].name;
        return fail(error, Message::output_overlaps_input, -1, {}, pair.c_str());
      }
    }
  }
  return NDPOOL_OK;
}

namespace {

struct Shared {
  const Job* job;
  TaskQueue* queue;
  char* scratch;
  size_t each;
};

void work_on(void* arg, int64_t i) {
  const Shared& shared = *static_cast<const Shared*>(arg);
  Arena arena(shared.scratch + static_cast<size_t>(i) * shared.each);
  shared.job->work(&arena, shared.queue);
}

}  // namespace

Reservation::~Reservation() { std::free(owned_); }

int64_t affordable_threads(int64_t threads, size_t each, size_t used) {
  constexpr size_t kCall = 1024 * 1024, kThread = 64 * 1024;
  if (each <= kThread) return threads;
  const size_t left = used < kCall ? kCall - used : 0;
  return std::clamp<int64_t>(static_cast<int64_t>(left / (each - kThread)), 1, threads);
}

int32_t Reservation::make(const Job& job, int64_t tasks, int64_t grain, const Exec& exec,
                          ndpool_error* error) {
  Arena counting;
  job.work(&counting, nullptr);
  each_ = counting.used();
  tasks_ = tasks;
  const int64_t useful = (tasks + grain - 1) / grain;
  threads_ = std::max<int64_t>(1, std::min<int64_t>(exec.threads, useful));
  if (!exec.scratch) threads_ = affordable_threads(threads_, each_, 0);
  // A few ranges per thread, so that a slow one does not keep the others waiting; who may cancel is
  // asked more often.
  const int64_t step = std::max<int64_t>(grain, tasks / (threads_ * 8));
  step_ = exec.cancelled ? grain : threads_ == 1 ? tasks : step;

  const size_t bytes = each_ * static_cast<size_t>(threads_);
  scratch_ = small_;
  if (exec.scratch) {
    const size_t misaligned = reinterpret_cast<uintptr_t>(exec.scratch) % Arena::kAlign;
    const size_t skip = misaligned == 0 ? 0 : Arena::kAlign - misaligned;
    if (exec.scratch_bytes < bytes + skip) {
      return fail(error, Message::scratch_too_small, -1,
                  {static_cast<int64_t>(exec.scratch_bytes), static_cast<int64_t>(bytes + skip)});
    }
    scratch_ = exec.scratch + skip;
  } else if (bytes > sizeof small_) {
    owned_ = static_cast<char*>(std::aligned_alloc(Arena::kAlign, bytes));
    if (!owned_) return fail(error, Message::no_memory, -1, {static_cast<int64_t>(bytes)});
    scratch_ = owned_;
  }
  return NDPOOL_OK;
}

int32_t Reservation::run(const Job& job, const Exec& exec, ndpool_error* error) {
  TaskQueue queue(tasks_, step_, exec);
  Shared shared{&job, &queue, scratch_, each_};
  if (threads_ == 1) {
    work_on(&shared, 0);
  } else {
    exec.runner.parallel_for(exec.runner.context, threads_, work_on, &shared);
  }
  return queue.stopped() ? fail(error, Message::cancelled) : NDPOOL_OK;
}

bool fits_scratch(const Job& job, const Exec& exec) {
  if (!exec.scratch) return true;
  Arena counting;
  job.work(&counting, nullptr);
  return counting.used() * static_cast<size_t>(exec.threads) + Arena::kAlign <= exec.scratch_bytes;
}

int32_t run_job(const Job& job, int64_t tasks, int64_t grain, const Exec& exec,
                ndpool_error* error) {
  Reservation reservation;
  if (int32_t code = reservation.make(job, tasks, grain, exec, error)) return code;
  return reservation.run(job, exec, error);
}

}  // namespace ndpool
