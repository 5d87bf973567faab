// Comparing what the engine gave with what the definition says; the first difference is thrown.
#ifndef NDPOOL_TESTS_SUPPORT_COMPARE_H_
#define NDPOOL_TESTS_SUPPORT_COMPARE_H_

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>

#include "tests/support/engine.h"
#include "tests/support/strided.h"
#include "tests/support/ulp.h"

namespace ndpool::test {

using Real = long double;
inline constexpr Real kAnything = std::numeric_limits<Real>::infinity();

// The position of element i of an array, as text.
inline std::string position_text(const Shape& shape, size_t i) {
  const Shape steps = spec::steps(shape);
  std::string text = "[";
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(static_cast<int64_t>(i) / steps[axis] % shape[axis]);
  }
  return text + "]";
}

template <class T, class Wanted>
[[noreturn]] void throw_difference(const std::string& name, const Shape& shape, size_t i, T engine,
                                   Wanted wanted, const std::string& more = "") {
  std::ostringstream text;
  text << name << position_text(shape, i) << ": engine " << std::setprecision(21) << +engine
       << ", spec " << +wanted << more;
  throw Mismatch(text.str());
}

// Equal as numbers, or both NaN: the sign of a zero and the payload of a NaN are no part of it.
template <class T>
bool same_value(const T& a, const T& b) {
  return a == b || (a != a && b != b);
}

template <class T>
void expect_same(const std::string& name, const Array<T>& engine, const Array<T>& wanted) {
  if (engine.shape != wanted.shape) throw Mismatch(name + " has another shape");
  for (size_t i = 0; i < wanted.data.size(); ++i) {
    if (!same_value(engine.data[i], wanted.data[i])) {
      throw_difference(name, wanted.shape, i, engine.data[i], wanted.data[i]);
    }
  }
}

// Whether a value of the type is within the tolerance of the exact one. Infinite where the exact
// one may round to infinity is fine; NaN and exact infinities must be met, unless anything goes.
inline bool is_close(int32_t type, Real value, Real exact, Real tolerance) {
  if (!(tolerance < kAnything)) return true;
  if (std::isnan(exact)) return std::isnan(value);
  if (std::isinf(exact)) return value == exact;
  if (std::isnan(value)) return false;
  if (!std::isinf(value)) return std::fabs(value - exact) <= tolerance;
  const Real farthest = value > 0 ? exact + tolerance : exact - tolerance;
  return overflows(type, farthest) && (farthest > 0) == (value > 0);
}

// The exact values may be of any real type; they are compared as long double.
template <class T, class Exact>
void expect_close(const std::string& name, int32_t type, const Array<T>& engine,
                  const Array<Exact>& exact, const Array<Real>& tolerance) {
  if (engine.shape != exact.shape) throw Mismatch(name + " has another shape");
  for (size_t i = 0; i < exact.data.size(); ++i) {
    const Real wanted = static_cast<Real>(exact.data[i]);
    const Real allowed = tolerance.data[i];
    if (!is_close(type, static_cast<Real>(engine.data[i]), wanted, allowed)) {
      std::ostringstream more;
      more << ", off by " << static_cast<Real>(engine.data[i]) - wanted << ", allowed " << allowed;
      throw_difference(name, exact.shape, i, engine.data[i], wanted, more.str());
    }
  }
}

// The same numbers in another type.
template <class To, class From>
Array<To> converted(const Array<From>& from) {
  Array<To> to{from.shape, {}};
  to.data.reserve(from.data.size());
  for (const From& value : from.data) to.data.push_back(static_cast<To>(value));
  return to;
}

// The values of a result of the type, each rounded once.
template <class T>
Array<T> rounded(int32_t type, Array<T> values) {
  if constexpr (std::is_same_v<T, float>) {
    for (T& value : values.data) value = round_to(type, value);
  }
  return values;
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_COMPARE_H_
