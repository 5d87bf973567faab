// Random contents of arrays: ties, constants, wide ranges, NaN, infinities, zeros of both signs,
// subnormals and the ends of the integers.
#ifndef NDPOOL_TESTS_SUPPORT_DATA_H_
#define NDPOOL_TESTS_SUPPORT_DATA_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/support/rng.h"
#include "tests/support/strided.h"
#include "tests/support/ulp.h"

namespace ndpool::test {

struct DataRange {
  bool finite = false;         // no NaN, no infinity
  bool integers_only = false;  // small whole numbers: many ties, sums without rounding
  double largest = std::numeric_limits<double>::infinity();  // bound of finite magnitudes
};

// Draws numbers of one style. The style is chosen when it is made, so that an array is of a piece.
template <class T>
class FloatSource {
 public:
  FloatSource(Rng* rng, int32_t type, const DataRange& range)
      : rng_(rng),
        type_(type),
        style_(range.integers_only ? 0 : static_cast<int>(rng->below(7))),
        odd_percent_(rng->pick({0, 0, 5, 30})),
        finite_(range.finite),
        largest_(static_cast<T>(
            std::min<long double>(test::largest(type), static_cast<long double>(range.largest)))),
        constant_(ordinary(1)) {}

  T draw() {
    const T value = rng_->percent(odd_percent_) ? odd() : ordinary(style_);
    if (std::isfinite(value)) return rounded(std::clamp(value, -largest_, largest_));
    return value;
  }

 private:
  T ordinary(int style) {
    switch (style) {
      case 0:
        return static_cast<T>(rng_->between(-2, 2));
      case 2: {  // any magnitude
        const FloatFormat format = format_of(type_);
        const int64_t e = rng_->between(format.min_exponent - 3, format.max_exponent);
        return std::ldexp(static_cast<T>(rng_->unit() * 2 - 1), static_cast<int>(e));
      }
      case 3:
        return constant_;
      case 4:  // a step down with every draw, so that no window is monotone upwards by chance
        return static_cast<T>(100 - (count_ += 1) % 200) / 8;
      case 5:
        return rng_->percent(50) ? T(0) : T(-0.0);
      default:
        return static_cast<T>(rng_->unit() * 8 - 4);
    }
  }

  T odd() {
    const T tiny = static_cast<T>(ulp(type_, 0));
    const T infinity = finite_ ? largest_ : std::numeric_limits<T>::infinity();
    switch (rng_->below(8)) {
      case 0:
        return finite_ ? T(0) : std::numeric_limits<T>::quiet_NaN();
      case 1:
        return infinity;
      case 2:
        return -infinity;
      case 3:
        return T(0);
      case 4:
        return T(-0.0);
      case 5:
        return tiny * static_cast<T>(rng_->between(-3, 3));
      case 6:
        return -largest_;
      default:
        return largest_;
    }
  }

  T rounded(T value) const {
    if constexpr (std::is_same_v<T, float>) return round_to(type_, value);
    return value;
  }

  Rng* rng_;
  int32_t type_;
  int style_;
  int odd_percent_;
  bool finite_;
  T largest_;
  int64_t count_ = 0;
  T constant_;
};

// The same for integers; bool draws 0 and 1.
template <class T>
class IntegerSource {
 public:
  IntegerSource(Rng* rng, int32_t type, const DataRange& range)
      : rng_(rng),
        bool_(type == NDPOOL_BOOL),
        style_(range.integers_only ? 0 : static_cast<int>(rng->below(5))),
        constant_(rng->percent(50) ? any() : extreme()) {}

  T draw() {
    if (bool_) return style_ == 3 ? T(1) : static_cast<T>(rng_->below(2));
    switch (style_) {
      case 0:
        return static_cast<T>(rng_->between(std::is_signed_v<T> ? -2 : 0, 3));
      case 1:
        return extreme();
      case 2:
        return rng_->percent(20) ? extreme() : static_cast<T>(rng_->below(100));
      case 3:
        return constant_;
      default:
        return any();
    }
  }

 private:
  T any() { return static_cast<T>(rng_->next()); }
  T extreme() {
    constexpr T kLow = std::numeric_limits<T>::lowest();
    constexpr T kHigh = std::numeric_limits<T>::max();
    return rng_->pick<T>({kLow, kHigh, T(0), T(1), static_cast<T>(kLow + 1),
                          static_cast<T>(kHigh - 1), static_cast<T>(kHigh / 2)});
  }

  Rng* rng_;
  bool bool_;
  int style_;
  T constant_;
};

// Repeats the first element along one axis.
template <class T>
void make_constant_along(size_t axis, Array<T>* array) {
  const Shape steps = spec::steps(array->shape);
  for (size_t i = 0; i < array->data.size(); ++i) {
    const int64_t along = static_cast<int64_t>(i) / steps[axis] % array->shape[axis];
    array->data[i] = array->data[i - static_cast<size_t>(along * steps[axis])];
  }
}

// A random array. Now and then it is constant along an axis, as a broadcast array is.
template <class T>
Array<T> random_array(Rng* rng, int32_t type, const Shape& shape, const DataRange& range = {}) {
  using Source = std::conditional_t<std::is_floating_point_v<T>, FloatSource<T>, IntegerSource<T>>;
  Source source(rng, type, range);
  Array<T> array = spec::filled<T>(shape, T());
  for (T& value : array.data) value = source.draw();
  if (rng->percent(10) && !array.data.empty()) {
    make_constant_along(static_cast<size_t>(rng->below(static_cast<int64_t>(shape.size()))),
                        &array);
  }
  return array;
}

// Whether all elements along an axis are the same, bit for bit.
template <class T>
bool constant_along(size_t axis, const Array<T>& array) {
  const Shape steps = spec::steps(array.shape);
  for (size_t i = 0; i < array.data.size(); ++i) {
    const int64_t along = static_cast<int64_t>(i) / steps[axis] % array.shape[axis];
    const T& first = array.data[i - static_cast<size_t>(along * steps[axis])];
    if (std::memcmp(&first, &array.data[i], sizeof(T)) != 0) return false;
  }
  return true;
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_DATA_H_
