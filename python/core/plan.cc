#include "plan.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace ndpool::python {

namespace nb = nanobind;

namespace {

constexpr int64_t kSmallCall = int64_t{1} << 16;  // bytes
constexpr int64_t kLookEvery = 50'000'000;        // nanoseconds between looks for Ctrl-C
constexpr size_t kMostPlans = 4096;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

std::shared_ptr<const Plan> make_plan(const std::string& line) {
  auto plan = std::make_shared<Plan>();
  ndpool_plan* made = nullptr;
  ndpool_error error = {};
  if (ndpool_plan_parse(line.c_str(), &made, &error) != NDPOOL_OK) refuse(error);
  plan->handle.reset(made);
  plan->line = line;
  const size_t op = line.find(' '), shape = line.find(' ', line.find(' ', op + 1) + 1);
  plan->tokens = line.substr(0, op) + (shape == line.npos ? "" : line.substr(shape));
  plan->type = ndpool_plan_input_type(made);
  plan->out_type = ndpool_plan_output_type(made);
  plan->argmax_type = ndpool_plan_argmax_type(made);
  const size_t rank = static_cast<size_t>(ndpool_plan_rank(made));
  plan->input_shape.resize(rank);
  plan->output_shape.resize(rank);
  ndpool_plan_input_shape(made, plan->input_shape.data());
  ndpool_plan_output_shape(made, plan->output_shape.data());
  plan->bytes =
      elements(plan->input_shape) * static_cast<int64_t>(ndpool_type_size(plan->type)) +
      elements(plan->output_shape) * static_cast<int64_t>(ndpool_type_size(plan->out_type));
  return plan;
}

}  // namespace

void refuse(const ndpool_error& error) {
  if (error.code == NDPOOL_CANCELLED && PyErr_Occurred()) throw nb::python_error();
  PyObject* type = error.code == NDPOOL_BAD_TYPE    ? PyExc_TypeError
                   : error.code == NDPOOL_NO_MEMORY ? PyExc_MemoryError
                                                    : nullptr;
  if (!type) refuse(std::string(error.message));
  PyErr_SetString(type, error.message);
  throw nb::python_error();
}

void refuse(const std::string& message) {
  const nb::object type = nb::module_::import_("ndpool._errors").attr("PoolError");
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

std::shared_ptr<const Plan> plan_of(const std::string& line) {
  static std::mutex lock;
  static std::unordered_map<std::string, std::shared_ptr<const Plan>> plans;
  {
    const std::lock_guard<std::mutex> guard(lock);
    if (const auto found = plans.find(line); found != plans.end()) return found->second;
  }
  std::shared_ptr<const Plan> plan = make_plan(line);
  const std::lock_guard<std::mutex> guard(lock);
  if (plans.size() >= kMostPlans) plans.clear();
  plans.emplace(line, plan);
  return plan;
}

std::string line_of(const std::string& tokens, int type, int rank, const int64_t* shape) {
  const size_t space = tokens.find(' ');
  std::string line = tokens.substr(0, space) + " " + ndpool_type_name(type) + " ";
  if (rank == 0) line += "()";
  for (int i = 0; i < rank; ++i) line += (i == 0 ? "" : "x") + std::to_string(shape[i]);
  if (space != std::string::npos) line += tokens.substr(space);
  return line;
}

Call::Call(int64_t bytes, int threads, const ndpool_tile* tile)
    : thread_(PyThread_get_thread_ident()), next_look_(std::numeric_limits<int64_t>::max()) {
  exec_.threads = threads;
  exec_.tile = tile;
  if (bytes < kSmallCall) return;
  exec_.cancelled = asked;
  exec_.cancelled_context = this;
  next_look_ = now() + kLookEvery;
  released_ = PyEval_SaveThread();
}

Call::~Call() { take_lock(); }

void Call::take_lock() {
  if (released_) PyEval_RestoreThread(released_);
  released_ = nullptr;
}

// Only the thread that made the call may ask the interpreter; a signal that stops it is kept as the
// exception of that thread.
int32_t Call::asked(void* context) {
  Call* call = static_cast<Call*>(context);
  if (PyThread_get_thread_ident() != call->thread_) return 0;
  const int64_t time = now();
  if (time < call->next_look_) return 0;
  PyEval_RestoreThread(call->released_);
  const bool stop = PyErr_CheckSignals() != 0;
  call->released_ = PyEval_SaveThread();
  call->next_look_ = time + kLookEvery;
  return stop ? 1 : 0;
}

void Call::finish(int32_t status) {
  take_lock();
  if (status != NDPOOL_OK) refuse(error_);
}

}  // namespace ndpool::python
