// What ndpool asks of the operating system. Every call that is not standard C++ lives in
// machine.cc, with an answer for systems that have no such call; nothing here throws unless it says
// so.
#ifndef NDPOOL_SRC_MACHINE_H_
#define NDPOOL_SRC_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ndpool {

// The number of processors this process may keep busy, at least 1: those in its affinity mask, and
// no more than its control group's CPU quota pays for. Reads files, so callers keep the answer.
int usable_cpus() noexcept;

// A number that differs between a process and its forked child while both live.
int64_t process_id() noexcept;

// Starts a thread that runs entry(arg) and that nobody joins. False if the system refuses. Unlike
// with std::thread the new thread owns no allocation, which in a forked child, where the thread
// does not exist, a leak checker would report.
bool start_detached_thread(void* (*entry)(void*), void* arg) noexcept;

// Asks for huge pages behind the whole pages inside [begin, begin + bytes). Only a wish: contents
// and errno stay as they are, and a system that refuses is ignored.
void advise_huge_pages(void* begin, std::size_t bytes) noexcept;

// The size of the outermost cache, 8 MiB where the system does not tell. Found once, then kept.
std::size_t last_level_cache_bytes() noexcept;

// Results of so many bytes and more are written past the caches (and half as many, if what is read
// has as many): half the last-level cache, at most 16 MiB, unless set (0: not set), which tests do
// to stream small arrays.
std::size_t streaming_bytes() noexcept;
void set_streaming_bytes(std::size_t bytes) noexcept;

// The parts below are pure, or read only below the folder they are given, so that tests can run
// them on machines that do not exist. They may throw std::bad_alloc.

// Stands for "no limit" in the three functions that follow.
inline constexpr int kNoCpuLimit = 0;

// Whole processors that quota/period pays for, rounded up, at least 1. A quota or period that is
// not positive is no limit (version 1 writes -1).
int cpus_of_quota(int64_t quota, int64_t period) noexcept;

// Reads the text of a version 2 `cpu.max`: "150000 100000" is 2, "max 100000" no limit, and so is
// anything that cannot be read.
int parse_cpu_max(std::string_view text) noexcept;

// The smallest CPU limit on the way from the process's own control group up to the root. `mount` is
// where control groups are mounted, `memberships` the text of /proc/self/cgroup. Handles version 2,
// version 1 and the hybrid of both; a level without a file has no limit.
int cgroup_cpu_limit(const std::string& mount, std::string_view memberships);

// Bytes of a size as sysfs writes it ("512K", "32M", "1G" or plain bytes); 0 if it cannot be read.
std::size_t parse_cache_size(std::string_view text) noexcept;

// The size of the outermost data or unified cache listed in `folder` (index0, index1, ... each with
// level, type and size, as in /sys/devices/system/cpu/cpu0/cache); 0 if there is none.
std::size_t outermost_cache_in(const std::string& folder);

// The whole pages inside [begin, begin + bytes), as first address and length; length 0 if there are
// none. `page` is a power of two.
struct PageRange {
  std::uintptr_t begin;
  std::size_t bytes;
};
PageRange whole_pages(std::uintptr_t begin, std::size_t bytes, std::size_t page) noexcept;

}  // namespace ndpool

#endif  // NDPOOL_SRC_MACHINE_H_
