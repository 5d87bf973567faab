// The VJP of max and min from the compact argmax, plane by plane: a plane of zeros that stays in
// the cache, and each gradient added to the cell that won, in row-major order of the outputs.
#ifndef NDPOOL_SRC_SCATTER_H_
#define NDPOOL_SRC_SCATTER_H_

#include <cstdint>

#include "call.h"
#include "layout.h"
#include "plan.h"

namespace ndpool {

class ScatterJob : public Job {
 public:
  ScatterJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
             const Bound& dx);

  // Whole planes of f32 or f64 without gaps, small enough for the cache, tap numbers in bytes.
  bool possible() const { return possible_; }
  int64_t planes() const { return space_.outer_total() * space_.batch; }
  int64_t grain() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  template <class T>
  void work_on(Arena* arena, TaskQueue* queue) const;
  // So many planes at once, because neighbouring outputs often wait for the same cell.
  static constexpr int kTogether = 2;
  template <class T>
  struct Plane {
    const T* g;
    const uint8_t* taps;
    T* dx;
  };
  template <int count, class T>
  void send(const int64_t* places, const Plane<T>* planes) const;

  const Plan& plan_;
  const Space& space_;
  const Bound &g_, &argmax_, &dx_;
  int last_;
  int64_t cells_ = 1;                // of a plane
  int64_t cell_step_[kMaxPooled]{};  // elements from a cell to its neighbour
  int64_t tap_place_[256];           // of each tap, from the first of its window
  bool streaming_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_SCATTER_H_
