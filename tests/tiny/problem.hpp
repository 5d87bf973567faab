// Random problems for ndpool/tiny.hpp, the same on every machine: freestanding, seeded by their
// number. Targets solve them with tiny's layers, the host with the desktop engine.
#ifndef NDPOOL_TESTS_TINY_PROBLEM_HPP_
#define NDPOOL_TESTS_TINY_PROBLEM_HPP_

#include <stdint.h>

#include "ndpool/tiny.hpp"

namespace ndpool::tiny_test {

// All types in two dimensions, f32 and i8 in one, f32 in three: the others would differ in nothing
// but the time that they take to compile.
enum class Type : uint8_t { f32, i8, u8, i16 };

// xorshift: small, and the same everywhere.
class Random {
 public:
  explicit constexpr Random(uint32_t seed) : state_(seed * 2654435761u + 88172645u) {
    if (state_ == 0) state_ = 1;
    for (int i = 0; i < 8; ++i) next();
  }
  constexpr uint32_t next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 17, state_ ^= state_ << 5;
    return state_;
  }
  constexpr int32_t from_to(int32_t low, int32_t high) {
    return low + static_cast<int32_t>((next() >> 8) % static_cast<uint32_t>(high - low + 1));
  }
  constexpr bool one_in(int32_t n) { return from_to(1, n) == 1; }

 private:
  uint32_t state_;
};

struct Problem {
  tiny::Op op = tiny::Op::max;
  Type type = Type::f32;
  int rank = 2;
  bool channels_last = false, global = false, count_include_pad = true;
  int32_t batch = 1, channels = 1;
  int32_t cells[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int32_t dilation[3] = {1, 1, 1}, pad_lo[3] = {0, 0, 0}, pad_hi[3] = {0, 0, 0};
  tiny::Rounding rounding = tiny::Rounding::floor;
  geometry::Padding padding = geometry::Padding::given;
  tiny::Ties ties = tiny::Ties::first;
  int32_t divisor = 0;  // 0: none
};

// The most elements that an array of these problems has.
constexpr int32_t kMostElements = 4096;

constexpr Problem random_problem(uint32_t number) {
  Random random(number);
  Problem p;
  p.op = static_cast<tiny::Op>(random.from_to(0, 2));
  p.type = static_cast<Type>(random.from_to(0, 3));
  p.rank = p.type == Type::f32 && random.one_in(3)  ? 3
           : p.type <= Type::i8 && random.one_in(2) ? 1
                                                    : 2;
  p.channels_last = random.one_in(2);
  p.global = random.one_in(8);
  p.count_include_pad = random.one_in(2);
  p.batch = random.one_in(4) ? 2 : 1;
  p.channels = random.one_in(40) ? 0 : random.from_to(1, 3);
  const int32_t most_cells = p.rank == 1 ? 40 : p.rank == 2 ? 12 : 6;
  const int32_t most_taps = p.rank == 1 ? 12 : 4;
  if (!p.global && random.one_in(5)) {
    p.padding = random.one_in(2) ? geometry::Padding::same : geometry::Padding::same_lower;
  }
  for (int a = 0; a < p.rank; ++a) {
    p.cells[a] = random.from_to(1, most_cells);
    if (p.global) continue;
    p.kernel[a] = random.from_to(1, most_taps);
    p.stride[a] = random.one_in(3) ? -1 : random.from_to(1, 4);
    p.dilation[a] = random.one_in(3) ? random.from_to(1, 3) : 1;
    if (p.padding != geometry::Padding::given) continue;
    p.pad_lo[a] = random.one_in(2) ? random.from_to(0, 4 - p.rank) : 0;
    p.pad_hi[a] = random.one_in(2) ? random.from_to(0, 4 - p.rank) : 0;
  }
  if (!p.global && random.one_in(2)) {
    p.rounding = random.one_in(4) ? tiny::Rounding::exact : tiny::Rounding::ceil;
  }
  p.ties = random.one_in(3) ? tiny::Ties::last : tiny::Ties::first;
  if (random.one_in(6)) p.divisor = random.one_in(3) ? -3 : random.from_to(1, 7);
  return p;
}

// Few values, so that there are ties; extremes, and for floats NaN, infinities and fractions.
template <class T>
void fill(uint32_t seed, T* values, int32_t count) {
  Random random(seed ^ 0x5bd1e995u);
  const int32_t spread = random.one_in(2) ? 3 : 100;
  const bool odd_ones = random.one_in(3);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t small = random.from_to(-spread, spread);
    values[i] = static_cast<T>(small);
    const int32_t kind = random.from_to(0, 15);
    if constexpr (tiny::detail::Number<T>::kIsFloat) {
      if (spread > 3) values[i] = values[i] / 7;
      if (odd_ones && kind == 0) values[i] = __builtin_nanf("");
    }
    if (odd_ones && kind == 1) values[i] = tiny::detail::Number<T>::kLowest;
    if (odd_ones && kind == 2) values[i] = tiny::detail::Number<T>::kHighest;
  }
}

// A value of the type of a layer's elements.
template <tiny::Op op, class T, int Rank>
T element_of(const tiny::Layer<op, T, Rank>&) {
  return T{};
}

// take(values[0], …, values[Rank-1])
template <int Rank, class Take>
auto spread(const int32_t* values, const Take& take) {
  static_assert(Rank <= 3);
  if constexpr (Rank == 1) return take(values[0]);
  if constexpr (Rank == 2) return take(values[0], values[1]);
  if constexpr (Rank == 3) return take(values[0], values[1], values[2]);
}

// Calls use(layer) with the layer that the problem describes.
template <tiny::Op op, class T, int Rank, class Use>
void with_layer_of_rank(const Problem& p, const Use& use) {
  int32_t kernel[Rank];
  for (int a = 0; a < Rank; ++a) kernel[a] = p.kernel[a];
  tiny::Layer<op, T, Rank> layer(kernel);
  layer = spread<Rank>(p.cells, [&](auto... n) { return layer.input(p.channels, n...); });
  if (p.global) {
    layer = layer.global();
  } else {
    layer = spread<Rank>(p.stride, [&](auto... n) { return layer.stride(n...); });
    layer = spread<Rank>(p.dilation, [&](auto... n) { return layer.dilation(n...); });
    layer = spread<Rank>(p.pad_lo, [&](auto... n) { return layer.padding_before(n...); });
    layer = spread<Rank>(p.pad_hi, [&](auto... n) { return layer.padding_after(n...); });
  }
  layer = layer.batch(p.batch).rounding(p.rounding);
  if (p.channels_last) layer = layer.channels_last();
  if (p.padding == geometry::Padding::same) layer = layer.same();
  if (p.padding == geometry::Padding::same_lower) layer = layer.same_lower();
  if constexpr (op == tiny::Op::avg) {
    layer = layer.count_include_pad(p.count_include_pad);
    if (p.divisor != 0) layer = layer.divisor(p.divisor);
  } else {
    layer = layer.ties(p.ties);
  }
  use(layer);
}

template <tiny::Op op, class Use>
void with_layer_of_op(const Problem& p, const Use& use) {
  if (p.rank == 3) return with_layer_of_rank<op, float, 3>(p, use);
  if (p.rank == 1 && p.type == Type::f32) return with_layer_of_rank<op, float, 1>(p, use);
  if (p.rank == 1) return with_layer_of_rank<op, int8_t, 1>(p, use);
  if (p.type == Type::f32) return with_layer_of_rank<op, float, 2>(p, use);
  if (p.type == Type::i8) return with_layer_of_rank<op, int8_t, 2>(p, use);
  if (p.type == Type::u8) return with_layer_of_rank<op, uint8_t, 2>(p, use);
  with_layer_of_rank<op, int16_t, 2>(p, use);
}

template <class Use>
void with_layer(const Problem& p, const Use& use) {
  if (p.op == tiny::Op::max) with_layer_of_op<tiny::Op::max>(p, use);
  if (p.op == tiny::Op::min) with_layer_of_op<tiny::Op::min>(p, use);
  if (p.op == tiny::Op::avg) with_layer_of_op<tiny::Op::avg>(p, use);
}

}  // namespace ndpool::tiny_test

#endif  // NDPOOL_TESTS_TINY_PROBLEM_HPP_
