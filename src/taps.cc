#include "taps.h"

namespace ndpool {

TapCut choose_tap_cut(const Space& space, const Line& last, int64_t outputs) {
  TapCut cut;
  cut.inner = std::min<int64_t>(space.inner, kTapLanes / 4);
  const int64_t room = kTapLanes / cut.inner;
  if (last.reach() > 4 * room) {
    cut.blocked = true;
    cut.positions = std::min({room, last.taps(), last.sources()});
    return cut;
  }
  cut.outputs = std::min(outputs, std::max<int64_t>(0, room - last.reach()) / last.pace() + 1);
  cut.positions =
      std::min(last.sources(), (cut.outputs - 1) * (last.pace() + !last.uniform()) + last.reach());
  return cut;
}

}  // namespace ndpool
