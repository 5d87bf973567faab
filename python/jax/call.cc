#include "call.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

namespace ndpool::jax {
namespace {

constexpr size_t kMostPlans = 4096;

// The work of one parallel_for. Threads that come late find nothing left to do, so nobody waits for
// a thread to come: the caller may itself occupy the only one that could.
struct Work {
  void (*body)(void* arg, int64_t i);
  void* arg;
  int64_t count;
  std::atomic<int64_t> next = 0, done = 0;

  void take_part() {
    for (int64_t i; (i = next.fetch_add(1)) < count;) {
      body(arg, i);
      if (done.fetch_add(1) + 1 == count) done.notify_all();
    }
  }
  void wait() const {
    for (int64_t seen; (seen = done.load()) < count;) done.wait(seen);
  }
};

std::string line_of(std::string_view tokens, const ffi::AnyBuffer& input) {
  const size_t space = std::min(tokens.find(' '), tokens.size());
  const char* type = ndpool_type_name(type_of(input.element_type()));
  std::string line = std::string(tokens.substr(0, space)) + " " + (type ? type : "?") + " ";
  const char* separator = "";
  for (const int64_t size : input.dimensions()) {
    line += separator + std::to_string(size);
    separator = "x";
  }
  return line.append(tokens.substr(space));
}

}  // namespace

int type_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::F16:
      return NDPOOL_F16;
    case ffi::DataType::BF16:
      return NDPOOL_BF16;
    case ffi::DataType::F32:
      return NDPOOL_F32;
    case ffi::DataType::F64:
      return NDPOOL_F64;
    case ffi::DataType::S8:
      return NDPOOL_I8;
    case ffi::DataType::U8:
      return NDPOOL_U8;
    case ffi::DataType::S16:
      return NDPOOL_I16;
    case ffi::DataType::U16:
      return NDPOOL_U16;
    case ffi::DataType::S32:
      return NDPOOL_I32;
    case ffi::DataType::U32:
      return NDPOOL_U32;
    case ffi::DataType::S64:
      return NDPOOL_I64;
    case ffi::DataType::U64:
      return NDPOOL_U64;
    case ffi::DataType::PRED:
      return NDPOOL_BOOL;
    default:
      return -1;
  }
}

ndpool_array out(const ffi::AnyBuffer& buffer) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kPage = uintptr_t{1} << 21;
  const uintptr_t first = reinterpret_cast<uintptr_t>(buffer.untyped_data());
  const uintptr_t begin = (first + kPage - 1) / kPage * kPage;
  const uintptr_t end = (first + buffer.size_bytes()) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
  return {buffer.untyped_data(), nullptr};
}

// As many threads as XLA has, unless the user asked ndpool for fewer.
Call::Call(ffi::ThreadPool threads)
    : threads_(threads),
      runner_{this, [](void* call, int64_t n, void (*body)(void*, int64_t), void* arg) {
                static_cast<Call*>(call)->parallel_for(n, body, arg);
              }} {
  exec_.runner = &runner_;
  exec_.threads = static_cast<int32_t>(
      std::clamp<int64_t>(threads_.num_threads(), 1, ndpool_get_num_threads()));
}

std::shared_ptr<const ndpool_plan> Call::plan(std::string_view tokens,
                                              const ffi::AnyBuffer& input) {
  static std::mutex lock;
  static auto* plans = new std::unordered_map<std::string, std::shared_ptr<const ndpool_plan>>;
  const std::string line = line_of(tokens, input);
  {
    const std::lock_guard<std::mutex> guard(lock);
    if (const auto found = plans->find(line); found != plans->end()) return found->second;
  }
  ndpool_plan* made = nullptr;
  if (ndpool_plan_parse(line.c_str(), &made, &error_) != NDPOOL_OK) return nullptr;
  const std::shared_ptr<const ndpool_plan> plan(made, ndpool_plan_destroy);
  const std::lock_guard<std::mutex> guard(lock);
  if (plans->size() >= kMostPlans) plans->clear();
  plans->emplace(line, plan);
  return plan;
}

void Call::parallel_for(int64_t n, void (*body)(void* arg, int64_t i), void* arg) {
  const auto work = std::make_shared<Work>(body, arg, n);
  for (int64_t helper = 1; helper < std::min<int64_t>(n, exec_.threads); ++helper) {
    threads_.Schedule([work] { work->take_part(); });
  }
  work->take_part();
  work->wait();
}

ffi::Error Call::refused() const {
  const bool memory = error_.code == NDPOOL_NO_MEMORY;
  return {memory ? ffi::ErrorCode::kResourceExhausted : ffi::ErrorCode::kInvalidArgument,
          std::string("ndpool: ") + error_.message};
}

ffi::Error Call::finish(int32_t status) const {
  return status == NDPOOL_OK ? ffi::Error::Success() : refused();
}

}  // namespace ndpool::jax
