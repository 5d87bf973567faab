// 32-bit RISC-V under qemu-system-riscv32 -M virt: start, semihosting.
#include "board.hpp"

extern "C" {
extern uint32_t board_bss_begin[], board_bss_end[];
void start_program();
}

asm(R"(
    .section .vectors, "ax"
    .globl reset
reset:
    la sp, board_stack_end
    la t0, trap
    csrw mtvec, t0
    call start_program
    .balign 4
trap:
    li a0, 0
    call board_trapped
)");

namespace board {
namespace {

// The three instructions that mark a semihosting call must not be compressed.
int call(int operation, const void* argument) {
  register int a0 asm("a0") = operation;
  register const void* a1 asm("a1") = argument;
  asm volatile(
      ".option push\n .option norvc\n .balign 16\n"
      "slli zero, zero, 0x1f\n ebreak\n srai zero, zero, 7\n"
      ".option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
}

}  // namespace

void put(char character) { call(0x03, &character); }

[[noreturn]] void leave(bool success) {
  const uint32_t reason[] = {0x20026u, success ? 0u : 1u};
  call(0x20, reason);  // a 32-bit machine's plain exit has no status
  for (;;) {
  }
}

uint32_t instructions() {
  uint32_t count = 0;
  asm volatile("csrr %0, minstret" : "=r"(count));
  return count;
}

}  // namespace board

extern "C" {

void start_program() {
  for (uint32_t* at = board_bss_begin; at < board_bss_end; ++at) *at = 0;
  board::leave(program());
}

void board_trapped() {
  board::put_text("a fault of the processor\n");
  board::leave(false);
}

}  // extern "C"
