// The order of addition, written out: lanes are numbers of texts, and combining writes brackets.
#include "tree.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace ndpool {
namespace {

std::vector<std::string>& texts() {
  static std::vector<std::string> all;
  return all;
}

int64_t text(const std::string& t) {
  texts().push_back(t);
  return static_cast<int64_t>(texts().size()) - 1;
}

void bracket(int64_t rows, int64_t lanes, Buffer dst, const Block& a, const Block& b) {
  for (int64_t i = 0; i < rows * lanes; ++i) {
    const auto& left = texts()[static_cast<size_t>(static_cast<const int64_t*>(a.values)[i])];
    const auto& right = texts()[static_cast<size_t>(static_cast<const int64_t*>(b.values)[i])];
    static_cast<int64_t*>(dst.values)[i] = text("(" + left + right + ")");
  }
}

// Taps from `lead` to `taps`, of which `absent` are left out; `outside`: leaves lie in memory of
// their own rather than in the tree's.
std::string order(uint64_t taps, uint64_t lead, const std::vector<uint64_t>& absent, bool outside) {
  Tree tree;
  Arena counting;
  tree.prepare(&counting, taps, 1, sizeof(int64_t), 0, bracket);
  std::unique_ptr<char[]> memory(new char[counting.used() + Arena::kAlign]);
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  Arena arena(memory.get() + (Arena::kAlign - address % Arena::kAlign) % Arena::kAlign);
  tree.prepare(&arena, taps, 1, sizeof(int64_t), 0, bracket);
  tree.start(1, 1, lead);
  std::vector<int64_t> leaves(taps);
  for (uint64_t t = lead; t < taps; ++t) {
    bool here = true;
    for (uint64_t a : absent) here = here && a != t;
    if (!here) {
      tree.skip(1);
      continue;
    }
    Buffer leaf = tree.leaf();
    if (outside) leaf.values = &leaves[t];
    *static_cast<int64_t*>(leaf.values) = text(std::to_string(t));
    tree.push({leaf.values, 1, nullptr, 0, 0});
  }
  return texts()[static_cast<size_t>(*static_cast<const int64_t*>(tree.finish().values))];
}

// The definition: the largest power of two that fits, plus the tree of the rest; what is absent is
// left out.
std::string expected(uint64_t begin, uint64_t end, uint64_t lead,
                     const std::vector<uint64_t>& absent) {
  if (end - begin == 1) {
    for (uint64_t a : absent) {
      if (a == begin) return "";
    }
    return begin < lead ? "" : std::to_string(begin);
  }
  uint64_t half = 1;
  while (half * 2 < end - begin) half *= 2;
  const std::string left = expected(begin, begin + half, lead, absent);
  const std::string right = expected(begin + half, end, lead, absent);
  if (left.empty() || right.empty()) return left + right;
  return "(" + left + right + ")";
}

TEST(Tree, AddsPairsThenPairsOfPairs) {
  EXPECT_EQ(order(7, 0, {}, false), "(((01)(23))((45)6))");
  EXPECT_EQ(order(4, 1, {}, false), "(1(23))");
}

TEST(Tree, FollowsTheDefinitionWhateverIsAbsent) {
  for (uint64_t taps = 1; taps <= 40; ++taps) {
    for (uint64_t lead = 0; lead < taps; ++lead) {
      for (uint64_t step : {100, 2, 3, 5}) {
        std::vector<uint64_t> absent;
        for (uint64_t t = lead + 1; t < taps; ++t) {
          if (t % step == step - 1) absent.push_back(t);
        }
        for (bool outside : {false, true}) {
          ASSERT_EQ(order(taps, lead, absent, outside), expected(0, taps, lead, absent))
              << taps << " taps, lead " << lead << ", every " << step << "th absent";
        }
      }
    }
  }
}

TEST(Tree, SkippingManyTapsAtOnceIsSkippingEach) {
  for (uint64_t first = 1; first <= 20; ++first) {
    for (uint64_t gap = 1; gap <= 40; ++gap) {
      std::vector<uint64_t> absent;
      for (uint64_t t = first; t < first + gap; ++t) absent.push_back(t);
      const uint64_t taps = first + gap + 3;
      Tree tree;
      std::vector<char> memory(1 << 14);
      const auto address = reinterpret_cast<uintptr_t>(memory.data());
      Arena arena(memory.data() + (Arena::kAlign - address % Arena::kAlign) % Arena::kAlign);
      tree.prepare(&arena, taps, 1, sizeof(int64_t), 0, bracket);
      tree.start(1, 1, 0);
      for (uint64_t t = 0; t < taps; ++t) {
        if (t == first) {
          tree.skip(gap);
          t += gap;
        }
        const Buffer leaf = tree.leaf();
        *static_cast<int64_t*>(leaf.values) = text(std::to_string(t));
        tree.push({leaf.values, 1, nullptr, 0, 0});
      }
      const auto result = static_cast<size_t>(*static_cast<const int64_t*>(tree.finish().values));
      ASSERT_EQ(texts()[result], expected(0, taps, 0, absent)) << first << " taps, gap " << gap;
    }
  }
}

}  // namespace
}  // namespace ndpool
