// One-line pooling: an Array in, an Array out. Each call plans, runs and throws PoolError if
// refused; keep a Plan instead where the same problem comes again, or where the memory is your own.
#ifndef NDPOOL_CPP_FUNCTIONS_HPP_
#define NDPOOL_CPP_FUNCTIONS_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "ndpool/cpp/plan.hpp"
#include "ndpool/cpp/unpool.hpp"

namespace ndpool::inline front {

// An owning row-major array: a shape, and as many elements as it says. A contiguous range.
template <Element T>
class Array {
 public:
  // Elements without a value yet. Throws PoolError if the shape has no valid count.
  explicit Array(Ints shape) : shape_(std::move(shape)) {
    const auto count = detail::product(shape_);
    if (!count) {
      throw PoolError(Error{Status::overflow,
                            -1,
                            {},
                            "an array of " + detail::product_text(shape_) +
                                " has a negative size or more elements than 64 bits count"});
    }
    size_ = static_cast<std::size_t>(*count);
    data_ = std::make_unique_for_overwrite<T[]>(size_);
  }

  // The given values, row-major. Throws PoolError unless there are as many as the shape says.
  Array(Ints shape, std::initializer_list<T> values) : Array(std::move(shape)) { fill(values); }
  template <std::ranges::sized_range R>
    requires std::convertible_to<std::ranges::range_reference_t<const R>, T>
  Array(Ints shape, const R& values) : Array(std::move(shape)) {
    fill(values);
  }

  Array(const Array& other) : Array(other.shape_) {
    std::copy_n(other.data_.get(), size_, data_.get());
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array other) noexcept {
    swap(other);
    return *this;
  }
  ~Array() = default;

  const Ints& shape() const { return shape_; }
  std::size_t size() const { return size_; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T* begin() { return data_.get(); }
  T* end() { return data_.get() + size_; }
  const T* begin() const { return data_.get(); }
  const T* end() const { return data_.get() + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  template <class R>
  void fill(const R& values) {
    if (std::size(values) != size_) {
      const auto have = static_cast<std::int64_t>(std::size(values));
      const auto need = static_cast<std::int64_t>(size_);
      throw PoolError(detail::array_error("an array of " + detail::product_text(shape_) +
                                              " needs " + std::to_string(need) +
                                              " values but got " + std::to_string(have),
                                          have, need));
    }
    std::copy(std::begin(values), std::end(values), data_.get());
  }
  void swap(Array& other) noexcept {
    shape_.swap(other.shape_);
    data_.swap(other.data_);
    std::swap(size_, other.size_);
  }

  Ints shape_;
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
};

// A pooled array and, for each output, the flat position of its first winner over the pooled axes.
template <Element T>
struct Indexed {
  Array<T> values;
  Array<std::int64_t> index;
};

namespace detail {

// Fills in what the call itself says (operation, type, shape) and plans.
template <class Out, class T>
Plan plan_for(Op op, const Array<T>& x, Pool&& pool) {
  pool.op = op;
  pool.type = type_of<T>;
  pool.shape = x.shape();
  if (!std::same_as<Out, T>) pool.out_type = type_of<Out>;
  return Plan(pool);
}

template <class Out, class T>
Array<Out> run(Op op, const Array<T>& x, Pool pool) {
  const Plan plan = plan_for<Out>(op, x, std::move(pool));
  Array<Out> y(plan.output_shape());
  plan.forward(x, y);
  return y;
}

template <class T>
Indexed<T> run_with_index(Op op, const Array<T>& x, Pool pool) {
  const Plan plan = plan_for<T>(op, x, std::move(pool));
  Indexed<T> result{Array<T>(plan.output_shape()), Array<std::int64_t>(plan.output_shape())};
  plan.forward_with_index(x, result.values, result.index);
  return result;
}

inline Pool global(Pool pool) {
  pool.mode = Mode::global;
  return pool;
}

inline Pool adaptive(Pool pool) {
  pool.mode = Mode::adaptive;
  return pool;
}

}  // namespace detail

// ---- Windows: max_pool(x, {.window = {3, 3}, .stride = {2}, .padding = {1}}) -------------------
// Whatever pool.op, type and shape say, the call fills them in.

template <class T>
Array<T> max_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::max, x, std::move(pool));
}
template <class T>
Indexed<T> max_pool_with_index(const Array<T>& x, Pool pool) {
  return detail::run_with_index(Op::max, x, std::move(pool));
}

template <class T>
Array<T> min_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::min, x, std::move(pool));
}
template <class T>
Indexed<T> min_pool_with_index(const Array<T>& x, Pool pool) {
  return detail::run_with_index(Op::min, x, std::move(pool));
}

template <class T>
Array<T> avg_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::avg, x, std::move(pool));
}
// The average in another type: avg_pool_as<float>(bytes, {.window = {2, 2}}).
template <class Out, class T>
Array<Out> avg_pool_as(const Array<T>& x, Pool pool) {
  return detail::run<Out>(Op::avg, x, std::move(pool));
}

template <class T>
Array<T> smooth_max_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::smooth_max, x, std::move(pool));
}
template <class T>
Array<T> lp_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::lp, x, std::move(pool));
}

// ---- Global: one window, the whole of pool.axes; those axes stay, with size 1 -----------------

template <class T>
Array<T> global_max_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::max, x, detail::global(std::move(pool)));
}
template <class T>
Array<T> global_min_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::min, x, detail::global(std::move(pool)));
}
template <class T>
Array<T> global_avg_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::avg, x, detail::global(std::move(pool)));
}
template <class T>
Array<T> global_smooth_max_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::smooth_max, x, detail::global(std::move(pool)));
}
template <class T>
Array<T> global_lp_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::lp, x, detail::global(std::move(pool)));
}

// ---- Adaptive: pool.output_size outputs; kKeep leaves an axis as it is ------------------------

template <class T>
Array<T> adaptive_max_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::max, x, detail::adaptive(std::move(pool)));
}
template <class T>
Array<T> adaptive_min_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::min, x, detail::adaptive(std::move(pool)));
}
template <class T>
Array<T> adaptive_avg_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::avg, x, detail::adaptive(std::move(pool)));
}
template <class T>
Array<T> adaptive_smooth_max_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::smooth_max, x, detail::adaptive(std::move(pool)));
}
template <class T>
Array<T> adaptive_lp_pool(const Array<T>& x, Pool pool) {
  return detail::run<T>(Op::lp, x, detail::adaptive(std::move(pool)));
}

// ---- Unpool ------------------------------------------------------------------------------------

// Each y to its index, zeros elsewhere. output_shape is the full shape; indices run over axes.
template <class T>
Array<T> max_unpool(const Array<T>& y, const Array<std::int64_t>& index, Ints output_shape,
                    const Ints& axes) {
  if (index.shape() != y.shape()) {
    throw PoolError(Error{Status::bad_array,
                          -1,
                          {},
                          "index is " + detail::product_text(index.shape()) + " but y is " +
                              detail::product_text(y.shape()) + "; each y needs one index"});
  }
  Array<T> out(output_shape);
  unpool(Unpool{.type = type_of<T>,
                .y_shape = y.shape(),
                .output_shape = std::move(output_shape),
                .axes = std::move(axes)},
         y, index, out);
  return out;
}

}  // namespace ndpool::inline front

#endif  // NDPOOL_CPP_FUNCTIONS_HPP_
