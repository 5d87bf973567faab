// A problem as the spec reads it, and whether the definition refuses it.
#ifndef NDPOOL_TESTS_SUPPORT_BRIDGE_H_
#define NDPOOL_TESTS_SUPPORT_BRIDGE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"
#include "ndpool/spec.hpp"
#include "src/problem.h"
#include "tests/support/strided.h"
#include "tests/support/ulp.h"

namespace ndpool::test {

// One number stands for all axes; none for the default.
inline Shape spread(const Shape& list, size_t count, const Shape& otherwise) {
  if (list.empty()) return otherwise;
  return list.size() == 1 ? Shape(count, list[0]) : list;
}

// The pooled axes, counted from the front; without `axes`, as many last ones as there are numbers.
inline std::vector<int> pooled_axes(const Problem& problem) {
  const auto rank = static_cast<int64_t>(problem.shape.size());
  std::vector<int> axes;
  for (const int64_t axis : problem.axes) {
    axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  }
  if (!axes.empty()) return axes;
  const Shape& sizes = problem.mode == NDPOOL_ADAPTIVE ? problem.output_size : problem.window;
  const auto count = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < count; ++i) axes.push_back(static_cast<int>(rank - count + i));
  return axes;
}

// The same problem in the words of the spec, with every default of the C interface written out.
inline spec::Pool to_pool(const Problem& problem) {
  spec::Pool pool;
  pool.op = static_cast<spec::Op>(problem.op);
  pool.mode = static_cast<spec::Mode>(problem.mode);
  pool.rounding = static_cast<spec::Rounding>(problem.rounding);
  pool.padding = static_cast<spec::Padding>(problem.padding);
  pool.ties = static_cast<spec::Ties>(problem.ties);
  pool.empty = static_cast<spec::Empty>(problem.empty);
  pool.axes = pooled_axes(problem);
  const size_t d = pool.axes.size();
  pool.window = spread(problem.window, d, {});
  pool.stride = spread(problem.stride, d, pool.window);
  pool.dilation = spread(problem.dilation, d, Shape(d, 1));
  pool.pad_lo = spread(problem.pad_lo, d, Shape(d, 0));
  pool.pad_hi = spread(problem.pad_hi, d, pool.pad_lo);
  pool.output_size = spread(problem.output_size, d, {});
  for (size_t i = 0; i < std::min(d, pool.output_size.size()); ++i) {
    const auto axis = static_cast<size_t>(pool.axes[i]);
    if (pool.output_size[i] == NDPOOL_KEEP && axis < problem.shape.size()) {
      pool.output_size[i] = problem.shape[axis];
    }
  }
  pool.count_include_pad = problem.count_include_pad;
  pool.mean = problem.mean;
  pool.divisor = problem.divisor;
  pool.beta = problem.beta;
  pool.p = problem.p;
  return pool;
}

inline int32_t output_type(const Problem& problem) {
  return problem.out_type == NDPOOL_SAME_TYPE ? problem.type : problem.out_type;
}

// Whether the operation exists for these types: avg not for bool, smooth max and Lp for floats
// only; another type of result for averages only: a float, or, for integers, an integer as wide or
// wider.
inline bool types_exist(const Problem& problem) {
  const int32_t out = output_type(problem);
  if (problem.op == NDPOOL_AVG) {
    if (problem.type == NDPOOL_BOOL || out == NDPOOL_BOOL) return false;
    if (out == problem.type) return true;
    if (is_float(problem.type)) return is_float(out);
    return is_float(out) || ndpool_type_size(out) >= ndpool_type_size(problem.type);
  }
  if (out != problem.type) return false;
  return problem.op == NDPOOL_MAX || problem.op == NDPOOL_MIN || is_float(problem.type);
}

// The geometry of a problem, or why the definition refuses it.
struct Judgement {
  spec::Layout layout;
  std::string refusal;     // empty: accepted
  bool too_large = false;  // more than the wanted work; not looked at further
};

// Taps of all windows, or elements of the input, whichever is more. Windows are looked at even
// where an axis of 0 leaves no plane to pool.
inline double work_of(const spec::Layout& layout) {
  const double planes = std::max<double>(1, static_cast<double>(layout.planes.size()));
  const double taps = planes * static_cast<double>(spec::elements(layout.outputs)) *
                      static_cast<double>(spec::elements(layout.box));
  return std::max(taps, static_cast<double>(spec::elements(layout.input)));
}

// The spec looks at every tap of every window, so its opinion is asked only if that is soon done.
inline Judgement judge(const Problem& problem, const spec::Pool& pool, double most_work = 1e9) {
  Judgement judgement;
  if (!types_exist(problem)) {
    judgement.refusal = "types";
    return judgement;
  }
  try {
    judgement.layout = spec::make_layout(pool, problem.shape);
    judgement.too_large = work_of(judgement.layout) > most_work;
    if (judgement.too_large) return judgement;
    const bool integer_average = problem.op == NDPOOL_AVG && !is_float(output_type(problem));
    spec::empty_window(pool, judgement.layout, !integer_average);
  } catch (const spec::Error& error) {
    judgement.refusal = error.what();
  }
  return judgement;
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_BRIDGE_H_
