#include "machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace ndpool {
namespace {

// A folder of made-up system files, removed with the test.
class MachineFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::temp_directory_path() /
            ("ndpool_machine_" + std::to_string(process_id()) + "_" + test->name());
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
  }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST(Machine, AQuotaIsRoundedUpToWholeProcessors) {
  EXPECT_EQ(cpus_of_quota(100000, 100000), 1);
  EXPECT_EQ(cpus_of_quota(100001, 100000), 2);
  EXPECT_EQ(cpus_of_quota(150000, 100000), 2);
  EXPECT_EQ(cpus_of_quota(1, 100000), 1);
  EXPECT_EQ(cpus_of_quota(-1, 100000), kNoCpuLimit);
  EXPECT_EQ(cpus_of_quota(0, 100000), kNoCpuLimit);
  EXPECT_EQ(cpus_of_quota(100000, 0), kNoCpuLimit);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(cpus_of_quota(huge, 1), std::numeric_limits<int>::max());
  EXPECT_EQ(cpus_of_quota(huge, huge), 1);
}

TEST(Machine, TheTextOfCpuMaxGivesProcessorsOrNoLimit) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("50000 100000"), 1);
  for (const char* text : {"max 100000\n", "", "\n", "100000", "100000 ", "a b", "1x 2", "1 2x",
                           "99999999999999999999 100000", " 100000 100000"}) {
    EXPECT_EQ(parse_cpu_max(text), kNoCpuLimit) << '"' << text << '"';
  }
}

TEST_F(MachineFiles, TheTightestVersion2LimitOnTheWayUpCounts) {
  write("a/b/cpu.max", "800000 100000\n");
  write("a/cpu.max", "300000 100000\n");
  write("other/cpu.max", "100000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), "0::/a/b\n"), 3);
  write("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), "0::/a/b\n"), 2);
  EXPECT_EQ(cgroup_cpu_limit(root(), "0::/a\n"), 3);
  EXPECT_EQ(cgroup_cpu_limit(root(), "0::/"), kNoCpuLimit);
  write("cpu.max", "100000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), "0::/a/b\n"), 1);
  EXPECT_EQ(cgroup_cpu_limit(root(), "0::/"), 1);
}

TEST_F(MachineFiles, Version1LimitsAreFoundUnderEitherNameOfTheMount) {
  const std::string memberships = "3:cpuset:/x\n2:cpu,cpuacct:/job\n1:name=systemd:/\n";
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), memberships), 3);
  write("cpu/cpu.cfs_quota_us", "200000\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), memberships), 2);
  EXPECT_EQ(cgroup_cpu_limit(root(), "3:cpuset:/x\n4:cpuacct:/job\n"), kNoCpuLimit);
  write("cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), memberships), 3);
}

TEST_F(MachineFiles, AContainerThatSeesTheHostsPathUsesItsOwnMount) {
  write("cpu/cpu.cfs_quota_us", "400000\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), "4:cpu:/docker/0123abc\n0::/docker/0123abc\n"), 4);
}

TEST_F(MachineFiles, AHybridMountKeepsVersion2InItsOwnFolder) {
  write("unified/job/cpu.max", "500000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root(), "2:cpu:/\n0::/job\n"), 5);
}

TEST_F(MachineFiles, OddMembershipsGiveNoLimit) {
  for (const char* text : {"", "\n\n", "0", "0:", "::", "garbage", "0::", "7:cpu", "0::/../.."}) {
    EXPECT_EQ(cgroup_cpu_limit(root(), text), kNoCpuLimit) << '"' << text << '"';
  }
}

TEST(Machine, CacheSizesAreReadAsSysfsWritesThem) {
  EXPECT_EQ(parse_cache_size("512K\n"), std::size_t{512} << 10);
  EXPECT_EQ(parse_cache_size("32M"), std::size_t{32} << 20);
  EXPECT_EQ(parse_cache_size("1G\n"), std::size_t{1} << 30);
  EXPECT_EQ(parse_cache_size("4096\n"), 4096U);
  for (const char* text : {"", "\n", "K", "-1K", "0K", "12Q", "9223372036854775807G"}) {
    EXPECT_EQ(parse_cache_size(text), 0U) << '"' << text << '"';
  }
}

TEST_F(MachineFiles, TheOutermostCacheThatHoldsDataCounts) {
  EXPECT_EQ(outermost_cache_in(root()), 0U);
  const std::vector<std::vector<std::string>> caches = {
      {"1\n", "Data\n", "48K\n"}, {"2\n", "Unified\n", "1M\n"}, {"3\n", "Instruction\n", "64M\n"}};
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const std::string folder = "index" + std::to_string(i);
    write(folder + "/level", caches[i][0]);
    write(folder + "/type", caches[i][1]);
    write(folder + "/size", caches[i][2]);
  }
  EXPECT_EQ(outermost_cache_in(root()), std::size_t{1} << 20);
}

TEST(Machine, TheLastLevelCacheHasAPlausibleSize) {
  EXPECT_GE(last_level_cache_bytes(), std::size_t{64} << 10);
  EXPECT_LE(last_level_cache_bytes(), std::size_t{16} << 30);
}

// Compared with counting page by page.
TEST(Machine, WholePagesAreThoseThatLieInsideTheRange) {
  constexpr std::size_t kPage = 8;
  for (std::uintptr_t begin = 0; begin < 20; ++begin) {
    for (std::size_t bytes = 0; bytes < 40; ++bytes) {
      std::size_t inside = 0;
      std::uintptr_t first = 0;
      for (std::uintptr_t page = 0; page < 80; page += kPage) {
        if (page < begin || page + kPage > begin + bytes) continue;
        if (inside == 0) first = page;
        inside += kPage;
      }
      const PageRange pages = whole_pages(begin, bytes, kPage);
      EXPECT_EQ(pages.bytes, inside) << "begin " << begin << " bytes " << bytes;
      if (inside > 0) {
        EXPECT_EQ(pages.begin, first) << "begin " << begin << " bytes " << bytes;
      }
    }
  }
}

TEST(Machine, AdvisingHugePagesChangesNeitherContentsNorErrno) {
  std::vector<unsigned char> data(std::size_t{5} << 20);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7);
  errno = 1234;
  advise_huge_pages(data.data() + 3, data.size() - 3);
  advise_huge_pages(data.data(), 1);
  advise_huge_pages(nullptr, 0);
  advise_huge_pages(reinterpret_cast<void*>(std::uintptr_t{1} << 20), 1 << 16);  // Not mapped.
  EXPECT_EQ(errno, 1234);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    wrong += data[i] != static_cast<unsigned char>(i * 7) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(Machine, UsableCpusAreAtLeastOneAndNotMoreThanTheMachineHas) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

#if defined(__linux__)
TEST(Machine, UsableCpusFollowTheAffinityMask) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) GTEST_SKIP() << "mask larger than cpu_set_t";
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const int with_one = usable_cpus();
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(with_one, 1);
}
#endif

}  // namespace
}  // namespace ndpool
