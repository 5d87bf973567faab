// Prints the lines that a board must print, from the desktop engine. Usage: lines_by_engine COUNT
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/tiny/engine.hpp"

using namespace ndpool::tiny_test;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto count = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const auto solutions = std::make_unique<Solutions>();
  for (std::uint32_t number = 0; number < count; ++number) {
    const Problem p = random_problem(number);
    with_layer(p, [&](const auto& layer) {
      auto& solution = solutions->of(element_of(layer));
      solve_by_engine(number, p, &solution);
      write_line(number, p.type == Type::f32, solution, [](char c) { std::putchar(c); });
    });
  }
}
