// One line of text names a pooling problem: tests, fuzzers, benchmarks and `explain` read the same
// line, such as "max f32 32x64x112x112 w3x3 s2 p1 ceil".
//
// Grammar: op type shape token...
//   op     max min avg smooth lp
//   type   f16 bf16 f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool
//   shape  32x64x112x112, or () for rank 0
//   tokens, in any order, each at most once:
//     w3x3 (window)  a7x7 (adaptive output sizes, * keeps an axis)  global (needs axes=)
//     s2x1 (stride)  d2 (dilation)  p1x2 or p1:2x0:1 (padding, lo:hi)  same  same_lower  valid
//     floor ceil exact   axes=0,-1   ties=first|last|all|split   empty=error|identity
//     nopad (padding does not count)   divisor=5   mean   beta=2.5   p=3 (or p=inf)
//     out=f32   target=AVX2   algorithm=rows|bands|doubling   order=0,2,3,1 (memory order of the
//     axes, outermost first)   seed=7
// One number stands for all axes, as in ndpool_ints.
#ifndef NDPOOL_SRC_PROBLEM_H_
#define NDPOOL_SRC_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ndpool/ndpool.h"

namespace ndpool {

// Owns what an ndpool_desc points to, and two things that only tests and benchmarks use: the memory
// order of the axes (empty: row-major) and the seed of the data.
struct Problem {
  int32_t op = NDPOOL_MAX;
  int32_t type = NDPOOL_F32;
  int32_t out_type = NDPOOL_SAME_TYPE;
  int32_t mode = NDPOOL_WINDOWED;
  int32_t rounding = NDPOOL_FLOOR;
  int32_t padding = NDPOOL_PADDING_GIVEN;
  int32_t ties = NDPOOL_TIES_FIRST;
  int32_t empty = NDPOOL_EMPTY_ERROR;
  bool count_include_pad = true;
  bool mean = false;
  std::vector<int64_t> shape, axes, window, stride, dilation, pad_lo, pad_hi, output_size;
  std::optional<int64_t> divisor;
  double beta = 1;
  double p = 2;
  std::string target;  // empty: the best one here
  int32_t algorithm = NDPOOL_ALGORITHM_AUTOMATIC;
  std::vector<int> order;
  uint64_t seed = 0;

  // The description to plan from. It points into this problem, which must outlive it unchanged.
  ndpool_desc desc() const;
};

// A problem, or an error whose message says which token is at fault and what was expected.
struct ParsedProblem {
  Problem problem;
  ndpool_error error = {};  // code NDPOOL_OK: the problem is good

  explicit operator bool() const { return error.code == NDPOOL_OK; }
};

// Reads a line. Any text at all is answered with a problem or an error; nothing is thrown. Only the
// text is judged here (spelling, numbers within 64 bits, tokens that exclude one another, `order` a
// permutation); whether the numbers make a pooling is for ndpool_plan_create to say.
ParsedProblem parse_problem(std::string_view line) noexcept;

// The line of a problem: defaults are left out, and parse_problem gives the same problem again.
std::string to_line(const Problem& problem);

}  // namespace ndpool

#endif  // NDPOOL_SRC_PROBLEM_H_
