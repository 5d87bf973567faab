// Tiles: boxes of outputs computed from boxes of inputs, put together, are bit for bit what one
// call on the whole arrays gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "ndpool/ndpool.h"
#include "src/problem.h"
#include "tests/support/bridge.h"
#include "tests/support/check_average.h"
#include "tests/support/dispatch.h"
#include "tests/support/random_problem.h"
#include "tests/support/results.h"

namespace ndpool::test {
namespace {

struct Box {
  Shape start, size;
  ndpool_box c() const { return {start.data(), size.data()}; }
};

struct Range {
  int64_t begin, end;
};

// Cuts a whole array into a grid of boxes at random places.
std::vector<Box> random_cuts(Rng* rng, const Shape& whole) {
  std::vector<Box> boxes = {{Shape(whole.size(), 0), whole}};
  for (size_t axis = 0; axis < whole.size(); ++axis) {
    if (whole[axis] < 2 || rng->percent(40)) continue;
    const int64_t cut = rng->between(1, whole[axis] - 1);
    std::vector<Box> parts;
    for (const Box& box : boxes) {
      Box low = box;
      Box high = box;
      low.size[axis] = cut;
      high.start[axis] = cut;
      high.size[axis] = whole[axis] - cut;
      parts.push_back(low);
      parts.push_back(high);
    }
    boxes = parts;
  }
  return boxes;
}

// The range as it is, or a little more on either side, within [0, n); never nothing.
Range widened(Rng* rng, Range range, int64_t n) {
  if (range.begin >= range.end) range = {0, 1};
  if (rng->percent(70)) return range;
  return {std::max<int64_t>(0, range.begin - rng->below(3)),
          std::min(n, range.end + rng->below(3))};
}

// The cells that the taps of the outputs [o.begin, o.end) of one axis fall on.
Range cells_of_outputs(const spec::Axis& axis, Range o) {
  Range cells = {std::numeric_limits<int64_t>::max(), 0};
  for (int64_t i = o.begin; i < o.end; ++i) {
    for (int64_t t = 0; t < axis.taps(i); ++t) {
      const int64_t position = axis.position(i, t);
      if (position < 0 || position >= axis.n) continue;
      cells = {std::min(cells.begin, position), std::max(cells.end, position + 1)};
    }
  }
  return cells;
}

// The outputs of one axis whose windows, from first tap to last, meet [cells.begin, cells.end).
Range outputs_of_cells(const spec::Axis& axis, Range cells) {
  Range outputs = {std::numeric_limits<int64_t>::max(), 0};
  for (int64_t o = 0; o < axis.outputs; ++o) {
    const int64_t first = axis.position(o, 0);
    const int64_t last = axis.position(o, axis.taps(o) - 1);
    if (last < cells.begin || first >= cells.end) continue;
    outputs = {std::min(outputs.begin, o), std::max(outputs.end, o + 1)};
  }
  return outputs;
}

// The box on the other side of the pooling: `map` takes the ranges of pooled axes, others stay.
template <class Map>
Box box_across(Rng* rng, const spec::Layout& layout, const Box& box, const Shape& whole, Map map) {
  Box result = box;
  std::vector<const spec::Axis*> pooled(whole.size(), nullptr);
  for (const spec::Axis& axis : layout.axes) pooled[axis.place] = &axis;
  for (size_t i = 0; i < whole.size(); ++i) {
    Range range = {box.start[i], box.start[i] + box.size[i]};
    if (pooled[i] != nullptr) range = map(*pooled[i], range);
    range = widened(rng, range, whole[i]);
    result.start[i] = range.begin;
    result.size[i] = range.end - range.begin;
  }
  return result;
}

// Calls visit(place in the whole array, place in the box) for each element of the box.
template <class Visit>
void for_each_in_box(const Shape& whole, const Box& box, Visit visit) {
  const Shape steps = spec::steps(whole);
  int64_t first = 0;
  for (size_t i = 0; i < whole.size(); ++i) first += box.start[i] * steps[i];
  for_each_element(box.size, steps, [&](int64_t i, int64_t offset) {
    visit(static_cast<size_t>(first + offset), static_cast<size_t>(i));
  });
}

template <class T>
Array<T> cut_out(const Array<T>& whole, const Box& box) {
  Array<T> part = spec::filled<T>(box.size, T());
  for_each_in_box(whole.shape, box, [&](size_t at, size_t i) { part.data[i] = whole.data[at]; });
  return part;
}

template <class T>
void put_in(const Array<T>& part, const Box& box, Array<T>* whole) {
  for_each_in_box(whole->shape, box, [&](size_t at, size_t i) { whole->data[at] = part.data[i]; });
}

// The values of an array of results that have yet to be put in: wrong ones.
template <class T>
Array<T> wrong_values(const Array<T>& like) {
  Array<T> wrong = like;
  for (T& value : wrong.data) value = value == T(1) ? T(2) : T(1);
  return wrong;
}

template <class T>
class Tiles {
 public:
  Tiles(const Problem& problem, const spec::Layout& layout, const ndpool_plan* plan)
      : problem_(problem),
        layout_(layout),
        rng_(problem.seed + 5),
        engine_(problem, plan, random_setting(&rng_, problem.order), problem.seed + 6) {
    const DataRange range = average_range(problem.type);
    inputs_ = random_inputs<T>(&rng_, problem.type, layout.input, layout.output, range);
    whole_ = run_all(problem, &engine_, inputs_, layout.input, layout.output);
  }

  void check() {
    Results<T> parts = {{wrong_values(whole_.forward.y), wrong_values(whole_.forward.argmax),
                         wrong_values(whole_.forward.index)},
                        wrong_values(whole_.dy),
                        wrong_values(whole_.dy_from_argmax),
                        wrong_values(whole_.dx),
                        wrong_values(whole_.dx_from_argmax),
                        wrong_values(whole_.hx)};
    for (const Box& y : random_cuts(&rng_, layout_.output)) forward_tile(y, &parts);
    if constexpr (std::is_floating_point_v<T>) {
      for (const Box& dx : random_cuts(&rng_, layout_.input)) backward_tile(dx, &parts);
    }
    expect_same_results(parts, whole_);
  }

 private:
  void forward_tile(const Box& y, Results<T>* parts) {
    const Box x = box_across(&rng_, layout_, y, layout_.input, cells_of_outputs);
    for (const spec::Axis& axis : layout_.axes) expect_cells(axis, y);
    const ndpool_tile tile = {x.c(), y.c(), {}};
    engine_.set_tile(&tile);
    const bool argmax = has_argmax(problem_);
    const Array<T> x_part = cut_out(inputs_.x, x);
    const Forward<T> part = engine_.forward(x_part, y.size, argmax, is_extreme(problem_));
    put_in(part.y, y, &parts->forward.y);
    if (argmax) put_in(part.argmax, y, &parts->forward.argmax);
    if (is_extreme(problem_)) put_in(part.index, y, &parts->forward.index);
    if constexpr (std::is_floating_point_v<T>) {
      put_in(engine_.jvp(x_part, cut_out(inputs_.dx, x), y.size, false).first, y, &parts->dy);
      if (argmax) {
        put_in(engine_.jvp_argmax(part.argmax, cut_out(inputs_.dx, x), y.size), y,
               &parts->dy_from_argmax);
      }
    }
    engine_.set_tile(nullptr);
  }

  // The plan names the cells that the outputs of a box need.
  void expect_cells(const spec::Axis& axis, const Box& y) {
    const size_t place = static_cast<size_t>(axis.place);
    const Range outputs{y.start[place], y.start[place] + y.size[place]};
    const Range wanted = cells_of_outputs(axis, outputs);
    Range cells{-1, -1};
    ndpool_error error;
    const int32_t code =
        ndpool_plan_cells(engine_.plan(), static_cast<int32_t>(axis.place), outputs.begin,
                          outputs.end, &cells.begin, &cells.end, &error);
    if (code != NDPOOL_OK) throw Mismatch(std::string("ndpool_plan_cells: ") + error.message);
    const bool none = wanted.end == 0;
    if (none ? cells.begin != cells.end : cells.begin != wanted.begin || cells.end != wanted.end) {
      throw Mismatch("cells that outputs need: engine [" + std::to_string(cells.begin) + ", " +
                     std::to_string(cells.end) + "), spec [" + std::to_string(wanted.begin) + ", " +
                     std::to_string(wanted.end) + ")");
    }
  }

  void backward_tile(const Box& dx, Results<T>* parts) {
    const Box y = box_across(&rng_, layout_, dx, layout_.output, outputs_of_cells);
    const Box x = box_across(&rng_, layout_, y, layout_.input, cells_of_outputs);
    const ndpool_tile tile = {x.c(), y.c(), dx.c()};
    engine_.set_tile(&tile);
    const Array<T> x_part = cut_out(inputs_.x, x);
    const Array<T> g_part = cut_out(inputs_.g, y);
    put_in(engine_.vjp(&x_part, g_part, dx.size), dx, &parts->dx);
    if (has_argmax(problem_)) {
      put_in(engine_.vjp_argmax(cut_out(whole_.forward.argmax, y), g_part, dx.size), dx,
             &parts->dx_from_argmax);
    }
    if (is_smooth(problem_)) {
      put_in(engine_.hvp(x_part, g_part, cut_out(inputs_.v, x), dx.size), dx, &parts->hx);
    }
    engine_.set_tile(nullptr);
  }

  const Problem& problem_;
  const spec::Layout& layout_;
  Rng rng_;
  Engine engine_;
  Inputs<T> inputs_;
  Results<T> whole_;
};

void check_problem(const Problem& problem) {
  const spec::Layout layout = spec::make_layout(to_pool(problem), problem.shape);
  ndpool_error error = {};
  const PlanPtr plan = make_plan(problem, &error);
  if (!plan) throw Mismatch(std::string("the engine refuses it: ") + error.message);
  with_type(problem.type, [&]<class T>(T) { Tiles<T>(problem, layout, plan.get()).check(); });
}

// As many problems as `percent` of those that the differential test solves.
void run(std::initializer_list<int32_t> ops, uint64_t percent, uint64_t salt) {
  Limits limits;
  limits.refused_percent = 0;
  limits.empty_axes = false;
  limits.work = 20000;
  limits.window = 9;
  Rng seeds(environment_number("NDPOOL_TEST_SEED", 1) * 1000003 + salt);
  int failures = 0;
  const uint64_t count = environment_number("NDPOOL_TEST_PROBLEMS", 20000) * percent / 100;
  for (uint64_t i = 0; i < count; ++i) {
    Problem problem = ProblemSource(seeds.next(), limits).draw(ops);
    problem.out_type = NDPOOL_SAME_TYPE;
    if (!judge(problem, to_pool(problem)).refusal.empty()) continue;  // was good for floats only
    try {
      check_problem(problem);
    } catch (const Mismatch& mismatch) {
      ADD_FAILURE() << to_line(problem) << "\ntiles (as engine) and one call (as spec):\n"
                    << mismatch.what();
      if (++failures == 5) return;
    }
  }
}

TEST(Tiles, CutsOfMaxAndMinGiveTheSameBitsAsOneCall) { run({NDPOOL_MAX, NDPOOL_MIN}, 3, 11); }
TEST(Tiles, CutsOfAveragesGiveTheSameBitsAsOneCall) { run({NDPOOL_AVG}, 3, 12); }
TEST(Tiles, CutsOfSmoothMaxAndLpGiveTheSameBitsAsOneCall) {
  run({NDPOOL_SMOOTH_MAX, NDPOOL_LP}, 2, 13);
}

// Windows long enough to be summed in blocks, cut anywhere.
TEST(Tiles, CutsOfLongWindowsGiveTheSameBitsAsOneCall) {
  for (const char* const line :
       {"avg f32 3x900 w300 s1 p100 seed=1", "avg f64 700x3 w257 s3 axes=0 nopad p50 seed=2",
        "avg f16 40x50 w17x19 s1 p8 seed=3", "max f32 2x900 w300 s1 p100 ties=last seed=4",
        "min bf16 40x50 w17x19 s1 p8 ties=all seed=5", "avg f32 1200x2 global axes=0 seed=6",
        "avg f32 60x70 a3x4 seed=7", "smooth f32 2x500 w130 s2 seed=8",
        "lp f32 50x3x20 global axes=0,2 p=3 seed=9", "avg f32 800 w60 d7 s2 p30 ceil seed=10",
        "avg f32 2x9000 w9 s1 p4 axes=1 seed=11"}) {
    for (uint64_t round = 0; round < 5; ++round) {
      ParsedProblem parsed = parse_problem(line);
      ASSERT_TRUE(parsed) << parsed.error.message;
      parsed.problem.seed += 1000 * round;
      try {
        check_problem(parsed.problem);
      } catch (const Mismatch& mismatch) {
        ADD_FAILURE() << to_line(parsed.problem) << "\ntiles (as engine) and one call (as spec):\n"
                      << mismatch.what();
      }
    }
  }
}

}  // namespace
}  // namespace ndpool::test
