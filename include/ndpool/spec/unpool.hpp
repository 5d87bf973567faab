// Unpool: each value goes back to where max or min pooling found it.
#pragma once

#include "ndpool/spec/windows.hpp"

namespace ndpool::spec {

// For each element of y, the place in the unpooled array that its index names.
// Refuses shapes that do not belong together, and any index outside the pooled axes (-1 included).
inline std::vector<int64_t> unpool_places(const Shape& y_shape, const Array<int64_t>& index,
                                          const Shape& shape, const std::vector<int>& axes) {
  check_array("index", index, y_shape);
  elements(shape);
  if (shape.size() != y_shape.size()) {
    throw Error("shape " + text(shape) + " has another number of axes than " + text(y_shape));
  }
  if (axes.empty()) throw Error("no axis to unpool");
  std::vector<bool> pooled(shape.size(), false);
  for (const int axis : axes) {
    if (axis < 0 || static_cast<size_t>(axis) >= shape.size()) {
      throw Error("axis " + std::to_string(axis) + " is not an axis of shape " + text(shape));
    }
    if (pooled[static_cast<size_t>(axis)]) {
      throw Error("axis " + std::to_string(axis) + " is named more than once");
    }
    pooled[static_cast<size_t>(axis)] = true;
  }
  int64_t range = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (pooled[i]) {
      range *= shape[i];
    } else if (shape[i] != y_shape[i]) {
      throw Error("axis " + std::to_string(i) + " is not pooled, but " +
                  std::to_string(y_shape[i]) + " long in y and " + std::to_string(shape[i]) +
                  " in the result");
    }
  }

  std::vector<int64_t> places;
  if (index.data.empty()) return places;
  const Shape step = steps(shape);
  Shape position(shape.size(), 0);
  int64_t number = 0;
  do {
    int64_t flat = at(index, number);
    if (flat < 0 || flat >= range) {
      throw Error("index " + std::to_string(flat) + " at " + text(position) +
                  " lies outside 0 ... " + std::to_string(range - 1));
    }
    int64_t place = 0;
    for (size_t i = shape.size(); i-- > 0;) {
      if (pooled[i]) {
        place += flat % shape[i] * step[i];
        flat /= shape[i];
      } else {
        place += position[i] * step[i];
      }
    }
    places.push_back(place);
    ++number;
  } while (next_position(position, y_shape));
  return places;
}

// Puts each y at its index, zeros elsewhere. `shape` is the full shape of the result. An index that
// is named more than once keeps the last y in row-major order.
template <class T>
Array<T> unpool(const Array<T>& y, const Array<int64_t>& index, const Shape& shape,
                const std::vector<int>& axes) {
  check_array("y", y, y.shape);
  const std::vector<int64_t> places = unpool_places(y.shape, index, shape, axes);
  Array<T> result = filled<T>(shape, T(0));
  for (size_t i = 0; i < places.size(); ++i) at(result, places[i]) = y.data[i];
  return result;
}

// The gradient of unpool in y: g at its index, for the y that was kept there; 0 for the others.
template <class T>
Array<T> unpool_vjp(const Array<T>& g, const Array<int64_t>& index, const Shape& y_shape,
                    const std::vector<int>& axes) {
  check_array("g", g, g.shape);
  const std::vector<int64_t> places = unpool_places(y_shape, index, g.shape, axes);
  Array<int64_t> kept = filled<int64_t>(g.shape, -1);
  for (size_t i = 0; i < places.size(); ++i) at(kept, places[i]) = static_cast<int64_t>(i);
  Array<T> result = filled<T>(y_shape, T(0));
  for (size_t i = 0; i < places.size(); ++i) {
    if (at(kept, places[i]) == static_cast<int64_t>(i)) result.data[i] = at(g, places[i]);
  }
  return result;
}

}  // namespace ndpool::spec
