// A buffer of the caller's and how many elements it has.
#ifndef NDPOOL_TINY_SPAN_HPP_
#define NDPOOL_TINY_SPAN_HPP_

#include <stddef.h>
#include <stdint.h>

namespace ndpool::tiny {

template <class T>
struct Span {
  T* data = nullptr;
  size_t size = 0;

  constexpr Span() = default;
  constexpr Span(T* first, size_t count) : data(first), size(count) {}
  constexpr operator Span<const T>() const { return {data, size}; }
  constexpr Span first(size_t count) const { return {data, count}; }
};

// From a pointer and a count, an array, or anything with data() and size().
template <class T>
constexpr Span<T> span(T* data, size_t size) {
  return {data, size};
}
template <class T, size_t N>
constexpr Span<T> span(T (&array)[N]) {
  return {array, N};
}
template <class T>
constexpr Span<T> span(Span<T> given) {
  return given;
}
template <class Container>
constexpr auto span(Container& container) -> decltype(span(container.data(), container.size())) {
  return span(container.data(), container.size());
}

namespace detail {

// Whether two buffers share memory.
template <class A, class B>
bool overlap(Span<A> a, Span<B> b) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data);
  const auto b_begin = reinterpret_cast<uintptr_t>(b.data);
  return a_begin < b_begin + b.size * sizeof(B) && b_begin < a_begin + a.size * sizeof(A);
}

}  // namespace detail
}  // namespace ndpool::tiny

#endif  // NDPOOL_TINY_SPAN_HPP_
