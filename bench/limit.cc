#include "bench/limit.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "machine.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/limit.cc"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// What is read is folded into what is written, so that no load can be left out. What is written is
// never 0: some processors send lines of zeros to memory three times as fast as others.
void touch(const uint8_t* HWY_RESTRICT from, size_t read, uint8_t* HWY_RESTRICT to, size_t write,
           bool streaming) {
  const hn::ScalableTag<uint8_t> d;
  const size_t step = hn::Lanes(d);
  const size_t loads = read / step, stores = write / step;
  const size_t each = stores == 0 ? 0 : loads / stores;
  const size_t rest = stores == 0 ? 0 : loads % stores;  // loads beyond `each`, spread evenly
  auto fold = hn::Set(d, uint8_t{1});
  size_t at = 0, owed = 0;
  for (size_t i = 0; i < stores; ++i) {
    auto a = fold, b = hn::Zero(d);
    size_t j = 0;
    for (; j + 2 <= each; j += 2, at += 2) {
      a = hn::Or(a, hn::LoadU(d, from + at * step));
      b = hn::Or(b, hn::LoadU(d, from + (at + 1) * step));
    }
    if (j < each) a = hn::Or(a, hn::LoadU(d, from + at++ * step));
    owed += rest;
    if (owed >= stores) {
      owed -= stores;
      b = hn::Or(b, hn::LoadU(d, from + at++ * step));
    }
    fold = hn::Or(a, b);
    if (streaming) {
      hn::Stream(fold, d, to + i * step);
    } else {
      hn::Store(fold, d, to + i * step);
    }
  }
  for (; at < loads; ++at) fold = hn::Or(fold, hn::LoadU(d, from + at * step));
  if (write >= step) hn::Store(fold, d, to);
  hwy::FlushStream();
}

}  // namespace

void touch_dispatched(const uint8_t* from, size_t read, uint8_t* to, size_t write, bool streaming) {
  touch(from, read, to, write, streaming);
}

}  // namespace ndpool::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ndpool::bench {

HWY_EXPORT(touch_dispatched);

void touch_once(const uint8_t* from, size_t read, uint8_t* to, size_t write, bool streaming) {
  HWY_DYNAMIC_DISPATCH(touch_dispatched)(from, read, to, write, streaming);
}

Memory::Memory(size_t bytes, uint8_t pattern) {
  constexpr size_t kHuge = size_t{2} << 20;
  const size_t align = bytes >= kHuge ? kHuge : 64;
  size_ = (bytes + align - 1) / align * align;
  data_ = static_cast<uint8_t*>(std::aligned_alloc(align, size_));
  if (!data_) throw std::bad_alloc();
  advise_huge_pages(data_, size_);
  for (size_t i = 0; i < size_; ++i) data_[i] = static_cast<uint8_t>((i * pattern) >> 3);
}

Memory::~Memory() { std::free(data_); }

}  // namespace ndpool::bench
#endif
