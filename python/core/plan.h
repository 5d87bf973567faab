// Plans for Python: made from one line of text, kept, and found again.
#ifndef NDPOOL_PYTHON_CORE_PLAN_H_
#define NDPOOL_PYTHON_CORE_PLAN_H_

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"

namespace ndpool::python {

// Throws the Python exception that fits the error: TypeError, MemoryError, the one of an interrupt,
// or ndpool.PoolError.
[[noreturn]] void refuse(const ndpool_error& error);
[[noreturn]] void refuse(const std::string& message);

struct Plan {
  std::unique_ptr<ndpool_plan, void (*)(ndpool_plan*)> handle{nullptr, ndpool_plan_destroy};
  std::string line, tokens;  // tokens: the line without type and shape
  int type = 0, out_type = 0, argmax_type = 0;
  std::vector<int64_t> input_shape, output_shape;
  int64_t bytes = 0;  // of input and output: what a call has to move
};

// The plan of a line, such as "max f32 4x4 w2x2". Plans that were asked for lately are shared.
std::shared_ptr<const Plan> plan_of(const std::string& line);

// "max w2x2", "f32", {4, 4}: "max f32 4x4 w2x2".
std::string line_of(const std::string& tokens, int type, int rank, const int64_t* shape);

// Without the interpreter's lock, so that other Python threads run on, and with an eye on Ctrl-C.
// Small work keeps the lock: handing it over would take longer.
class Call {
 public:
  Call(int64_t bytes, int threads, const ndpool_tile* tile = nullptr);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const ndpool_exec* exec() const { return &exec_; }
  ndpool_error* error() { return &error_; }
  // Takes the lock again, and throws what went wrong, if anything did.
  void finish(int32_t status);

 private:
  static int32_t asked(void* call);
  void take_lock();

  ndpool_exec exec_ = {};
  ndpool_error error_ = {};
  PyThreadState* released_ = nullptr;
  unsigned long thread_;
  int64_t next_look_;
};

}  // namespace ndpool::python

#endif  // NDPOOL_PYTHON_CORE_PLAN_H_
