// Cortex-M under qemu-system-arm -M mps2-an386: vector table, start, semihosting.
#include "board.hpp"

extern "C" {
extern uint32_t board_stack_end[], board_bss_begin[], board_bss_end[];
void reset();
void fault();

__attribute__((section(".vectors"), used)) const void* const vectors[16] = {
    board_stack_end,
    reinterpret_cast<const void*>(&reset),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
    reinterpret_cast<const void*>(&fault),
};
}

namespace board {
namespace {

int call(int operation, const void* argument) {
  register int r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

volatile uint32_t* reg(uint32_t address) { return reinterpret_cast<volatile uint32_t*>(address); }

constexpr uint32_t kSysTickControl = 0xE000E010, kSysTickReload = 0xE000E014,
                   kSysTickValue = 0xE000E018, kCoprocessors = 0xE000ED88;
constexpr uint32_t kCounterBits = 0xFFFFFF;

}  // namespace

void put(char character) { call(0x03, &character); }

[[noreturn]] void leave(bool success) {
  call(0x18, reinterpret_cast<const void*>(success ? 0x20026 : 0x20023));
  for (;;) {
  }
}

// SysTick runs at the board's 25 MHz; under -icount shift=0 an instruction takes 1 ns.
uint32_t instructions() { return (kCounterBits - *reg(kSysTickValue)) * 40; }

}  // namespace board

extern "C" {

void reset() {
  for (uint32_t* at = board_bss_begin; at < board_bss_end; ++at) *at = 0;
#ifdef __ARM_FP
  *board::reg(board::kCoprocessors) = *board::reg(board::kCoprocessors) | 0xF << 20;
  asm volatile("dsb\n isb");
#endif
  *board::reg(board::kSysTickReload) = board::kCounterBits;
  *board::reg(board::kSysTickValue) = 0;
  *board::reg(board::kSysTickControl) = 5;  // on, no interrupt, the processor's clock
  board::leave(program());
}

void fault() {
  board::put_text("a fault of the processor\n");
  board::leave(false);
}

}  // extern "C"
