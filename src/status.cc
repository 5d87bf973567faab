#include "status.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace ndpool {
namespace {

// In a text, @ stands for the axis, 0 … 3 in braces for a number, {w} for a word.
struct Entry {
  int32_t code;
  const char* text;
};

constexpr Entry kTable[] = {
    {NDPOOL_BAD_ARGUMENT, "{w} is a null pointer; it must point to memory"},
    {NDPOOL_BAD_ARGUMENT,
     "struct_size is {0}, expected {1}: initialise the description with its _init function"},
    {NDPOOL_BAD_ARGUMENT, "{w} is {0}, which is none of the values that ndpool.h lists for it"},
    {NDPOOL_BAD_ARGUMENT,
     "SIMD target \"{w}\" is not compiled in, or this machine cannot run it; ndpool_target_name "
     "lists those that it can"},
    {NDPOOL_BAD_ARGUMENT,
     "{w} has {0} values for {1} pooled axes; give one value for all, or one per pooled axis"},
    {NDPOOL_BAD_ARGUMENT,
     "{w} is given, but has no meaning here: adaptive and global windows follow from the sizes "
     "alone, "
     "and only adaptive pooling takes an output size; leave it out"},
    {NDPOOL_BAD_ARGUMENT,
     "padding is given in numbers ({w}) and as same or same_lower, which choose it; leave one out"},
    {NDPOOL_BAD_ARGUMENT,
     "the input has rank 0: there is no axis to pool; give it at least one axis"},
    {NDPOOL_BAD_ARGUMENT, "{0} pooled axes; at most {1} can be pooled at once"},
    {NDPOOL_BAD_ARGUMENT,
     "{0} axes are to be pooled (by the number of values in {w}), but the input has rank {1}; give "
     "at "
     "most one per axis"},
    {NDPOOL_BAD_ARGUMENT, "no pooled axes are given; name them in axes"},
    {NDPOOL_BAD_ARGUMENT, "{w} is missing; give one value for all pooled axes, or one per axis"},
    {NDPOOL_BAD_ARGUMENT,
     "pooled axis {0} is out of range for an input of rank {1}; axes run from -{1} to {1}-1"},
    {NDPOOL_BAD_ARGUMENT, "axis @ is pooled twice; name each axis once"},
    {NDPOOL_BAD_ARGUMENT, "axis @ has size {0}; sizes are 0 or more"},
    {NDPOOL_BAD_GEOMETRY,
     "axis @ has no cells (size 0) but is pooled; only axes that are not pooled may be empty"},
    {NDPOOL_BAD_ARGUMENT, "axis @: window {0} is less than 1; a window has at least one tap"},
    {NDPOOL_BAD_ARGUMENT,
     "axis @: stride {0} is less than 1; windows must move on (leave stride out for the window)"},
    {NDPOOL_BAD_ARGUMENT, "axis @: dilation {0} is less than 1; 1 puts the taps side by side"},
    {NDPOOL_BAD_ARGUMENT, "axis @: padding ({0}, {1}) is negative; use 0 or more on both sides"},
    {NDPOOL_BAD_ARGUMENT,
     "axis @: {0} outputs are asked for; adaptive pooling gives 1 or more, or keeps the axis"},
    {NDPOOL_OVERFLOW,
     "axis @: window {0} with dilation {1} and padding ({2}, {3}) overflows 64-bit sizes; use "
     "smaller "
     "numbers"},
    {NDPOOL_BAD_GEOMETRY,
     "axis @: window {0} with dilation {1} covers {2} cells, but the axis has only {3} with its "
     "padding; use a smaller window or dilation, or more padding"},
    {NDPOOL_BAD_GEOMETRY,
     "axis @: windows do not tile the padded axis exactly: remainder {0} with stride {1}, {2} "
     "cells "
     "dropped; change window, stride or padding, or use floor or ceil rounding"},
    {NDPOOL_OVERFLOW,
     "the {w} has more elements than 64-bit byte counts can hold (axis @ of size {0} is too much); "
     "use "
     "smaller sizes"},
    {NDPOOL_OVERFLOW,
     "the window has more taps than 64 bits can number (axis @ with {0} taps is too much); use "
     "smaller "
     "windows"},
    {NDPOOL_BAD_GEOMETRY,
     "axis @: window {0} of {1} lies in the padding alone and holds no cell; use less padding, or "
     "empty=identity"},
    {NDPOOL_BAD_GEOMETRY,
     "axis @: window {0} of {1} holds no cell, and an integer average of nothing has no value; use "
     "less "
     "padding, count the padding, or give a divisor"},
    {NDPOOL_BAD_ARGUMENT, "beta is {w}; smooth max needs a finite beta other than 0"},
    {NDPOOL_BAD_ARGUMENT, "p is {w}; Lp needs p > 0 (infinity is allowed)"},
    {NDPOOL_BAD_ARGUMENT, "divisor is 0; use a non-zero number, or none for the count of taps"},
    {NDPOOL_BAD_TYPE,
     "{w}; max and min take every type, avg all but bool, smooth max and Lp f16, bf16, f32, f64"},
    {NDPOOL_BAD_TYPE, "only avg has an output type of its own; leave out_type alone for {w}"},
    {NDPOOL_BAD_TYPE,
     "an average of {w} is not possible; use a float type, or, for integer input, an integer type "
     "at "
     "least as wide"},
    {NDPOOL_BAD_TYPE, "out_type is {0}, which is none of ndpool's types; see ndpool_type"},
    {NDPOOL_BAD_TYPE, "{w} has no derivative; convert the input to f16, bf16, f32 or f64"},
    {NDPOOL_BAD_ARGUMENT, "{w} has no argmax; only max and min name a winning cell"},
    {NDPOOL_BAD_ARGUMENT,
     "ties \"{w}\" may have several winners, which one argmax cannot name; use ndpool_vjp, which "
     "reads "
     "the input, or ties first or last"},
    {NDPOOL_BAD_ARGUMENT,
     "{w} has no second-order product here; smooth max and Lp have one (that of max, min and avg "
     "is 0)"},
    {NDPOOL_BAD_ARGUMENT, "{0} threads; use 1 to {1}, or 0 for the default"},
    {NDPOOL_BAD_ARGUMENT,
     "the scratch has {0} bytes, but this call needs {1}; see ndpool_plan_scratch_bytes"},
    {NDPOOL_NO_MEMORY, "{0} bytes of scratch could not be had; use fewer threads or smaller tiles"},
    {NDPOOL_NO_MEMORY, "memory ran out while the call was prepared; free some and try again"},
    {NDPOOL_CANCELLED, "the call was cancelled; outputs hold unspecified values"},
    {NDPOOL_BAD_ARRAY,
     "axis @: the box of {w} starts at {0} with size {1}, outside its axis of size {2}; keep boxes "
     "inside the whole array"},
    {NDPOOL_BAD_ARRAY,
     "axis @: the box of {w} holds [{0}, {1}) but [{2}, {3}) is needed; hand over a larger box"},
    {NDPOOL_BAD_ARRAY,
     "axis @: stride {0} with size {1} takes {w} out of the address space; strides are in bytes, "
     "from "
     "one element of the axis to the next"},
    {NDPOOL_BAD_ARRAY,
     "axis @: elements of the output {w} overlap one another (stride {0} bytes, size {1}); outputs "
     "need "
     "memory of their own for each element"},
    {NDPOOL_BAD_ARRAY, "{w} share memory; give the output memory of its own"},
    {NDPOOL_BAD_INDEX,
     "argmax holds tap {0} at element {1} (row-major), which is no cell of its window ({2} taps); "
     "use "
     "the argmax that forward wrote for the same plan"},
    {NDPOOL_BAD_INDEX,
     "index {0} at element {1} (row-major) is outside [0, {2}), the cells of the pooled axes; "
     "indices "
     "count the cells of the output's pooled axes in row-major order"},
    {NDPOOL_BAD_ARGUMENT,
     "axis @ is not pooled, but has size {0} in y and {1} in the output; they must agree"},
    {NDPOOL_BAD_ARGUMENT, "unpool has no tiles: it computes the whole array; leave tile out"},
};

// Appends to a text of fixed size; what does not fit is cut off.
class Writer {
 public:
  explicit Writer(ndpool_error* error) : to_(error->message) { to_[0] = '\0'; }
  void add(std::string_view text) {
    for (char c : text) {
      if (length_ + 1 < sizeof(ndpool_error::message)) to_[length_++] = c;
    }
    to_[length_] = '\0';
  }
  void add(int64_t number) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%" PRId64, number);
    add(std::string_view(digits));
  }

 private:
  char* to_;
  size_t length_ = 0;
};

}  // namespace

int32_t fail(ndpool_error* error, Message message, int axis, std::initializer_list<int64_t> numbers,
             const char* word) {
  const Entry& entry = kTable[static_cast<int>(message)];
  if (!error) return entry.code;
  error->code = entry.code;
  error->axis = axis;
  int i = 0;
  for (int64_t& number : error->numbers) number = 0;
  for (int64_t number : numbers) error->numbers[i++] = number;
  Writer writer(error);
  for (const char* c = entry.text; *c != '\0'; ++c) {
    if (*c == '@') {
      writer.add(int64_t{axis});
    } else if (*c == '{' && c[1] == 'w') {
      writer.add(word);
      c += 2;
    } else if (*c == '{') {
      writer.add(error->numbers[c[1] - '0']);
      c += 2;
    } else {
      writer.add(std::string_view(c, 1));
    }
  }
  return entry.code;
}

int32_t succeed(ndpool_error* error) {
  if (error) {
    error->code = NDPOOL_OK;
    error->axis = -1;
    for (int64_t& number : error->numbers) number = 0;
    error->message[0] = 0;
  }
  return NDPOOL_OK;
}

}  // namespace ndpool
