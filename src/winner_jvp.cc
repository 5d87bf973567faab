// Tangents of max and min from the compact argmax: each output takes the tangent of its winner.
#include <algorithm>
#include <cstring>

#include "argmax.h"
#include "call.h"
#include "operations.h"
#include "rows.h"
#include "winner.h"

namespace ndpool {
namespace {

class WinnerJvpJob : public Job {
 public:
  WinnerJvpJob(const Plan& plan, const Space& space, const Bound& dx, const Bound& argmax,
               const Bound& dy)
      : tasks(space, dy, 1, 4096, std::min<int64_t>(space.inner, 4096)),
        plan_(plan),
        space_(space),
        dx_(dx),
        argmax_(argmax),
        dy_(dy) {}

  RowTasks tasks;

  void work(Arena*, TaskQueue* queue) const override {
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) pick(tasks.at(i));
    }
  }

 private:
  void pick(const RowTask& task) const {
    WinnerRow winners(plan_, task.across);
    const Strided from = row_shape(space_, argmax_, task), to = row_shape(space_, dy_, task);
    const char* numbers = row_address(space_, argmax_, task);
    char* results = row_address(space_, dy_, task);
    const char* plane = plane_address(space_, dx_, task);
    const size_t element = static_cast<size_t>(dx_.element);
    int64_t position[kMaxPooled]{};
    for (int64_t p = 0; p < to.positions; ++p) {
      winners.enter_output(task.outputs.begin + p);
      const bool cells = winners.has_cells();
      for (int64_t c = 0; c < to.inner; ++c) {
        char* result = results + p * to.position_stride + c * to.inner_stride;
        const char* number = numbers + p * from.position_stride + c * from.inner_stride;
        if (!cells || !winners.decode(read_argmax(number, plan_.argmax_type), position)) {
          std::memset(result, 0, element);
          continue;
        }
        const char* tangent = plane + c * dx_.inner;
        for (int i = 0; i < plan_.pooled; ++i) {
          tangent += (position[i] - dx_.box[i].begin) * dx_.pooled[i];
        }
        std::memcpy(result, tangent, element);
      }
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound &dx_, &argmax_, &dy_;
};

}  // namespace

int32_t argmax_jvp(const Plan& plan, const Exec& exec, const ArrayArg& argmax, const ArrayArg& dx,
                   const ArrayArg& dy, ndpool_error* error) {
  const ArrayArg args[3] = {dx, argmax, dy};
  Space space;
  Bound bound[3];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 3, 2, &space, bound);
  if (int32_t code = check_argmax(plan, space, bound[1], argmax, exec, error)) return code;
  const WinnerJvpJob job(plan, space, bound[0], bound[1], bound[2]);
  return run_job(job, job.tasks.total(), job.tasks.grain(), exec, error);
}

}  // namespace ndpool
