// Gradients of max and min with one winner per window (ties first and last).
#include <algorithm>
#include <cstring>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>

#include "argmax.h"
#include "band_job.h"
#include "boxes.h"
#include "call.h"
#include "channels.h"
#include "collect.h"
#include "columns.h"
#include "operations.h"
#include "planes.h"
#include "reductions.h"
#include "rows.h"
#include "scatter.h"
#include "spread.h"
#include "status.h"
#include "winner.h"

namespace ndpool {
namespace {

// VJP of max and min with one winner per window: its tap comes from the compact argmax, or is found
// in x.
template <class T>
class WinnerVjpJob : public Job {
 public:
  WinnerVjpJob(const Plan& plan, const Space& space, const Bound& g, const Bound& dx,
               const Bound* argmax, const Bound* x)
      : plan_(plan), space_(space), g_(g), dx_(dx), argmax_(argmax) {
    if (x) {
      const Keep keep = plan.ties == NDPOOL_TIES_LAST ? Keep::last : Keep::first;
      search_ = extreme_reduction(plan, space, *x, keep);
      search_.choose_cut(plan.axes[plan.pooled - 1].outputs);
      inner_ = search_.cut.inner;
      outputs_ = search_.cut.outputs;
    } else {
      inner_ = std::min<int64_t>(space.inner, 256);
      outputs_ = std::min(plan.axes[plan.pooled - 1].outputs, 1024 / inner_);
    }
  }

  BoxTasks tasks() const { return BoxTasks(plan_, space_, dx_, inner_); }

  void work(Arena* arena, TaskQueue* queue) const override {
    const BoxTasks boxes = tasks();
    Worker w{GradientBox<T>(space_, boxes.largest(), arena),
             arena->take<T>(outputs_ * inner_),
             arena->take<uint64_t>(outputs_ * inner_),
             std::nullopt,
             {}};
    if (!argmax_) w.reducer.emplace(search_, arena);
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const BoxTask task = boxes.at(i);
        w.box.start(task);
        each_row(task, plan_.pooled, [&](const int64_t* across) { row(task, across, &w); });
        w.box.store(dx_, plan_.kernels->convert->store[kLaneNumber<T>][plan_.type]);
      }
    }
  }

 private:
  struct Worker {
    GradientBox<T> box;
    T* g;
    uint64_t* taps;
    std::optional<Reducer> reducer;
    SameRow same;
    bool any = false;  // some output of the row holds a cell
  };

  void row(const BoxTask& task, const int64_t* across, Worker* w) const {
    const int last = plan_.pooled - 1;
    const Range outputs = task.outputs[last];
    int64_t first[kMaxPooled];
    std::copy(across, across + last, first);
    for (int64_t begin = outputs.begin; begin < outputs.end; begin += outputs_) {
      const Range part{begin, std::min(outputs.end, begin + outputs_)};
      first[last] = begin;
      if (!w->same(task, across, plan_.pooled, part))
        w->any = read_taps(task, across, first, part, w);
      if (!w->any) continue;
      plan_.kernels->convert->load[plan_.type][kLaneNumber<T>](
          {1, part.size(), task.inner, 0, g_.pooled[last], g_.inner},
          position_of(g_, plane_of(space_, g_, task), plan_.pooled, first), w->g);
      scatter(task, across, part, w);
    }
  }

  // The winning taps of some outputs of a row; false if none of them holds a cell.
  bool read_taps(const BoxTask& task, const int64_t* across, const int64_t* first, Range part,
                 Worker* w) const {
    const int last = plan_.pooled - 1;
    const int64_t lanes = part.size() * task.inner;
    if (argmax_) {
      const char* at = position_of(*argmax_, plane_of(space_, *argmax_, task), plan_.pooled, first);
      for (int64_t i = 0; i < lanes; ++i) {
        w->taps[i] = read_argmax(
            at + i / task.inner * argmax_->pooled[last] + i % task.inner * argmax_->inner,
            plan_.argmax_type);
      }
      return true;
    }
    Block found;
    const Place place{plane_of(space_, *search_.source, task), 1, task.inner, across, part};
    if (!w->reducer->run(place, &found)) return false;
    for (int64_t i = 0; i < lanes; ++i) {
      w->taps[i] = plan_.index_size == 8 ? static_cast<const uint64_t*>(found.index)[i]
                                         : static_cast<const uint32_t*>(found.index)[i];
    }
    return true;
  }

  void scatter(const BoxTask& task, const int64_t* across, Range part, Worker* w) const {
    const int last = plan_.pooled - 1;
    WinnerRow windows(plan_, across);
    const Range cells = w->box.last();
    int64_t position[kMaxPooled];
    for (int64_t o = 0; o < part.size(); ++o) {
      windows.enter_output(part.begin + o);
      if (!windows.has_cells()) continue;
      for (int64_t c = 0; c < task.inner; ++c) {
        const int64_t lane = o * task.inner + c;
        if (!windows.decode(w->taps[lane], position)) continue;
        T* to = w->box.row(position);
        if (!to || position[last] < cells.begin || position[last] >= cells.end) continue;
        to[(position[last] - cells.begin) * task.inner + c] += w->g[lane];
      }
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound &g_, &dx_;
  const Bound* argmax_;
  Reduction search_;
  int64_t inner_ = 1, outputs_ = 1;
};

struct Step {
  const Job* job;
  int64_t tasks, grain;
};

// f(steps) with those that find the winners of some planes and send them their gradients; false if
// the planes are not fit for it.
template <class F>
bool with_steps(const Plan& plan, const Space& part, const Bound* at, const Bound& argmax, F f) {
  const ColumnsJob columns(plan, part, at[0], nullptr, &argmax);
  const BandJob band(plan, part, at[0], nullptr, &argmax, plan.ties == NDPOOL_TIES_LAST);
  const PlanesJob turned(plan, part, From::x, at[0], nullptr, &argmax);
  const CollectJob collect(plan, part, at[1], argmax, at[2]);
  const PlanesJob turned_back(plan, part, From::g, at[1], &at[2], &argmax);
  const SpreadJob spread(plan, part, at[1], argmax, at[2]);
  if (!(columns.possible() || turned.possible() || band.possible()) ||
      !(collect.possible() || turned_back.possible() || spread.possible())) {
    return false;
  }
  const auto step = [](const auto& job) {
    return Step{&job, job.tasks().total(), job.tasks().grain()};
  };
  const auto planes = [](const PlanesJob& job) { return Step{&job, job.tasks(), job.grain()}; };
  const Step find = columns.possible()  ? step(columns)
                    : turned.possible() ? planes(turned)
                                        : step(band);
  const Step send = collect.possible()       ? step(collect)
                    : turned_back.possible() ? planes(turned_back)
                                             : step(spread);
  f({find, send});
  return true;
}

// Whether a plane of an array may begin at an address that is no multiple of the element size.
bool may_lie_askew(const Space& space, const Bound& array) {
  int64_t odd = static_cast<int64_t>(reinterpret_cast<uintptr_t>(array.data) %
                                     static_cast<uintptr_t>(array.element));
  for (int i = 0; i < space.outer_count; ++i) odd |= array.outer[i] % array.element;
  return (odd | array.batch % array.element) != 0;
}

// The VJP from x for windows of few taps, some planes at a time: their compact argmax into memory
// of this call's own, then gradients by comparison. False if the problem is not fit for it.
bool vjp_by_chunks(const Plan& plan, const Exec& exec, const Space& space, const Bound* bound,
                   int32_t* code, ndpool_error* error) {
  const Bound &x = bound[0], &g = bound[1], &dx = bound[2];
  constexpr int64_t kMostBytes = 512 * 1024;
  if (exec.scratch || plan.algorithm == NDPOOL_ALGORITHM_ROWS || plan.argmax_type != NDPOOL_U8)
    return false;
  Bound argmax{};
  argmax.element = argmax.inner = 1;
  argmax.batch = space.inner;
  for (int i = space.pooled - 1; i >= 0; --i) {
    // Of a part of g some windows may lie where x does not.
    const Axis& axis = plan.axes[i];
    if (g.box[i].size() != axis.outputs || x.box[i].size() != axis.cells) return false;
    argmax.pooled[i] = argmax.batch;
    argmax.box[i] = g.box[i];
    argmax.batch *= axis.outputs;
    if (argmax.batch > kMostBytes) return false;
  }
  Space part = space;
  part.outer_count = 0;
  part.batch = std::min(space.batch, kMostBytes / argmax.batch);
  const int64_t planes = part.batch;
  size_t scratch = 0;
  // The last chunk may be smaller and be cut in another way, and some chunks of an array may lie
  // askew in memory while others do not.
  const unsigned askew = (may_lie_askew(space, x) ? 1U : 0U) | (may_lie_askew(space, g) ? 2U : 0U) |
                         (may_lie_askew(space, dx) ? 4U : 0U);
  for (const int64_t batch : {planes, space.batch % planes}) {
    for (unsigned skew = 0; skew <= askew; ++skew) {
      if (batch == 0 || (skew & ~askew) != 0) continue;
      part.batch = batch;
      Bound at[3] = {x, g, dx};
      for (unsigned i = 0; i < 3; ++i) {
        at[i].data -= reinterpret_cast<uintptr_t>(at[i].data) % Arena::kAlign;
        at[i].data += skew >> i & 1U;
      }
      const auto count = [&](std::initializer_list<Step> steps) {
        for (const Step& step : steps) {
          Arena counting;
          step.job->work(&counting, nullptr);
          scratch = std::max(scratch, counting.used());
        }
      };
      if (!with_steps(plan, part, at, argmax, count)) return false;
    }
  }
  // All memory first, so that nothing is written if there is too little.
  const size_t room = static_cast<size_t>(planes * argmax.batch) / Arena::kAlign + 1;
  Exec own = exec;
  own.threads = static_cast<int>(
      affordable_threads(exec.threads, scratch + Arena::kAlign, room * Arena::kAlign));
  const size_t bytes =
      room * Arena::kAlign + (scratch + Arena::kAlign) * static_cast<size_t>(own.threads);
  const std::unique_ptr<char, decltype(&std::free)> memory(
      static_cast<char*>(std::aligned_alloc(Arena::kAlign, bytes)), &std::free);
  if (!memory) {
    *code = fail(error, Message::no_memory, -1, {static_cast<int64_t>(bytes)});
    return true;
  }
  argmax.data = memory.get();
  own.scratch = memory.get() + room * Arena::kAlign;
  own.scratch_bytes = bytes - room * Arena::kAlign;
  const auto run = [&](std::initializer_list<Step> steps) {
    for (const Step& step : steps) {
      *code = run_job(*step.job, step.tasks, step.grain, own, error);
      if (*code != NDPOOL_OK) return;
    }
  };
  for (int64_t outer = 0; outer < space.outer_total(); ++outer) {
    for (int64_t begin = 0; begin < space.batch; begin += planes) {
      part.batch = std::min(planes, space.batch - begin);
      Bound at[3] = {x, g, dx};
      for (Bound& array : at) {
        array.data = outer_address(space, array, outer) + begin * array.batch;
      }
      with_steps(plan, part, at, argmax, run);
      if (*code != NDPOOL_OK) return true;
    }
  }
  return true;
}

}  // namespace

int32_t argmax_vjp(const Plan& plan, const Exec& exec, const ArrayArg& argmax, const ArrayArg& g,
                   const ArrayArg& dx, ndpool_error* error) {
  const ArrayArg args[3] = {dx, g, argmax};
  Space space;
  Bound bound[3];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 3, 0, &space, bound);
  if (int32_t code = check_argmax(plan, space, bound[2], argmax, exec, error)) return code;
  const CollectJob collect(plan, space, bound[1], bound[2], bound[0]);
  if (collect.possible() && fits_scratch(collect, exec)) {
    return run_job(collect, collect.tasks().total(), collect.tasks().grain(), exec, error);
  }
  const ChannelsJob channels(plan, space, bound[1], bound[2], bound[0]);
  if (channels.possible()) {
    return run_job(channels, channels.tasks().total(), channels.tasks().grain(), exec, error);
  }
  const ScatterJob scatter(plan, space, bound[1], bound[2], bound[0]);
  if (scatter.possible() && fits_scratch(scatter, exec)) {
    return run_job(scatter, scatter.planes(), scatter.grain(), exec, error);
  }
  const PlanesJob planes(plan, space, From::g, bound[1], &bound[0], &bound[2]);
  if (planes.possible() && fits_scratch(planes, exec)) {
    return run_job(planes, planes.tasks(), planes.grain(), exec, error);
  }
  const SpreadJob spread(plan, space, bound[1], bound[2], bound[0]);
  if (spread.possible() && fits_scratch(spread, exec)) {
    return run_job(spread, spread.tasks().total(), spread.tasks().grain(), exec, error);
  }
  if (plan.type == NDPOOL_F64) {
    return run_boxes(WinnerVjpJob<double>(plan, space, bound[1], bound[0], &bound[2], nullptr),
                     exec, error);
  }
  return run_boxes(WinnerVjpJob<float>(plan, space, bound[1], bound[0], &bound[2], nullptr), exec,
                   error);
}

int32_t winner_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                   const ArrayArg& dx, ndpool_error* error) {
  const ArrayArg args[3] = {x, g, dx};
  Space space;
  Bound bound[3];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 3, 2, &space, bound);
  int32_t code = NDPOOL_OK;
  if (vjp_by_chunks(plan, exec, space, bound, &code, error)) return code;
  if (plan.type == NDPOOL_F64) {
    return run_boxes(WinnerVjpJob<double>(plan, space, bound[1], bound[2], nullptr, &bound[0]),
                     exec, error);
  }
  return run_boxes(WinnerVjpJob<float>(plan, space, bound[1], bound[2], nullptr, &bound[0]), exec,
                   error);
}

}  // namespace ndpool
