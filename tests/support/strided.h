// Arrays in memory as a caller may hand them over: any order of the axes, strides that are
// negative, zero or leave gaps, data at any address; with bytes around and between that must not
// change.
#ifndef NDPOOL_TESTS_SUPPORT_STRIDED_H_
#define NDPOOL_TESTS_SUPPORT_STRIDED_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "ndpool/ndpool.h"
#include "ndpool/spec.hpp"
#include "tests/support/half.h"
#include "tests/support/rng.h"

namespace ndpool::test {

using spec::Array;
using Shape = std::vector<int64_t>;

// How the elements of an array lie in memory. Vectors have one entry for each axis.
struct MemoryLayout {
  std::vector<int> order;      // outermost first
  std::vector<int64_t> gap;    // bytes left out between neighbours along the axis
  std::vector<bool> reversed;  // stride below zero
  std::vector<bool> zero;      // stride zero: all elements along the axis are one
  int64_t shift = 0;           // of the first byte, from an aligned address

  // Row-major without gaps.
  explicit MemoryLayout(size_t rank) : order(rank), gap(rank), reversed(rank), zero(rank) {
    std::iota(order.begin(), order.end(), 0);
  }
};

// A layout with any of these features, most of the time only a few of them. Where `order` is not
// empty it is kept.
inline MemoryLayout random_layout(Rng* rng, size_t rank, const std::vector<int>& order) {
  MemoryLayout layout(rank);
  if (!order.empty()) {
    layout.order = order;
  } else if (rng->percent(40)) {
    rng->shuffle(&layout.order);
  }
  const bool gaps = rng->percent(25);
  const bool reversals = rng->percent(25);
  for (size_t i = 0; i < rank; ++i) {
    if (gaps) layout.gap[i] = rng->pick<int64_t>({0, 0, 8, 16, 3});
    if (reversals) layout.reversed[i] = rng->percent(50);
  }
  if (rng->percent(25)) layout.shift = rng->below(16);
  return layout;
}

// Calls visit(linear row-major number, offset in bytes) for each element.
template <class Visit>
void for_each_element(const Shape& shape, const Shape& strides, Visit visit) {
  const int64_t count = spec::elements(shape);
  Shape position(shape.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(i, offset);
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++position[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      position[axis] = 0;
    }
  }
}

// Owns the memory of one array. Elements are handed in and out row-major as T, which is float for
// f16 and bf16, uint8_t for bool, and the type itself for all others.
class Strided {
 public:
  Strided(int32_t type, const Shape& shape, const MemoryLayout& layout)
      : type_(type), shape_(shape), strides_(shape.size()) {
    int64_t step = static_cast<int64_t>(ndpool_type_size(type));
    int64_t first = kMargin + layout.shift;
    for (size_t i = shape.size(); i-- > 0;) {
      const size_t axis = static_cast<size_t>(layout.order[i]);
      if (layout.zero[axis]) continue;
      const int64_t stride = step + layout.gap[axis];
      const int64_t n = std::max<int64_t>(shape[axis], 1);
      strides_[axis] = layout.reversed[axis] ? -stride : stride;
      if (layout.reversed[axis]) first += stride * (n - 1);
      step = stride * n;
    }
    memory_.assign(static_cast<size_t>(kMargin + layout.shift + step + kMargin), kPattern);
    first_ = first;
  }

  template <class T>
  void set(const Array<T>& values) {
    for_each_element(shape_, strides_, [&](int64_t i, int64_t offset) {
      store(values.data[static_cast<size_t>(i)], memory_.data() + first_ + offset);
    });
  }

  template <class T>
  Array<T> get() const {
    Array<T> values = spec::filled<T>(shape_, T());
    for_each_element(shape_, strides_, [&](int64_t i, int64_t offset) {
      values.data[static_cast<size_t>(i)] = load<T>(memory_.data() + first_ + offset);
    });
    return values;
  }

  // Whether no byte has changed since the array was made.
  bool untouched() const {
    return std::all_of(memory_.begin(), memory_.end(), [](uint8_t b) { return b == kPattern; });
  }

  // Whether no byte outside the elements has changed.
  bool surroundings_untouched() const {
    Strided copy = *this;
    const size_t size = ndpool_type_size(type_);
    for_each_element(shape_, strides_, [&](int64_t, int64_t offset) {
      std::memset(copy.memory_.data() + first_ + offset, kPattern, size);
    });
    return copy.untouched();
  }

  bool same_bytes(const Strided& other) const { return memory_ == other.memory_; }
  ndpool_array array() { return {memory_.data() + first_, strides_.data()}; }
  ndpool_const_array const_array() const { return {memory_.data() + first_, strides_.data()}; }
  const Shape& shape() const { return shape_; }

 private:
  static constexpr int64_t kMargin = 64;
  static constexpr uint8_t kPattern = 0xA5;

  template <class T>
  void store(T value, uint8_t* to) const {
    if constexpr (std::is_same_v<T, float>) {
      if (type_ == NDPOOL_F16 || type_ == NDPOOL_BF16) {
        const uint16_t bits = type_ == NDPOOL_F16 ? float_to_f16(value) : float_to_bf16(value);
        std::memcpy(to, &bits, sizeof bits);
        return;
      }
    }
    std::memcpy(to, &value, sizeof value);
  }

  template <class T>
  T load(const uint8_t* from) const {
    if constexpr (std::is_same_v<T, float>) {
      if (type_ == NDPOOL_F16 || type_ == NDPOOL_BF16) {
        uint16_t bits;
        std::memcpy(&bits, from, sizeof bits);
        return type_ == NDPOOL_F16 ? f16_to_float(bits) : bf16_to_float(bits);
      }
    }
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

  int32_t type_;
  Shape shape_, strides_;
  std::vector<uint8_t> memory_;
  int64_t first_;
};

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_STRIDED_H_
