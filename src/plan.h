// A validated problem and what was decided about it. Immutable; shared freely between threads.
#ifndef NDPOOL_SRC_PLAN_H_
#define NDPOOL_SRC_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counts.h"
#include "kernels/kernels.h"
#include "layout.h"
#include "line.h"
#include "ndpool/ndpool.h"

namespace ndpool {

struct Plan {
  int op = 0, type = 0, out_type = 0, rounding = 0, ties = 0;
  bool mean = false;
  double beta = 1, p = 2;

  int rank = 0, pooled = 0;
  std::vector<int64_t> shape, output_shape;
  std::unique_ptr<bool[]> is_pooled;  // by array axis
  int axis_number[kMaxPooled]{};      // of each pooled axis, ascending
  Axis axes[kMaxPooled];
  Axis even_axes[kMaxPooled];  // adaptive ones whose windows are alike, as windowed ones
  Counts counts;

  bool has_empty_windows = false;  // some window holds no cell (and that is allowed)
  int64_t box_taps = 1;            // of the box of the largest window
  uint64_t tap_weight[kMaxPooled]{}, flat_weight[kMaxPooled]{};
  int argmax_type = NDPOOL_U8;
  int index_size = 4;  // bytes of a tap number while computing

  const Kernels* kernels = nullptr;
  int algorithm = NDPOOL_ALGORITHM_AUTOMATIC;
  Lane sum_lane = Lane::f32;  // of avg
  bool direct = false;        // so small that windows are pooled one by one
  bool small_blocks = false;  // rows go in small blocks: see reduce.h

  // Smooth max, no mean, and Lp, of up to 32 bits: the sums of its windows in f64, and the scratch
  // that one thread needs for them or for going tap by tap. all_full: no window holds a pad.
  std::unique_ptr<const Plan> sums, sums32;  // sums32: in f32, smooth max alone
  size_t sums_scratch = 0;
  bool all_full = false;
};

// Checks a description and plans it. On success *plan is set.
int32_t make_plan(const ndpool_desc& desc, std::unique_ptr<Plan>* plan, ndpool_error* error);

// What the plan computes and chose, for people.
std::string explain(const Plan& plan);

const char* type_name(int type);  // nullptr for no type
const char* op_name(int op);

}  // namespace ndpool

#endif  // NDPOOL_SRC_PLAN_H_
