// Max and min against the spec, bit for bit, with argmax, index, derivatives and unpool.
#ifndef NDPOOL_TESTS_SUPPORT_CHECK_EXTREME_H_
#define NDPOOL_TESTS_SUPPORT_CHECK_EXTREME_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tests/support/check.h"

namespace ndpool::test {

// The spec works on numbers; the identities of bool are False and True.
template <class T>
void clamp_bool(int32_t type, Array<T>* values) {
  if (type != NDPOOL_BOOL) return;
  for (T& value : values->data) value = std::min(value, T(1));
}

inline void expect_taps(const Array<uint64_t>& engine, const Array<int64_t>& wanted) {
  for (size_t i = 0; i < wanted.data.size(); ++i) {
    // A window without a cell has no tap to name.
    if (wanted.data[i] >= 0 && engine.data[i] != static_cast<uint64_t>(wanted.data[i])) {
      throw_difference("argmax", wanted.shape, i, engine.data[i], wanted.data[i]);
    }
  }
}

template <class T>
void check_unpool(Check* c, const Array<T>& y, Array<int64_t> index) {
  ndpool_unpool_desc desc;
  ndpool_unpool_desc_init(&desc);
  const Shape axes(c->pool.axes.begin(), c->pool.axes.end());
  const auto ints = [](const Shape& list) {
    return ndpool_ints{list.data(), static_cast<int64_t>(list.size())};
  };
  desc.type = c->type();
  desc.y_shape = ints(c->out());
  desc.output_shape = ints(c->in());
  desc.axes = ints(axes);

  int64_t cells = 1;
  for (const spec::Axis& axis : c->layout.axes) cells *= axis.n;
  if (c->rng.percent(30)) {  // any places, many of them named more than once
    for (int64_t& place : index.data) place = c->rng.below(cells);
  }
  if (c->rng.percent(5) && !index.data.empty()) {
    index.data[static_cast<size_t>(c->rng.below(static_cast<int64_t>(index.data.size())))] =
        c->rng.pick<int64_t>({cells, -1, INT64_MIN, INT64_MAX});
  }
  const auto outside = [cells](int64_t place) { return place < 0 || place >= cells; };
  if (std::any_of(index.data.begin(), index.data.end(), outside)) {
    c->engine.expect_unpool_refused(desc, y, index, c->in());
    return;
  }
  expect_same("unpool", c->engine.unpool(desc, y, index, c->in()),
              spec::unpool(y, index, c->in(), c->pool.axes));
  if constexpr (std::is_floating_point_v<T>) {
    const Array<T> g = random_array<T>(&c->rng, c->type(), c->in());
    expect_same("unpool vjp", c->engine.unpool_vjp(desc, g, index, c->out()),
                spec::unpool_vjp(g, index, c->out(), c->pool.axes));
  }
}

template <class T>
void check_extreme(Check* c) {
  const Array<T> x = random_array<T>(&c->rng, c->type(), c->in());
  spec::MaxMin<T> wanted = spec::max_min(c->pool, x);
  clamp_bool(c->type(), &wanted.y);
  const bool single = c->pool.ties == spec::Ties::first || c->pool.ties == spec::Ties::last;
  const bool want_argmax = single && c->rng.percent(70);
  const bool want_index = c->rng.percent(60);
  const Forward<T> got = c->engine.forward(x, c->out(), want_argmax, want_index);
  expect_same("y", got.y, wanted.y);
  if (want_index) expect_same("index", got.index, wanted.index);
  if (want_argmax) {
    expect_taps(got.argmax, c->pool.ties == spec::Ties::last ? wanted.last_tap : wanted.first_tap);
  }

  if constexpr (std::is_floating_point_v<T>) {
    const Array<T> dx = random_array<T>(&c->rng, c->type(), c->in());
    const bool want_y = c->rng.percent(50);
    const auto [dy, y] = c->engine.jvp(x, dx, c->out(), want_y);
    expect_same("dy", dy, rounded(c->type(), spec::jvp(c->pool, x, dx)));
    if (want_y) expect_same("y of jvp", y, wanted.y);

    const Array<T> g = random_array<T>(&c->rng, c->type(), c->out());
    const Array<T> gradient = rounded(c->type(), spec::vjp(c->pool, x, g));
    expect_same("dx", c->engine.vjp(&x, g, c->in()), gradient);
    if (want_argmax) {
      expect_same("dy from argmax", c->engine.jvp_argmax(got.argmax, dx, c->out()), dy);
      expect_same("dx from argmax", c->engine.vjp_argmax(got.argmax, g, c->in()), gradient);
    }
    if (c->rng.percent(2)) c->engine.template expect_no_derivatives<T>(c->in(), c->out(), true);
  } else if (c->rng.percent(5)) {
    c->engine.template expect_no_derivatives<T>(c->in(), c->out(), false);
  }
  if (c->rng.percent(30)) check_unpool(c, got.y, wanted.index);
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_CHECK_EXTREME_H_
