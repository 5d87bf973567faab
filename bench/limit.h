// The limit of a pooling problem: the time to read every input byte once and to write every output
// byte once, and nothing else. The faster of plain and streaming stores counts.
#ifndef NDPOOL_BENCH_LIMIT_H_
#define NDPOOL_BENCH_LIMIT_H_

#include <cstddef>
#include <cstdint>

namespace ndpool::bench {

// Reads `read` bytes at `from` and writes `write` bytes at `to` (both aligned to 64 bytes and
// padded to a multiple of it). `streaming`: past the caches.
void touch_once(const uint8_t* from, size_t read, uint8_t* to, size_t write, bool streaming);

// Memory as NumPy's large arrays have it: aligned, on huge pages where the system gives them, and
// touched. Bytes are a fixed pattern.
class Memory {
 public:
  explicit Memory(size_t bytes, uint8_t pattern = 0);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ndpool::bench

#endif  // NDPOOL_BENCH_LIMIT_H_
