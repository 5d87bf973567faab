// The limit of memory for the comparison in Python, which calls it with ctypes. A handle owns the
// memory, on huge pages as NumPy's is, so that only the bytes count.
#include <cstddef>
#include <exception>
#include <memory>

#include "bench/limit.h"

namespace ndpool::bench {

struct Limit {
  Limit(size_t in, size_t out) : from(in, 37), to(out), read(padded(in)), write(padded(out)) {}

  static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

  Memory from, to;
  size_t read, write;
};

extern "C" {

// Memory to read `read` bytes of and to write `write` bytes of; NULL if there is not so much.
Limit* bench_limit_new(size_t read, size_t write) {
  try {
    return std::make_unique<Limit>(read, write).release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

// Reads and writes every byte once. `streaming` other than 0: past the caches.
void bench_limit_run(const Limit* limit, int streaming) {
  touch_once(limit->from.data(), limit->read, limit->to.data(), limit->write, streaming != 0);
}

void bench_limit_free(Limit* limit) { std::unique_ptr<Limit>(limit).reset(); }

}  // extern "C"

}  // namespace ndpool::bench
