// Results that go past the caches: those of one band wait in one of two pieces of scratch, and are
// sent on while the next band is computed.
#ifndef NDPOOL_SRC_STAGED_H_
#define NDPOOL_SRC_STAGED_H_

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "arena.h"
#include "kernels/kernels.h"

namespace ndpool {

class Staged {
 public:
  // The most bytes of a band; 0: results are written where they belong at once.
  Staged(Arena* arena, int64_t bytes)
      : active_(bytes > 0), rooms_{arena->take<char>(bytes), arena->take<char>(bytes)} {}

  // Where results that belong at `to` are written.
  char* room(char* to) const { return active_ ? rooms_[turn_] : to; }
  const Finished& finished() const { return finished_; }
  // About so many bytes of what was finished, up to a whole line, for others to send.
  Finished part(int64_t bytes) {
    const size_t over =
        (reinterpret_cast<uintptr_t>(finished_.to) + static_cast<size_t>(bytes)) % 64;
    const size_t some = std::min(finished_.bytes, static_cast<size_t>(bytes) + (64 - over) % 64);
    const Finished next{finished_.from, finished_.to, some};
    finished_ = {static_cast<const char*>(finished_.from) + some,
                 static_cast<char*>(finished_.to) + some, finished_.bytes - some};
    return next;
  }
  // The rest of it.
  void send(const MoveKernels& move) {
    if (finished_.bytes > 0) move.stream(finished_.from, finished_.to, finished_.bytes);
    finished_ = {};
  }
  // Their band is computed, and what had been finished before it is sent.
  void finish(char* to, int64_t bytes) {
    if (!active_) return;
    finished_ = {rooms_[turn_], to, static_cast<size_t>(bytes)};
    turn_ = 1 - turn_;
  }
  // Sends the last band.
  void flush(const MoveKernels& move) {
    if (!active_) return;
    send(move);
    move.flush();
  }

  // At least `rows` rows, so many that they are whole lines of the cache: none is written in two
  // goes.
  static int64_t whole_lines(int64_t rows, int64_t row_bytes) {
    const int64_t lines = 64 / std::gcd(row_bytes, int64_t{64});
    return (rows + lines - 1) / lines * lines;
  }

 private:
  bool active_;
  char* rooms_[2];
  int turn_ = 0;
  Finished finished_{};
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_STAGED_H_
