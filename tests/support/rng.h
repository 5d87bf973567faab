// A small portable generator: the same seed gives the same problem on every machine, which the
// distributions of the standard library do not promise.
#ifndef NDPOOL_TESTS_SUPPORT_RNG_H_
#define NDPOOL_TESTS_SUPPORT_RNG_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

namespace ndpool::test {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  // 64 random bits (splitmix64).
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // A number in [0, n); n >= 1. The bias of the remainder does not matter for tests.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  // A number in [lo, hi].
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  bool percent(int64_t chance) { return below(100) < chance; }
  // A number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return *(choices.begin() + below(static_cast<int64_t>(choices.size())));
  }

  template <class T>
  void shuffle(std::vector<T>* list) {
    for (size_t i = list->size(); i > 1; --i) {
      std::swap((*list)[i - 1], (*list)[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  uint64_t state_;
};

// A whole number from the environment, or the default where it is not set.
inline uint64_t environment_number(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_RNG_H_
