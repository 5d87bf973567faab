// Pooling while the input arrives: rows of a camera or samples of a sensor come one at a time, and
// rows of the output leave as soon as they are complete. Only the last (kernel-1)·dilation rows are
// kept, in a ring that the caller owns: ring_size() elements.
#ifndef NDPOOL_TINY_STREAM_HPP_
#define NDPOOL_TINY_STREAM_HPP_

#include <stddef.h>
#include <stdint.h>

#include "ndpool/tiny/error.hpp"
#include "ndpool/tiny/layer.hpp"
#include "ndpool/tiny/span.hpp"

namespace ndpool::tiny {

template <Op op, class T, int Rank>
class Stream {
 public:
  // The layer, which must have a name, and the ring must outlive the stream.
  template <class Ring>
  Stream(const Layer<op, T, Rank>& layer, Ring&& ring) : layer_(layer), ring_(span(ring)) {}
  template <class Ring>
  Stream(const Layer<op, T, Rank>&& layer, Ring&& ring) = delete;  // it would be gone at once

  Error error() const {
    if (!layer_.ok()) return layer_.error();
    if (!layer_.one_image()) return Error::stream_batch;
    if (ring_.size() < layer_.ring_size()) return Error::ring_too_small;
    return ring_.data() == nullptr && layer_.ring_size() > 0 ? Error::null_buffer : Error::none;
  }

  // Takes the next row (row_size() elements). For each output row that it completes, in order,
  // writes the row to y_row (output_row_size() elements) and calls emit(number, y_row); one input
  // row may complete none or several.
  template <class X, class Y, class Emit>
  [[nodiscard]] Error push(const X& x_row, Y&& y_row, Emit&& emit) {
    const Span<const T> x = span(x_row);
    const Span<T> y = span(y_row);
    const Error refused = check(x, y);
    if (refused != Error::none) return refused;

    busy_ = true;
    const auto row_of = [&](int32_t row) {
      return row == row_ ? x.data() : ring_.data() + place(row);
    };
    for (; output_ < layer_.output_rows() && is_complete(layer_.rows_of(output_)); ++output_) {
      layer_.pool_row_of(row_of, output_, y.data());
      emit(output_, Span<const T>(y.data(), layer_.output_row_size()));
    }
    if (layer_.ring_rows() > 0) {
      T* kept = ring_.data() + static_cast<size_t>(slot_) * layer_.row_size();
      for (size_t i = 0; i < layer_.row_size(); ++i) kept[i] = x[i];
      if (++slot_ == layer_.ring_rows()) slot_ = 0;
    }
    ++row_;
    busy_ = false;
    if (restarts_) restart();
    return Error::none;
  }

  // Whether every row of the input has been pushed; then all of the output has left.
  bool done() const { return row_ == layer_.rows(); }
  // From the first row on again. Within emit: after the row under way.
  void restart() {
    restarts_ = busy_;
    if (!busy_) row_ = output_ = slot_ = 0;
  }

 private:
  bool is_complete(const geometry::Window<int32_t>& window) const {
    return window.cells == 0 || window.first + (window.cells - 1) * window.step <= row_;
  }

  // Where a row that was pushed before lies in the ring: slot_ holds the oldest.
  size_t place(int32_t row) const {
    int32_t slot = slot_ - (row_ - row);
    if (slot < 0) slot += layer_.ring_rows();
    return static_cast<size_t>(slot) * layer_.row_size();
  }

  Error check(Span<const T> x, Span<const T> y) const {
    const Error wrong = error();
    if (wrong != Error::none) return wrong;
    if (busy_) return Error::busy;
    if (done()) return Error::too_many_rows;
    const size_t in = layer_.row_size(), out = layer_.output_row_size(), kept = layer_.ring_size();
    if ((x.data() == nullptr && in > 0) || (y.data() == nullptr && out > 0))
      return Error::null_buffer;
    if (x.size() < in) return Error::input_too_small;
    if (y.size() < out) return Error::output_too_small;
    const bool shared = detail::overlap(x.first(in), y.first(out)) ||
                        detail::overlap(ring_.first(kept), x.first(in)) ||
                        detail::overlap(ring_.first(kept), y.first(out));
    return shared ? Error::overlap : Error::none;
  }

  const Layer<op, T, Rank>& layer_;
  Span<T> ring_;
  int32_t row_ = 0, output_ = 0, slot_ = 0;  // the next row, output row and slot of the ring
  bool busy_ = false, restarts_ = false;
};

template <Op op, class T, int Rank, class Ring>
Stream(const Layer<op, T, Rank>&, Ring&&) -> Stream<op, T, Rank>;

}  // namespace ndpool::tiny

#endif  // NDPOOL_TINY_STREAM_HPP_
