// Why a layer or a call is refused: a number, and a text that lies in flash.
#ifndef NDPOOL_TINY_ERROR_HPP_
#define NDPOOL_TINY_ERROR_HPP_

#include <stdint.h>

namespace ndpool::tiny {

enum class Error : uint8_t {
  none,
  // A layer, once it knows its input; for those that concern one axis error_axis() tells which.
  no_input,
  empty_axis,
  bad_kernel,
  bad_stride,
  bad_dilation,
  bad_padding,
  unused_numbers,
  overflow,
  no_output,
  remainder,
  empty_window,
  bad_ties,
  bad_divisor,
  bad_activation,
  bad_size,
  too_many_taps,
  // A call.
  null_buffer,
  input_too_small,
  output_too_small,
  mask_size,
  mask_entry,
  overlap,
  clamped,
  // A stream.
  stream_batch,
  ring_too_small,
  too_many_rows,
  busy,
};

// What is wrong and what to do, in one line.
constexpr const char* text(Error error) {
  switch (error) {
    case Error::none:
      return "no error";
    case Error::no_input:
      return "the layer has no input shape: call input(channels, sizes...)";
    case Error::empty_axis:
      return "a pooled axis has no cell: its size must be at least 1";
    case Error::bad_kernel:
      return "kernel < 1: a window needs at least one tap on each axis";
    case Error::bad_stride:
      return "stride 0: use 1 or more, or a negative one for the kernel";
    case Error::bad_dilation:
      return "dilation < 1: use 1 for neighbouring taps";
    case Error::bad_padding:
      return "padding < 0: leave cells out before the call instead";
    case Error::unused_numbers:
      return "numbers that would be ignored: same() takes no padding, global pooling neither "
             "stride, dilation nor padding";
    case Error::overflow:
      return "too large: extents of windows, padded axes and arrays are at most 2^30, windows have "
             "fewer "
             "than 2^31 taps";
    case Error::no_output:
      return "the window is larger than the padded axis: take a smaller kernel, or more padding";
    case Error::remainder:
      return "exact rounding: windows do not tile the padded axis; change stride or padding, or "
             "round by floor or ceil";
    case Error::empty_window:
      return "some window holds nothing but padding: take less padding or a smaller dilation";
    case Error::bad_ties:
      return "ties all and split need the input again, which backward(gy, mask, gx) has not, so "
             "layers refuse them: use first or last";
    case Error::bad_divisor:
      return "divisor 0: give another number, or none";
    case Error::bad_activation:
      return "activation range: the low end lies above the high end";
    case Error::bad_size:
      return "batch and channels must be at least 0";
    case Error::too_many_taps:
      return "an 8-bit average of more than 2^23 taps, pads included: pool in two steps";
    case Error::null_buffer:
      return "a buffer is null";
    case Error::input_too_small:
      return "the input has fewer elements than input_size()";
    case Error::output_too_small:
      return "the output has fewer elements than its side of the layer needs: see output_size(), "
             "input_size() for gradients";
    case Error::mask_size:
      return "the mask must have exactly mask_bytes() bytes: is it one of another shape?";
    case Error::mask_entry:
      return "a mask entry names no cell of its window: was the mask written by forward() of this "
             "layer?";
    case Error::overlap:
      return "an output shares memory with an input or with another output";
    case Error::clamped:
      return "a layer with an activation range has no backward: apply the activation outside";
    case Error::stream_batch:
      return "a stream takes one image at a time: its batch must be 1";
    case Error::ring_too_small:
      return "the ring has fewer elements than ring_size()";
    case Error::busy:
      return "push() was called from within the call that hands a row out: wait until it returns";
    case Error::too_many_rows:
      return "all rows of the input have been pushed: call restart()";
  }
  return "unknown error";
}

}  // namespace ndpool::tiny

#endif  // NDPOOL_TINY_ERROR_HPP_
