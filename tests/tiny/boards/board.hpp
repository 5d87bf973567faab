// What a program on an emulated board needs of the board: characters out, an end, a counter. Words
// of memory are filled and copied by the functions that compilers call (a micro-controller's own C
// library has them).
#ifndef NDPOOL_TESTS_TINY_BOARDS_BOARD_HPP_
#define NDPOOL_TESTS_TINY_BOARDS_BOARD_HPP_

#include <stdint.h>

namespace board {

void put(char character);
[[noreturn]] void leave(bool success);
// Instructions since some moment, in steps of `kInstructionsPerStep`; counts under qemu -icount.
uint32_t instructions();

// The part of the stack that was never used, for measuring: paint it, run, see how deep paint is
// gone.
void paint_stack();
uint32_t stack_used();

inline void put_text(const char* text) {
  while (*text != 0) put(*text++);
}
inline void put_number(uint32_t number) {
  char digits[10];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) put(digits[--count]);
}

}  // namespace board

// The program: run by the board's start-up code; true for success.
bool program();

#endif  // NDPOOL_TESTS_TINY_BOARDS_BOARD_HPP_
