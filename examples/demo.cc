// The demonstration: pools a small array, and prints what goes in, what comes out, which cells won,
// where the gradient goes, and what the plan chose. Checks its own numbers on the way.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "ndpool/ndpool.hpp"

namespace {

using Values = std::vector<float>;

std::string text_of(float value, bool marked) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, marked ? "[%.4g]" : "%.4g ", static_cast<double>(value));
  return buffer;
}

// Prints a 2-D array in aligned columns; cells whose flat position is in `marked` stand in
// brackets.
void print(const char* title, const Values& values, std::size_t columns,
           const std::vector<std::int64_t>& marked = {}) {
  std::vector<std::string> cells;
  std::size_t width = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool mark =
        std::find(marked.begin(), marked.end(), static_cast<std::int64_t>(i)) != marked.end();
    cells.push_back(text_of(values[i], mark));
    width = std::max(width, cells.back().size());
  }
  std::printf("  %s\n", title);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % columns == 0) std::printf("    ");
    std::printf("%*s", static_cast<int>(width + 1), cells[i].c_str());
    if (i % columns == columns - 1) std::printf("\n");
  }
  std::printf("\n");
}

// Prints a heading with a line under it.
void heading(const char* text) {
  std::printf("%s\n%s\n\n", text, std::string(std::string(text).size(), '-').c_str());
}

// Prints text that may have several lines, set in by four spaces.
void print_indented(const std::string& text) {
  std::printf("  what the plan chose\n    ");
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::putchar(text[i]);
    if (text[i] == '\n' && i + 1 < text.size()) std::printf("    ");
  }
  std::printf("%s\n", text.empty() || text.back() != '\n' ? "\n" : "");
}

const Values kInput = {3, 1, 4, 1, 5, 9,  //
                       2, 6, 5, 3, 5, 8,  //
                       9, 7, 9, 3, 2, 3,  //
                       8, 4, 6, 2, 6, 4};

bool show_max() {
  heading("max of 2x3 blocks of a 4x6 array");
  const ndpool::Plan plan({.op = ndpool::Op::max, .shape = {4, 6}, .window = {2, 3}});
  Values y(4);
  std::vector<std::int64_t> index(4);
  ndpool::Compact argmax = plan.make_argmax();
  plan.forward(kInput, y, argmax, index);
  print("input, winners in brackets", kInput, 6, index);
  print("output", y, 2);
  print("index of each winner in the input (int64)", Values(index.begin(), index.end()), 2);
  Values taps;
  for (std::int64_t i = 0; i < argmax.size(); ++i) taps.push_back(static_cast<float>(argmax.at(i)));
  print("compact argmax: its tap in the window, one byte each", taps, 2);

  const Values g = {1, 2, 3, 4};
  Values dx(24);
  plan.vjp_argmax(argmax, g, dx);
  print("gradient of the output", g, 2);
  print("gradient of the input, from the compact argmax alone", dx, 6, index);
  print_indented(plan.explain());

  Values expected(24);
  expected[7] = 1;
  expected[5] = 2;
  expected[12] = 3;
  expected[22] = 4;
  return y == Values{6, 9, 9, 6} && dx == expected;
}

bool show_avg() {
  heading("average of 3x3 windows, stride 2, padding 1, padding not counted");
  const ndpool::Plan plan({.op = ndpool::Op::avg,
                           .shape = {4, 6},
                           .window = {3, 3},
                           .stride = {2},
                           .padding = {1},
                           .count_include_pad = false});
  Values y(6);
  plan.forward(kInput, y);
  print("input", kInput, 6);
  print("output", y, 3);
  Values dx(24);
  plan.vjp(ndpool::none, Values(6, 36.0F), dx);
  print("gradient of the input for a gradient of 36 everywhere", dx, 6);
  print_indented(plan.explain());
  // The corner holds 4 cells, the edge beside it 6: (3+1+2+6)/4 and (1+4+1+6+5+3)/6.
  double total = 0;
  for (const float value : dx) total += value;
  return y[0] == 3.0F && y[1] == 20.0F / 6.0F && dx[0] == 9.0F && total == 6 * 36.0;
}

}  // namespace

int main() {
  std::printf("ndpool %s\n\n", ndpool::version());
  const bool right = show_max() && show_avg();
  if (!right) std::printf("these are not the expected numbers\n");
  return right ? 0 : 1;
}
