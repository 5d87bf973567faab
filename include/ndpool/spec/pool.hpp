// The words of the definition: what a pooling problem is made of, and when it is refused.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ndpool::spec {

enum class Op { max, min, avg, smooth_max, lp };
enum class Mode { windowed, adaptive, global };
enum class Rounding { floor, ceil, exact };
enum class Padding { given, same, same_lower };
enum class Ties { first, last, all, split };
enum class Empty { error, identity };

// Every refusal of the spec. Nothing has been computed when it is thrown.
struct Error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

using Shape = std::vector<int64_t>;

// A pooling problem without its data. window[i], stride[i], ... belong to axes[i]; axes may come in
// any order. An empty vector means the default: stride = window, dilation = 1, padding = 0.
// Fields that the mode or the operation has no use for are not read.
struct Pool {
  Op op = Op::max;
  Mode mode = Mode::windowed;
  std::vector<int> axes = {};
  std::vector<int64_t> window = {}, stride = {}, dilation = {};  // windowed
  std::vector<int64_t> pad_lo = {}, pad_hi = {};                 // windowed, Padding::given
  std::vector<int64_t> output_size = {};                         // adaptive
  Rounding rounding = Rounding::floor;
  Padding padding = Padding::given;
  Ties ties = Ties::first;
  Empty empty = Empty::error;
  bool count_include_pad = true;                  // avg, smooth_max
  bool mean = false;                              // smooth_max
  std::optional<int64_t> divisor = std::nullopt;  // avg
  double beta = 1;                                // smooth_max
  double p = 2;                                   // lp
};

// A row-major array that owns its elements.
template <class T>
struct Array {
  Shape shape;
  std::vector<T> data;
};

// 128 bits: wide enough for any product of two sizes and for any sum of 64-bit integers.
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

// Types that have exp, log and pow: approximations of real numbers. Integers and rationals are not.
template <class T>
inline constexpr bool kReal =
    std::numeric_limits<T>::is_specialized && !std::numeric_limits<T>::is_exact;

template <class T>
bool is_nan(const T& x) {
  return x != x;
}

template <class T>
bool is_infinite(const T& x) {
  if constexpr (std::numeric_limits<T>::has_infinity) {
    return x == std::numeric_limits<T>::infinity() || x == -std::numeric_limits<T>::infinity();
  } else {
    return false;
  }
}

// "3x4x5", for messages.
inline std::string text(const Shape& numbers) {
  std::string result;
  for (const int64_t number : numbers) {
    if (!result.empty()) result += 'x';
    result += std::to_string(number);
  }
  return result;
}

// The number of elements of a shape. Refuses negative sizes, and shapes whose non-zero sizes
// multiply to more than 64 bits hold, even where a zero makes the array empty.
inline int64_t elements(const Shape& shape) {
  Wide product = 1;
  bool any_zero = false;
  for (const int64_t size : shape) {
    if (size < 0) throw Error("shape " + text(shape) + " has a negative size");
    if (size == 0) {
      any_zero = true;
    } else {
      product *= size;
    }
    if (product > std::numeric_limits<int64_t>::max()) {
      throw Error("shape " + text(shape) + " has more elements than 64 bits can count");
    }
  }
  return any_zero ? 0 : static_cast<int64_t>(product);
}

// An array of one value everywhere.
template <class T>
Array<T> filled(const Shape& shape, const T& value) {
  return {shape, std::vector<T>(static_cast<size_t>(elements(shape)), value)};
}

// Element i, with the signed numbers that all positions are counted in.
template <class T>
decltype(auto) at(Array<T>& array, int64_t i) {
  return array.data[static_cast<size_t>(i)];
}
template <class T>
decltype(auto) at(const Array<T>& array, int64_t i) {
  return array.data[static_cast<size_t>(i)];
}

// Refuses an array that does not have the wanted shape, or not as many elements as it says.
template <class T>
void check_array(const char* name, const Array<T>& array, const Shape& wanted) {
  if (array.shape != wanted) {
    throw Error(std::string(name) + " has shape " + text(array.shape) + ", but needs " +
                text(wanted));
  }
  if (static_cast<int64_t>(array.data.size()) != elements(wanted)) {
    throw Error(std::string(name) + " of shape " + text(wanted) + " holds " +
                std::to_string(array.data.size()) + " elements");
  }
}

// Moves to the next position inside the limits, in row-major order: the last number moves fastest.
// False when all positions have been visited; the position is then all zeros again.
inline bool next_position(Shape& position, const Shape& limits) {
  for (size_t i = position.size(); i-- > 0;) {
    if (++position[i] < limits[i]) return true;
    position[i] = 0;
  }
  return false;
}

// Refuses numbers that the operation cannot mean anything by.
inline void check_operation(const Pool& pool) {
  if (pool.op == Op::avg && pool.divisor == 0) throw Error("divisor is 0");
  if (pool.op == Op::smooth_max && (!std::isfinite(pool.beta) || pool.beta == 0)) {
    throw Error("beta is " + std::to_string(pool.beta) + ", but must be finite and not 0");
  }
  if (pool.op == Op::lp && !(pool.p > 0)) {
    throw Error("p is " + std::to_string(pool.p) + ", but must be greater than 0");
  }
}

}  // namespace ndpool::spec
