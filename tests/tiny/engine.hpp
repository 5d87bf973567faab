// The same problems, solved by the desktop engine.
#ifndef NDPOOL_TESTS_TINY_ENGINE_HPP_
#define NDPOOL_TESTS_TINY_ENGINE_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "ndpool/ndpool.hpp"
#include "tests/tiny/solution.hpp"

namespace ndpool::tiny_test {

inline ndpool::Op engine_op(tiny::Op op) {
  return op == tiny::Op::max   ? ndpool::Op::max
         : op == tiny::Op::min ? ndpool::Op::min
                               : ndpool::Op::avg;
}

inline Pool engine_pool(const Problem& p) {
  Pool pool;
  pool.op = engine_op(p.op);
  pool.shape = {p.batch};
  if (!p.channels_last) pool.shape.push_back(p.channels);
  for (int a = 0; a < p.rank; ++a) {
    pool.axes.push_back(static_cast<std::int64_t>(pool.shape.size()));
    pool.shape.push_back(p.cells[a]);
    if (p.global) continue;
    pool.window.push_back(p.kernel[a]);
    pool.stride.push_back(p.stride[a] < 0 ? p.kernel[a] : p.stride[a]);
    pool.dilation.push_back(p.dilation[a]);
    if (p.padding != geometry::Padding::given) continue;
    pool.padding.push_back(p.pad_lo[a]);
    pool.padding_hi.push_back(p.pad_hi[a]);
  }
  if (p.channels_last) pool.shape.push_back(p.channels);
  if (p.global) pool.mode = Mode::global;
  pool.rounding = p.rounding == tiny::Rounding::floor  ? Rounding::floor
                  : p.rounding == tiny::Rounding::ceil ? Rounding::ceil
                                                       : Rounding::exact;
  pool.padding_mode = p.padding == geometry::Padding::given  ? Padding::given
                      : p.padding == geometry::Padding::same ? Padding::same
                                                             : Padding::same_lower;
  if (p.op == tiny::Op::avg) {
    pool.count_include_pad = p.count_include_pad;
    if (p.divisor != 0) pool.divisor = p.divisor;
  } else if (p.ties == tiny::Ties::last) {
    pool.ties = Ties::last;
  }
  return pool;
}

template <class T>
void solve_by_engine(std::uint32_t number, const Problem& p, Solution<T>* s) {
  const auto plan = Plan::make<T>(engine_pool(p));
  s->refused = !plan.has_value();
  s->outputs = s->cells = s->mask_bytes = 0;
  if (s->refused) return;
  s->cells = static_cast<std::int32_t>(plan->input_count());
  s->outputs = static_cast<std::int32_t>(plan->output_count());
  const auto cells = static_cast<std::size_t>(s->cells);
  const auto outputs = static_cast<std::size_t>(s->outputs);
  fill(number, s->x, s->cells);
  Compact argmax = plan->make_argmax();
  const std::span<const T> x(s->x, cells);
  const std::span<T> y(s->y, outputs);
  if (p.op == tiny::Op::avg) {
    plan->forward(x, y);
  } else {
    plan->forward(x, y, argmax);
    s->mask_bytes = static_cast<std::int32_t>(argmax.bytes().size());
    std::transform(argmax.bytes().begin(), argmax.bytes().end(), s->mask,
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  }
  if constexpr (std::is_same_v<T, float>) {
    fill(number + 1, s->gy, s->outputs);
    const std::span<const float> gy(s->gy, outputs);
    const std::span<float> gx(s->gx, cells);
    if (p.op == tiny::Op::avg) {
      plan->vjp(none, gy, gx);
    } else {
      plan->vjp_argmax(argmax, gy, gx);
    }
  }
}

// For messages: what the problem is.
inline std::string describe(const Problem& p) {
  std::ostringstream out;
  const char* ops[] = {"max", "min", "avg"};
  const char* types[] = {"f32", "i8", "u8", "i16"};
  out << ops[static_cast<int>(p.op)] << ' ' << types[static_cast<int>(p.type)] << " batch "
      << p.batch << " channels " << p.channels << (p.channels_last ? " last" : " first");
  if (p.global) out << " global";
  for (int a = 0; a < p.rank; ++a) {
    out << " [n " << p.cells[a] << " k " << p.kernel[a] << " s " << p.stride[a] << " d "
        << p.dilation[a] << " p " << p.pad_lo[a] << ',' << p.pad_hi[a] << ']';
  }
  out << " rounding " << static_cast<int>(p.rounding) << " padding " << static_cast<int>(p.padding)
      << " ties " << static_cast<int>(p.ties) << " divisor " << p.divisor << " pads "
      << p.count_include_pad;
  return out.str();
}

}  // namespace ndpool::tiny_test

#endif  // NDPOOL_TESTS_TINY_ENGINE_HPP_
