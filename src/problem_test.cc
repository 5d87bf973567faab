#include "problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ndpool {
namespace {

using Ints = std::vector<int64_t>;
using namespace std::string_view_literals;

Problem parsed(std::string_view line) {
  const ParsedProblem result = parse_problem(line);
  EXPECT_TRUE(result) << line << ": " << result.error.message;
  return result.problem;
}

// Expects a refusal whose message holds each of the words.
void expect_refused(std::string_view line, const std::vector<std::string>& words) {
  const ParsedProblem result = parse_problem(line);
  EXPECT_FALSE(result) << "accepted: " << line;
  EXPECT_EQ(result.error.code, NDPOOL_BAD_ARGUMENT) << line;
  const std::string message = result.error.message;
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos)
        << line << ": " << message << "\nlacks " << word;
  }
}

TEST(Problem, ALineSetsWhatItNamesAndLeavesTheRestAtItsDefault) {
  const Problem p = parsed("max f32 32x64x112x112 w3x3 s2 p1 ceil");
  EXPECT_EQ(p.op, NDPOOL_MAX);
  EXPECT_EQ(p.type, NDPOOL_F32);
  EXPECT_EQ(p.shape, (Ints{32, 64, 112, 112}));
  EXPECT_EQ(p.window, (Ints{3, 3}));
  EXPECT_EQ(p.stride, Ints{2});
  EXPECT_EQ(p.pad_lo, Ints{1});
  EXPECT_EQ(p.rounding, NDPOOL_CEIL);
  EXPECT_EQ(p.mode, NDPOOL_WINDOWED);
  EXPECT_EQ(p.out_type, NDPOOL_SAME_TYPE);
  EXPECT_TRUE(p.pad_hi.empty() && p.dilation.empty() && p.axes.empty() && p.output_size.empty());
  EXPECT_TRUE(p.count_include_pad);
  EXPECT_FALSE(p.mean || p.divisor.has_value());
  EXPECT_EQ(p.beta, 1);
  EXPECT_EQ(p.p, 2);
}

TEST(Problem, EveryTokenReachesItsField) {
  const Problem p = parsed(
      "smooth bf16 4x5x6 w2x-3 s1x2 d3 p1:2x0:1 exact axes=0,-1 ties=split empty=identity nopad "
      "divisor=-5 mean beta=-2.5 p=inf out=u64 target=AVX2 order=2,0,1 seed=18446744073709551615");
  EXPECT_EQ(p.op, NDPOOL_SMOOTH_MAX);
  EXPECT_EQ(p.type, NDPOOL_BF16);
  EXPECT_EQ(p.window, (Ints{2, -3}));
  EXPECT_EQ(p.stride, (Ints{1, 2}));
  EXPECT_EQ(p.dilation, Ints{3});
  EXPECT_EQ(p.pad_lo, (Ints{1, 0}));
  EXPECT_EQ(p.pad_hi, (Ints{2, 1}));
  EXPECT_EQ(p.rounding, NDPOOL_EXACT);
  EXPECT_EQ(p.axes, (Ints{0, -1}));
  EXPECT_EQ(p.ties, NDPOOL_TIES_SPLIT);
  EXPECT_EQ(p.empty, NDPOOL_EMPTY_IDENTITY);
  EXPECT_FALSE(p.count_include_pad);
  EXPECT_EQ(p.divisor, -5);
  EXPECT_TRUE(p.mean);
  EXPECT_EQ(p.beta, -2.5);
  EXPECT_TRUE(std::isinf(p.p));
  EXPECT_EQ(p.out_type, NDPOOL_U64);
  EXPECT_EQ(p.target, "AVX2");
  EXPECT_EQ(p.order, (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(p.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parsed("avg i8 4 w2 same").padding, NDPOOL_PADDING_SAME);
  EXPECT_EQ(parsed("avg i8 4 w2 same_lower").padding, NDPOOL_PADDING_SAME_LOWER);
  EXPECT_EQ(parsed("avg i8 4 w2 valid").padding, NDPOOL_PADDING_GIVEN);
}

TEST(Problem, AdaptiveSizesMayKeepAnAxisAndGlobalTakesItsAxes) {
  const Problem adaptive = parsed("avg f64 3x9x9 a7x*");
  EXPECT_EQ(adaptive.mode, NDPOOL_ADAPTIVE);
  EXPECT_EQ(adaptive.output_size, (Ints{7, NDPOOL_KEEP}));
  const Problem global = parsed("lp f16 3x9x9 global axes=1,2");
  EXPECT_EQ(global.mode, NDPOOL_GLOBAL);
  EXPECT_EQ(global.axes, (Ints{1, 2}));
}

TEST(Problem, PaddingWithSomePairsRepeatsTheSingleNumbers) {
  const Problem p = parsed("max f32 8x8 w3x3 p1x0:2");
  EXPECT_EQ(p.pad_lo, (Ints{1, 0}));
  EXPECT_EQ(p.pad_hi, (Ints{1, 2}));
}

TEST(Problem, TheDescriptionPointsIntoTheProblem) {
  const Problem p = parsed("avg i16 4x6 w2x3 s1 p0:1 divisor=7 target=SSE4 out=f32 nopad");
  const ndpool_desc d = p.desc();
  EXPECT_EQ(d.struct_size, sizeof(ndpool_desc));
  EXPECT_EQ(d.op, NDPOOL_AVG);
  EXPECT_EQ(d.type, NDPOOL_I16);
  EXPECT_EQ(d.out_type, NDPOOL_F32);
  EXPECT_EQ(d.count_include_pad, 0);
  EXPECT_EQ(d.shape.data, p.shape.data());
  EXPECT_EQ(d.shape.count, 2);
  EXPECT_EQ(d.window.data[1], 3);
  EXPECT_EQ(d.pad_hi.data[0], 1);
  EXPECT_EQ(d.axes.count, 0);
  ASSERT_NE(d.divisor, nullptr);
  EXPECT_EQ(*d.divisor, 7);
  EXPECT_STREQ(d.target, "SSE4");
  EXPECT_EQ(parsed("max f32 4 w2").desc().divisor, nullptr);
  EXPECT_EQ(parsed("max f32 4 w2").desc().target, nullptr);
}

TEST(Problem, LinesOfProblemsAreReadBackUnchanged) {
  for (const std::string line :
       {"max f32 32x64x112x112 w3x3 s2 p1 ceil", "min bool 0x4 w2 axes=-1 ties=all",
        "avg u8 9x9 w3 s1 d2 p1:2x0:1 exact nopad divisor=-3 out=f16", "max i64 () w1",
        "smooth bf16 7x7 a3x* mean beta=-0.1 seed=7", "lp f16 5x6 global axes=0,1 p=inf order=1,0",
        "lp f64 5 w5 same_lower p=0.30000000000000004 target=AVX3", "smooth f32 5 w2 beta=nan",
        "max f64 9223372036854775807x3 w-9223372036854775808 same ties=last empty=identity"}) {
    EXPECT_EQ(to_line(parsed(line)), line);
  }
}

TEST(Problem, SeparatorsMayRepeatAndTokensMayComeInAnyOrder) {
  EXPECT_EQ(to_line(parsed("  max\tf32  8x8 \r\n ceil p1 s2 w3x3  ")),
            "max f32 8x8 w3x3 s2 p1 ceil");
}

TEST(Problem, RefusalsNameTheTokenAndWhatWasExpected) {
  expect_refused("", {"end of the line", "max min avg smooth lp"});
  expect_refused("median f32 4 w2", {"\"median\"", "max min avg smooth lp"});
  expect_refused("max f8 4 w2", {"\"f8\"", "bf16"});
  expect_refused("max f32", {"end of the line", "shape"});
  expect_refused("max f32 4x w2", {"\"4x\"", "shape"});
  expect_refused("max f32 4", {"end of the line", "w3x3", "a7x7", "global"});
  expect_refused("max f32 4x4 global", {"\"global\"", "axes="});
  expect_refused("max f32 4 w", {"\"w\"", "w3"});
  expect_refused("max f32 4 w3,3", {"\"w3,3\"", "w3x3"});
  expect_refused("max f32 4 w*", {"\"w*\"", "w3x3"});
  expect_refused("max f32 4 w2 s+1", {"\"s+1\"", "s2"});
  expect_refused("max f32 4 w2 p1:", {"\"p1:\"", "p1:2x0:1"});
  expect_refused("max f32 4 w2 p1x", {"\"p1x\"", "p1:2x0:1"});
  expect_refused("max f32 4 w2 size=3", {"\"size=3\"", "axes="});
  expect_refused("max f32 4 w2 ties=most", {"\"ties=most\"", "split"});
  expect_refused("max f32 4 w2 quick", {"\"quick\"", "token"});
  expect_refused("max f32 4 w2 target=", {"target=AVX2"});
  expect_refused("max f32 4x4 w2 order=0", {"\"order=0\"", "once"});
  expect_refused("max f32 4x4 w2 order=1,1", {"\"order=1,1\"", "once"});
  expect_refused("max f32 4x4 w2 order=0,2", {"\"order=0,2\"", "once"});
  expect_refused("lp f32 4 w2 p=two", {"\"p=two\"", "p=inf"});
  expect_refused("max f32 4 w2 seed=-1", {"\"seed=-1\"", "unsigned"});
}

TEST(Problem, NumbersBeyondSixtyFourBitsAreRefused) {
  expect_refused("max f32 9223372036854775808 w2", {"9223372036854775808", "shape"});
  expect_refused("max f32 4 w-9223372036854775809", {"w3"});
  expect_refused("max f32 4 w2 seed=18446744073709551616", {"seed=7"});
  expect_refused("smooth f32 4 w2 beta=1e999", {"beta=2.5"});
}

TEST(Problem, TokensThatSayTheSameThingTwiceAreRefused) {
  for (const std::string line :
       {"w2 w3", "w2 a3", "w2 global", "w2 s1 s2", "w2 p1 same", "w2 same valid", "w2 ceil floor",
        "w2 nopad nopad", "w2 p=2 p=3"}) {
    expect_refused("avg f32 4x4 axes=0 " + line, {"earlier"});
  }
}

TEST(Problem, MessagesStayShortAndPrintableWhateverTheToken) {
  const std::string line = "max f32 4 w2 " + std::string(100000, '\x01');
  const std::string message = parse_problem(line).error.message;
  EXPECT_LT(message.size(), 200u);
  for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
}

// Random edits of good lines: whatever comes out is read, or refused with a message, and what is
// read survives being written and read again.
TEST(Problem, AnyTextIsReadOrRefused) {
  const std::string seeds[] = {
      "max f32 32x64x112x112 w3x3 s2 p1:2x0:1 ceil axes=0,-1 order=3,1,2,0 seed=7",
      "smooth f16 4x5 a7x* beta=1e-3 mean nopad empty=identity target=AVX2",
      "lp f64 9 global axes=0 p=inf out=f32 divisor=-9223372036854775808"};
  constexpr std::string_view kAlphabet = "0123456789-+.,:*x=wasdpe \tgobalinf\x00\xff"sv;
  uint64_t state = 20240501;
  const auto below = [&state](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string line = seeds[below(3)];
    for (uint64_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t at = below(line.size());
      const char c = kAlphabet[below(kAlphabet.size())];
      switch (below(3)) {
        case 0:
          line[at] = c;
          break;
        case 1:
          line.insert(at, 1, c);
          break;
        default:
          line.erase(at, 1 + below(3));
          break;
      }
    }
    const ParsedProblem result = parse_problem(line);
    if (!result) {
      EXPECT_NE(result.error.message[0], '\0') << line;
      continue;
    }
    ++accepted;
    const std::string written = to_line(result.problem);
    EXPECT_EQ(to_line(parsed(written)), written) << line;
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace ndpool
