#include "problem.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>

namespace ndpool {
namespace {

// Words of the grammar; a word's place in its list is the value of the enum it names.
constexpr std::array<std::string_view, 5> kOps = {"max", "min", "avg", "smooth", "lp"};
constexpr std::array<std::string_view, 13> kTypes = {
    "f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"};
constexpr std::array<std::string_view, 3> kRoundings = {"floor", "ceil", "exact"};
constexpr std::array<std::string_view, 3> kPaddings = {"valid", "same", "same_lower"};
constexpr std::array<std::string_view, 4> kAlgorithms = {"automatic", "rows", "bands", "doubling"};
constexpr std::array<std::string_view, 4> kTies = {"first", "last", "all", "split"};
constexpr std::array<std::string_view, 2> kEmpties = {"error", "identity"};
constexpr std::string_view kTypeWords = "f16 bf16 f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool";

// What a token can set; each at most once in a line.
enum Part : unsigned {
  kGeometry = 1u << 0,
  kStride = 1u << 1,
  kDilation = 1u << 2,
  kPadding = 1u << 3,
  kRounding = 1u << 4,
  kAxes = 1u << 5,
  kTiesPart = 1u << 6,
  kEmptyPart = 1u << 7,
  kCounting = 1u << 8,
  kDivisor = 1u << 9,
  kMean = 1u << 10,
  kBeta = 1u << 11,
  kExponent = 1u << 12,
  kOut = 1u << 13,
  kTarget = 1u << 14,
  kOrder = 1u << 15,
  kSeed = 1u << 16,
  kAlgorithm = 1u << 17,
};

template <size_t N>
int32_t find_word(const std::array<std::string_view, N>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() ? -1 : static_cast<int32_t>(found - words.begin());
}

template <size_t N>
std::string_view word_of(const std::array<std::string_view, N>& words, int32_t value) {
  return value >= 0 && value < static_cast<int32_t>(N) ? words[static_cast<size_t>(value)] : "?";
}

// The whole text as one number, in range; nothing else before or after it.
template <class T>
bool read_number(std::string_view text, T* value) {
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, *value);
  return code == std::errc() && rest == end && !text.empty();
}

// Cuts the text before the first separator off, and drops the separator.
std::string_view take(std::string_view* text, char separator) {
  const size_t at = text->find(separator);
  const std::string_view head = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return head;
}

// Numbers between separators, at least one; with `star`, a * is NDPOOL_KEEP.
bool read_list(std::string_view text, char separator, bool star, std::vector<int64_t>* list) {
  if (text.empty() || text.back() == separator) return false;
  while (!text.empty()) {
    const std::string_view item = take(&text, separator);
    int64_t value = NDPOOL_KEEP;
    if (!(star && item == "*") && !read_number(item, &value)) return false;
    list->push_back(value);
  }
  return true;
}

// 1x2 (hi follows lo) or 1:2x0:1; where only some axes have a pair, hi is lo on the others.
bool read_padding(std::string_view text, Problem* problem) {
  if (text.empty() || text.back() == 'x') return false;
  const bool pairs = text.find(':') != std::string_view::npos;
  while (!text.empty()) {
    const std::string_view item = take(&text, 'x');
    const size_t colon = item.find(':');
    int64_t lo = 0;
    if (!read_number(item.substr(0, colon), &lo)) return false;
    int64_t hi = lo;
    if (colon != std::string_view::npos && !read_number(item.substr(colon + 1), &hi)) return false;
    problem->pad_lo.push_back(lo);
    if (pairs) problem->pad_hi.push_back(hi);
  }
  return true;
}

// A permutation of the axes of an array of that rank.
bool read_order(std::string_view text, size_t rank, std::vector<int>* order) {
  std::vector<int64_t> list;
  if (!read_list(text, ',', false, &list) || list.size() != rank) return false;
  std::vector<bool> seen(rank, false);
  for (const int64_t axis : list) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)]) {
      return false;
    }
    seen[static_cast<size_t>(axis)] = true;
    order->push_back(static_cast<int>(axis));
  }
  return true;
}

// Reads one line into one problem, and stops at the first token that is at fault.
class Parser {
 public:
  explicit Parser(ParsedProblem* result) : result_(result), problem_(&result->problem) {}

  void parse(std::string_view line) {
    rest_ = line;
    if (!head()) return;
    for (std::string_view token = next(); !token.empty(); token = next()) {
      if (!read_token(token)) return;
    }
    if ((seen_ & kGeometry) == 0) {
      fail("", "a window (w3x3), adaptive output sizes (a7x7) or global");
    } else if (problem_->mode == NDPOOL_GLOBAL && (seen_ & kAxes) == 0) {
      fail("global", "the axes to pool beside it, as in axes=0,2");
    }
  }

 private:
  // The next token, or "" at the end of the line.
  std::string_view next() {
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t begin = std::min(rest_.find_first_not_of(kSpace), rest_.size());
    rest_.remove_prefix(begin);
    const std::string_view token = rest_.substr(0, rest_.find_first_of(kSpace));
    rest_.remove_prefix(token.size());
    return token;
  }

  bool head() {
    const std::string_view op = next();
    problem_->op = find_word(kOps, op);
    if (problem_->op < 0) return fail(op, "an operation first: max min avg smooth lp");
    const std::string_view type = next();
    problem_->type = find_word(kTypes, type);
    if (problem_->type < 0) return fail(type, "a type after the operation: ", kTypeWords);
    const std::string_view shape = next();
    if (shape == "()") return true;
    if (!read_list(shape, 'x', false, &problem_->shape)) {
      return fail(shape, "a shape after the type, such as 32x64x112x112");
    }
    return true;
  }

  bool read_token(std::string_view token) {
    const size_t equals = token.find('=');
    if (equals == std::string_view::npos) return read_word(token) || read_numbers(token);
    return read_setting(token, token.substr(0, equals), token.substr(equals + 1));
  }

  // Tokens that are one word. False also when the token is no such word; read_numbers then decides.
  bool read_word(std::string_view token) {
    if (const int32_t rounding = find_word(kRoundings, token); rounding >= 0) {
      problem_->rounding = rounding;
      return once(kRounding, token);
    }
    if (const int32_t padding = find_word(kPaddings, token); padding >= 0) {
      problem_->padding = padding;
      return once(kPadding, token);
    }
    if (token == "global") {
      problem_->mode = NDPOOL_GLOBAL;
      return once(kGeometry, token);
    }
    if (token == "nopad") {
      problem_->count_include_pad = false;
      return once(kCounting, token);
    }
    if (token == "mean") {
      problem_->mean = true;
      return once(kMean, token);
    }
    return false;
  }

  // Tokens of one letter and numbers.
  bool read_numbers(std::string_view token) {
    if (result_->error.code != NDPOOL_OK) return false;
    const std::string_view text = token.substr(1);
    switch (token.front()) {
      case 'w':
        problem_->mode = NDPOOL_WINDOWED;
        return once(kGeometry, token) &&
               (read_list(text, 'x', false, &problem_->window) || fail(token, "w3 or w3x3"));
      case 'a':
        problem_->mode = NDPOOL_ADAPTIVE;
        return once(kGeometry, token) && (read_list(text, 'x', true, &problem_->output_size) ||
                                          fail(token, "a7, a7x7 or a7x*"));
      case 's':
        return once(kStride, token) &&
               (read_list(text, 'x', false, &problem_->stride) || fail(token, "s2 or s2x1"));
      case 'd':
        return once(kDilation, token) &&
               (read_list(text, 'x', false, &problem_->dilation) || fail(token, "d2 or d2x1"));
      case 'p':
        return once(kPadding, token) &&
               (read_padding(text, problem_) || fail(token, "p1, p1x2 or p1:2x0:1"));
      default:
        return fail(token,
                    "a token such as w3x3 a7x7 global s2 d2 p1 same ceil axes=0,2 ties=last");
    }
  }

  // Tokens of the form name=value.
  bool read_setting(std::string_view token, std::string_view name, std::string_view value) {
    Problem& p = *problem_;
    if (name == "axes") {
      return once(kAxes, token) &&
             (read_list(value, ',', false, &p.axes) || fail(token, "axes=0,2 or axes=-1"));
    }
    if (name == "ties") {
      p.ties = find_word(kTies, value);
      return once(kTiesPart, token) && (p.ties >= 0 || fail(token, "ties=first|last|all|split"));
    }
    if (name == "empty") {
      p.empty = find_word(kEmpties, value);
      return once(kEmptyPart, token) && (p.empty >= 0 || fail(token, "empty=error|identity"));
    }
    if (name == "divisor") {
      p.divisor = 0;
      return once(kDivisor, token) &&
             (read_number(value, &*p.divisor) || fail(token, "a 64-bit integer: divisor=5"));
    }
    if (name == "beta") {
      return once(kBeta, token) && (read_number(value, &p.beta) || fail(token, "beta=2.5"));
    }
    if (name == "p") {
      return once(kExponent, token) && (read_number(value, &p.p) || fail(token, "p=3 or p=inf"));
    }
    if (name == "out") {
      p.out_type = find_word(kTypes, value);
      return once(kOut, token) && (p.out_type >= 0 || fail(token, "out= and one of ", kTypeWords));
    }
    if (name == "target") {
      p.target = value;
      return once(kTarget, token) && (!value.empty() || fail(token, "target=AVX2"));
    }
    if (name == "algorithm") {
      p.algorithm = find_word(kAlgorithms, value);
      return once(kAlgorithm, token) &&
             (p.algorithm >= 0 ||
              fail(token, "algorithm= and one of automatic, rows, bands, doubling"));
    }
    if (name == "order") {
      return once(kOrder, token) && (read_order(value, p.shape.size(), &p.order) ||
                                     fail(token, "each axis of the shape once, as in order=0,2,1"));
    }
    if (name == "seed") {
      return once(kSeed, token) &&
             (read_number(value, &p.seed) || fail(token, "an unsigned 64-bit integer: seed=7"));
    }
    return fail(token, "axes= ties= empty= divisor= beta= p= out= target= algorithm= order= seed=");
  }

  bool once(Part part, std::string_view token) {
    if ((seen_ & part) != 0) return fail(token, "one such token only: an earlier one says it too");
    seen_ |= part;
    return true;
  }

  // Writes the error and returns false. What is printed of a token is short and printable.
  bool fail(std::string_view token, std::string_view expected, std::string_view more = "") {
    char shown[64] = "the end of the line";
    if (!token.empty()) {
      const size_t length = std::min<size_t>(token.size(), 40);
      shown[0] = '"';
      std::transform(token.begin(), token.begin() + static_cast<std::ptrdiff_t>(length), shown + 1,
                     [](char c) { return c > ' ' && c <= '~' ? c : '?'; });
      std::snprintf(shown + 1 + length, sizeof shown - 1 - length, "%s\"",
                    length < token.size() ? "..." : "");
    }
    ndpool_error& error = result_->error;
    error.code = NDPOOL_BAD_ARGUMENT;
    error.axis = -1;
    std::snprintf(error.message, sizeof error.message, "problem line: at %s: expected %.*s%.*s",
                  shown, static_cast<int>(expected.size()), expected.data(),
                  static_cast<int>(more.size()), more.data());
    return false;
  }

  ParsedProblem* result_;
  Problem* problem_;
  std::string_view rest_;
  unsigned seen_ = 0;
};

ndpool_ints ints(const std::vector<int64_t>& list) {
  return {list.data(), static_cast<int64_t>(list.size())};
}

template <class T>
std::string number(T value) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}

template <class T>
std::string join(const std::vector<T>& list, char separator, bool star = false) {
  std::string text;
  for (const T value : list) {
    if (!text.empty()) text += separator;
    text += star && value == static_cast<T>(NDPOOL_KEEP) ? "*" : number(value);
  }
  return text;
}

// lo:hi pairs where hi is given apart; a single number on either side stands for all axes.
std::string padding_text(const std::vector<int64_t>& lo, const std::vector<int64_t>& hi) {
  if (hi.empty()) return join(lo, 'x');
  std::string text;
  for (size_t i = 0; i < std::max(lo.size(), hi.size()); ++i) {
    const int64_t low = lo.empty() ? 0 : lo[std::min(i, lo.size() - 1)];
    text += (i == 0 ? "" : "x") + number(low) + ":" + number(hi[std::min(i, hi.size() - 1)]);
  }
  return text;
}

}  // namespace

ndpool_desc Problem::desc() const {
  ndpool_desc d = {};
  d.struct_size = sizeof d;
  d.op = op;
  d.type = type;
  d.out_type = out_type;
  d.mode = mode;
  d.rounding = rounding;
  d.padding = padding;
  d.ties = ties;
  d.empty = empty;
  d.count_include_pad = count_include_pad ? 1 : 0;
  d.mean = mean ? 1 : 0;
  d.shape = ints(shape);
  d.axes = ints(axes);
  d.window = ints(window);
  d.stride = ints(stride);
  d.dilation = ints(dilation);
  d.pad_lo = ints(pad_lo);
  d.pad_hi = ints(pad_hi);
  d.output_size = ints(output_size);
  d.divisor = divisor ? &*divisor : nullptr;
  d.beta = beta;
  d.p = p;
  d.target = target.empty() ? nullptr : target.c_str();
  d.algorithm = algorithm;
  return d;
}

ParsedProblem parse_problem(std::string_view line) noexcept {
  ParsedProblem result;
  try {
    Parser(&result).parse(line);
  } catch (const std::bad_alloc&) {
    result.error.code = NDPOOL_NO_MEMORY;
    result.error.axis = -1;
    std::snprintf(result.error.message, sizeof result.error.message,
                  "problem line: no memory for a line of %zu characters", line.size());
  }
  if (result.error.code == NDPOOL_OK) result.error.axis = -1;
  return result;
}

std::string to_line(const Problem& problem) {
  const Problem& p = problem;
  std::string line;
  const auto add = [&line](std::string_view prefix, std::string_view text) {
    line += ' ';
    line += prefix;
    line += text;
  };
  line += word_of(kOps, p.op);
  add("", word_of(kTypes, p.type));
  add("", p.shape.empty() ? "()" : join(p.shape, 'x'));
  if (p.mode == NDPOOL_GLOBAL) add("", "global");
  if (!p.window.empty()) add("w", join(p.window, 'x'));
  if (!p.output_size.empty()) add("a", join(p.output_size, 'x', true));
  if (!p.stride.empty()) add("s", join(p.stride, 'x'));
  if (!p.dilation.empty()) add("d", join(p.dilation, 'x'));
  if (!p.pad_lo.empty() || !p.pad_hi.empty()) add("p", padding_text(p.pad_lo, p.pad_hi));
  if (p.padding != NDPOOL_PADDING_GIVEN) add("", word_of(kPaddings, p.padding));
  if (p.rounding != NDPOOL_FLOOR) add("", word_of(kRoundings, p.rounding));
  if (!p.axes.empty()) add("axes=", join(p.axes, ','));
  if (p.ties != NDPOOL_TIES_FIRST) add("ties=", word_of(kTies, p.ties));
  if (p.empty != NDPOOL_EMPTY_ERROR) add("empty=", word_of(kEmpties, p.empty));
  if (!p.count_include_pad) add("", "nopad");
  if (p.divisor) add("divisor=", number(*p.divisor));
  if (p.mean) add("", "mean");
  if (p.beta != 1) add("beta=", number(p.beta));
  if (p.p != 2) add("p=", number(p.p));
  if (p.out_type != NDPOOL_SAME_TYPE) add("out=", word_of(kTypes, p.out_type));
  if (!p.target.empty()) add("target=", p.target);
  if (p.algorithm != NDPOOL_ALGORITHM_AUTOMATIC) {
    add("algorithm=", word_of(kAlgorithms, p.algorithm));
  }
  if (!p.order.empty()) add("order=", join(p.order, ','));
  if (p.seed != 0) add("seed=", number(p.seed));
  return line;
}

}  // namespace ndpool
