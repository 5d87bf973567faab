// Errors are data: a message of the one table, the axis, and the numbers that go into it.
#ifndef NDPOOL_SRC_STATUS_H_
#define NDPOOL_SRC_STATUS_H_

#include <cstdint>
#include <initializer_list>

#include "ndpool/ndpool.h"

namespace ndpool {

enum class Message : uint8_t {
  null_pointer,
  struct_size,
  unknown_value,
  unknown_target,
  bad_count,
  not_for_mode,
  padding_twice,
  rank_zero,
  too_many_pooled,
  more_axes_than_rank,
  no_axes,
  no_window,
  axis_out_of_range,
  axis_twice,
  negative_size,
  empty_axis,
  bad_window,
  bad_stride,
  bad_dilation,
  bad_padding,
  bad_output_size,
  axis_overflow,
  no_output,
  remainder,
  total_overflow,
  box_overflow,
  empty_window,
  empty_integer_average,
  bad_beta,
  bad_p,
  bad_divisor,
  op_without_type,
  out_type_not_average,
  out_type_narrower,
  out_type_unknown,
  derivative_of_integers,
  not_max_or_min,
  argmax_of_many,
  no_second_order,
  bad_threads,
  scratch_too_small,
  no_memory,
  out_of_memory,
  cancelled,
  tile_box,
  tile_not_covered,
  stride_overflow,
  output_overlaps_itself,
  output_overlaps_input,
  bad_argmax,
  bad_index,
  unpool_shape,
  unpool_tile,
};

// Fills *error (which may be nullptr) and returns the message's code.
int32_t fail(ndpool_error* error, Message message, int axis = -1,
             std::initializer_list<int64_t> numbers = {}, const char* word = nullptr);

// Clears *error (which may be nullptr) and returns NDPOOL_OK.
int32_t succeed(ndpool_error* error);

}  // namespace ndpool

#endif  // NDPOOL_SRC_STATUS_H_
