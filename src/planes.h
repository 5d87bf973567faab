// Many small planes, channels first: they are turned so that planes lie side by side in lanes, as
// channels do that come last, then pooled by bands (or spread), and the results turned back. Rows
// of a small plane are too short for vectors; lanes of planes are not.
#ifndef NDPOOL_SRC_PLANES_H_
#define NDPOOL_SRC_PLANES_H_

#include <cstdint>
#include <string>

#include "call.h"
#include "layout.h"
#include "plan.h"

namespace ndpool {

class PlanesJob : public Job {
 public:
  // From x to y: averages, or max or min; with argmax, the numbers of the winning taps too, or (y
  // nullptr) alone. From g to dx: the VJP of averages, or with argmax of max and min.
  PlanesJob(const Plan& plan, const Space& space, From from, const Bound& source,
            const Bound* target, const Bound* argmax = nullptr);

  bool possible() const { return lanes_ > 0; }
  int64_t tasks() const { return space_.outer_total() * groups_; }
  int64_t grain() const;
  std::string describe() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  // Planes of an array, and the block in which they lie side by side; none, if there is no array.
  struct Side {
    const Bound* array;
    int64_t elements;  // of a plane
    int64_t bytes() const { return array ? elements * array->element : 0; }
  };
  struct Blocks {
    char *source, *target, *winners;
  };
  // f(job) with the job that pools the planes of the blocks.
  template <class F>
  void with_bands(const Blocks& blocks, F f) const;
  bool is_worthwhile() const;
  Bound block_of(const Side& side, char* memory) const;
  char* take(const Side& side, Arena* arena) const;
  // Some planes into their block, and back to `to`.
  void turn_in(const Side& side, int64_t outer, int64_t first, int64_t planes, char* block) const;
  void turn_out(const Side& side, int64_t planes, const char* block, char* to) const;
  char* address(const Side& side, int64_t outer, int64_t first) const;

  const Plan& plan_;
  const Space& space_;
  From from_;
  Side source_, target_, winners_;
  int64_t lanes_ = 0, groups_ = 0;
  bool streaming_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_PLANES_H_
