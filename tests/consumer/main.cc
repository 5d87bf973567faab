// A user's C++ program: the installed header compiles, the library links, the answer is right.
#include <ndpool/ndpool.hpp>

#include <cstdio>
#include <vector>

int main() {
  const ndpool::Array<float> x({2, 4}, {1, 3, 2, 0, 5, 4, 1, 7});
  const ndpool::Array<float> y = ndpool::max_pool(x, {.window = {2, 2}});
  const std::vector<float> values(y.begin(), y.end());
  if (values != std::vector<float>{5, 7}) {
    std::printf("from C++: wrong values\n");
    return 1;
  }
  std::printf("from C++: ndpool %s\n", ndpool_version());
  return 0;
}
