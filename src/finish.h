// Sums to averages: divided, rounded once, and put into the array.
#ifndef NDPOOL_SRC_FINISH_H_
#define NDPOOL_SRC_FINISH_H_

#include <cstdint>

#include "arena.h"
#include "plan.h"

namespace ndpool {

class AverageFinish {
 public:
  // For rows of up to `lanes` lanes, `elements` in all. tangent: sums are of a tangent. planes: a
  // "row" is all of a plane of two pooled axes.
  AverageFinish(const Plan& plan, int type, Lane lane, bool tangent, int64_t lanes,
                int64_t elements, Arena* arena, bool planes = false);

  // Whether all windows have the same divisor; `across` below is then of no importance.
  bool uniform() const { return uniform_ != 0; }

  // Rows of outputs × inner sums without gaps, all with the same outputs and the same divisor on
  // the other axes (Counts::across). The sums are overwritten.
  void store(const Strided& shape, void* sums, int64_t across, Range outputs, char* to);
  // f32 and f64 to averages of the same type, where they are.
  void divide(int64_t rows, int64_t inner, void* sums, int64_t across, Range outputs);

 private:
  int64_t count_at(int64_t output) const;
  // Both find what they look for where the last call left it, if it is the same.
  void find_divisors(int64_t across, Range outputs);
  template <class F>
  const F* find_lane_divisors(int64_t inner);

  const Plan& plan_;
  int type_;
  Lane lane_;
  bool tangent_, planes_;
  int64_t uniform_;
  Range outputs_;               // of which along_ is known
  int64_t across_ = 0;          // of which divisors_ are known
  int64_t inner_ = 0;           // of which lane_divisors_ are known
  int64_t *along_, *divisors_;  // of each output
  void* lane_divisors_;
  double* wide_ = nullptr;  // of f16 and bf16 results
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_FINISH_H_
