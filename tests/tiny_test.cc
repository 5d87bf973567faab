// ndpool/tiny.hpp by itself: its layers, sizes known when compiling, refusals, streams.
#include "ndpool/tiny.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace ndpool::tiny {
namespace {

// ---- What is known when compiling --------------------------------------------------------------

constexpr auto kPool = MaxPool2D(3, 3, 2, 2).padding(1).input(16, 32, 32);
static_assert(kPool.ok());
static_assert(kPool.input_size() == 16 * 32 * 32 && kPool.output_size() == 16 * 16 * 16);
static_assert(kPool.mask_bytes() == kPool.output_size(), "one byte an output");
static_assert(kPool.scratch_bytes() == 0);
static_assert(kPool.output_shape().rank == 3 && kPool.output_shape()[0] == 16 &&
              kPool.output_shape()[2] == 16);
static_assert(kPool.ring_rows() == 2 && kPool.ring_size() == 2 * 16 * 32);
static_assert(MaxPool1D(2).input(4, 10).output_shape()[1] == 5, "the stride is the kernel");
static_assert(MaxPool1D(2, 1).input(4, 10).output_shape()[1] == 9);
static_assert(MaxPool2D(2, 3).input(1, 8, 9).output_shape()[2] == 3);
static_assert(MaxPool2D(2, 2).channels_last().batch(3).input(5, 8, 8).output_shape()[3] == 5);
static_assert(MaxPool1D(3).input(1, 10).dropped() == 1 && MaxPool1D(2).input(1, 10).dropped() == 0);
static_assert(MaxPool1D(3).rounding(Rounding::ceil).input(1, 10).dropped() == 0);
static_assert(MaxPool2D(16, 16).input(1, 16, 16).mask_bytes() == 1);
static_assert(MaxPool2D(16, 17).input(1, 16, 17).mask_bytes() == 2, "272 taps");
static_assert(GlobalAvgPool().input(7, 4, 4).output_shape().rank == 3);
static_assert(GlobalAvgPool(false).input(7, 4, 4).output_shape().rank == 1);
static_assert(GlobalMaxPool<int8_t, 1>().input(7, 4).output_size() == 7);
static_assert(AvgPool2D(2, 2).input(1, 4, 4).mask_bytes() == 0);
static_assert(MaxPool<float, 3>({2, 2, 2}).input(2, 4, 4, 4).output_size() == 16);

// ---- Values ------------------------------------------------------------------------------------

TEST(Tiny, LayersPoolAsTheirNamesSay) {
  const float x[] = {1, 5, 2, 8, 3, 3};
  float y[3];
  EXPECT_EQ(MaxPool1D(2).input(1, 6).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{5, 8, 3}));
  EXPECT_EQ(MinPool1D(2).input(1, 6).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(AvgPool1D(2).input(1, 6).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{3, 5, 3}));
  EXPECT_EQ(MaxPool2D(2, 3).input(1, 2, 3).forward(x, y), Error::none);
  EXPECT_EQ(y[0], 8);
  EXPECT_EQ(MinPool2D(2, 1).input(1, 2, 3).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{1, 3, 2}));
  EXPECT_EQ(AvgPool2D(1, 3).input(1, 2, 3).forward(x, y), Error::none);
  EXPECT_EQ(y[1], 14.0f / 3);
  EXPECT_EQ(GlobalAvgPool().channels_last().input(3, 2, 1).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{4.5, 4, 2.5}));
  EXPECT_EQ(GlobalMaxPool(false).input(3, 2, 1).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{5, 8, 3}));
}

TEST(Tiny, TheMaskIsTheWinningTapAndBackwardSendsTheGradientThere) {
  // MyGrad's example: overlapping windows add.
  const float x[] = {0, 10, 8, 2, 7, 3, 5, 7, 20};
  float y[4], gx[9];
  uint8_t mask[4];
  constexpr auto pool = MaxPool2D(2, 2, 1, 1).input(1, 3, 3);
  ASSERT_EQ(pool.forward(x, y, mask), Error::none);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{10, 10, 7, 20}));
  EXPECT_EQ(std::vector<int>(mask, mask + 4), (std::vector<int>{1, 0, 1, 3}));
  const float gy[] = {1, 1, 1, 1};
  ASSERT_EQ(pool.backward(gy, mask, gx), Error::none);
  EXPECT_EQ(std::vector<float>(gx, gx + 9), (std::vector<float>{0, 2, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(Tiny, TiesNameTheFirstOrTheLastWinner) {
  const float x[] = {3, 3, 3, 1};
  float y[1];
  uint8_t mask[1];
  ASSERT_EQ(MaxPool1D(4).input(1, 4).forward(x, y, mask), Error::none);
  EXPECT_EQ(mask[0], 0);
  ASSERT_EQ(MaxPool1D(4).ties(Ties::last).input(1, 4).forward(x, y, mask), Error::none);
  EXPECT_EQ(mask[0], 2);
}

TEST(Tiny, WindowsOfMoreThan256TapsHaveMasksOfTwoBytes) {
  std::vector<float> x(300, 1.0f), gx(300), gy(1, 5.0f), y(1);
  x[299] = 2;
  const auto pool = MaxPool1D(300).input(1, 300);
  std::vector<uint8_t> mask(pool.mask_bytes());
  ASSERT_EQ(pool.forward(x, y, mask), Error::none);
  uint16_t tap = 0;
  ASSERT_EQ(mask.size(), sizeof tap);
  std::memcpy(&tap, mask.data(), sizeof tap);
  EXPECT_EQ(tap, 299);
  ASSERT_EQ(pool.backward(gy, mask, gx), Error::none);
  EXPECT_EQ(gx[299], 5);
}

TEST(Tiny, WindowsOfMoreThan65536TapsHaveMasksOfFourBytes) {
  std::vector<int8_t> x(70000, 1), y(1);
  x[69999] = 2;
  const auto pool = MaxPool1D<int8_t>(70000).input(1, 70000);
  std::vector<uint8_t> mask(pool.mask_bytes());
  ASSERT_EQ(pool.forward(x, y, mask), Error::none);
  uint32_t tap = 0;
  ASSERT_EQ(mask.size(), sizeof tap);
  std::memcpy(&tap, mask.data(), sizeof tap);
  EXPECT_EQ(tap, 69999u);
}

TEST(Tiny, IntegerAveragesRoundHalvesAwayFromZeroAndSaturate) {
  const int8_t x[] = {1, 2, -1, -2, 127, 127, -128, -128};
  int8_t y[4];
  ASSERT_EQ(AvgPool1D<int8_t>(2).input(1, 8).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<int>(y, y + 4), (std::vector<int>{2, -2, 127, -128}));
  ASSERT_EQ(AvgPool1D<int8_t>(2).divisor(1).input(1, 8).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<int>(y, y + 4), (std::vector<int>{3, -3, 127, -128}));
  ASSERT_EQ(AvgPool1D<int8_t>(2).divisor(-1).input(1, 8).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<int>(y, y + 4), (std::vector<int>{-3, 3, -128, 127}));
  const std::vector<int16_t> large(17 * 17, 32767);
  int16_t mean[1];
  ASSERT_EQ(AvgPool2D<int16_t>(17, 17).input(1, 17, 17).forward(large, mean), Error::none);
  EXPECT_EQ(mean[0], 32767);
  const std::vector<int16_t> many(70000, -32768);
  ASSERT_EQ(AvgPool1D<int16_t>(70000).input(1, 70000).forward(many, mean), Error::none);
  EXPECT_EQ(mean[0], -32768) << "the sum needs more than 32 bits";
}

TEST(Tiny, AnActivationRangeCutsOutputs) {
  const int8_t x[] = {-100, -90, 5, 6, 100, 90};
  int8_t y[3];
  ASSERT_EQ(MaxPool1D<int8_t>(2).activation(0, 50).input(1, 6).forward(x, y), Error::none);
  EXPECT_EQ(std::vector<int>(y, y + 3), (std::vector<int>{0, 6, 50}));
  const float f[] = {-1, NAN, 9, 1};
  float g[2];
  ASSERT_EQ(AvgPool1D(2).activation(0, 6).input(1, 4).forward(f, g), Error::none);
  EXPECT_TRUE(std::isnan(g[0]));
  EXPECT_EQ(g[1], 5);
}

TEST(Tiny, BuffersMayBeArraysContainersOrPointersWithACount) {
  const std::array<float, 4> x = {1, 2, 3, 4};
  std::vector<float> y(2);
  constexpr auto pool = MaxPool1D(2).input(1, 4);
  EXPECT_EQ(pool.forward(x, y), Error::none);
  EXPECT_EQ(pool.forward(span(x.data(), 4), span(y.data(), 2)), Error::none);
  EXPECT_EQ(y[1], 4);
}

TEST(Tiny, NothingToPoolIsNoError) {
  EXPECT_EQ(MaxPool1D(2).input(0, 4).forward(Span<float>(), Span<float>()), Error::none);
  EXPECT_EQ(MaxPool1D(2).batch(0).input(3, 4).forward(Span<float>(), Span<float>()), Error::none);
}

// ---- Refusals ----------------------------------------------------------------------------------

TEST(Tiny, LayersThatCannotWorkSayWhyAndOnWhichAxis) {
  constexpr int32_t most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(MaxPool1D(2).error(), Error::no_input);
  EXPECT_EQ(MaxPool1D(0).input(1, 4).error(), Error::bad_kernel);
  EXPECT_EQ(MaxPool1D(-1).input(1, 4).error(), Error::bad_kernel);
  EXPECT_EQ(MaxPool1D(3).input(1, 2).error(), Error::no_output);
  EXPECT_EQ(MaxPool2D(2, 3).input(1, 2, 2).error(), Error::no_output);
  EXPECT_EQ(MaxPool2D(2, 3).input(1, 2, 2).error_axis(), 1);
  EXPECT_EQ(MaxPool1D(2, 0).input(1, 4).error(), Error::bad_stride);
  EXPECT_EQ(MaxPool1D(2).dilation(0).input(1, 4).error(), Error::bad_dilation);
  EXPECT_EQ(MaxPool1D(2).padding(-1).input(1, 4).error(), Error::bad_padding);
  EXPECT_EQ(MaxPool1D(2).input(1, 0).error(), Error::empty_axis);
  EXPECT_EQ(MaxPool1D(2).input(1, -5).error(), Error::empty_axis);
  EXPECT_EQ(MaxPool1D(2).input(-1, 4).error(), Error::bad_size);
  EXPECT_EQ(MaxPool1D(2).batch(-1).input(1, 4).error(), Error::bad_size);
  EXPECT_EQ(MaxPool1D(most).dilation(most).input(1, 4).error(), Error::overflow);
  EXPECT_EQ(MaxPool1D(1).input(most, 4).error(), Error::overflow);
  EXPECT_EQ(MaxPool1D(1).channels_last().batch(most).input(2, 4).error(), Error::overflow);
  EXPECT_EQ(MaxPool1D(1).input(1, most).error(), Error::overflow);
  EXPECT_EQ(MaxPool1D(2).rounding(Rounding::exact).input(1, 5).error(), Error::remainder);
  EXPECT_EQ(MaxPool1D(2).padding(2).input(1, 4).error(), Error::empty_window);
  EXPECT_EQ(AvgPool1D(2).padding(2).input(1, 4).error(), Error::none) << "pads count";
  EXPECT_EQ(AvgPool1D(2).padding(2).count_include_pad(false).input(1, 4).error(),
            Error::empty_window);
  EXPECT_EQ(MaxPool1D(2).ties(Ties::all).input(1, 4).error(), Error::bad_ties);
  EXPECT_EQ(MaxPool1D(2).ties(Ties::split).input(1, 4).error(), Error::bad_ties);
  EXPECT_EQ(AvgPool1D(2).divisor(0).input(1, 4).error(), Error::bad_divisor);
  EXPECT_EQ(MaxPool1D<int8_t>(2).activation(5, 4).input(1, 4).error(), Error::bad_activation);
  EXPECT_EQ(MaxPool1D(2).activation(NAN, 1).input(1, 4).error(), Error::bad_activation);
  EXPECT_EQ(MaxPool1D(2).same().padding(1).input(1, 4).error(), Error::unused_numbers);
  EXPECT_EQ(GlobalAvgPool().stride(1).input(1, 4, 4).error(), Error::unused_numbers);
  EXPECT_EQ(AvgPool1D<int8_t>(1 << 24).input(1, 1 << 24).error(), Error::too_many_taps);
  float buffer[8] = {};
  EXPECT_EQ(MaxPool1D(3).input(1, 2).forward(buffer, buffer), Error::no_output);
  EXPECT_EQ(MaxPool1D(3).input(1, 2).output_size(), 0u);
}

// Numbers at the ends of their range must be refused or work, never step outside. Each layer here
// was accepted and once overflowed, in a loop, an address or a size.
template <class L>
void run_exactly(const L& pool) {
  if (!pool.ok()) return;
  std::vector<float> x(pool.input_size(), 1.0f), y(pool.output_size()), gx(pool.input_size());
  std::vector<uint8_t> mask(pool.mask_bytes());
  ASSERT_EQ(pool.forward(x, y, mask), Error::none);
  for (const float value : y) ASSERT_EQ(value, 1.0f);
  ASSERT_EQ(pool.backward(y, mask, gx), Error::none);
}
template <class L>
void run_average(const L& pool) {
  if (!pool.ok()) return;
  std::vector<float> x(pool.input_size(), 1.0f), y(pool.output_size()), gx(pool.input_size());
  ASSERT_EQ(pool.forward(x, y), Error::none);
  ASSERT_EQ(pool.backward(y, gx), Error::none);
}

TEST(Tiny, ExtremeNumbersAreRefusedOrWork) {
  constexpr int32_t most = std::numeric_limits<int32_t>::max();
  run_exactly(MaxPool1D(4, most).padding_before(2).input(1, 8));
  run_exactly(MaxPool1D(10, most).padding_before(5).input(1, 20));
  run_exactly(MaxPool1D((1 << 20) + 1, 1024).padding(1 << 20).channels_last().input(4096, 4));
  run_exactly(MaxPool1D(2, most).channels_last().input(2, 4));
  run_exactly(MaxPool2D(1, 1).dilation(most).input(1, 4, 4));
  run_exactly(MaxPool<float, 3>({1, 1, 1}).dilation(most).input(1, 4, 4, 4));
  run_average(AvgPool1D(1).dilation(most).input(1, 4));
  run_average(AvgPool2D(1, 1).dilation(most).input(1, 4, 4));
  run_average(AvgPool2D(1, 2, 3, 1).dilation(most, 1).input(1, 4, 4));
  run_average(AvgPool2D(2, 2, 1, 1)
                  .dilation(1, 1 << 28)
                  .padding_before(0, (1 << 28) - 2)
                  .padding_after(0, 6)
                  .channels_last()
                  .input(64, 3, 8));
  run_exactly(MaxPool<float, 3>({1, 1, 1}).channels_last().batch(most).input(0, 2, 2, 2));
  EXPECT_EQ(MaxPool2D(1, 1).batch(0).input(most, 4, 4).error(), Error::overflow);
  EXPECT_EQ(MaxPool2D(1, 1).channels_last().input(0, 1 << 20, 1 << 20).error(), Error::overflow);
  EXPECT_EQ(MaxPool1D<int8_t>(65537, 1).padding(32768).input(1 << 14, 1 << 16).error(),
            Error::overflow)
      << "the mask would have 2^32 bytes";
  const auto few_rows = AvgPool2D(2, 1).dilation(1 << 20, 1).padding_before(1 << 20, 0);
  EXPECT_EQ(few_rows.input(1, 4, 4).ring_rows(), 3) << "never more than there are";
  EXPECT_EQ(MaxPool1D(2).input(1, int64_t{4294967300}).error(), Error::overflow);
  EXPECT_EQ(MaxPool1D(2).input(int64_t{-4294967300}, 4).error(), Error::bad_size);
  EXPECT_EQ(MaxPool1D(2).input(size_t{1}, size_t{4}).error(), Error::none);
}

TEST(Tiny, OnlyMemoryInUseCanOverlap) {
  float arena[64] = {};
  constexpr auto pool = MaxPool1D(2).input(1, 8);
  EXPECT_EQ(pool.forward(span(arena, 64), span(arena + 8, 4)), Error::none);
  auto* bytes = reinterpret_cast<uint8_t*>(arena + 12);
  EXPECT_EQ(pool.forward(span(arena, 64), span(arena + 8, 4), span(bytes, 4)), Error::none);
  EXPECT_EQ(pool.forward(span(arena, SIZE_MAX), span(arena + 8, 4), span(bytes - 44, 4)),
            Error::overlap);
  EXPECT_EQ(pool.batch(0).forward(arena, span(arena + 1, 0), span(bytes, 0)), Error::none);
}

TEST(Tiny, BuffersMayBeArraysOfArrays) {
  const float x[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  float y[2][1][1];
  EXPECT_EQ(MaxPool2D(2, 2).input(2, 2, 2).forward(x, y), Error::none);
  EXPECT_EQ(y[1][0][0], 8);
}

TEST(Tiny, EveryErrorHasATextOfItsOwn) {
  std::vector<std::string> texts;
  for (int i = 0; i <= static_cast<int>(Error::busy); ++i) {
    const std::string it = text(static_cast<Error>(i));
    EXPECT_NE(it, "unknown error") << i;
    for (const std::string& other : texts) EXPECT_NE(it, other);
    texts.push_back(it);
  }
  EXPECT_STREQ(text(static_cast<Error>(200)), "unknown error");
}

// Memory around and in the outputs, to see that nothing was written.
struct Guarded {
  float y[4], gx[8];
  uint8_t mask[4];
  Guarded() { std::memset(static_cast<void*>(this), 0x5A, sizeof *this); }
  bool untouched() const {
    Guarded fresh;
    return std::memcmp(static_cast<const void*>(this), static_cast<const void*>(&fresh),
                       sizeof *this) == 0;
  }
};

TEST(Tiny, BadBuffersAreRefusedAndNothingIsWritten) {
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, gy[4] = {1, 1, 1, 1};
  const uint8_t good[4] = {0, 1, 0, 1};
  constexpr auto pool = MaxPool1D(2).input(1, 8);
  Guarded g;
  float* const null = nullptr;
  EXPECT_EQ(pool.forward(span(null, 8), g.y), Error::null_buffer);
  EXPECT_EQ(pool.forward(x, span(null, 4)), Error::null_buffer);
  EXPECT_EQ(pool.forward(span(x, 7), g.y), Error::input_too_small);
  EXPECT_EQ(pool.forward(x, span(g.y, 3)), Error::output_too_small);
  EXPECT_EQ(pool.forward(x, g.y, span(g.mask, 3)), Error::mask_size);
  EXPECT_EQ(pool.forward(x, g.y, span(static_cast<uint8_t*>(nullptr), 4)), Error::null_buffer);
  EXPECT_EQ(pool.forward(g.gx, span(g.gx, 4)), Error::overlap);
  EXPECT_EQ(pool.forward(x, g.y, span(reinterpret_cast<uint8_t*>(g.y), 4)), Error::overlap);
  EXPECT_EQ(pool.backward(span(gy, 3), good, g.gx), Error::input_too_small);
  EXPECT_EQ(pool.backward(gy, good, span(g.gx, 7)), Error::output_too_small);
  EXPECT_EQ(pool.backward(gy, span(good, 3), g.gx), Error::mask_size);
  EXPECT_EQ(pool.backward(gy, span(static_cast<const uint8_t*>(nullptr), 4), g.gx),
            Error::null_buffer);
  for (std::size_t i = 0; i < 4; ++i) {
    std::array<uint8_t, 4> bad = {0, 1, 0, 1};
    bad[i] = 2;
    EXPECT_EQ(pool.backward(gy, bad, g.gx), Error::mask_entry) << "entry " << i;
  }
  EXPECT_EQ(pool.activation(0, 6).backward(gy, good, g.gx), Error::clamped);
  EXPECT_EQ(AvgPool1D(2).activation(0, 6).input(1, 8).backward(gy, g.gx), Error::clamped);
  EXPECT_TRUE(g.untouched());
}

TEST(Tiny, AMaskEntryThatFallsOnPaddingIsRefused) {
  constexpr auto pool = MaxPool2D(2, 2).padding(1).input(1, 2, 2);
  const float gy[4] = {1, 1, 1, 1};
  float gx[4];
  const uint8_t good[4] = {3, 2, 1, 0}, bad[4] = {3, 2, 1, 1};
  EXPECT_EQ(pool.backward(gy, good, gx), Error::none);
  EXPECT_EQ(pool.backward(gy, bad, gx), Error::mask_entry);
}

// Every small layer on buffers of exactly the sizes that it names: the sanitizers see any step
// outside, and results never depend on what lies around.
TEST(Tiny, EverySmallShapeStaysInsideItsBuffers) {
  int worked = 0;
  for (int32_t n = 0; n <= 6; ++n)
    for (int32_t m = 1; m <= 3; ++m)
      for (int32_t k = 0; k <= 4; ++k)
        for (int32_t s = 0; s <= 3; ++s)
          for (int32_t d = 1; d <= 2; ++d)
            for (int32_t lo = 0; lo <= 2; ++lo)
              for (int32_t hi = 0; hi <= 2; ++hi)
                for (int r = 0; r <= 2; ++r) {
                  const auto pool = MaxPool2D(k, 2, s, 1)
                                        .dilation(d, 1)
                                        .padding_before(lo, 1)
                                        .padding_after(hi, 0)
                                        .rounding(static_cast<Rounding>(r))
                                        .input(1, n, m);
                  std::vector<float> x(pool.input_size(), 1.0f), y(pool.output_size());
                  std::vector<float> gx(pool.input_size());
                  std::vector<uint8_t> mask(pool.mask_bytes());
                  const Error error = pool.forward(x, y, mask);
                  ASSERT_EQ(error, pool.error());
                  if (error != Error::none) continue;
                  for (const float value : y) ASSERT_EQ(value, 1.0f);
                  ASSERT_EQ(pool.backward(y, mask, gx), Error::none);
                  float sum = 0;
                  for (const float value : gx) sum += value;
                  ASSERT_EQ(sum, static_cast<float>(y.size())) << "every gradient arrives";
                  ++worked;
                }
  EXPECT_GT(worked, 1000);
}

// ---- Streams -----------------------------------------------------------------------------------

TEST(Tiny, AStreamEmitsEachRowAsSoonAsItsWindowIsComplete) {
  constexpr auto pool = MaxPool2D(3, 1, 2, 1).padding(1, 0).input(1, 6, 1);
  float ring[pool.ring_size()], y[1];
  Stream stream(pool, ring);
  ASSERT_EQ(stream.error(), Error::none);
  std::vector<std::string> events;
  for (int row = 0; row < 6; ++row) {
    const float x[1] = {static_cast<float>(row)};
    events.push_back("in " + std::to_string(row));
    ASSERT_EQ(stream.push(x, y,
                          [&](int32_t o, Span<const float> out) {
                            events.push_back("out " + std::to_string(o) + " = " +
                                             std::to_string(static_cast<int>(out[0])));
                          }),
              Error::none);
  }
  EXPECT_TRUE(stream.done());
  EXPECT_EQ(events, (std::vector<std::string>{"in 0", "in 1", "out 0 = 1", "in 2", "in 3",
                                              "out 1 = 3", "in 4", "in 5", "out 2 = 5"}));
}

TEST(Tiny, AStreamCanBeRestartedFromWithinARow) {
  constexpr auto pool = MaxPool1D(2).input(1, 4);
  float ring[pool.ring_size()], y[1];
  Stream stream(pool, ring);
  std::vector<float> out;
  for (int i = 0; i < 8; ++i) {
    const float x[1] = {static_cast<float>(i)};
    EXPECT_EQ(stream.push(x, y,
                          [&](int32_t o, Span<const float> row) mutable {
                            for (const float value : row) out.push_back(value);
                            EXPECT_EQ(stream.push(x, y, [](int32_t, Span<const float>) {}),
                                      Error::busy);
                            if (o == 1) stream.restart();
                          }),
              Error::none);
  }
  EXPECT_EQ(out, (std::vector<float>{1, 3, 5, 7}));
}

TEST(Tiny, AStreamRefusesWhatItCannotTake) {
  constexpr auto pool = MaxPool1D(2, 1).input(1, 3);
  float ring[1], x[1] = {1}, y[1] = {7};
  const auto ignore = [](int32_t, Span<const float>) {};
  Stream stream(pool, ring);
  EXPECT_EQ(stream.push(Span<float>(), y, ignore), Error::null_buffer);
  EXPECT_EQ(stream.push(span(x, 0), y, ignore), Error::input_too_small);
  EXPECT_EQ(stream.push(x, span(y, 0), ignore), Error::output_too_small);
  EXPECT_EQ(stream.push(x, x, ignore), Error::overlap);
  EXPECT_EQ(stream.push(ring, y, ignore), Error::overlap);
  EXPECT_EQ(y[0], 7);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stream.push(x, y, ignore), Error::none);
  EXPECT_EQ(stream.push(x, y, ignore), Error::too_many_rows);
  stream.restart();
  EXPECT_EQ(stream.push(x, y, ignore), Error::none);
  Stream small(pool, span(ring, 0));
  EXPECT_EQ(small.push(x, y, ignore), Error::ring_too_small);
  const auto two = pool.batch(2);
  EXPECT_EQ(Stream(two, ring).error(), Error::stream_batch);
  static_assert(!std::is_constructible_v<Stream<Op::max, float, 1>, MaxPool1D<float>, float(&)[1]>,
                "a layer without a name would be gone at once");
  const auto bad = MaxPool1D(9).input(1, 3);
  EXPECT_EQ(Stream(bad, ring).error(), Error::no_output);
}

}  // namespace
}  // namespace ndpool::tiny
