// What the tests of refused calls share: limits on time and memory, and what a good refusal says.
#ifndef NDPOOL_TESTS_REFUSAL_H_
#define NDPOOL_TESTS_REFUSAL_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "ndpool/ndpool.hpp"

namespace ndpool::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // these map terabytes of address space for themselves
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// Lets a test take 256 MB more address space than the process has, and well under a second.
class Limited : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__linux__)
    if (!kSanitized) {
      std::uint64_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      ASSERT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
      rlimit limit = before_;
      limit.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (256U << 20);
      ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    }
#endif
    start_ = std::chrono::steady_clock::now();
  }

  void TearDown() override {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    EXPECT_LT(taken.count(), kSanitized ? 10.0 : 1.0) << "seconds: refusing must be quick";
#if defined(__linux__)
    if (!kSanitized) {
      EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0);
    }
#endif
  }

 private:
  std::chrono::steady_clock::time_point start_;
#if defined(__linux__)
  rlimit before_ = {};
#endif
};

// Where `text` stands in `message` as a whole number or word from `from` on, or npos.
inline std::size_t find_whole(const std::string& message, const std::string& text,
                              std::size_t from = 0) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = message.find(text, from); at != std::string::npos;
       at = message.find(text, at + 1)) {
    const std::size_t end = at + text.size();
    // "3x3" names a 3, so a neighbouring x is no part of the number.
    const bool starts =
        at == 0 || !inside(message[at - 1]) || message[at - 1] == 'x' || !inside(text.front());
    const bool ends = end == message.size() || !inside(message[end]) || message[end] == 'x' ||
                      !inside(text.back());
    if (starts && ends) return at;
  }
  return std::string::npos;
}

// A refusal names its axis, its numbers in their order, and a way out.
inline void expect_good_error(const Error& error, int axis, const std::vector<std::string>& says,
                              const std::string& what) {
  EXPECT_NE(error.code, Status::ok) << what;
  EXPECT_EQ(error.axis, axis) << what << ": " << error.message;
  if (error.axis >= 0) {
    EXPECT_NE(find_whole(error.message, "axis " + std::to_string(error.axis)), std::string::npos)
        << what << ": the message does not name axis " << error.axis << ": " << error.message;
  }
  for (const std::string& word : says) {
    EXPECT_NE(find_whole(error.message, word), std::string::npos)
        << what << ": the message does not say \"" << word << "\": " << error.message;
  }
  std::size_t at = 0;
  for (const std::int64_t number : error.numbers) {
    // 0 also stands for a number that is not used, and types are named rather than numbered.
    if (number == 0 || error.code == Status::bad_type) continue;
    const std::size_t found = error.message.find(std::to_string(number), at);
    EXPECT_NE(found, std::string::npos) << what << ": the message does not name " << number
                                        << " (in the order of numbers): " << error.message;
    if (found != std::string::npos) at = found;
  }
  // Advice is a clause of its own: what is wrong; what to do.
  EXPECT_TRUE(error.message.find(';') != std::string::npos ||
              error.message.find("none of the values") != std::string::npos)
      << what << ": no way out in: " << error.message;
  EXPECT_LT(error.message.size(), 511U) << what << ": cut off: " << error.message;
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_REFUSAL_H_
