// One pooling layer over `Rank` axes: its description, its geometry, and the calls.
//
// A layer is a plain value. Each setter returns a changed copy, so a layer can be written in one
// expression, at compile time; then it lies in flash, and all sizes are constants. A layer that
// cannot work says why in error(), and every call returns that error.
#ifndef NDPOOL_TINY_LAYER_HPP_
#define NDPOOL_TINY_LAYER_HPP_

#include <stddef.h>
#include <stdint.h>

#include "ndpool/axis.hpp"
#include "ndpool/tiny/axes.hpp"
#include "ndpool/tiny/backward.hpp"
#include "ndpool/tiny/error.hpp"
#include "ndpool/tiny/forward.hpp"
#include "ndpool/tiny/mask.hpp"
#include "ndpool/tiny/number.hpp"
#include "ndpool/tiny/span.hpp"

namespace ndpool::tiny {

using geometry::Rounding;

// The sizes of an array, in the order in which they lie in memory.
template <int Rank>
struct Shape {
  int32_t size[Rank + 2]{};
  int rank = 0;
  constexpr int32_t operator[](int axis) const { return size[axis]; }
};

template <Op op, class T, int Rank>
class Stream;

template <Op op, class T, int Rank>
class Layer {
  static_assert(Rank >= 1, "a layer pools at least one axis");
  using Number = detail::Number<T>;
  static constexpr bool kAverages = op == Op::avg;

 public:
  constexpr explicit Layer(const int32_t (&kernel)[Rank]) {
    for (int a = 0; a < Rank; ++a) given_[a].kernel = kernel[a];
  }

  // ---- The description. Numbers: one for all axes, or one an axis ----------------------------

  // A negative stride (the default) means the kernel.
  template <class... N>
  constexpr Layer stride(N... n) const {
    return with_each(&Given::stride, n...);
  }
  template <class... N>
  constexpr Layer dilation(N... n) const {
    return with_each(&Given::dilation, n...);
  }
  template <class... N>
  constexpr Layer padding(N... n) const {
    return padding_before(n...).padding_after(n...);
  }
  template <class... N>
  constexpr Layer padding_before(N... n) const {
    return with_each(&Given::pad_lo, n...);
  }
  template <class... N>
  constexpr Layer padding_after(N... n) const {
    return with_each(&Given::pad_hi, n...);
  }
  // As many outputs as cells divided by the stride, rounded up; the odd pad at the end (same) or
  // at the start (same_lower).
  constexpr Layer same() const { return with(&Layer::padding_, geometry::Padding::same); }
  constexpr Layer same_lower() const {
    return with(&Layer::padding_, geometry::Padding::same_lower);
  }
  constexpr Layer rounding(Rounding rounding) const { return with(&Layer::rounding_, rounding); }

  // Which of equal winners the mask names: the first (default) or the last.
  constexpr Layer ties(Ties ties) const {
    static_assert(!kAverages, "an average has no ties");
    return with(&Layer::ties_, ties);
  }
  // Whether pads count in the divisor (default: they do), or one divisor for all windows.
  constexpr Layer count_include_pad(bool yes) const {
    static_assert(kAverages, "only an average has a divisor");
    return with(&Layer::pads_count_, yes);
  }
  constexpr Layer divisor(int32_t divisor) const {
    static_assert(kAverages, "only an average has a divisor");
    return with(&Layer::divisor_, divisor).with(&Layer::has_divisor_, true);
  }
  // Cuts every output to low … high, as quantised networks do.
  constexpr Layer activation(T low, T high) const {
    return with(&Layer::low_, low).with(&Layer::high_, high);
  }

  // One window, the whole of each axis. Without keepdims output_shape() leaves pooled axes out.
  constexpr Layer global(bool keepdims = true) const {
    return with(&Layer::global_, true).with(&Layer::keepdims_, keepdims);
  }

  // ---- The input -----------------------------------------------------------------------------

  // (batch,) channels, sizes… in memory; or (batch,) sizes…, channels.
  constexpr Layer channels_last() const { return with(&Layer::channels_last_, true); }
  template <class N>
  constexpr Layer batch(N images) const {
    return with(&Layer::batch_, clipped(images)).with(&Layer::has_batch_, true);
  }
  template <class Channels, class... N>
  constexpr Layer input(Channels channels, N... sizes) const {
    static_assert(sizeof...(N) == Rank, "input(channels, one size for each pooled axis)");
    return with_each(&Given::cells, sizes...)
        .with(&Layer::channels_, clipped(channels))
        .with(&Layer::has_input_, true);
  }

  // ---- What is known without data ------------------------------------------------------------

  constexpr Error error() const { return error_; }
  constexpr bool ok() const { return error_ == Error::none; }
  constexpr int error_axis() const { return error_axis_; }  // -1: no axis in particular

  constexpr Shape<Rank> output_shape() const {
    Shape<Rank> shape;
    if (!ok()) return shape;
    if (has_batch_) shape.size[shape.rank++] = batch_;
    if (!channels_last_) shape.size[shape.rank++] = channels_;
    for (int a = 0; a < Rank && keepdims_; ++a) shape.size[shape.rank++] = axes_.axis[a].outputs;
    if (channels_last_) shape.size[shape.rank++] = channels_;
    return shape;
  }
  // Elements of x and of y; 0 for a layer with an error.
  constexpr size_t input_size() const { return ok() ? size_t(axes_.input_size()) : 0; }
  constexpr size_t output_size() const { return ok() ? size_t(axes_.output_size()) : 0; }
  // One byte an output for windows of up to 256 taps.
  constexpr size_t mask_bytes() const {
    return kAverages ? 0 : output_size() * size_t(axes_.mask_width());
  }
  // No layer needs scratch memory. (A Stream has its ring.)
  constexpr size_t scratch_bytes() const { return 0; }
  // How many cells at the end of an axis lie beyond its last window; and the sum over all axes.
  constexpr int32_t dropped(int axis) const { return ok() ? axes_.axis[axis].dropped() : 0; }
  constexpr int32_t dropped() const {
    int32_t all = 0;
    for (int a = 0; a < Rank; ++a) all += dropped(a);
    return all;
  }

  // ---- Calls: buffers are arrays, span(pointer, count), or what has data() and size() ----------
  // On error nothing is written.

  template <class X, class Y>
  [[nodiscard]] Error forward(const X& x, Y&& y) const {
    const Span<const T> from = span(x);
    const Span<T> to = span(y);
    const Error error = check(from, input_size(), to, output_size());
    if (error == Error::none && !axes_.empty()) pool(from.data(), to.data(), detail::NoMask{});
    return error;
  }

  // While training: the mask tells backward() which tap won.
  template <class X, class Y, class M>
  [[nodiscard]] Error forward(const X& x, Y&& y, M&& mask) const {
    static_assert(!kAverages, "an average needs no mask: forward(x, y)");
    const Span<const T> from = span(x);
    const Span<T> to = span(y);
    const Span<uint8_t> winners = span(mask);
    Error error = check(from, input_size(), to, output_size());
    if (error == Error::none) error = check_mask(winners);
    if (error == Error::none && (detail::overlap(winners, from.first(input_size())) ||
                                 detail::overlap(winners, to.first(output_size())))) {
      error = Error::overlap;
    }
    if (error == Error::none && !axes_.empty()) {
      pool(from.data(), to.data(),
           detail::MaskWriter{winners.data(), axes_.mask_width(), ties_ == Ties::last});
    }
    return error;
  }

  // The gradient in x from the one in y: each gy goes to the cell that won.
  template <class Gy, class M, class Gx>
  [[nodiscard]] Error backward(const Gy& gy, const M& mask, Gx&& gx) const {
    static_assert(!kAverages, "an average has no mask: backward(gy, gx)");
    static_assert(Number::kIsFloat, "gradients are floats");
    const Span<const T> from = span(gy);
    const Span<const uint8_t> winners = span(mask);
    const Span<T> to = span(gx);
    Error error = check_backward(from, to);
    if (error == Error::none) error = check_mask(winners);
    if (error == Error::none && detail::overlap(winners, to.first(input_size()))) {
      error = Error::overlap;
    }
    if (error != Error::none || axes_.empty()) return error;

    const detail::MaskReader reader{winners.data(), axes_.mask_width()};
    if (!detail::names_cells(axes_, reader)) return Error::mask_entry;
    clear(to);
    detail::scatter(axes_, reader, from.data(), to.data());
    return Error::none;
  }

  // The same for an average: each gy, divided, goes to every cell of its window.
  template <class Gy, class Gx>
  [[nodiscard]] Error backward(const Gy& gy, Gx&& gx) const {
    static_assert(kAverages, "max and min need the mask: backward(gy, mask, gx)");
    static_assert(Number::kIsFloat, "gradients are floats");
    const Span<const T> from = span(gy);
    const Span<T> to = span(gx);
    const Error error = check_backward(from, to);
    if (error != Error::none || axes_.empty()) return error;
    if (axes_.disjoint()) {
      clear(to);
      detail::give_all(axes_, divisors(), from.data(), to.data());
    } else if (axes_.adds_in_turn()) {
      detail::gather_all<typename Number::ShortSum>(axes_, divisors(), from.data(), to.data());
    } else {
      detail::gather_all<typename Number::Sum>(axes_, divisors(), from.data(), to.data());
    }
    return Error::none;
  }

  // ---- Rows, for Stream: the parts of the input at one place of the first axis -----------------

  constexpr int32_t rows() const { return ok() ? axes_.axis[0].cells : 0; }
  constexpr int32_t output_rows() const { return ok() ? axes_.axis[0].outputs : 0; }
  // Elements of a row, all channels: (channels, other sizes…), or (other sizes…, channels).
  constexpr size_t row_size() const {
    return ok() && channels_ > 0 ? size_t(images() * axes_.cell_step[0]) : 0;
  }
  constexpr size_t output_row_size() const {
    return ok() && channels_ > 0 ? size_t(images() * axes_.output_step[0]) : 0;
  }
  // What a stream must remember: (kernel-1)·dilation rows, or all but one if there are fewer.
  constexpr int32_t ring_rows() const {
    if (!ok()) return 0;
    const int32_t reach = axes_.axis[0].extent() - 1, others = rows() - 1;
    return reach < others ? reach : others;
  }
  constexpr size_t ring_size() const { return size_t(ring_rows()) * row_size(); }

 private:
  friend class Stream<op, T, Rank>;

  struct Given {
    int32_t kernel = 0, stride = -1, dilation = 1, pad_lo = 0, pad_hi = 0, cells = 0;
  };

  // Whole numbers of any type; those beyond int32_t, which make no layer, become its ends.
  template <class N>
  static constexpr int32_t clipped(N n) {
    static_assert(static_cast<N>(0.5) == N{0}, "sizes are whole numbers");
    if constexpr (static_cast<N>(-1) < N{0}) {
      if (n < N{0})
        return n < N{-0x7FFFFFFF} && sizeof(N) > 4 ? INT32_MIN : static_cast<int32_t>(n);
    }
    return static_cast<uint64_t>(n) > INT32_MAX ? INT32_MAX : static_cast<int32_t>(n);
  }

  template <class Field, class Value>
  constexpr Layer with(Field field, Value value) const {
    Layer changed = *this;
    changed.*field = value;
    changed.make();
    return changed;
  }
  template <class... N>
  constexpr Layer with_each(int32_t Given::* field, N... n) const {
    static_assert(sizeof...(N) == 1 || sizeof...(N) == Rank, "one number, or one an axis");
    const int32_t numbers[] = {clipped(n)...};
    Layer changed = *this;
    for (int a = 0; a < Rank; ++a) {
      changed.given_[a].*field = numbers[sizeof...(N) == 1 ? 0 : a];
    }
    changed.make();
    return changed;
  }

  // Geometry and error, from the description.
  constexpr void make() {
    error_axis_ = -1;
    error_ = has_input_ ? make_axes() : Error::no_input;
    if (error_ != Error::none) return;
    if (batch_ < 0 || channels_ < 0)
      error_ = Error::bad_size;
    else if (!complete())
      error_ = Error::overflow;
    else if (kAverages && axes_.taps() > Number::kMaxTaps)
      error_ = Error::too_many_taps;
    else if (ties_ != Ties::first && ties_ != Ties::last)
      error_ = Error::bad_ties;
    else if (has_divisor_ && divisor_ == 0)
      error_ = Error::bad_divisor;
    else if (!(low_ <= high_))
      error_ = Error::bad_activation;
  }

  constexpr Error make_axes() {
    const bool pads_are_taps = kAverages && (pads_count_ || has_divisor_);
    for (int a = 0; a < Rank; ++a) {
      const Given& given = given_[a];
      error_axis_ = a;
      const int32_t kernel = global_ ? given.cells : given.kernel;
      if (unused_numbers(given)) return Error::unused_numbers;
      const auto made =
          geometry::make_windowed(given.cells, kernel, given.stride < 0 ? kernel : given.stride,
                                  given.dilation, given.pad_lo, given.pad_hi, rounding_, padding_);
      if (made.fault != geometry::Fault::none) return error_of(made.fault);
      axes_.axis[a] = tamed(made.axis);
      int32_t output = 0;
      if (!pads_are_taps && axes_.axis[a].has_empty_window(&output)) return Error::empty_window;
    }
    error_axis_ = -1;
    return Error::none;
  }

  // One tap has no dilation and one output no stride: whatever was given, it is 1, so that no step
  // is larger than a padded axis.
  static constexpr detail::Axis tamed(detail::Axis axis) {
    if (axis.window == 1) axis.dilation = 1;
    if (axis.outputs == 1) axis.stride = 1;
    geometry::detail::prepare_cover(&axis);
    return axis;
  }

  // Numbers that would be ignored are refused.
  constexpr bool unused_numbers(const Given& given) const {
    const bool pads = given.pad_lo != 0 || given.pad_hi != 0;
    if (!global_) return pads && padding_ != geometry::Padding::given;
    return pads || given.stride >= 0 || given.dilation != 1 || padding_ != geometry::Padding::given;
  }

  constexpr bool complete() {
    axes_.inner = channels_last_ ? channels_ : 1;
    // One image must fit even if there is none: rows have sizes, too.
    axes_.outer = images();
    if (!axes_.complete()) return false;
    if (!geometry::checked_mul(batch_, images(), &axes_.outer) || !axes_.complete()) return false;
    const int64_t mask = static_cast<int64_t>(axes_.output_size()) * axes_.mask_width();
    return axes_.taps() != 0 && (kAverages || mask <= detail::Axes<Rank>::kMostElements);
  }

  static constexpr Error error_of(geometry::Fault fault) {
    switch (fault) {
      case geometry::Fault::empty_axis:
        return Error::empty_axis;
      case geometry::Fault::bad_window:
        return Error::bad_kernel;
      case geometry::Fault::bad_stride:
        return Error::bad_stride;
      case geometry::Fault::bad_dilation:
        return Error::bad_dilation;
      case geometry::Fault::bad_padding:
        return Error::bad_padding;
      case geometry::Fault::no_output:
        return Error::no_output;
      case geometry::Fault::remainder:
        return Error::remainder;
      default:
        return Error::overflow;
    }
  }

  constexpr bool clamps() const { return low_ != Number::kLowest || high_ != Number::kHighest; }
  constexpr int32_t images() const { return channels_last_ ? 1 : channels_; }
  constexpr detail::Divisors divisors() const { return {has_divisor_ ? divisor_ : 0, pads_count_}; }

  // Buffers may be larger than needed: what counts is the part that is used.
  Error check(Span<const T> in, size_t in_size, Span<const T> out, size_t out_size) const {
    if (error_ != Error::none) return error_;
    if ((in.data() == nullptr && in_size > 0) || (out.data() == nullptr && out_size > 0)) {
      return Error::null_buffer;
    }
    if (in.size() < in_size) return Error::input_too_small;
    if (out.size() < out_size) return Error::output_too_small;
    return detail::overlap(in.first(in_size), out.first(out_size)) ? Error::overlap : Error::none;
  }
  Error check_backward(Span<const T> gy, Span<const T> gx) const {
    const Error error = check(gy, output_size(), gx, input_size());
    return error == Error::none && clamps() ? Error::clamped : error;
  }
  Error check_mask(Span<const uint8_t> mask) const {
    if (mask.size() != mask_bytes()) return Error::mask_size;
    return mask.data() == nullptr && mask.size() > 0 ? Error::null_buffer : Error::none;
  }

  constexpr bool one_image() const { return batch_ == 1; }
  constexpr geometry::Window<int32_t> rows_of(int32_t output) const {
    return axes_.window(0, output);
  }
  // Row `output` of the outputs, from rows of the input that row_of(r) finds.
  template <class RowOf>
  void pool_row_of(const RowOf& row_of, int32_t output, T* y) const {
    for (int32_t image = 0; image < images() && channels_ > 0; ++image) {
      const int32_t from = image * axes_.cell_step[0];
      const auto line_of = [&](int32_t r) { return row_of(r) + from; };
      pool_row<Rank == 1 ? 1 : Rank - 1>(line_of, output, y + image * axes_.output_step[0],
                                         detail::NoMask{});
    }
  }

  void clear(Span<T> gx) const {
    for (size_t i = input_size(); i > 0; --i) gx[i - 1] = 0;
  }

  // Output `output` of axis 0 (all of the only axis, if kLead is 0).
  template <int kLead, class LineOf, class Mask>
  void pool_row(const LineOf& line_of, int32_t output, T* y, Mask mask) const {
    const detail::Finish<T> finish{low_, high_, clamps(), divisors()};
    if constexpr (!kAverages) {
      detail::best_row<op, kLead>(axes_, line_of, output, finish, y, mask);
    } else if (Number::kIsFloat && !axes_.adds_in_turn()) {
      detail::average_row<typename Number::Sum>(axes_, line_of, output, finish, y);
    } else {
      detail::average_row<typename Number::ShortSum>(axes_, line_of, output, finish, y);
    }
  }

  template <class Mask>
  void pool(const T* x, T* y, Mask mask) const {
    constexpr int kLead = kAverages && Rank == 1 ? 1 : Rank - 1;
    const int32_t rows = kLead == 0 ? 1 : axes_.axis[0].outputs;
    const int32_t row_outputs = kLead == 0 ? axes_.plane_outputs() : axes_.output_step[0];
    for (int32_t plane = 0; plane < axes_.outer; ++plane, x += axes_.plane_cells()) {
      const auto line_of = [&](int32_t r) { return x + r * axes_.cell_step[0]; };
      for (int32_t o = 0; o < rows; ++o, y += row_outputs) {
        pool_row<kLead>(line_of, o, y, mask);
        mask = mask.from(row_outputs);
      }
    }
  }

  Given given_[Rank]{};
  Rounding rounding_ = Rounding::floor;
  geometry::Padding padding_ = geometry::Padding::given;
  Ties ties_ = Ties::first;
  bool pads_count_ = true, has_divisor_ = false;
  bool global_ = false, keepdims_ = true;
  bool channels_last_ = false, has_batch_ = false, has_input_ = false;
  int32_t divisor_ = 0;
  int32_t batch_ = 1, channels_ = 0;
  T low_ = Number::kLowest, high_ = Number::kHighest;

  Error error_ = Error::no_input;
  int error_axis_ = -1;
  detail::Axes<Rank> axes_{};
};

}  // namespace ndpool::tiny

#endif  // NDPOOL_TINY_LAYER_HPP_
