// Solves NDPOOL_TINY_PROBLEMS problems with tiny's layers and prints a line for each.
#include "tests/tiny/boards/board.hpp"
#include "tests/tiny/solution.hpp"

using namespace ndpool::tiny_test;

namespace {
Solutions solutions;
}

bool program() {
  for (uint32_t number = 0; number < NDPOOL_TINY_PROBLEMS; ++number) {
    const Problem p = random_problem(number);
    with_layer(p, [&](const auto& layer) {
      auto& solution = solutions.of(element_of(layer));
      solve(number, layer, &solution);
      write_line(number, p.type == Type::f32, solution, board::put);
    });
  }
  return true;
}
