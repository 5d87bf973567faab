// Memory handed to a call: ranges without gaps, strided views, compact argmax buffers.
#ifndef NDPOOL_CPP_VIEW_HPP_
#define NDPOOL_CPP_VIEW_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ndpool/cpp/result.hpp"
#include "ndpool/cpp/types.hpp"

namespace ndpool::inline front {

// In place of an array that a call can do without: plan.vjp(none, g, dx), plan.jvp(x, dx, none,
// dy).
struct None {};
inline constexpr None none = {};  // NOLINT(readability-identifier-naming): reads as a word

// A strided array: element (i, j, …) lies i·strides[0] + j·strides[1] + … bytes after the first
// one. Strides may be negative, and zero where the array is read. The memory is borrowed.
template <Element T>
class View {
 public:
  // The first element is memory[first]. A call is refused if it would leave `memory`.
  View(std::span<T> memory, Ints strides, std::size_t first = 0)
      : memory_(memory), strides_(std::move(strides)), first_(first) {}

  // The same without a bound: the caller vouches that every element of the array exists.
  static View unchecked(T* first, Ints strides) {
    View view(std::span<T>(first, 0), std::move(strides));
    view.bounded_ = false;
    return view;
  }

  std::span<T> memory() const { return memory_; }
  const Ints& strides() const { return strides_; }
  std::size_t first() const { return first_; }
  bool bounded() const { return bounded_; }

 private:
  std::span<T> memory_;
  Ints strides_;
  std::size_t first_ = 0;
  bool bounded_ = true;
};

// Owns the compact argmax of one forward call: one tap number per output, in the plan's width.
// Plan::make_argmax() makes it; forward fills it; vjp_argmax reads it.
class Compact {
 public:
  Compact(Type type, std::int64_t count)
      : type_(type),
        count_(count),
        bytes_(static_cast<std::size_t>(count) * ndpool::type_size(type)) {}

  Type type() const { return type_; }
  std::int64_t size() const { return count_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }

  // The tap number of output i (row-major). Throws std::out_of_range.
  std::uint64_t at(std::int64_t i) const {
    if (i < 0 || i >= count_) {
      throw std::out_of_range("ndpool::Compact: output " + std::to_string(i) + " of " +
                              std::to_string(count_));
    }
    switch (type_) {
      case Type::u8:
        return read<std::uint8_t>(i);
      case Type::u16:
        return read<std::uint16_t>(i);
      case Type::u32:
        return read<std::uint32_t>(i);
      default:
        return read<std::uint64_t>(i);
    }
  }

 private:
  template <class T>
  std::uint64_t read(std::int64_t i) const {
    T value = 0;
    std::memcpy(&value, bytes_.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }

  Type type_;
  std::int64_t count_;
  std::vector<std::byte> bytes_;
};

namespace detail {

template <class R>
concept Range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                Element<std::ranges::range_value_t<R>>;

// What Input and Output have in common: memory of a known type, and how the array lies in it.
struct Memory {
  const std::byte* base = nullptr;
  std::int64_t bytes = 0;  // from base on
  std::int64_t first = 0;  // byte at which the first element begins
  const Ints* strides = nullptr;
  Type type = Type::same;
  bool present = false;
  bool bounded = true;
};

template <class T, std::size_t N>
Memory memory_of(std::span<T, N> span) {
  return {reinterpret_cast<const std::byte*>(span.data()),
          static_cast<std::int64_t>(span.size_bytes()),
          0,
          nullptr,
          type_of<T>,
          true,
          true};
}

template <class T>
Memory memory_of(const View<T>& view) {
  Memory memory = memory_of(view.memory());
  // An absurd first element must not wrap: anything beyond the memory is refused all the same.
  memory.first = view.first() > view.memory().size()
                     ? memory.bytes + 1
                     : static_cast<std::int64_t>(view.first() * sizeof(T));
  memory.strides = &view.strides();
  memory.bounded = view.bounded();
  return memory;
}

inline Memory memory_of(const Compact& compact) {
  return {compact.bytes().data(),
          static_cast<std::int64_t>(compact.bytes().size()),
          0,
          nullptr,
          compact.type(),
          true,
          true};
}

}  // namespace detail

// An array that is read: any contiguous range of elements, a View, a Compact, or none. Borrows.
class Input {
 public:
  Input(None) {}
  template <detail::Range R>
  Input(const R& range) : memory_(detail::memory_of(std::span(range))) {}
  template <Element T>
  Input(const View<T>& view) : memory_(detail::memory_of(view)) {}
  Input(const Compact& compact) : memory_(detail::memory_of(compact)) {}
  const detail::Memory& memory() const { return memory_; }

 private:
  detail::Memory memory_;
};

// An array that is written: the same, of elements that are not const.
class Output {
 public:
  Output(None) {}
  template <detail::Range R>
    requires(std::ranges::borrowed_range<R> &&
             !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  Output(R&& range) : memory_(detail::memory_of(std::span(range))) {}
  template <Element T>
    requires(!std::is_const_v<T>)
  Output(const View<T>& view) : memory_(detail::memory_of(view)) {}
  Output(Compact& compact) : memory_(detail::memory_of(compact)) {}
  const detail::Memory& memory() const { return memory_; }

 private:
  detail::Memory memory_;
};

namespace detail {

// The product of sizes; nothing if one is negative or it leaves 64 bits (zeros are skipped, as the
// library does, so that no order of axes hides an overflow).
inline std::optional<std::int64_t> product(std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (result > std::numeric_limits<std::int64_t>::max() / size) {
      return std::nullopt;
    } else {
      result *= size;
    }
  }
  return empty ? 0 : result;
}

// How far a strided box reaches before and after its first element, in bytes; nothing on overflow.
inline std::optional<std::pair<std::int64_t, std::int64_t>> reach(
    std::span<const std::int64_t> sizes, const Ints& strides) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t before = 0;
  std::int64_t after = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t steps = sizes[i] - 1;
    if (steps <= 0) continue;
    if (strides[i] > kMost / steps || strides[i] < -(kMost / steps)) return std::nullopt;
    const std::int64_t span = steps * strides[i];
    std::int64_t& side = span < 0 ? before : after;
    const std::int64_t length = span < 0 ? -span : span;
    if (side > kMost - length) return std::nullopt;
    side += length;
  }
  return std::pair(before, after);
}

inline Error array_error(std::string message, std::int64_t have, std::int64_t need) {
  return Error{Status::bad_array, -1, {have, need, 0, 0}, std::move(message)};
}

// Why a strided view of the given sizes leaves its memory or does not fit the rank, if it does.
inline std::optional<Error> check_strides(const Memory& memory, const char* name,
                                          std::span<const std::int64_t> sizes) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto given = static_cast<std::int64_t>(memory.strides->size());
  if (given != rank) {
    return array_error(std::string(name) + " has " + std::to_string(given) +
                           " strides but its array has " + std::to_string(rank) +
                           " axes; give one stride in bytes for each axis",
                       given, rank);
  }
  if (!memory.bounded || product(sizes) == 0) return std::nullopt;
  const auto sides = reach(sizes, *memory.strides);
  const auto element = static_cast<std::int64_t>(type_size(memory.type));
  const std::int64_t room = memory.bytes - memory.first;
  if (!sides || sides->first > memory.first || room < element || sides->second > room - element) {
    return array_error(std::string(name) + " with strides leaves its memory of " +
                           std::to_string(memory.bytes) + " bytes: an array of " +
                           product_text(sizes) + " from byte " + std::to_string(memory.first) +
                           (sides ? " reaches " + std::to_string(sides->first) : "") +
                           (sides ? " bytes before and " + std::to_string(sides->second) +
                                        " after its first element"
                                  : std::string(" overflows 64 bits")) +
                           "; pass a larger span or smaller strides (they count bytes)",
                       memory.bytes, memory.first);
  }
  return std::nullopt;
}

// Why an array does not fit the wanted type and sizes, if it does not. Absent arrays always fit:
// the C call refuses those that it needs.
inline std::optional<Error> check_array(const Memory& memory, const char* name, Type type,
                                        std::span<const std::int64_t> sizes) {
  if (!memory.present) return std::nullopt;
  if (memory.type != type) {
    return Error{Status::bad_type,
                 -1,
                 {static_cast<std::int64_t>(memory.type), static_cast<std::int64_t>(type), 0, 0},
                 std::string(name) + " holds " + type_name(memory.type) + " but this plan's " +
                     name + " is " + type_name(type) + "; convert it, or make a plan of that type"};
  }
  if (memory.strides != nullptr) return check_strides(memory, name, sizes);
  const auto need = product(sizes);
  const std::int64_t have = memory.bytes / static_cast<std::int64_t>(type_size(type));
  if (need && have != *need) {
    return array_error(std::string(name) + " has " + std::to_string(have) +
                           " elements but its shape " + product_text(sizes) + " has " +
                           std::to_string(*need) + "; pass a span of " + std::to_string(*need) +
                           " elements",
                       have, *need);
  }
  return std::nullopt;
}

// The first element. Empty ranges often have no address, which C would take for a missing array:
// they get one here (nothing is read or written there).
inline const std::byte* first_element(const Memory& memory) {
  static const std::byte kNothing{};
  if (!memory.present) return nullptr;
  if (memory.base == nullptr && memory.bounded && memory.bytes == 0) return &kNothing;
  return memory.base + memory.first;
}

inline ndpool_const_array c_array(const Input& input) {
  const Memory& memory = input.memory();
  return {first_element(memory), memory.strides == nullptr ? nullptr : memory.strides->data()};
}

inline ndpool_array c_array(const Output& output) {
  const Memory& memory = output.memory();
  // Output was made from elements that are not const, so this gives back what it was handed.
  return {const_cast<std::byte*>(first_element(memory)),
          memory.strides == nullptr ? nullptr : memory.strides->data()};
}

}  // namespace detail
}  // namespace ndpool::inline front

#endif  // NDPOOL_CPP_VIEW_HPP_
