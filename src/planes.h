// Many small planes, channels first: they are turned so that planes lie side by side in lanes, as
// channels do that come last, then pooled by bands, and the results turned back. Rows of a small
// plane are too short for vectors; lanes of planes are not.
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
  // From x to y: values of max or min, or averages. From g to dx: the VJP of averages.
  enum class From { x, g };
  PlanesJob(const Plan& plan, const Space& space, const Bound& source, const Bound& target,
            From from);

  bool possible() const { return lanes_ > 0; }
  int64_t tasks() const { return space_.outer_total() * groups_; }
  int64_t grain() const;
  std::string describe() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  // Planes of an array, and the block in which they lie side by side.
  struct Side {
    const Bound* array;
    int64_t elements;  // of a plane
  };
  template <class F>
  void with_bands(char* source, char* target, F f) const;
  Bound block_of(const Side& side, char* memory) const;
  void turn(int64_t rows, int64_t columns, const char* src, int64_t src_row, char* dst,
            int64_t dst_row, const Side& side) const;

  const Plan& plan_;
  const Space& space_;
  Side source_, target_;
  From from_;
  int64_t lanes_ = 0, groups_ = 0;
  bool streaming_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_PLANES_H_
