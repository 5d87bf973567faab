/* The C interface from C11: one problem through every function, with numbers worked out by hand. */
#include <ndpool/ndpool.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

/* Checks that a call went well, and prints its message where it did not. */
#define CHECK_OK(call, error)                                                         \
  do {                                                                                \
    if ((call) != NDPOOL_OK) {                                                        \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, (error).message); \
      ++failures;                                                                     \
    }                                                                                 \
  } while (0)

static const ndpool_array kNoOutput = {NULL, NULL};

static ndpool_const_array in(const void* data) {
  const ndpool_const_array array = {data, NULL};
  return array;
}

static ndpool_array out(void* data) {
  const ndpool_array array = {data, NULL};
  return array;
}

static int same(const float* got, const float* expected, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!(got[i] == expected[i])) {
      fprintf(stderr, "element %zu is %g, not %g\n", i, (double)got[i], (double)expected[i]);
      return 0;
    }
  }
  return 1;
}

static const int64_t kShape[2] = {3, 3};
static const int64_t kWindow[2] = {2, 2};
static const int64_t kOne = 1;
static const float kX[9] = {0, 10, 8, 2, 7, 3, 5, 7, 20};

/* 2x2 windows with stride 1 over a 3x3 array. */
static ndpool_plan* make_plan(int32_t op) {
  ndpool_desc desc;
  ndpool_desc_init(&desc);
  desc.op = op;
  desc.type = NDPOOL_F32;
  desc.shape.data = kShape;
  desc.shape.count = 2;
  desc.window.data = kWindow;
  desc.window.count = 2;
  desc.stride.data = &kOne;
  desc.stride.count = 1;
  ndpool_plan* plan = NULL;
  ndpool_error error;
  CHECK_OK(ndpool_plan_create(&desc, &plan, &error), error);
  CHECK(error.code == NDPOOL_OK && error.message[0] == '\0');
  return plan;
}

static void test_queries(void) {
  ndpool_plan* plan = make_plan(NDPOOL_MAX);
  int64_t numbers[2] = {0, 0};
  int64_t more[2] = {7, 7};
  CHECK(ndpool_plan_rank(plan) == 2);
  ndpool_plan_input_shape(plan, numbers);
  CHECK(numbers[0] == 3 && numbers[1] == 3);
  ndpool_plan_output_shape(plan, numbers);
  CHECK(numbers[0] == 2 && numbers[1] == 2);
  ndpool_plan_dropped(plan, numbers);
  CHECK(numbers[0] == 0 && numbers[1] == 0);
  ndpool_plan_padding(plan, numbers, more);
  CHECK(numbers[0] == 0 && more[0] == 0 && more[1] == 0);
  CHECK(ndpool_plan_output_type(plan) == NDPOOL_F32);
  CHECK(ndpool_plan_argmax_type(plan) == NDPOOL_U8);
  char text[4096];
  const size_t length = ndpool_plan_explain(plan, text, sizeof text);
  CHECK(length > 0 && length < sizeof text && strlen(text) == length);
  CHECK(ndpool_plan_explain(plan, NULL, 0) == length);
  CHECK(ndpool_plan_scratch_bytes(plan, 1) <= ndpool_plan_scratch_bytes(plan, 8));
  ndpool_plan_destroy(plan);
}

static void test_max(void) {
  ndpool_plan* plan = make_plan(NDPOOL_MAX);
  ndpool_error error;
  float y[4];
  float dy[4];
  float dx[9];
  uint8_t argmax[4];
  int64_t index[4];
  const float ones[4] = {1, 1, 1, 1};
  const float expected_y[4] = {10, 10, 7, 20};
  const float expected_dx[9] = {0, 2, 0, 0, 1, 0, 0, 0, 1};
  CHECK_OK(ndpool_forward(plan, in(kX), out(y), out(argmax), out(index), NULL, &error), error);
  CHECK(same(y, expected_y, 4));
  CHECK(argmax[0] == 1 && argmax[1] == 0 && argmax[2] == 1 && argmax[3] == 3);
  CHECK(index[0] == 1 && index[1] == 1 && index[2] == 4 && index[3] == 8);
  CHECK_OK(ndpool_vjp_argmax(plan, in(argmax), in(ones), out(dx), NULL, &error), error);
  CHECK(same(dx, expected_dx, 9));
  memset(dx, 0x55, sizeof dx);
  CHECK_OK(ndpool_vjp(plan, in(kX), in(ones), out(dx), NULL, &error), error);
  CHECK(same(dx, expected_dx, 9));
  /* The tangent x gives the winners themselves. */
  CHECK_OK(ndpool_jvp(plan, in(kX), in(kX), kNoOutput, out(dy), NULL, &error), error);
  CHECK(same(dy, expected_y, 4));

  /* Back from values and indices; 10 was the winner of two windows, and is written once. */
  const int64_t shape2[2] = {2, 2};
  const int64_t axes[2] = {0, 1};
  const float expected_out[9] = {0, 10, 0, 0, 7, 0, 0, 0, 20};
  const float expected_dy[4] = {0, 10, 7, 20};
  ndpool_unpool_desc unpool;
  ndpool_unpool_desc_init(&unpool);
  unpool.type = NDPOOL_F32;
  unpool.y_shape.data = shape2;
  unpool.y_shape.count = 2;
  unpool.output_shape.data = kShape;
  unpool.output_shape.count = 2;
  unpool.axes.data = axes;
  unpool.axes.count = 2;
  float back[9];
  CHECK_OK(ndpool_unpool(&unpool, in(y), in(index), out(back), NULL, &error), error);
  CHECK(same(back, expected_out, 9));
  CHECK_OK(ndpool_unpool_vjp(&unpool, in(kX), in(index), out(dy), NULL, &error), error);
  CHECK(same(dy, expected_dy, 4));
  ndpool_plan_destroy(plan);
}

/* Runs the tasks backwards on the calling thread. */
static void run_backwards(void* context, int64_t n, void (*body)(void*, int64_t), void* arg) {
  ++*(int*)context;
  for (int64_t i = n; i-- > 0;) body(arg, i);
}

static int32_t always(void* context) {
  ++*(int*)context;
  return 1;
}

static void test_exec(void) {
  ndpool_plan* plan = make_plan(NDPOOL_AVG);
  ndpool_error error;
  float y[4];
  const float expected_y[4] = {4.75F, 7, 5.25F, 9.25F};
  int runs = 0;
  const ndpool_runner runner = {&runs, run_backwards};
  ndpool_exec exec;
  memset(&exec, 0, sizeof exec);
  exec.runner = &runner;
  exec.threads = 2;
  CHECK_OK(ndpool_forward(plan, in(kX), out(y), kNoOutput, kNoOutput, &exec, &error), error);
  CHECK(same(y, expected_y, 4));

  /* A column of x as a strided array, and a tile: output (1, 0) from cells (1..2, 0..1). */
  const int64_t start[2] = {1, 0};
  const int64_t x_size[2] = {2, 2};
  const int64_t y_size[2] = {1, 1};
  const int64_t strides[2] = {3 * (int64_t)sizeof(float), (int64_t)sizeof(float)};
  const ndpool_tile tile = {{start, x_size}, {start, y_size}, {NULL, NULL}};
  const ndpool_const_array corner = {kX + 3, strides};
  memset(&exec, 0, sizeof exec);
  exec.tile = &tile;
  CHECK_OK(ndpool_forward(plan, corner, out(y), kNoOutput, kNoOutput, &exec, &error), error);
  CHECK(y[0] == 5.25F);

  int asked = 0;
  memset(&exec, 0, sizeof exec);
  exec.cancelled = always;
  exec.cancelled_context = &asked;
  CHECK(ndpool_forward(plan, in(kX), out(y), kNoOutput, kNoOutput, &exec, &error) ==
        NDPOOL_CANCELLED);
  CHECK(asked > 0 && error.code == NDPOOL_CANCELLED && error.message[0] != '\0');
  ndpool_plan_destroy(plan);
}

static void test_smooth(void) {
  ndpool_plan* plan = make_plan(NDPOOL_SMOOTH_MAX);
  ndpool_error error;
  const float zeros[9] = {0};
  const float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  float y[4];
  float hx[9];
  CHECK_OK(ndpool_forward(plan, in(zeros), out(y), kNoOutput, kNoOutput, NULL, &error), error);
  CHECK(y[0] > 1.38629F && y[0] < 1.38630F); /* log 4 */
  /* A constant direction changes no weight. */
  CHECK_OK(ndpool_hvp(plan, in(zeros), in(ones), in(ones), out(hx), NULL, &error), error);
  CHECK(same(hx, zeros, 9));
  ndpool_plan_destroy(plan);
}

static void test_errors(void) {
  ndpool_error error;
  ndpool_plan* plan = NULL;
  CHECK(ndpool_plan_parse("max f32 2x3x8x8 w9x9", &plan, &error) == NDPOOL_BAD_GEOMETRY);
  CHECK(plan == NULL && error.code == NDPOOL_BAD_GEOMETRY && error.axis == 2);
  CHECK(strstr(error.message, "axis 2") != NULL && strstr(error.message, "9") != NULL);
  CHECK(ndpool_plan_parse("max f32 2x3x8x8 w9x9", &plan, NULL) == NDPOOL_BAD_GEOMETRY);
  CHECK_OK(ndpool_plan_parse("max f32 2x3x8x8 w2x2 s2", &plan, &error), error);
  CHECK(ndpool_plan_rank(plan) == 4);
  ndpool_plan_destroy(plan);
}

static void test_library(void) {
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", NDPOOL_VERSION_MAJOR, NDPOOL_VERSION_MINOR,
           NDPOOL_VERSION_PATCH);
  CHECK(strcmp(ndpool_version(), version) == 0);
  CHECK(strcmp(ndpool_type_name(NDPOOL_BF16), "bf16") == 0);
  CHECK(ndpool_type_size(NDPOOL_F64) == 8 && ndpool_type_size(NDPOOL_BOOL) == 1);
  CHECK(strcmp(ndpool_op_name(NDPOOL_MAX), "max") == 0);
  CHECK(ndpool_target_name(0) != NULL);
  CHECK(ndpool_set_num_threads(2) == NDPOOL_OK && ndpool_get_num_threads() == 2);
  CHECK(ndpool_set_num_threads(-1) != NDPOOL_OK && ndpool_get_num_threads() == 2);
  CHECK(ndpool_set_num_threads(0) == NDPOOL_OK && ndpool_get_num_threads() >= 1);
}

int main(void) {
  test_queries();
  test_max();
  test_exec();
  test_smooth();
  test_errors();
  test_library();
  if (failures != 0) fprintf(stderr, "%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}
