// Trains a small network for signals on the board, and says how well it learns.
#include <ndpool_tiny.h>

#include "block.hpp"

static block::Network network;

void setup() {
  Serial.begin(115200);
  const block::Outcome outcome = block::train(&network, 200);
  Serial.println(ndpool::tiny::text(outcome.error));
  Serial.print(outcome.right);
  Serial.print(" of ");
  Serial.print(outcome.tested);
  Serial.println(" signals told right");
}

void loop() {}
