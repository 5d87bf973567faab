// The closed forms of ndpool/axis.hpp against counting: every small axis, and numbers too large to
// count.
#include "ndpool/axis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "line.h"
#include "ndpool/spec.hpp"

namespace ndpool {
namespace {

using geometry::Fault;

struct Numbers {
  int64_t n, k, s, d, lo, hi;
  int rounding = 0, padding = 0;
  std::string text() const {
    return "n=" + std::to_string(n) + " k=" + std::to_string(k) + " s=" + std::to_string(s) +
           " d=" + std::to_string(d) + " lo=" + std::to_string(lo) + " hi=" + std::to_string(hi) +
           " rounding=" + std::to_string(rounding) + " padding=" + std::to_string(padding);
  }
};

// Compares windows, covers, sources_of and has_empty_window with the taps looked at one by one.
void compare_windows(const Axis& axis, const std::string& text) {
  std::vector<std::vector<int64_t>> covers(static_cast<size_t>(axis.cells));
  int64_t first_empty = axis.outputs;
  for (int64_t o = 0; o < axis.outputs; ++o) {
    int64_t cells = 0, counted = 0, first = 0, lead = 0;
    for (int64_t t = 0; t < axis.window; ++t) {
      const int64_t at = o * axis.stride - axis.pad_lo + t * axis.dilation;
      if (at < axis.cells + axis.pad_hi) ++counted;
      if (at < 0 || at >= axis.cells) continue;
      if (cells++ == 0) first = at, lead = t;
      covers[static_cast<size_t>(at)].push_back(o);
    }
    const auto w = axis.window_of(o);
    ASSERT_EQ(w.cells, cells) << text << " output " << o;
    ASSERT_EQ(w.counted, counted) << text << " output " << o;
    if (cells > 0) {
      ASSERT_EQ(w.first, first) << text << " output " << o;
      ASSERT_EQ(w.lead, lead) << text << " output " << o;
    } else {
      first_empty = std::min(first_empty, o);
    }
  }
  int64_t empty = -1;
  ASSERT_EQ(axis.has_empty_window(&empty), first_empty < axis.outputs) << text;
  if (first_empty < axis.outputs) {
    ASSERT_EQ(empty, first_empty) << text;
  }
  for (int64_t cell = 0; cell < axis.cells; ++cell) {
    const auto& want = covers[static_cast<size_t>(cell)];
    const auto cover = axis.cover_of(cell);
    ASSERT_EQ(cover.count, static_cast<int64_t>(want.size())) << text << " cell " << cell;
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(cover.first + static_cast<int64_t>(i) * cover.step, want[i])
          << text << " cell " << cell;
    }
  }
}

void compare_with_count(const Numbers& p) {
  const auto made = geometry::make_windowed(p.n, p.k, p.s, p.d, p.lo, p.hi,
                                            static_cast<geometry::Rounding>(p.rounding),
                                            static_cast<geometry::Padding>(p.padding));
  bool refused = false;
  spec::AxisCount count{};
  try {
    count =
        spec::count_axis(p.n, p.k, p.s, p.d, p.lo, p.hi, static_cast<spec::Rounding>(p.rounding),
                         static_cast<spec::Padding>(p.padding));
  } catch (const spec::Error&) {
    refused = true;
  }
  ASSERT_EQ(made.fault != Fault::none, refused) << p.text();
  if (refused) return;
  ASSERT_EQ(made.axis.outputs, count.outputs) << p.text();
  ASSERT_EQ(made.axis.dropped(), count.dropped) << p.text();
  ASSERT_EQ(made.axis.pad_lo, count.pad_lo) << p.text();
  ASSERT_EQ(made.axis.pad_hi, count.pad_hi) << p.text();
  compare_windows(made.axis, p.text());
}

TEST(Axis, AgreesWithCountingOnEverySmallWindowedAxis) {
  int64_t compared = 0;
  for (int64_t n = 1; n <= 12; ++n)
    for (int64_t k = 1; k <= 5; ++k)
      for (int64_t s = 1; s <= 4; ++s)
        for (int64_t d = 1; d <= 3; ++d)
          for (int64_t lo = 0; lo <= 4; ++lo)
            for (int64_t hi = 0; hi <= 4; ++hi)
              for (int rounding = 0; rounding < 3; ++rounding, ++compared) {
                ASSERT_NO_FATAL_FAILURE(compare_with_count({n, k, s, d, lo, hi, rounding}));
              }
  EXPECT_EQ(compared, 12 * 5 * 4 * 3 * 5 * 5 * 3);
}

// Windows that step over all cells: the first of them is found without looking at each.
TEST(Axis, AgreesWithCountingWhereDilationIsLargerThanTheAxis) {
  for (int64_t n = 1; n <= 3; ++n)
    for (int64_t k = 4; k <= 12; k += 4)
      for (int64_t s = 1; s <= 23; ++s)
        for (int64_t d = n + 1; d <= 22; ++d)
          for (int64_t lo = 0; lo <= 60; lo += 7) {
            ASSERT_NO_FATAL_FAILURE(compare_with_count({n, k, s, d, lo, 3 * d}));
          }
}

TEST(Axis, FindsTheFirstWindowThatStepsOverAHugeAxis) {
  const int64_t big = int64_t{1} << 49;
  // Places before the data are taken modulo the dilation: 2o comes past 2^31 - 1.
  const auto axis = geometry::make_windowed<int64_t>(2147483647, 29, 2, big, 16 * big, 16 * big,
                                                     geometry::Rounding::ceil)
                        .axis;
  int64_t output = 0;
  ASSERT_TRUE(axis.has_empty_window(&output));
  EXPECT_EQ(output, 1073741824);
  EXPECT_EQ(axis.window_of(output).cells, 0);
  EXPECT_GT(axis.window_of(output - 1).cells, 0);
}

TEST(Axis, AgreesWithCountingOnSamePadding) {
  for (int64_t n = 1; n <= 40; ++n)
    for (int64_t k = 1; k <= 7; ++k)
      for (int64_t s = 1; s <= 6; ++s)
        for (int64_t d = 1; d <= 3; ++d)
          for (int padding = 1; padding <= 2; ++padding)
            for (int rounding = 0; rounding < 3; ++rounding) {
              ASSERT_NO_FATAL_FAILURE(compare_with_count({n, k, s, d, 0, 0, rounding, padding}));
            }
}

TEST(Axis, AgreesWithCountingWherePaddingAndDilationAreLargerThanTheData) {
  for (int64_t n = 1; n <= 4; ++n)
    for (int64_t k = 1; k <= 4; ++k)
      for (int64_t s = 1; s <= 7; ++s)
        for (int64_t d = 1; d <= 9; ++d)
          for (int64_t lo = 0; lo <= 20; lo += 5)
            for (int64_t hi = 0; hi <= 20; hi += 5)
              for (int rounding = 0; rounding < 3; ++rounding) {
                ASSERT_NO_FATAL_FAILURE(compare_with_count({n, k, s, d, lo, hi, rounding}));
              }
}

TEST(Axis, AdaptiveWindowsFollowTheirFormula) {
  for (int64_t n = 1; n <= 40; ++n) {
    for (int64_t outputs = 1; outputs <= 40; ++outputs) {
      const auto made = geometry::make_adaptive(n, outputs);
      ASSERT_EQ(made.fault, Fault::none);
      const std::string text = "n=" + std::to_string(n) + " outputs=" + std::to_string(outputs);
      int64_t largest = 0;
      std::vector<std::vector<int64_t>> covers(static_cast<size_t>(n));
      for (int64_t o = 0; o < outputs; ++o) {
        const int64_t begin = o * n / outputs, end = ((o + 1) * n + outputs - 1) / outputs;
        const auto w = made.axis.window_of(o);
        ASSERT_EQ(w.first, begin) << text;
        ASSERT_EQ(w.cells, end - begin) << text;
        ASSERT_EQ(w.counted, end - begin) << text;
        largest = std::max(largest, end - begin);
        for (int64_t c = begin; c < end; ++c) covers[static_cast<size_t>(c)].push_back(o);
      }
      ASSERT_EQ(made.axis.window, largest) << text;
      for (int64_t c = 0; c < n; ++c) {
        const auto cover = made.axis.cover_of(c);
        ASSERT_EQ(cover.first, covers[static_cast<size_t>(c)].front()) << text << " cell " << c;
        ASSERT_EQ(cover.count, static_cast<int64_t>(covers[static_cast<size_t>(c)].size())) << text;
      }
    }
  }
}

TEST(Axis, MulDivIsExactWhereTheProductDoesNotFit) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  __extension__ typedef __int128 Wide;
  for (int64_t a : {int64_t{1}, int64_t{7}, big / 3, big / 2, big}) {
    for (int64_t b : {int64_t{1}, int64_t{9}, big / 5, big - 1, big}) {
      for (int64_t c : {std::max(a, b), std::max(a, b) - std::max(a, b) / 3}) {
        const Wide product = static_cast<Wide>(a) * b;
        if (product / c > big) continue;
        const auto q = geometry::mul_div(a, b, c);
        EXPECT_EQ(q.quotient, static_cast<int64_t>(product / c)) << a << " * " << b << " / " << c;
        EXPECT_EQ(q.remainder, static_cast<int64_t>(product % c)) << a << " * " << b << " / " << c;
      }
    }
  }
}

TEST(Axis, NumbersBeyondRangeAreRefusedAndNeverWrap) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  const auto fault = [](int64_t n, int64_t k, int64_t s, int64_t d, int64_t lo, int64_t hi) {
    return geometry::make_windowed(n, k, s, d, lo, hi).fault;
  };
  EXPECT_EQ(fault(10, 2147483697, 2147483697, 2147483697, 0, 0), Fault::overflow);
  EXPECT_EQ(fault(10, big, big, 1, 0, 0), Fault::overflow);
  EXPECT_EQ(fault(10, 8608480567731124087, 1, 1250999896764, 1250999896764, 1250999896764),
            Fault::overflow);
  EXPECT_EQ(fault(10, 536870912, 1, 1879048192, 0, 0), Fault::no_output);
  EXPECT_EQ(fault(10, 1, 1, 1, big, 0), Fault::overflow);
  EXPECT_EQ(fault(10, 1, 1, 1, big / 2, big / 2), Fault::overflow);
}

TEST(Axis, WorksInThirtyTwoBitsForSmallTargets) {
  constexpr auto made = geometry::make_windowed<int32_t>(112, 3, 2, 1, 1, 1);
  static_assert(made.fault == Fault::none);
  static_assert(made.axis.outputs == 56);
  static_assert(made.axis.window_of(0).cells == 2);
  EXPECT_EQ((geometry::make_windowed<int32_t>(10, 1 << 30, 1, 4, 0, 0).fault), Fault::overflow);
}

TEST(Line, SourcesOfHoldAllThatOutputsTake) {
  for (int64_t n : {3, 8, 11})
    for (int64_t k : {1, 3, 4})
      for (int64_t s : {1, 2, 3})
        for (int64_t d : {1, 2, 5})
          for (int64_t lo : {0, 1, 6}) {
            const auto made = geometry::make_windowed<int64_t>(n, k, s, d, lo, lo);
            if (made.fault != Fault::none) continue;
            for (bool transposed : {false, true}) {
              const Line line(made.axis, transposed);
              for (int64_t a = 0; a < line.outputs(); ++a) {
                for (int64_t b = a + 1; b <= line.outputs(); ++b) {
                  const Range range = line.sources_of({a, b});
                  for (int64_t o = a; o < b; ++o) {
                    const Span span = line.span(o);
                    if (span.count == 0) continue;
                    ASSERT_LE(range.begin, span.first);
                    ASSERT_GE(range.end, span.last() + 1);
                    ASSERT_LE(span.lead + span.count, line.taps());
                  }
                }
              }
            }
          }
}

}  // namespace
}  // namespace ndpool
