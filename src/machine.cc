#include "machine.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <process.h>
#endif

namespace ndpool {
namespace {

constexpr std::size_t kFallbackCacheBytes = std::size_t{8} << 20;
// Larger caches are shared by many cores and slow: there, too, it costs more to read each line
// before it is written than a later reader saves.
constexpr std::size_t kMostCachedBytes = std::size_t{16} << 20;

// The whole text of a file, empty if it cannot be read.
std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Takes what comes before `separator` off the front of `text`, separator included.
std::string_view take_until(std::string_view& text, char separator) noexcept {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

// Reads a number that `text` consists of, but for white space after it. False if there is none.
bool read_number(std::string_view text, int64_t& number) noexcept {
  const std::size_t last = text.find_last_not_of(" \n\r\t");
  if (last == std::string_view::npos) return false;
  const char* end = text.data() + last + 1;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

// The smaller of two CPU limits, either of which may be none.
int tighter(int a, int b) noexcept {
  if (a == kNoCpuLimit) return b;
  return b == kNoCpuLimit ? a : std::min(a, b);
}

// The limit that one group's folder states, in the files of either version.
int limit_in_folder(const std::string& folder) {
  int64_t quota = 0;
  int64_t period = 0;
  int limit = parse_cpu_max(read_text(folder + "/cpu.max"));
  if (read_number(read_text(folder + "/cpu.cfs_quota_us"), quota) &&
      read_number(read_text(folder + "/cpu.cfs_period_us"), period)) {
    limit = tighter(limit, cpus_of_quota(quota, period));
  }
  return limit;
}

// The smallest limit from `hierarchy` + `path` up to `hierarchy` itself. Inside a container `path`
// may be the host's and not exist below the mount: those levels are silent and the mount itself
// speaks.
int limit_on_the_way_up(const std::string& hierarchy, std::string_view path) {
  int limit = limit_in_folder(hierarchy);
  while (!path.empty() && path != "/") {
    limit = tighter(limit, limit_in_folder(hierarchy + std::string(path)));
    const std::size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return limit;
}

// Whether a comma-separated list of controllers names `cpu` (and not only `cpuset` or `cpuacct`).
bool names_cpu(std::string_view controllers) noexcept {
  while (!controllers.empty()) {
    if (take_until(controllers, ',') == "cpu") return true;
  }
  return false;
}

// Processors in the affinity mask, or those of the machine where there is no such mask.
int affinity_cpus() noexcept {
#if defined(__linux__)
  // The kernel refuses a mask smaller than its own, so the mask grows until it is large enough.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (mask == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool known = sched_getaffinity(0, bytes, mask) == 0;
    const int error = errno;
    const int count = known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (count > 0) return count;
    if (known || error != EINVAL) break;
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Asks sysfs, then the C library, which on some processors adds up caches that no core has to
// itself; 0 if neither knows.
std::size_t find_last_level_cache() noexcept {
  try {
    const std::size_t bytes = outermost_cache_in("/sys/devices/system/cpu/cpu0/cache");
    if (bytes > 0) return bytes;
  } catch (...) {
    return 0;  // Out of memory while reading a few short files: the fallback serves.
  }
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE); bytes > 0) {
    return static_cast<std::size_t>(bytes);
  }
#endif
  return 0;
}

std::atomic<std::size_t> chosen_streaming_bytes{0};

}  // namespace

int usable_cpus() noexcept {
  const int cpus = affinity_cpus();
  try {
    return tighter(cpus, cgroup_cpu_limit("/sys/fs/cgroup", read_text("/proc/self/cgroup")));
  } catch (...) {
    return cpus;  // Out of memory: the mask alone is a usable answer.
  }
}

int64_t process_id() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  return getpid();
#elif defined(_WIN32)
  return _getpid();
#else
  return 0;
#endif
}

bool start_detached_thread(void* (*entry)(void*), void* arg) noexcept {
#if defined(__unix__) || defined(__APPLE__)
  pthread_t thread;
  if (pthread_create(&thread, nullptr, entry, arg) != 0) return false;
  pthread_detach(thread);
  return true;
#else
  try {
    std::thread([entry, arg] { entry(arg); }).detach();
    return true;
  } catch (...) {
    return false;
  }
#endif
}

void advise_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  const int kept_errno = errno;
  const long page = sysconf(_SC_PAGESIZE);
  if (page > 0) {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(begin);
    const PageRange pages = whole_pages(address, bytes, static_cast<std::size_t>(page));
    if (pages.bytes > 0) {
      madvise(static_cast<char*>(begin) + (pages.begin - address), pages.bytes, MADV_HUGEPAGE);
    }
  }
  errno = kept_errno;
#endif
}

std::size_t last_level_cache_bytes() noexcept {
  static const std::size_t found = find_last_level_cache();
  return found > 0 ? found : kFallbackCacheBytes;
}

std::size_t streaming_bytes() noexcept {
  const std::size_t chosen = chosen_streaming_bytes.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : std::min(last_level_cache_bytes() / 2, kMostCachedBytes);
}

void set_streaming_bytes(std::size_t bytes) noexcept {
  chosen_streaming_bytes.store(bytes, std::memory_order_relaxed);
}

int cpus_of_quota(int64_t quota, int64_t period) noexcept {
  if (quota <= 0 || period <= 0) return kNoCpuLimit;
  const int64_t cpus = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<int>(std::min<int64_t>(cpus, std::numeric_limits<int>::max()));
}

int parse_cpu_max(std::string_view text) noexcept {
  int64_t quota = 0;
  int64_t period = 0;
  if (!read_number(take_until(text, ' '), quota) || !read_number(text, period)) return kNoCpuLimit;
  return cpus_of_quota(quota, period);
}

int cgroup_cpu_limit(const std::string& mount, std::string_view memberships) {
  int limit = kNoCpuLimit;
  while (!memberships.empty()) {
    // A line is "number:controllers:path"; version 2 has number 0 and no controllers.
    std::string_view path = take_until(memberships, '\n');
    const std::string_view number = take_until(path, ':');
    const std::string_view controllers = take_until(path, ':');
    if (number == "0" && controllers.empty()) {
      limit = tighter(limit, limit_on_the_way_up(mount, path));
      limit = tighter(limit, limit_on_the_way_up(mount + "/unified", path));
    } else if (names_cpu(controllers)) {
      // The mount has the name of all its controllers, and as a rule a link for each of them.
      limit = tighter(limit, limit_on_the_way_up(mount + "/cpu", path));
      limit = tighter(limit, limit_on_the_way_up(mount + "/" + std::string(controllers), path));
    }
  }
  return limit;
}

std::size_t parse_cache_size(std::string_view text) noexcept {
  const std::size_t last = text.find_last_not_of(" \n\r\t");
  if (last == std::string_view::npos) return 0;
  text = text.substr(0, last + 1);
  int shift = 0;
  if (text.back() == 'K') shift = 10;
  if (text.back() == 'M') shift = 20;
  if (text.back() == 'G') shift = 30;
  if (shift > 0) text.remove_suffix(1);
  int64_t units = 0;
  if (!read_number(text, units) || units <= 0) return 0;
  const std::size_t most = std::numeric_limits<std::size_t>::max() >> shift;
  return static_cast<uint64_t>(units) > most ? 0 : static_cast<std::size_t>(units) << shift;
}

std::size_t outermost_cache_in(const std::string& folder) {
  int64_t best_level = 0;
  std::size_t best_bytes = 0;
  for (int index = 0;; ++index) {
    const std::string cache = folder + "/index" + std::to_string(index);
    int64_t level = 0;
    if (!read_number(read_text(cache + "/level"), level)) return best_bytes;
    const std::size_t bytes = parse_cache_size(read_text(cache + "/size"));
    const bool holds_data = read_text(cache + "/type").rfind("Instruction", 0) != 0;
    if (holds_data && bytes > 0 && level > best_level) {
      best_level = level;
      best_bytes = bytes;
    }
  }
}

PageRange whole_pages(std::uintptr_t begin, std::size_t bytes, std::size_t page) noexcept {
  const std::size_t skipped = static_cast<std::size_t>((page - begin % page) % page);
  if (skipped >= bytes) return {begin, 0};
  return {begin + skipped, (bytes - skipped) / page * page};
}

}  // namespace ndpool
