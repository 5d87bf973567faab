// What kernels do for others while they compute.
#ifndef NDPOOL_SRC_KERNELS_MEANWHILE_H_
#define NDPOOL_SRC_KERNELS_MEANWHILE_H_

#include <cstddef>
#include <cstdint>

namespace ndpool {

// What is needed next, fetched meanwhile.
struct Next {
  const void* from = nullptr;
  int64_t bytes = 0;
};

// What goes to the second cache long before it is needed: what lies some way behind that which is
// needed next; or, from elsewhere, so many bytes for each of those; or nothing.
struct Later {
  bool behind = false;
  const void* from = nullptr;
  size_t times = 0;
};

// Some bytes that are ready to go past the caches while others are computed.
struct Finished {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_MEANWHILE_H_
