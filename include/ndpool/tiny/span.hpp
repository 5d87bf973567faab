// A buffer of the caller's and how many elements it has.
#ifndef NDPOOL_TINY_SPAN_HPP_
#define NDPOOL_TINY_SPAN_HPP_

#include <stddef.h>
#include <stdint.h>

namespace ndpool::tiny {

template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  constexpr operator Span<const T>() const { return {data_, size_}; }

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr Span first(size_t count) const { return {data_, count}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// From a pointer and a count, an array (of arrays), or anything with data() and size().
template <class T>
constexpr Span<T> span(T* data, size_t size) {
  return {data, size};
}
template <class T, size_t N>
constexpr Span<T> span(T (&array)[N]) {
  return {array, N};
}
template <class T, size_t N, size_t M>
constexpr auto span(T (&array)[N][M]) {
  const auto row = span(array[0]);
  return span(row.data(), row.size() * N);
}
template <class Container>
constexpr auto span(Container& container) -> decltype(span(container.data(), container.size())) {
  return span(container.data(), container.size());
}

namespace detail {

// Whether two buffers share memory.
template <class A, class B>
bool overlap(Span<A> a, Span<B> b) {
  if (a.size() == 0 || b.size() == 0) return false;
  const auto a_begin = reinterpret_cast<uintptr_t>(a.data());
  const auto b_begin = reinterpret_cast<uintptr_t>(b.data());
  return a_begin < b_begin + b.size() * sizeof(B) && b_begin < a_begin + a.size() * sizeof(A);
}

}  // namespace detail
}  // namespace ndpool::tiny

#endif  // NDPOOL_TINY_SPAN_HPP_
