// Trains the block of block.hpp on this computer, and prints how well it learns.
#include "block.hpp"

#include <cstdio>

int main() {
  static block::Network network;
  std::printf("memory: network %zu bytes, of these masks %zu (as floats they would take %zu)\n",
              sizeof network, sizeof network.mask1 + sizeof network.mask2,
              4 * (block::kPool1.output_size() + block::kPool2.output_size()));
  const int counts[] = {0, 50, 200, 600};
  for (const int steps : counts) {
    const block::Outcome outcome = block::train(&network, steps);
    if (outcome.error != ndpool::tiny::Error::none) {
      std::puts(ndpool::tiny::text(outcome.error));
      return 1;
    }
    std::printf("after %3d steps: %d of %d signals told right\n", outcome.steps, outcome.right,
                outcome.tested);
    if (steps == 600 && outcome.right < 190) return 1;
  }
  return 0;
}
