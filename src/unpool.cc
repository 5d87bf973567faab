// Unpool: values to the places that indices name, and its VJP. Indices are checked before anything
// is written; of several values with one index the last in row-major order stays.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "call.h"
#include "operations.h"
#include "status.h"

namespace ndpool {
namespace {

// Walks the elements of one box in row-major order, with the byte offset of each in several arrays.
class Walk {
 public:
  Walk(std::vector<int64_t> size, std::vector<std::vector<int64_t>> strides)
      : size_(std::move(size)),
        strides_(std::move(strides)),
        at_(size_.size(), 0),
        offset_(strides_.size(), 0) {
    for (int64_t n : size_) total_ *= n;
  }

  int64_t total() const { return total_; }
  int64_t offset(size_t array) const { return offset_[array]; }
  void next() {
    for (size_t axis = size_.size(); axis-- > 0;) {
      for (size_t i = 0; i < strides_.size(); ++i) offset_[i] += strides_[i][axis];
      if (++at_[axis] < size_[axis]) return;
      for (size_t i = 0; i < strides_.size(); ++i) offset_[i] -= strides_[i][axis] * size_[axis];
      at_[axis] = 0;
    }
  }

 private:
  std::vector<int64_t> size_;
  std::vector<std::vector<int64_t>> strides_;  // by array, then axis
  std::vector<int64_t> at_, offset_;
  int64_t total_ = 1;
};

struct Unpool {
  std::vector<int64_t> y_shape, out_shape;
  std::vector<bool> pooled;
  int64_t plane = 1;  // cells of the pooled axes of the output
  size_t element = 1;
};

std::vector<int64_t> strides_of(const int64_t* given, const std::vector<int64_t>& shape,
                                int64_t element) {
  std::vector<int64_t> strides(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    // The stride of a single element is never taken; 0 keeps odd numbers out of the sums.
    strides[axis] = shape[axis] == 1 ? 0 : given ? given[axis] : element;
    element *= shape[axis];
  }
  return strides;
}

int32_t read_desc(const ndpool_unpool_desc& d, Unpool* u, ndpool_error* error) {
  if (!is_type(d.type)) return fail(error, Message::unknown_value, -1, {d.type}, "type");
  u->element = type_size(d.type);
  const struct {
    const char* name;
    const ndpool_ints& ints;
  } lists[] = {{"y_shape", d.y_shape}, {"output_shape", d.output_shape}, {"axes", d.axes}};
  for (const auto& list : lists) {
    if (list.ints.count < 0)
      return fail(error, Message::unknown_value, -1, {list.ints.count}, list.name);
    if (list.ints.count > 0 && !list.ints.data)
      return fail(error, Message::null_pointer, -1, {}, list.name);
  }
  const int64_t rank = d.y_shape.count;
  if (rank == 0) return fail(error, Message::rank_zero);
  if (rank > INT32_MAX || d.output_shape.count != rank) {
    return fail(error, Message::bad_count, -1, {d.output_shape.count, rank}, "output_shape");
  }
  u->y_shape.assign(d.y_shape.data, d.y_shape.data + rank);
  u->out_shape.assign(d.output_shape.data, d.output_shape.data + rank);
  u->pooled.assign(static_cast<size_t>(rank), false);
  if (d.axes.count == 0) return fail(error, Message::no_axes);
  for (int64_t i = 0; i < d.axes.count; ++i) {
    const int64_t named = d.axes.data[i];
    if (named < -rank || named >= rank) {
      return fail(error, Message::axis_out_of_range, -1, {named, rank});
    }
    const size_t axis = static_cast<size_t>(named < 0 ? named + rank : named);
    if (u->pooled[axis]) return fail(error, Message::axis_twice, static_cast<int>(axis), {named});
    u->pooled[axis] = true;
  }
  int64_t totals[2] = {1, 1};
  for (size_t axis = 0; axis < u->pooled.size(); ++axis) {
    const int64_t sizes[2] = {u->y_shape[axis], u->out_shape[axis]};
    for (int i = 0; i < 2; ++i) {
      if (sizes[i] < 0)
        return fail(error, Message::negative_size, static_cast<int>(axis), {sizes[i]});
      if (sizes[i] != 0 &&
          (!geometry::checked_mul(totals[i], sizes[i], &totals[i]) || totals[i] > INT64_MAX / 8)) {
        return fail(error, Message::total_overflow, static_cast<int>(axis), {sizes[i]},
                    i == 0 ? "y" : "output");
      }
    }
    if (!u->pooled[axis] && sizes[0] != sizes[1]) {
      return fail(error, Message::unpool_shape, static_cast<int>(axis), {sizes[0], sizes[1]});
    }
    if (u->pooled[axis]) u->plane *= sizes[1];
  }
  return NDPOOL_OK;
}

}  // namespace

int32_t unpool(const ndpool_unpool_desc& desc, bool vjp, ndpool_const_array from,
               ndpool_const_array index, ndpool_array to, const ndpool_exec* given,
               ndpool_error* error) {
  Unpool u;
  Exec exec;
  if (int32_t code = resolve_exec(given, &exec, error)) return code;
  if (given && given->tile) return fail(error, Message::unpool_tile);
  if (int32_t code = read_desc(desc, &u, error)) return code;
  const size_t rank = u.y_shape.size();
  const Box y_box{nullptr, u.y_shape.data()}, out_box{nullptr, u.out_shape.data()};
  const NamedArray arrays[3] = {
      {vjp ? "g" : "y", array_arg(from.data, from.strides, vjp ? out_box : y_box, u.element),
       false},
      {"index", array_arg(index.data, index.strides, y_box, sizeof(int64_t)), false},
      {vjp ? "dy" : "out", array_arg(to.data, to.strides, vjp ? y_box : out_box, u.element), true}};
  if (int32_t code = check_arrays(static_cast<int>(rank), arrays, 3, error)) return code;

  // Offsets of y and index follow the y shape; where an index leads follows the output's strides.
  const std::vector<int64_t> index_strides = strides_of(index.strides, u.y_shape, sizeof(int64_t));
  const std::vector<int64_t> y_strides =
      strides_of(vjp ? to.strides : from.strides, u.y_shape, static_cast<int64_t>(u.element));
  const std::vector<int64_t> out_strides =
      strides_of(vjp ? from.strides : to.strides, u.out_shape, static_cast<int64_t>(u.element));
  const char* indices = static_cast<const char*>(index.data);
  const auto index_at = [&](int64_t offset) {
    int64_t value;
    std::memcpy(&value, indices + offset, sizeof value);
    return value;
  };

  Walk check(u.y_shape, {index_strides});
  for (int64_t i = 0; i < check.total(); ++i, check.next()) {
    const int64_t value = index_at(check.offset(0));
    if (value < 0 || value >= u.plane) {
      return fail(error, Message::bad_index, -1, {value, i, u.plane});
    }
  }

  // The byte offset of a cell of the output's plane.
  const auto cell_offset = [&](int64_t flat) {
    int64_t offset = 0;
    for (size_t axis = rank; axis-- > 0;) {
      if (!u.pooled[axis]) continue;
      offset += flat % u.out_shape[axis] * out_strides[axis];
      flat /= u.out_shape[axis];
    }
    return offset;
  };
  // One plane after the other: unpooled axes outside, pooled ones inside.
  std::vector<int64_t> planes(rank, 1), inside(rank, 1);
  for (size_t axis = 0; axis < rank; ++axis) {
    (u.pooled[axis] ? inside : planes)[axis] = u.y_shape[axis];
  }
  Walk outer(planes, {y_strides, index_strides, out_strides});
  std::unique_ptr<uint8_t[]> taken;
  if (vjp) {
    taken.reset(new (std::nothrow) uint8_t[static_cast<size_t>(u.plane / 8 + 1)]);
    if (!taken) return fail(error, Message::no_memory, -1, {u.plane / 8 + 1});
  } else {
    Walk all(u.out_shape, {out_strides});
    for (int64_t i = 0; i < all.total(); ++i, all.next()) {
      std::memset(static_cast<char*>(to.data) + all.offset(0), 0, u.element);
    }
  }
  for (int64_t plane = 0; plane < outer.total(); ++plane, outer.next()) {
    if (exec.cancelled && exec.cancelled(exec.cancelled_context) != 0) {
      return fail(error, Message::cancelled);
    }
    const int64_t y_base = outer.offset(0), index_base = outer.offset(1);
    const int64_t out_base = outer.offset(2);
    if (!vjp) {
      Walk inner(inside, {y_strides, index_strides});
      for (int64_t i = 0; i < inner.total(); ++i, inner.next()) {
        const int64_t cell = cell_offset(index_at(index_base + inner.offset(1)));
        std::memcpy(static_cast<char*>(to.data) + out_base + cell,
                    static_cast<const char*>(from.data) + y_base + inner.offset(0), u.element);
      }
      continue;
    }
    // From the last value to the first: the first to ask for a cell is the one that stayed there.
    std::memset(taken.get(), 0, static_cast<size_t>(u.plane / 8 + 1));
    std::vector<int64_t> y_back = y_strides, index_back = index_strides;
    int64_t y_last = y_base, index_last = index_base;
    for (size_t axis = 0; axis < rank; ++axis) {
      y_last += y_strides[axis] * (inside[axis] - 1);
      index_last += index_strides[axis] * (inside[axis] - 1);
      y_back[axis] = -y_strides[axis];
      index_back[axis] = -index_strides[axis];
    }
    Walk inner(inside, {y_back, index_back});
    for (int64_t i = 0; i < inner.total(); ++i, inner.next()) {
      const int64_t flat = index_at(index_last + inner.offset(1));
      uint8_t& byte = taken[static_cast<size_t>(flat / 8)];
      const uint8_t bit = static_cast<uint8_t>(1 << flat % 8);
      char* dy = static_cast<char*>(to.data) + y_last + inner.offset(0);
      if (byte & bit) {
        std::memset(dy, 0, u.element);
      } else {
        std::memcpy(dy, static_cast<const char*>(from.data) + out_base + cell_offset(flat),
                    u.element);
      }
      byte = static_cast<uint8_t>(byte | bit);
    }
  }
  return NDPOOL_OK;
}

}  // namespace ndpool
