// Sets up the separable reductions of a plan: which lane, which combination, which load.
#ifndef NDPOOL_SRC_REDUCTIONS_H_
#define NDPOOL_SRC_REDUCTIONS_H_

#include "plan.h"
#include "reduce.h"

namespace ndpool {

// Max or min of `source`; winner kFirst or kLast with tap numbers, or values alone.
enum class Keep { values, first, last };
Reduction extreme_reduction(const Plan& plan, const Space& space, const Bound& source, Keep keep);

// Sums for avg, of cells of `type`.
Reduction sum_reduction(const Plan& plan, const Space& space, const Bound& source, Lane lane);

// For each cell the sum of g/divisor over the outputs that hold it: the VJP of avg.
Reduction transposed_sum(const Plan& plan, const Space& space, const Bound& source, Lane lane);

}  // namespace ndpool

#endif  // NDPOOL_SRC_REDUCTIONS_H_
