// How a call runs: threads, the caller's runner and scratch, tiles, cancelling.
#ifndef NDPOOL_CPP_EXEC_HPP_
#define NDPOOL_CPP_EXEC_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "ndpool/cpp/result.hpp"
#include "ndpool/cpp/types.hpp"

namespace ndpool::inline front {

// The body of a parallel loop, to be called once with each number. May be called from any thread.
class Task {
 public:
  Task(void (*body)(void*, std::int64_t), void* arg) : body_(body), arg_(arg) {}
  void operator()(std::int64_t i) const { body_(arg_, i); }

 private:
  void (*body_)(void*, std::int64_t);
  void* arg_;
};

// Calls task(i) once for each i in [0, n), on any threads, and returns when all are done.
// It must not throw: an exception ends the program.
using Runner = std::function<void(std::int64_t n, const Task& task)>;

// A box of an array: one start and one size for each axis; both empty: the whole array.
struct Box {
  Ints start = {};
  Ints size = {};
};

// A part of the whole problem; what each box must cover is said at ndpool_tile in ndpool.h.
struct Tile {
  Box x = {};
  Box y = {};
  Box dx = {};
};

// How to run a call; the defaults use ndpool's own threads and allocate scratch as needed.
struct Exec {
  int threads = 0;                    // 0: get_num_threads()
  Runner runner = {};                 // none: ndpool's own threads
  std::span<std::byte> scratch = {};  // none: allocated; else at least Plan::scratch_bytes(threads)
  const Tile* tile = nullptr;         // none: the whole array
  std::function<bool()> cancelled = {};  // asked between tasks; true stops the call. Must not throw
};

namespace detail {

// The C form of an Exec, on the stack of one call: no allocation.
class CExec {
 public:
  explicit CExec(const Exec& exec) {
    c_.threads = exec.threads;
    c_.scratch = exec.scratch.data();
    c_.scratch_bytes = exec.scratch.size();
    if (exec.runner) {
      // The callback gets the Runner back as a plain pointer; it only ever calls it.
      runner_.context = const_cast<Runner*>(&exec.runner);
      runner_.parallel_for = run;
      c_.runner = &runner_;
    }
    if (exec.cancelled) {
      c_.cancelled_context = const_cast<std::function<bool()>*>(&exec.cancelled);
      c_.cancelled = ask;
    }
    if (exec.tile != nullptr) {
      tile_ = {c_box(exec.tile->x), c_box(exec.tile->y), c_box(exec.tile->dx)};
      c_.tile = &tile_;
    }
  }
  CExec(const CExec&) = delete;
  CExec& operator=(const CExec&) = delete;

  const ndpool_exec* get() const { return &c_; }

 private:
  static void run(void* context, std::int64_t n, void (*body)(void*, std::int64_t),
                  void* arg) noexcept {
    (*static_cast<const Runner*>(context))(n, Task(body, arg));
  }
  static std::int32_t ask(void* context) noexcept {
    return (*static_cast<const std::function<bool()>*>(context))() ? 1 : 0;
  }
  static ndpool_box c_box(const Box& box) {
    if (box.start.empty() && box.size.empty()) return {nullptr, nullptr};
    return {box.start.data(), box.size.data()};
  }

  ndpool_exec c_ = {};
  ndpool_runner runner_ = {};
  ndpool_tile tile_ = {};
};

// Why a box has not one start and one size per axis, if so: C would read past the shorter list.
inline std::optional<Error> check_box(const Box& box, const char* name, std::size_t rank) {
  const bool whole = box.start.empty() && box.size.empty();
  if (whole || (box.start.size() == rank && box.size.size() == rank)) return std::nullopt;
  const auto starts = static_cast<std::int64_t>(box.start.size());
  const auto sizes = static_cast<std::int64_t>(box.size.size());
  return Error{Status::bad_array,
               -1,
               {starts, sizes, static_cast<std::int64_t>(rank), 0},
               std::string("box ") + name + " of the tile has " + std::to_string(starts) +
                   " starts and " + std::to_string(sizes) + " sizes but the array has " +
                   std::to_string(rank) + " axes; give one of each per axis, or leave both empty"};
}

}  // namespace detail

inline const char* version() { return ndpool_version(); }

// Threads for calls that do not say: n >= 1, or 0 for the default. Throws PoolError for others.
inline void set_num_threads(int n) {
  const std::int32_t status = ndpool_set_num_threads(n);
  if (status != NDPOOL_OK) {
    throw PoolError(Error{
        static_cast<Status>(status),
        -1,
        {n, 0, 0, 0},
        "cannot use " + std::to_string(n) + " threads; give 1 or more, or 0 for the default"});
  }
}
inline int get_num_threads() { return ndpool_get_num_threads(); }

}  // namespace ndpool::inline front

#endif  // NDPOOL_CPP_EXEC_HPP_
