// The solution of one problem, and the line of text that stands for it: hashes of the output, the
// mask and the gradient. A target and the desktop engine must print the same lines.
#ifndef NDPOOL_TESTS_TINY_SOLUTION_HPP_
#define NDPOOL_TESTS_TINY_SOLUTION_HPP_

#include <stdint.h>

#include "tests/tiny/problem.hpp"

namespace ndpool::tiny_test {

template <class T>
struct Solution {
  bool refused = false;
  int32_t outputs = 0, cells = 0, mask_bytes = 0;
  T x[kMostElements], y[kMostElements];
  uint8_t mask[4 * kMostElements];
  float gy[kMostElements], gx[kMostElements];  // of float problems
};

// Memory for whichever type a problem has.
struct Solutions {
  Solution<float> f32;
  Solution<int8_t> i8;
  Solution<uint8_t> u8;
  Solution<int16_t> i16;

  Solution<float>& of(float) { return f32; }
  Solution<int8_t>& of(int8_t) { return i8; }
  Solution<uint8_t>& of(uint8_t) { return u8; }
  Solution<int16_t>& of(int16_t) { return i16; }
};

template <tiny::Op op, class T, int Rank>
void solve(uint32_t number, const tiny::Layer<op, T, Rank>& layer, Solution<T>* s) {
  s->refused = !layer.ok();
  s->cells = static_cast<int32_t>(layer.input_size());
  s->outputs = static_cast<int32_t>(layer.output_size());
  s->mask_bytes = static_cast<int32_t>(layer.mask_bytes());
  if (s->refused) return;
  fill(number, s->x, s->cells);
  tiny::Error error = tiny::Error::none;
  if constexpr (op == tiny::Op::avg) {
    error = layer.forward(s->x, s->y);
  } else {
    error = layer.forward(s->x, s->y, tiny::span(s->mask, layer.mask_bytes()));
  }
  if constexpr (tiny::detail::Number<T>::kIsFloat) {
    fill(number + 1, s->gy, s->outputs);
    if constexpr (op == tiny::Op::avg) {
      if (error == tiny::Error::none) error = layer.backward(s->gy, s->gx);
    } else {
      if (error == tiny::Error::none) {
        error = layer.backward(s->gy, tiny::span(s->mask, layer.mask_bytes()), s->gx);
      }
    }
  }
  s->refused = error != tiny::Error::none;
}

// FNV-1a of words. Neither the sign of a zero nor what a NaN carries is promised.
class Hash {
 public:
  void add(uint32_t word) { state_ = (state_ ^ word) * 16777619u; }
  void add(int8_t value) { add(static_cast<uint32_t>(value)); }
  void add(uint8_t value) { add(static_cast<uint32_t>(value)); }
  void add(int16_t value) { add(static_cast<uint32_t>(value)); }
  void add(float value) {
    uint32_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof bits);
    add(value != value ? 0x7fc00000u : value == 0 ? 0u : bits);
  }
  template <class T>
  static uint32_t of(const T* values, int32_t count) {
    Hash hash;
    for (int32_t i = 0; i < count; ++i) hash.add(values[i]);
    return hash.state_;
  }

 private:
  uint32_t state_ = 2166136261u;
};

// Writes "NUMBER refused" or "NUMBER y mask gx" by put(character).
template <class T, class Put>
void write_line(uint32_t number, bool differentiated, const Solution<T>& s, const Put& put) {
  const auto write_hex = [&](uint32_t value) {
    for (int shift = 28; shift >= 0; shift -= 4) put("0123456789abcdef"[value >> shift & 15]);
  };
  write_hex(number);
  if (s.refused) {
    for (const char* at = " refused"; *at != 0; ++at) put(*at);
  } else {
    put(' ');
    write_hex(Hash::of(s.y, s.outputs));
    put(' ');
    write_hex(Hash::of(s.mask, s.mask_bytes));
    put(' ');
    write_hex(differentiated ? Hash::of(s.gx, s.cells) : 0);
  }
  put('\n');
}

}  // namespace ndpool::tiny_test

#endif  // NDPOOL_TESTS_TINY_SOLUTION_HPP_
