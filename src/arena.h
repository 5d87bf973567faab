// Hands out parts of one piece of scratch. Without memory it only counts, so that the same code
// that takes the parts also tells how much they need.
#ifndef NDPOOL_SRC_ARENA_H_
#define NDPOOL_SRC_ARENA_H_

#include <cstddef>
#include <cstdint>

namespace ndpool {

class Arena {
 public:
  static constexpr size_t kAlign = 64;

  Arena() = default;
  explicit Arena(char* memory) : memory_(memory) {}

  // `count` elements of `size` bytes, aligned to a cache line; nullptr while counting.
  void* take(int64_t count, size_t size) {
    const size_t at = used_;
    used_ += (static_cast<size_t>(count) * size + kAlign - 1) / kAlign * kAlign;
    return memory_ ? memory_ + at : nullptr;
  }
  template <class T>
  T* take(int64_t count) {
    return static_cast<T*>(take(count, sizeof(T)));
  }

  size_t used() const { return used_; }

 private:
  char* memory_ = nullptr;
  size_t used_ = 0;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_ARENA_H_
