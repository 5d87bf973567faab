#include "taps.h"

namespace ndpool {

TapCut choose_tap_cut(const Space& space, const Line& last, int64_t outputs, int64_t tap_lanes) {
  TapCut cut;
  cut.inner = std::min<int64_t>(space.inner, tap_lanes / 4);
  const int64_t room = tap_lanes / cut.inner;
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
