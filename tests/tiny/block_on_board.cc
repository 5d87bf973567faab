// Trains the network of examples/tiny on the board; prints how many signals it tells right.
#include NDPOOL_TINY_BLOCK

#include "tests/tiny/boards/board.hpp"

namespace {
block::Network network;
}

bool program() {
  const block::Outcome outcome = block::train(&network, 200);
  board::put_number(static_cast<uint32_t>(outcome.right));
  board::put_text(" of ");
  board::put_number(static_cast<uint32_t>(outcome.tested));
  board::put('\n');
  return outcome.error == ndpool::tiny::Error::none && outcome.right >= 190;
}
