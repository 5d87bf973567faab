// What differs between the types of elements: comparing, adding, dividing.
#ifndef NDPOOL_TINY_NUMBER_HPP_
#define NDPOOL_TINY_NUMBER_HPP_

#include <stdint.h>

namespace ndpool::tiny {

enum class Op : uint8_t { max, min, avg };
enum class Ties : uint8_t { first, last, all, split };

namespace detail {

// Adds numbers by their places in a binary tree of taps: taps 2i and 2i+1 are added first, then
// pairs of pairs. That is the desktop engine's order, so float averages have the same bits there
// and here. Taps that are absent keep their places.
class TreeSum {
 public:
  explicit TreeSum(int32_t absent) : count_(static_cast<uint32_t>(absent)) {}

  void add(float value) {
    int level = 0;
    for (; count_ >> level & 1; ++level) {
      const uint32_t bit = uint32_t{1} << level;
      if (filled_ & bit) value = node_[level] + value, filled_ &= ~bit;
    }
    node_[level] = value;
    filled_ |= uint32_t{1} << level;
    ++count_;
  }

  float total() const {
    float sum = 0;
    bool any = false;
    for (int level = 0; filled_ >> level != 0; ++level) {
      if (!(filled_ >> level & 1)) continue;
      sum = any ? node_[level] + sum : node_[level];
      any = true;
    }
    return sum;
  }

 private:
  uint32_t count_, filled_ = 0;
  float node_[32];  // only levels in `filled_` are written and read
};

// In turn: integers, which add exactly in any order, and floats where there are no more than three.
template <class Wide>
class PlainSum {
 public:
  explicit constexpr PlainSum(int32_t) {}
  constexpr void add(Wide value) { sum_ += value; }
  constexpr Wide total() const { return sum_; }

 private:
  Wide sum_ = 0;
};

// sum / divisor to the nearest integer, halves away from zero, cut to low … high.
template <class Unsigned, class Wide>
constexpr int32_t rounded(Wide sum, int32_t divisor, int32_t low, int32_t high) {
  const bool negative = (sum < 0) != (divisor < 0);
  const Unsigned top =
      sum < 0 ? Unsigned{0} - static_cast<Unsigned>(sum) : static_cast<Unsigned>(sum);
  const uint32_t bottom =
      divisor < 0 ? uint32_t{0} - static_cast<uint32_t>(divisor) : static_cast<uint32_t>(divisor);
  const Unsigned size = (top + bottom / 2) / bottom;
  if (negative) {
    const Unsigned limit = low < 0 ? static_cast<Unsigned>(-static_cast<int64_t>(low)) : 0;
    return size >= limit ? low : -static_cast<int32_t>(size);
  }
  return size >= static_cast<Unsigned>(high) ? high : static_cast<int32_t>(size);
}

// `Wide` holds the sum of up to kTaps cells.
template <class T, int32_t kLow, int32_t kHigh, class Wide, int32_t kTaps>
struct Integer {
  using Sum = PlainSum<Wide>;
  using ShortSum = Sum;
  static constexpr bool kIsFloat = false;
  static constexpr T kLowest = static_cast<T>(kLow), kHighest = static_cast<T>(kHigh);
  static constexpr int32_t kMaxTaps = kTaps;

  static constexpr T divide(Wide sum, int32_t divisor) {
    if (sizeof(Wide) > 4 && sum != static_cast<int32_t>(sum)) {
      return static_cast<T>(rounded<uint64_t>(sum, divisor, kLow, kHigh));
    }
    return static_cast<T>(rounded<uint32_t>(static_cast<int32_t>(sum), divisor, kLow, kHigh));
  }
};

template <class T>
struct Number;
template <>
struct Number<int8_t> : Integer<int8_t, -128, 127, int32_t, 1 << 23> {};
template <>
struct Number<uint8_t> : Integer<uint8_t, 0, 255, int32_t, 1 << 23> {};
template <>
struct Number<int16_t> : Integer<int16_t, -32768, 32767, int64_t, INT32_MAX> {};
template <>
struct Number<float> {
  using Sum = TreeSum;
  using ShortSum = PlainSum<float>;
  static constexpr bool kIsFloat = true;
  static constexpr float kLowest = -__builtin_inff(), kHighest = __builtin_inff();
  static constexpr int32_t kMaxTaps = INT32_MAX;

  static constexpr float divide(float sum, int32_t divisor) {
    return sum / static_cast<float>(divisor);
  }
};

// Whether `next` takes the place of `best`, which comes earlier. NaN beats every number; of equals
// the earlier stays, or the later if `last`. Written so that most cells cost one comparison.
template <Op op, class T>
constexpr bool beats(T next, T best, bool last) {
  const T low = op == Op::max ? next : best, high = op == Op::max ? best : next;
  if (last ? low < high : low <= high) return false;
  if constexpr (Number<T>::kIsFloat) return best == best || (last && next != next);
  return true;
}

template <class T>
constexpr T clamped(T value, T low, T high) {
  return value < low ? low : high < value ? high : value;
}

}  // namespace detail
}  // namespace ndpool::tiny

#endif  // NDPOOL_TINY_NUMBER_HPP_
