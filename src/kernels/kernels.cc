#include "kernels/kernels.h"

#include <cstring>

#include "hwy/highway.h"

namespace ndpool {

const CombineKernels* combine_kernels(int64_t target);
const ConvertKernels* convert_kernels(int64_t target);
const TapKernels* tap_kernels(int64_t target);
const SlideKernels* slide_kernels(int64_t target);
const NeighbourKernels* neighbour_kernels(int64_t target);
const WinnerTapKernels* winner_tap_kernels(int64_t target);
const CollectKernels* collect_kernels(int64_t target);
const CollectInOrderKernels* collect_in_order_kernels(int64_t target);
const ChannelKernels* channel_kernels(int64_t target);
const ChannelGradientKernels* channel_gradient_kernels(int64_t target);
const ColumnKernels* column_kernels(int64_t target);
const NarrowColumnKernels* narrow_column_kernels(int64_t target);
const HalvedRowKernels* halved_row_kernels(int64_t target);
const NarrowHalvedRowKernels* narrow_halved_row_kernels(int64_t target);
const SameRowKernels* same_row_kernels(int64_t target);
const SameGradientKernels* same_gradient_kernels(int64_t target);
const SheetKernels* sheet_kernels(int64_t target);
const HeldKernels* held_kernels(int64_t target);
const StripKernels* strip_kernels(int64_t target);
const WholeKernels* whole_kernels(int64_t target);
const MoveKernels* move_kernels(int64_t target);
const RealKernels* real_kernels(int64_t target);
const WinnerKernels<float>* winner_kernels_f32(int64_t target);
const WinnerKernels<double>* winner_kernels_f64(int64_t target);
const SmoothRowKernels* smooth_row_kernels(int64_t target);

namespace {

constexpr int kMaxTargets = 16;

struct Tables {
  Kernels kernels[kMaxTargets];
  int count = 0;

  Tables() {
    // Better targets have lower bits.
    for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
      const int64_t target = rest & -rest;
      if (!combine_kernels(target) || count == kMaxTargets) continue;
      kernels[count++] = {hwy::TargetName(target),
                          combine_kernels(target),
                          convert_kernels(target),
                          tap_kernels(target),
                          slide_kernels(target),
                          neighbour_kernels(target),
                          winner_tap_kernels(target),
                          collect_kernels(target),
                          collect_in_order_kernels(target),
                          channel_kernels(target),
                          channel_gradient_kernels(target),
                          column_kernels(target),
                          narrow_column_kernels(target),
                          halved_row_kernels(target),
                          narrow_halved_row_kernels(target),
                          same_row_kernels(target),
                          same_gradient_kernels(target),
                          sheet_kernels(target),
                          held_kernels(target),
                          strip_kernels(target),
                          whole_kernels(target),
                          move_kernels(target),
                          real_kernels(target),
                          winner_kernels_f32(target),
                          winner_kernels_f64(target),
                          smooth_row_kernels(target)};
    }
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

}  // namespace

const Kernels* kernels_at(int i) {
  return i >= 0 && i < tables().count ? &tables().kernels[i] : nullptr;
}

const Kernels* kernels_named(const char* name) {
  for (int i = 0; i < tables().count; ++i) {
    if (std::strcmp(tables().kernels[i].name, name) == 0) return &tables().kernels[i];
  }
  return nullptr;
}

}  // namespace ndpool
