/* A first call from C: the largest value of each 2x2 block of a 4x4 array. */
#include <stdio.h>

#include "ndpool/ndpool.h"

int main(void) {
  const float x[16] = {1, 3, 2, 0,  //
                       5, 4, 1, 1,  //
                       0, 2, 9, 8,  //
                       7, 6, 3, 4};
  const float expected[4] = {5, 2, 7, 9};
  float y[4] = {0};

  /* 1. Describe the problem: start from the defaults, then set what differs. */
  const int64_t shape[2] = {4, 4};
  const int64_t window[2] = {2, 2};
  ndpool_desc desc;
  ndpool_desc_init(&desc);
  desc.op = NDPOOL_MAX;
  desc.type = NDPOOL_F32;
  desc.shape = (ndpool_ints){shape, 2};
  desc.window = (ndpool_ints){window, 2};

  /* 2. Make a plan. If something is wrong, the message says what and what to do. */
  ndpool_plan* plan = NULL;
  ndpool_error error;
  if (ndpool_plan_create(&desc, &plan, &error) != NDPOOL_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }

  /* 3. Run it. Arrays without strides are row-major; what is not wanted is left NULL. */
  const ndpool_const_array in = {x, NULL};
  const ndpool_array out = {y, NULL};
  const ndpool_array nothing = {NULL, NULL};
  const int32_t status = ndpool_forward(plan, in, out, nothing, nothing, NULL, &error);
  ndpool_plan_destroy(plan);
  if (status != NDPOOL_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }

  int wrong = 0;
  for (int i = 0; i < 4; ++i) {
    printf("%g ", (double)y[i]);
    wrong += y[i] != expected[i];
  }
  printf("\n");
  return wrong == 0 ? 0 : 1;
}
