// Errors as values, and the exception that the throwing front makes of them.
#ifndef NDPOOL_CPP_RESULT_HPP_
#define NDPOOL_CPP_RESULT_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "ndpool/cpp/types.hpp"

namespace ndpool::inline front {

// Why a call was refused. numbers are those at fault, in the order in which the message names them.
struct Error {
  Status code = Status::ok;
  int axis = -1;  // of the array, or -1
  std::array<std::int64_t, 4> numbers = {};
  std::string message = {};
};

// What the throwing front throws, whatever was refused; error() tells cases apart.
class PoolError : public std::invalid_argument {
 public:
  explicit PoolError(Error error)
      : std::invalid_argument(error.message), error_(std::move(error)) {}
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// A value, or the error that took its place. Looking at the value of an error throws PoolError;
// looking at the error of a value throws std::logic_error: neither is undefined.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  const T& value() const& {
    check();
    return *std::get_if<0>(&state_);
  }
  T& value() & {
    check();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    check();
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    if (has_value()) throw std::logic_error("ndpool::Result: error() of a call that succeeded");
    return *std::get_if<1>(&state_);
  }

 private:
  void check() const {
    if (!has_value()) throw PoolError(*std::get_if<1>(&state_));
  }

  std::variant<T, Error> state_;
};

// Success, or an error. Costs no allocation on success.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (error_) throw PoolError(*error_);
  }
  const Error& error() const {
    if (!error_) throw std::logic_error("ndpool::Result: error() of a call that succeeded");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

namespace detail {

// The C error, with its text copied out of the fixed buffer.
inline Error from_c(const ndpool_error& error) {
  return Error{static_cast<Status>(error.code),
               error.axis,
               {error.numbers[0], error.numbers[1], error.numbers[2], error.numbers[3]},
               error.message};
}

// The outcome of a C call that returned `status` and filled `error`.
inline Result<void> outcome(std::int32_t status, const ndpool_error& error) {
  if (status == NDPOOL_OK) return {};
  return from_c(error);
}

// "3x4x5", for messages.
template <class Numbers>
std::string product_text(const Numbers& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += 'x';
    text += std::to_string(number);
  }
  return text.empty() ? "no axes" : text;
}

}  // namespace detail
}  // namespace ndpool::inline front

#endif  // NDPOOL_CPP_RESULT_HPP_
