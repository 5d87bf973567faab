// How much stack a program used: paint below the stack pointer, and look where the paint ends.
#include "board.hpp"

extern "C" uint32_t board_stack_begin[], board_stack_end[];  // from the linker script

namespace board {
namespace {

constexpr uint32_t kPaint = 0x5AFE5AFE;
const uint32_t* painted_to = nullptr;

}  // namespace

__attribute__((noinline)) void paint_stack() {
  uint32_t* here = static_cast<uint32_t*>(__builtin_frame_address(0)) - 16;  // below this frame
  painted_to = here;
  for (volatile uint32_t* at = board_stack_begin; at < here; ++at) *at = kPaint;
}

__attribute__((noinline)) uint32_t stack_used() {
  const uint32_t* at = board_stack_begin;
  while (at < painted_to && *at == kPaint) ++at;
  return static_cast<uint32_t>(painted_to - at) * 4;
}

}  // namespace board
