/* A user's C program: the installed header compiles, the library links, the answer is right. */
#include <ndpool/ndpool.h>
#include <stdio.h>

int main(void) {
  const float x[8] = {1, 3, 2, 0, 5, 4, 1, 7};
  float y[2] = {0, 0};
  ndpool_plan* plan = NULL;
  ndpool_error error;
  const ndpool_const_array in = {x, NULL};
  const ndpool_array out = {y, NULL};
  const ndpool_array nothing = {NULL, NULL};
  if (ndpool_plan_parse("max f32 2x4 w2x2", &plan, &error) != NDPOOL_OK ||
      ndpool_forward(plan, in, out, nothing, nothing, NULL, &error) != NDPOOL_OK) {
    printf("from C: %s\n", error.message);
    return 1;
  }
  ndpool_plan_destroy(plan);
  if (y[0] != 5 || y[1] != 7) {
    printf("from C: wrong values %g %g\n", (double)y[0], (double)y[1]);
    return 1;
  }
  printf("from C: ndpool %s\n", ndpool_version());
  return 0;
}
