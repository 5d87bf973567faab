#include "reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ndpool {
namespace {

const char* shifted(const void* memory, int64_t elements, size_t size) {
  return static_cast<const char*>(memory) + elements * static_cast<int64_t>(size);
}
char* shifted(void* memory, int64_t elements, size_t size) {
  return static_cast<char*>(memory) + elements * static_cast<int64_t>(size);
}

// Windows of so many taps, so few of them side by side, are folded one by one: a tap of all of them
// at a time would be a call for a few lanes.
constexpr int64_t kManyTaps = 64;
constexpr int64_t kFewLanes = 16;

}  // namespace

void Reduction::choose_cut(int64_t outputs) {
  const Line& line = lines[space->pooled - 1];
  const int64_t most = block_bytes / static_cast<int64_t>(lane_size(lane));
  cut = {};
  // Room for a whole window beside each other, but not less than a cache line or so of lanes.
  const int64_t window = std::min<int64_t>(line.reach(), most / 64);
  cut.inner = std::min(space->inner, std::max<int64_t>(64, most / std::max<int64_t>(1, window)));
  const int64_t positions = most / cut.inner;
  const int64_t room = std::max<int64_t>(0, positions - line.reach()) / line.pace();
  cut.outputs = std::min(outputs, room + 1);
  const bool narrow = line.taps() >= kManyTaps && cut.outputs * cut.inner < kFewLanes;
  if (narrow || line.reach() > 4 * positions) {
    // One output at a time; its taps, packed, in blocks of a power of two.
    cut.blocked = true;
    cut.outputs = 1;
    cut.inner = std::min<int64_t>(space->inner, 64);
    cut.block_taps =
        static_cast<int64_t>(std::min(std::bit_floor(static_cast<uint64_t>(most / cut.inner)),
                                      std::bit_ceil(static_cast<uint64_t>(line.taps()))));
    cut.elements = cut.block_taps * cut.inner;
    return;
  }
  const int64_t sources =
      std::min(line.sources(), (cut.outputs - 1) * (line.pace() + !line.uniform()) + line.reach());
  const int64_t lanes = std::max(sources, cut.outputs) * cut.inner;
  cut.rows = std::min(space->batch, std::max<int64_t>(1, most / lanes));
  cut.elements = cut.rows * lanes;
}

Reducer::Reducer(const Reduction& reduction, Arena* arena)
    : r_(reduction), last_(reduction.space->pooled - 1), size_(lane_size(reduction.lane)) {
  const size_t index_size = static_cast<size_t>(r_.index_size);
  const int64_t elements = r_.cut.elements;
  const auto buffer = [&](Buffer* b) {
    b->values = arena->take(elements, size_);
    if (index_size != 0) b->index = arena->take(elements, index_size);
  };
  for (int level = 0; level < last_; ++level) {
    trees_[level].prepare(arena, static_cast<uint64_t>(r_.lines[level].taps()), elements, size_,
                          index_size, r_.combine);
  }
  buffer(&row_);
  const uint64_t last_taps = static_cast<uint64_t>(r_.lines[last_].taps());
  if (r_.cut.blocked) {
    trees_[last_].prepare(arena, last_taps / static_cast<uint64_t>(r_.cut.block_taps) + 1,
                          r_.cut.inner, size_, index_size, r_.combine);
    for (Buffer& b : fold_) buffer(&b);
  } else if (r_.sum) {
    trees_[last_].prepare(arena, last_taps, elements, size_, index_size, r_.combine);
  } else {
    buffer(&accumulator_);
    buffer(&picked_);
  }
  if (!r_.lines[last_].uniform()) spans_ = arena->take<Span>(r_.cut.outputs);
  if (r_.divide_by) divisors_ = arena->take(elements, size_);
}

Block Reducer::offset(const Block& block, int64_t lanes) const {
  Block moved = block;
  moved.values = shifted(block.values, lanes, size_);
  if (block.index) moved.index = shifted(block.index, lanes, static_cast<size_t>(r_.index_size));
  return moved;
}

Buffer Reducer::offset(const Buffer& buffer, int64_t lanes) const {
  Buffer moved = buffer;
  moved.values = shifted(buffer.values, lanes, size_);
  if (buffer.index) moved.index = shifted(buffer.index, lanes, static_cast<size_t>(r_.index_size));
  return moved;
}

bool Reducer::run(const Place& place, Block* result) {
  place_ = &place;
  for (int level = 0; level < last_; ++level) {
    if (r_.lines[level].span(place.across[level]).count == 0) return false;
  }
  if (r_.cut.blocked) {
    if (r_.lines[last_].span(place.outputs.begin).count == 0) return false;
    *result = blocked();
    return true;
  }
  // A tile may hold less than the sources between the first and the last tap, never less than the
  // taps.
  const Range box = r_.source->box[last_];
  sources_ = r_.lines[last_].sources_of(place.outputs);
  sources_ = {std::max(sources_.begin, box.begin), std::min(sources_.end, box.end)};
  if (sources_.size() <= 0) return false;
  step_ = 1;
  *result = along(last_ > 0 ? across(last_ - 1) : row(row_), sources_);
  return true;
}

// The rows of `level` and those before it, reduced at the current positions of the axes after it.
Block Reducer::across(int level) {
  const Span span = r_.lines[level].span(place_->across[level]);
  Tree& tree = trees_[level];
  const int64_t taps = (sources_.size() + step_ - 1) / step_;
  tree.start(place_->rows, taps * place_->inner, static_cast<uint64_t>(span.lead));
  for (int64_t t = 0; t < span.count; ++t) {
    position_[level] = span.first + t * span.step;
    Block block = level > 0 ? across(level - 1) : row(tree.leaf());
    block.add += static_cast<uint64_t>(span.lead + t) * r_.weight[level];
    if (level > 0) {
      tree.push_result_of(&trees_[level - 1], block);
    } else {
      tree.push(block);
    }
  }
  return tree.finish();
}

// The sources at the current position: where they lie, or loaded into `leaf`.
Block Reducer::row(const Buffer& leaf) {
  const Bound& source = *r_.source;
  const char* at = place_->base;
  for (int level = 0; level < last_; ++level) {
    at += (position_[level] - source.box[level].begin) * source.pooled[level];
  }
  at += (sources_.begin - source.box[last_].begin) * source.pooled[last_];
  const int64_t positions = (sources_.size() + step_ - 1) / step_;
  if (r_.native && step_ == 1 && place_->inner == r_.space->inner) {
    return {at, source.batch / source.element, nullptr, 0, 0};
  }
  const int64_t pace = positions == 1 ? 0 : source.pooled[last_] * step_;
  const Strided shape{place_->rows, positions, place_->inner, source.batch, pace, source.inner};
  r_.load(shape, at, leaf.values);
  Buffer loaded = leaf;
  loaded.stride = positions * place_->inner;
  if (r_.divide_by) divide_row(loaded);
  return {loaded.values, loaded.stride, nullptr, 0, 0};
}

void Reducer::divide_row(const Buffer& block) {
  const int64_t across = r_.divide_by->across(position_);
  int64_t lane = 0;
  for (int64_t s = sources_.begin; s < sources_.end; s += step_) {
    const int64_t divisor = r_.divide_by->of(across, s);
    for (int64_t c = 0; c < place_->inner; ++c, ++lane) {
      if (r_.lane == Lane::f32) {
        static_cast<float*>(divisors_)[lane] = static_cast<float>(divisor);
      } else {
        static_cast<double*>(divisors_)[lane] = static_cast<double>(divisor);
      }
    }
  }
  r_.kernels->divide[static_cast<int>(r_.lane)](place_->rows, lane, block.values, block.stride,
                                                divisors_);
}

Block Reducer::along(const Block& in, Range positions) {
  const Line& line = r_.lines[last_];
  const int64_t lanes = place_->outputs.size() * place_->inner;
  if (spans_) {
    for (int64_t o = place_->outputs.begin; o < place_->outputs.end; ++o) {
      spans_[o - place_->outputs.begin] = line.span(o);
    }
  }
  if (r_.sum) {
    trees_[last_].start(place_->rows, lanes, 0);
    for (int64_t t = 0; t < line.taps(); ++t) sum_tap(in, positions, t);
    if (!trees_[last_].empty()) return trees_[last_].finish();
    std::memset(row_.values, 0, static_cast<size_t>(place_->rows * lanes) * size_);
    return {row_.values, lanes, nullptr, 0, 0};
  }
  accumulator_.stride = lanes;
  picked_.stride = lanes;
  take_first(in, positions);
  for (int64_t t = 0; t < line.taps(); ++t) extreme_tap(in, positions, t);
  return {accumulator_.values, lanes, accumulator_.index, lanes, 0};
}

// Copies sources source, source+step, … of `in` (with their tap numbers) to lanes from `lane` on.
void Reducer::pick(const Block& in, int64_t source, int64_t outputs, int64_t step, Buffer to,
                   int64_t lane, uint64_t tap) {
  const int64_t inner = place_->inner;
  const Buffer target = offset(to, lane);
  const Block from = offset(in, source * inner);
  r_.kernels->gather[std::countr_zero(size_)](place_->rows, outputs, inner, step, target.values,
                                              to.stride, from.values, in.stride);
  if (r_.index_size == 0) return;
  const uint64_t add = in.add + tap * r_.weight[last_];
  if (from.index) {
    r_.kernels->gather[r_.index_size == 4 ? 2 : 3](place_->rows, outputs, inner, step, target.index,
                                                   to.stride, from.index, in.index_stride);
  }
  const auto number = [&](auto* index) {
    using Number = std::remove_reference_t<decltype(*index)>;
    for (int64_t r = 0; r < place_->rows; ++r, index += to.stride) {
      for (int64_t i = 0; i < outputs * inner; ++i) {
        index[i] = static_cast<Number>((from.index ? index[i] : Number{0}) + add);
      }
    }
  };
  if (from.index && add == 0) return;
  if (r_.index_size == 4) {
    number(static_cast<uint32_t*>(target.index));
  } else {
    number(static_cast<uint64_t*>(target.index));
  }
}

// One tap of all outputs into the tree; outputs that have no such tap add 0.
void Reducer::sum_tap(const Block& in, Range positions, int64_t tap) {
  const Line& line = r_.lines[last_];
  const Range outputs = place_->outputs;
  Tree& tree = trees_[last_];
  const int64_t inner = place_->inner;
  if (line.uniform()) {
    const Range run = line.present(tap, outputs);
    if (run.size() <= 0) return tree.skip(1);
    const int64_t first =
        line.origin() + run.begin * line.spacing() + tap * line.step() - positions.begin;
    const bool all = run.begin == outputs.begin && run.end == outputs.end;
    if (all && line.spacing() == 1) return tree.push(offset(in, first * inner));
    Buffer leaf = tree.leaf();
    if (!all) {
      std::memset(leaf.values, 0, static_cast<size_t>(place_->rows * leaf.stride) * size_);
    }
    pick(in, first, run.size(), line.spacing(), leaf, (run.begin - outputs.begin) * inner, 0);
    return tree.push({leaf.values, leaf.stride, nullptr, 0, 0});
  }
  Buffer leaf = tree.leaf();
  bool any = false;
  for (int64_t i = 0; i < outputs.size(); ++i) {
    const Span& s = spans_[i];
    if (tap < s.lead || tap >= s.lead + s.count) continue;
    if (!any) {
      std::memset(leaf.values, 0, static_cast<size_t>(place_->rows * leaf.stride) * size_);
      any = true;
    }
    pick(in, s.first + (tap - s.lead) * s.step - positions.begin, 1, 1, leaf, i * inner, 0);
  }
  if (!any) return tree.skip(1);
  tree.push({leaf.values, leaf.stride, nullptr, 0, 0});
}

// Each output starts from its first present tap: no number stands for those that are absent.
void Reducer::take_first(const Block& in, Range positions) {
  const Line& line = r_.lines[last_];
  const Range outputs = place_->outputs;
  const int64_t inner = place_->inner;
  Range whole{outputs.begin, outputs.begin};
  if (line.uniform()) {
    whole = line.present(0, outputs);
    if (whole.size() > 0) {
      pick(in, line.origin() + whole.begin * line.spacing() - positions.begin, whole.size(),
           line.spacing(), accumulator_, (whole.begin - outputs.begin) * inner, 0);
    }
  }
  for (int64_t o = outputs.begin; o < outputs.end; ++o) {
    if (o >= whole.begin && o < whole.end) continue;
    const Span s = spans_ ? spans_[o - outputs.begin] : line.span(o);
    const int64_t source = s.count > 0 ? s.first - positions.begin : 0;
    pick(in, source, 1, 1, accumulator_, (o - outputs.begin) * inner,
         static_cast<uint64_t>(s.lead));
  }
}

// One tap of those outputs that have it into the accumulator.
void Reducer::extreme_tap(const Block& in, Range positions, int64_t tap) {
  const Line& line = r_.lines[last_];
  const Range outputs = place_->outputs;
  const int64_t inner = place_->inner;
  const auto combine = [&](int64_t source, int64_t begin, int64_t count, int64_t step) {
    const int64_t lane = (begin - outputs.begin) * inner;
    Block from = offset(in, source * inner);
    from.add = in.add + static_cast<uint64_t>(tap) * r_.weight[last_];
    if (step != 1) {
      pick(in, source, count, step, picked_, lane, static_cast<uint64_t>(tap));
      const Buffer picked = offset(picked_, lane);
      from = {picked.values, picked.stride, picked.index, picked.stride, 0};
    }
    const Buffer to = offset(accumulator_, lane);
    r_.combine(place_->rows, count * inner, to, {to.values, to.stride, to.index, to.stride, 0},
               from);
  };
  if (line.uniform()) {
    const Range run = line.present(tap, outputs);
    if (run.size() <= 0) return;
    combine(line.origin() + run.begin * line.spacing() + tap * line.step() - positions.begin,
            run.begin, run.size(), line.spacing());
    return;
  }
  for (int64_t i = 0; i < outputs.size(); ++i) {
    const Span& s = spans_[i];
    if (tap <= s.lead || tap >= s.lead + s.count) continue;
    combine(s.first + (tap - s.lead) * s.step - positions.begin, outputs.begin + i, 1, 1);
  }
}

// One output whose taps are too many for a block: blocks of taps, each folded to one, make the
// tree.
Block Reducer::blocked() {
  const Line& line = r_.lines[last_];
  const Span span = line.span(place_->outputs.begin);
  const int64_t width = r_.cut.block_taps, end = span.lead + span.count;
  Tree& tree = trees_[last_];
  tree.start(1, place_->inner, static_cast<uint64_t>(span.lead / width));
  step_ = span.step;
  for (int64_t begin = span.lead; begin < end;) {
    const int64_t next = std::min(end, (begin / width + 1) * width);
    const int64_t first = span.first + (begin - span.lead) * span.step;
    sources_ = {first, first + (next - begin - 1) * span.step + 1};
    Block block = last_ > 0 ? across(last_ - 1) : row(row_);
    if (r_.index_size != 0) block = number_taps(block, next - begin, begin);
    block = fold(block, next - begin, begin % width);
    Buffer leaf = tree.leaf();
    leaf.stride = place_->inner;
    pick(block, 0, 1, 1, leaf, 0, 0);
    tree.push({leaf.values, leaf.stride, leaf.index, leaf.stride, 0});
    begin = next;
  }
  return tree.finish();
}

// Gives each lane the number of its own tap on the last axis.
Block Reducer::number_taps(const Block& in, int64_t taps, int64_t first_tap) {
  const int64_t inner = place_->inner;
  Buffer to = fold_[2];
  to.stride = taps * inner;
  pick(in, 0, taps, 1, to, 0, static_cast<uint64_t>(first_tap));
  const auto number = [&](auto* index) {
    using Number = std::remove_reference_t<decltype(*index)>;
    for (int64_t t = 0; t < taps; ++t) {
      const Number add = static_cast<Number>(static_cast<uint64_t>(t) * r_.weight[last_]);
      for (int64_t c = 0; c < inner; ++c) index[t * inner + c] += add;
    }
  };
  if (r_.index_size == 4) {
    number(static_cast<uint32_t*>(to.index));
  } else {
    number(static_cast<uint64_t*>(to.index));
  }
  return {to.values, to.stride, to.index, to.stride, 0};
}

// Combines neighbouring taps, pairs of them, and so on; tap `lead` comes first. One plane.
Block Reducer::fold(Block in, int64_t taps, int64_t lead) {
  const int64_t inner = place_->inner;
  // Tap numbers are in the index already; adding 0 keeps them.
  for (int turn = 0; taps > 1; turn = 1 - turn) {
    Buffer even = fold_[turn], odd = row_;
    if (in.values == row_.values) odd = fold_[1 - turn];
    const int64_t head = lead % 2, pairs = (taps - head) / 2, tail = (taps - head) % 2;
    even.stride = odd.stride = (head + pairs + tail) * inner;
    if (head) pick(in, 0, 1, 1, even, 0, 0);
    if (pairs > 0) {
      pick(in, head, pairs, 2, even, head * inner, 0);
      pick(in, head + 1, pairs, 2, odd, head * inner, 0);
      const Buffer to = offset(even, head * inner), from = offset(odd, head * inner);
      r_.combine(1, pairs * inner, to, {to.values, to.stride, to.index, to.stride, 0},
                 {from.values, from.stride, from.index, from.stride, 0});
    }
    if (tail) pick(in, taps - 1, 1, 1, even, (head + pairs) * inner, 0);
    in = {even.values, even.stride, even.index, even.stride, 0};
    taps = head + pairs + tail;
    lead /= 2;
  }
  return in;
}

}  // namespace ndpool
