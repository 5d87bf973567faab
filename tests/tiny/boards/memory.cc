// memcpy, memset and memmove for boards without a C library.
#include <stddef.h>

extern "C" {

void* memset(void* to, int value, size_t count) {
  auto* at = static_cast<volatile unsigned char*>(to);
  for (size_t i = 0; i < count; ++i) at[i] = static_cast<unsigned char>(value);
  return to;
}

void* memcpy(void* to, const void* from, size_t count) {
  auto* out = static_cast<volatile unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < count; ++i) out[i] = in[i];
  return to;
}

}  // extern "C"
