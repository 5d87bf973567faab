// What tiny is compared with: 2-D max pooling as it is often written for micro-controllers, with
// two floats an output, row and column, as the mask. No padding, no checks, no NaN.
#ifndef NDPOOL_TESTS_TINY_NAIVE_HPP_
#define NDPOOL_TESTS_TINY_NAIVE_HPP_

#include <stdint.h>

namespace naive {

struct MaxPool2D {
  int32_t channels, height, width, kernel, stride;

  int32_t output_height() const { return (height - kernel) / stride + 1; }
  int32_t output_width() const { return (width - kernel) / stride + 1; }

  template <class T>
  void forward(const T* x, T* y, float* mask) const {
    const int32_t rows = output_height(), columns = output_width();
    for (int32_t c = 0; c < channels; ++c) {
      for (int32_t i = 0; i < rows; ++i) {
        for (int32_t j = 0; j < columns; ++j) {
          int32_t best_row = i * stride, best_column = j * stride;
          T best = x[(c * height + best_row) * width + best_column];
          for (int32_t a = 0; a < kernel; ++a) {
            for (int32_t b = 0; b < kernel; ++b) {
              const int32_t row = i * stride + a, column = j * stride + b;
              const T value = x[(c * height + row) * width + column];
              if (value > best) best = value, best_row = row, best_column = column;
            }
          }
          const int32_t output = (c * rows + i) * columns + j;
          y[output] = best;
          if (mask != nullptr) {
            mask[2 * output] = static_cast<float>(best_row);
            mask[2 * output + 1] = static_cast<float>(best_column);
          }
        }
      }
    }
  }

  void backward(const float* gy, const float* mask, float* gx) const {
    const int32_t rows = output_height(), columns = output_width();
    for (int32_t i = 0; i < channels * height * width; ++i) gx[i] = 0;
    for (int32_t c = 0; c < channels; ++c) {
      for (int32_t o = 0; o < rows * columns; ++o) {
        const int32_t output = c * rows * columns + o;
        const auto row = static_cast<int32_t>(mask[2 * output]);
        const auto column = static_cast<int32_t>(mask[2 * output + 1]);
        gx[(c * height + row) * width + column] += gy[output];
      }
    }
  }
};

}  // namespace naive

#endif  // NDPOOL_TESTS_TINY_NAIVE_HPP_
