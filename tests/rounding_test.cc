// Averages of types narrower than the lanes they are computed in are rounded once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"
#include "src/half.h"

namespace {

template <class T, class Y = T>
std::vector<Y> pooled(const std::string& line, const std::vector<T>& x, size_t outputs) {
  ndpool_plan* made = nullptr;
  ndpool_error error{};
  EXPECT_EQ(ndpool_plan_parse(line.c_str(), &made, &error), NDPOOL_OK) << error.message;
  const std::unique_ptr<ndpool_plan, void (*)(ndpool_plan*)> plan(made, ndpool_plan_destroy);
  const ndpool_array none{nullptr, nullptr};
  std::vector<Y> y(outputs);
  EXPECT_EQ(ndpool_forward(plan.get(), {x.data(), nullptr}, {y.data(), nullptr}, none, none,
                           nullptr, &error),
            NDPOOL_OK)
      << error.message;
  return y;
}

// Rows of 32 windows of 2x2 cells, window by window.
template <class T>
class Windows {
 public:
  static constexpr size_t kRow = 32;
  void add(T a, T b, T c, T d) { cells_.insert(cells_.end(), {a, b, c, d}); }
  size_t count() const { return cells_.size() / 4; }
  std::string shape() const { return std::to_string(2 * rows()) + "x" + std::to_string(2 * kRow); }
  std::vector<T> array() const {
    std::vector<T> x(rows() * kRow * 4);
    for (size_t i = 0; i < cells_.size(); ++i) {
      const size_t window = i / 4, row = window / kRow * 2 + i % 4 / 2;
      x[row * 2 * kRow + window % kRow * 2 + i % 2] = cells_[i];
    }
    return x;
  }
  size_t outputs() const { return rows() * kRow; }

 private:
  size_t rows() const { return (count() + kRow - 1) / kRow; }
  std::vector<T> cells_;
};

__extension__ typedef __int128 Wide;

// sum/divisor to nearest, halves away from zero, between the type's limits.
template <class T>
T expected_quotient(Wide sum, Wide divisor) {
  const Wide size = sum < 0 ? -sum : sum, by = divisor < 0 ? -divisor : divisor;
  const Wide quotient = (2 * size + by) / (2 * by);
  const Wide value = (sum < 0) != (divisor < 0) ? -quotient : quotient;
  return static_cast<T>(
      std::clamp<Wide>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// Windows of every sum that `step` divides.
template <class T>
void expect_exact_quotients(const std::string& type, int64_t step) {
  const int64_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  Windows<T> windows;
  std::vector<int64_t> sums;
  for (int64_t sum = 4 * low; sum <= 4 * high; sum += step) {
    T cell[4];
    int64_t left = sum;
    for (T& c : cell) {
      c = static_cast<T>(std::clamp(left, low, high));
      left -= c;
    }
    ASSERT_EQ(left, 0);
    windows.add(cell[0], cell[1], cell[2], cell[3]);
    sums.push_back(sum);
  }
  const std::vector<T> x = windows.array();
  for (int64_t divisor = 1; divisor <= 20; ++divisor) {
    const std::string line =
        "avg " + type + " " + windows.shape() + " w2x2 divisor=" + std::to_string(divisor);
    const std::vector<T> y = pooled(line, x, windows.outputs());
    for (size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(int64_t{y[i]}, int64_t{expected_quotient<T>(sums[i], divisor)})
          << line << ": sum " << sums[i];
    }
  }
}

TEST(Rounding, EverySumOfFourBytesOverEverySmallDivisorIsRoundedToNearest) {
  expect_exact_quotients<uint8_t>("u8", 1);
  expect_exact_quotients<int8_t>("i8", 1);
}

// Windows of 3x3 cells, two apart: one cell is in no other window, and all others of a plane have
// one value.
template <class T>
void expect_exact_quotients_of_nine(const std::string& type) {
  constexpr int64_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  constexpr int64_t kOutputs = 40, kCells = 2 * kOutputs + 1;
  std::vector<T> x;
  std::vector<int64_t> sums;
  for (int64_t value = kLow; value <= kHigh; ++value) {
    const size_t plane = x.size();
    x.insert(x.end(), 3 * kCells, static_cast<T>(value));
    for (int64_t o = 0; o < kOutputs; ++o) {
      const int64_t own = std::clamp(value + o - kOutputs / 2, kLow, kHigh);
      x[plane + static_cast<size_t>(kCells + 2 * o + 1)] = static_cast<T>(own);
      sums.push_back(8 * value + own);
    }
  }
  for (int64_t divisor = 1; divisor <= 20; ++divisor) {
    const std::string line = "avg " + type + " 256x3x" + std::to_string(kCells) +
                             " w3x3 s2 divisor=" + std::to_string(divisor);
    const std::vector<T> y = pooled(line, x, sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(int64_t{y[i]}, int64_t{expected_quotient<T>(sums[i], divisor)})
          << line << ": sum " << sums[i];
    }
  }
}

TEST(Rounding, EverySumOfNineBytesOverEverySmallDivisorIsRoundedToNearest) {
  expect_exact_quotients_of_nine<uint8_t>("u8");
  expect_exact_quotients_of_nine<int8_t>("i8");
}

TEST(Rounding, SumsOfFourWordsOverEverySmallDivisorAreRoundedToNearest) {
  expect_exact_quotients<uint16_t>("u16", 7);
  expect_exact_quotients<int16_t>("i16", 5);
}

// Sums whose quotients lie at a half and on both sides of it, of every size.
template <class T>
void expect_halves_away_from_zero(const std::string& type) {
  for (const int64_t divisor :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{-6}, int64_t{1000}, (int64_t{1} << 20) + 1,
        int64_t{1} << 31, (int64_t{1} << 49) + 1, int64_t{1} << 51, -(int64_t{1} << 62)}) {
    std::vector<T> x{0};
    const Wide size = divisor < 0 ? -Wide{divisor} : Wide{divisor};
    for (int bits = 0; bits < 64; ++bits) {
      // The half of an odd number of divisors that is nearest to 2^bits.
      const Wide half = ((Wide{1} << bits) / size * 2 + 1) * size / 2;
      for (const Wide sum : {half - 1, half, half + 1, -half - 1, -half, 1 - half}) {
        if (sum < std::numeric_limits<T>::min() || sum > std::numeric_limits<T>::max()) continue;
        x.push_back(static_cast<T>(sum));
      }
    }
    const std::string line =
        "avg " + type + " " + std::to_string(x.size()) + " w1 divisor=" + std::to_string(divisor);
    const std::vector<T> y = pooled(line, x, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(y[i], expected_quotient<T>(x[i], divisor)) << line << ": sum " << x[i];
    }
  }
}

TEST(Rounding, SumsOfWideIntegersBesideAHalfAreRoundedToNearest) {
  expect_halves_away_from_zero<int32_t>("i32");
  expect_halves_away_from_zero<uint32_t>("u32");
  expect_halves_away_from_zero<int64_t>("i64");
  expect_halves_away_from_zero<uint64_t>("u64");
}

TEST(Rounding, SumsThatAFloatCannotHoldAreDividedAsTheyAre) {
  std::vector<int32_t> x;
  for (int32_t sum = 1 << 24; sum < 1 << 30; sum += 1'234'577) x.push_back(sum);
  const std::string line = "avg i32 " + std::to_string(x.size()) + " w1 divisor=7 out=f32";
  const std::vector<float> y = pooled<int32_t, float>(line, x, x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    // In double the quotient is near enough: no middle between two floats is that near to it.
    EXPECT_EQ(y[i], static_cast<float>(x[i] / 7.0)) << line << ": sum " << x[i];
  }
}

uint16_t bits_of(ndpool::Float16, float value) { return ndpool::to_float16(value).bits; }
uint16_t bits_of(ndpool::BFloat16, float value) { return ndpool::to_bfloat16(value).bits; }

// A window whose sum is that of three halves of so many bits.
template <class Half>
void add_sum(float sum, int bits, Windows<uint16_t>* windows) {
  float rest = sum, part[3];
  for (float& p : part) {
    int power = 0;
    std::frexp(rest, &power);
    const float unit = std::ldexp(1.0f, power - bits);
    p = std::trunc(rest / unit) * unit;
    rest -= p;
  }
  ASSERT_EQ(rest, 0);
  const Half half{};
  windows->add(bits_of(half, part[0]), bits_of(half, part[1]), bits_of(half, part[2]), 0);
}

// Quotients so near to the middle between two halves that the float nearest to them is that middle.
template <class Half>
void expect_one_rounding(const std::string& type, int bits, int64_t divisor, int exponent) {
  Windows<uint16_t> windows;
  std::vector<uint16_t> expected;
  const double scale = std::ldexp(1.0, exponent);
  const int64_t one = int64_t{1} << bits;
  for (int64_t middle = one + 1; middle < 2 * one; middle += 2) {
    const auto sum = static_cast<float>(static_cast<double>(middle * divisor) * scale);
    const double exact = static_cast<double>(middle * divisor) * scale;
    if (static_cast<double>(sum) == exact) continue;
    ASSERT_EQ(sum / static_cast<float>(divisor), static_cast<float>(middle) * scale);
    add_sum<Half>(sum, bits, &windows);
    const int64_t nearest = static_cast<double>(sum) > exact ? middle + 1 : middle - 1;
    expected.push_back(bits_of(Half{}, static_cast<float>(static_cast<double>(nearest) * scale)));
  }
  ASSERT_GT(expected.size(), size_t{50});
  const std::string line =
      "avg " + type + " " + windows.shape() + " w2x2 divisor=" + std::to_string(divisor);
  const std::vector<uint16_t> y = pooled(line, windows.array(), windows.outputs());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(y[i], expected[i]) << line << ": window " << i;
  }
}

TEST(Rounding, AveragesOfHalvesBesideTheMiddleBetweenTwoAreRoundedOnce) {
  expect_one_rounding<ndpool::Float16>("f16", 11, 8193, -11);
  expect_one_rounding<ndpool::BFloat16>("bf16", 8, 65537, -8);
}

// Quotients in the middle between two halves, and those of the next smaller and larger float.
template <class Half>
void expect_rounding_at_middles(const std::string& type, int bits, int64_t divisor) {
  Windows<uint16_t> windows;
  std::vector<uint16_t> expected;
  const int64_t one = int64_t{1} << bits;
  for (int64_t middle = one + 1; middle < 2 * one; middle += 2) {
    const auto sum = static_cast<float>(middle * divisor);
    ASSERT_EQ(static_cast<int64_t>(sum), middle * divisor);
    const int64_t even = middle % 4 == 1 ? middle - 1 : middle + 1;
    const float beyond = std::numeric_limits<float>::infinity();
    add_sum<Half>(std::nextafter(sum, 0.0f), bits, &windows);
    add_sum<Half>(sum, bits, &windows);
    add_sum<Half>(std::nextafter(sum, beyond), bits, &windows);
    for (const int64_t nearest : {middle - 1, even, middle + 1}) {
      expected.push_back(bits_of(Half{}, static_cast<float>(nearest)));
    }
  }
  const std::string line =
      "avg " + type + " " + windows.shape() + " w2x2 divisor=" + std::to_string(divisor);
  const std::vector<uint16_t> y = pooled(line, windows.array(), windows.outputs());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(y[i], expected[i]) << line << ": window " << i;
  }
}

TEST(Rounding, AveragesOfHalvesAtTheMiddleBetweenTwoAreRoundedToNearestWhateverTheDivisor) {
  for (const int64_t divisor : {2, 3, 5, 6, 7, 9, 11, 13, 15}) {
    expect_rounding_at_middles<ndpool::Float16>("f16", 11, divisor);
  }
  for (const int64_t divisor : {2, 3, 7, 9, 25, 255, 1001, 4095, 4096, 4097, 32767}) {
    expect_rounding_at_middles<ndpool::BFloat16>("bf16", 8, divisor);
  }
}

TEST(Rounding, AveragesOfHalvesAreDividedByTheDivisorItself) {
  // A float cannot hold it.
  Windows<uint16_t> windows;
  for (int i = 0; i < 40; ++i) windows.add(0x3F81, 0x3B80, 0, 0);
  const std::string line = "avg bf16 " + windows.shape() + " w2x2 divisor=16777217";
  const std::vector<uint16_t> y = pooled(line, windows.array(), windows.outputs());
  for (size_t i = 0; i < windows.count(); ++i) EXPECT_EQ(y[i], 0x3381) << line << ": window " << i;
}

TEST(Rounding, AveragesOfTheSmallestHalvesAreRoundedOnce) {
  // 32769/65537 of the smallest BFloat16, which as a float is one half of it.
  Windows<uint16_t> windows;
  const float least = std::ldexp(1.0f, -133);
  const ndpool::BFloat16 half{};
  for (int i = 0; i < 40; ++i)
    windows.add(bits_of(half, 32768 * least), bits_of(half, least), 0, 0);
  const std::string line = "avg bf16 " + windows.shape() + " w2x2 divisor=65537";
  const std::vector<uint16_t> y = pooled(line, windows.array(), windows.outputs());
  for (size_t i = 0; i < windows.count(); ++i) EXPECT_EQ(y[i], 1) << line << ": window " << i;
}

}  // namespace
