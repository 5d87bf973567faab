// Instructions an output and bytes of stack, for tiny's layers and for a naive one, as lines:
// "CASE instructions-in-hundredths stack". Run under qemu -icount shift=0.
#include "ndpool/tiny.hpp"
#include "tests/tiny/boards/board.hpp"
#include "tests/tiny/naive.hpp"
#include "tests/tiny/problem.hpp"

using namespace ndpool::tiny;

namespace {

constexpr int32_t kChannels = 8, kSize = 33;  // 16×16 outputs of 3×3 s2, and of 2×2 s2
constexpr int32_t kCells = kChannels * kSize * kSize, kOutputs = kChannels * 16 * 16;

template <class T>
struct Buffers {
  T x[kCells], y[kOutputs];
  float float_mask[2 * kOutputs];
  uint8_t mask[kOutputs];
  float gx[kCells];
};
Buffers<float> floats;
Buffers<int8_t> bytes;

// A call of its own, so that its stack is seen.
template <class Work>
__attribute__((noinline)) void run(const Work& work) {
  work();
}

template <class Work>
void measure(const char* name, const Work& work) {
  board::paint_stack();
  const uint32_t before = board::instructions();
  run(work);
  const uint32_t after = board::instructions();
  const uint32_t stack = board::stack_used();
  board::put_text(name);
  board::put(' ');
  board::put_number((after - before) * 100 / kOutputs);
  board::put(' ');
  board::put_number(stack);
  board::put('\n');
}

bool failed = false;
void expect(Error error) { failed = failed || error != Error::none; }

// The layers are made when the program runs, as for shapes that the compiler does not know.
template <class T>
void measure_forward(const char* const (&names)[4], int32_t kernel, Buffers<T>* b) {
  const auto pool = MaxPool2D<T>(kernel, kernel, 2, 2).input(kChannels, kSize, kSize);
  const naive::MaxPool2D plain{kChannels, kSize, kSize, kernel, 2};
  measure(names[0], [&] { expect(pool.forward(b->x, b->y)); });
  measure(names[1], [&] { plain.forward(b->x, b->y, nullptr); });
  measure(names[2], [&] { expect(pool.forward(b->x, b->y, b->mask)); });
  measure(names[3], [&] { plain.forward(b->x, b->y, b->float_mask); });
}

void measure_backward(const char* tiny_name, const char* naive_name, int32_t kernel) {
  const auto pool = MaxPool2D(kernel, kernel, 2, 2).input(kChannels, kSize, kSize);
  const naive::MaxPool2D plain{kChannels, kSize, kSize, kernel, 2};
  expect(pool.forward(floats.x, floats.y, floats.mask));
  plain.forward(floats.x, floats.y, floats.float_mask);
  measure(tiny_name, [&] { expect(pool.backward(floats.y, floats.mask, floats.gx)); });
  measure(naive_name, [&] { plain.backward(floats.y, floats.float_mask, floats.gx); });
}

// Larger windows are padded, so that there are as many outputs.
void measure_spread(const char* name, int32_t kernel) {
  const int32_t pads = kernel > 3 ? 1 : 0;
  const auto pool = AvgPool2D(kernel, kernel, 2, 2).padding(pads).input(kChannels, kSize, kSize);
  measure(name, [&] { expect(pool.backward(floats.y, floats.gx)); });
}

template <class T>
void measure_average(const char* name, int32_t kernel, Buffers<T>* b) {
  const int32_t pads = kernel > 3 ? 1 : 0;
  const auto pool = AvgPool2D<T>(kernel, kernel, 2, 2).padding(pads).input(kChannels, kSize, kSize);
  measure(name, [&] { expect(pool.forward(b->x, b->y)); });
}

}  // namespace

bool program() {
  ndpool::tiny_test::Random random(1);
  for (int32_t i = 0; i < kCells; ++i) {
    const int32_t value = random.from_to(-100, 100);
    floats.x[i] = static_cast<float>(value);
    bytes.x[i] = static_cast<int8_t>(value);
  }
  measure_forward({"max_2x2_f32", "naive_2x2_f32", "max_2x2_f32_mask", "naive_2x2_f32_mask"}, 2,
                  &floats);
  measure_forward({"max_3x3_f32", "naive_3x3_f32", "max_3x3_f32_mask", "naive_3x3_f32_mask"}, 3,
                  &floats);
  measure_forward({"max_2x2_i8", "naive_2x2_i8", "max_2x2_i8_mask", "naive_2x2_i8_mask"}, 2,
                  &bytes);
  measure_forward({"max_3x3_i8", "naive_3x3_i8", "max_3x3_i8_mask", "naive_3x3_i8_mask"}, 3,
                  &bytes);
  measure_backward("max_2x2_f32_backward", "naive_2x2_f32_backward", 2);
  measure_backward("max_3x3_f32_backward", "naive_3x3_f32_backward", 3);
  measure_average("avg_2x2_f32", 2, &floats);
  measure_average("avg_3x3_f32", 3, &floats);
  measure_average("avg_4x4_f32", 4, &floats);
  measure_average("avg_2x2_i8", 2, &bytes);
  measure_average("avg_3x3_i8", 3, &bytes);
  measure_spread("avg_2x2_f32_backward", 2);
  measure_spread("avg_3x3_f32_backward", 3);
  measure_spread("avg_4x4_f32_backward", 4);
  return !failed;
}
