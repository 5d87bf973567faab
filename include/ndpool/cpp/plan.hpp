// What to compute (Pool), the plan made from it (Plan), and running it on arrays.
#ifndef NDPOOL_CPP_PLAN_HPP_
#define NDPOOL_CPP_PLAN_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "ndpool/cpp/exec.hpp"
#include "ndpool/cpp/result.hpp"
#include "ndpool/cpp/types.hpp"
#include "ndpool/cpp/view.hpp"

namespace ndpool::inline front {

// In Pool::output_size: as many outputs as the axis has cells.
inline constexpr std::int64_t kKeep = NDPOOL_KEEP;

// A pooling problem, made for designated initialisers:
//   Pool{.op = Op::max, .shape = {32, 64, 112, 112}, .window = {3, 3}, .stride = {2}, .padding =
//   {1}}
// Lists: empty means the default, one number means that number on every pooled axis.
struct Pool {
  Op op = Op::max;
  Type type = Type::f32;
  Ints shape = {};       // of the whole input
  Ints window = {};      // one number per pooled axis
  Ints stride = {};      // default: the window
  Ints padding = {};     // before the first cell; default 0
  Ints padding_hi = {};  // after the last cell; default: padding
  Ints dilation = {};    // default 1
  Ints axes =
      {};  // pooled axes, negative from the end; default: as many last ones as window has numbers
  Mode mode = Mode::windowed;
  Ints output_size = {};  // adaptive
  Rounding rounding = Rounding::floor;
  Padding padding_mode = Padding::given;
  Ties ties = Ties::first;
  Empty empty = Empty::error;
  bool count_include_pad = true;               // avg, smooth max
  std::optional<std::int64_t> divisor = {};    // avg: overrides the count
  Type out_type = Type::same;                  // avg
  double beta = 1.0;                           // smooth max
  bool mean = false;                           // smooth max: subtracts log(terms)/beta
  double p = 2.0;                              // Lp
  const char* target = nullptr;                // force a SIMD target by name
  Algorithm algorithm = Algorithm::automatic;  // force one; results are the same
};

// An immutable plan: cheap to copy, safe to share between threads, never empty.
// Each operation has two forms: try_… returns the error, the plain name throws it as PoolError.
// Arrays are ranges without gaps, Views, or none; their type and size are checked against the plan:
// y and dy have its output type, argmax its argmax type, index is int64, all others have its type.
class Plan {
 public:
  // Copies share one plan. There is no move, which would leave a Plan without one.
  Plan(const Plan&) = default;
  Plan& operator=(const Plan&) = default;
  ~Plan() = default;

  explicit Plan(const Pool& pool) : Plan(make(pool).value()) {}

  // Plans the problem, or says what is wrong with it.
  static Result<Plan> make(const Pool& pool) {
    ndpool_desc desc;
    ndpool_desc_init(&desc);
    desc.op = static_cast<std::int32_t>(pool.op);
    desc.type = static_cast<std::int32_t>(pool.type);
    desc.out_type = static_cast<std::int32_t>(pool.out_type);
    desc.mode = static_cast<std::int32_t>(pool.mode);
    desc.rounding = static_cast<std::int32_t>(pool.rounding);
    desc.padding = static_cast<std::int32_t>(pool.padding_mode);
    desc.ties = static_cast<std::int32_t>(pool.ties);
    desc.empty = static_cast<std::int32_t>(pool.empty);
    desc.count_include_pad = pool.count_include_pad ? 1 : 0;
    desc.mean = pool.mean ? 1 : 0;
    desc.shape = c_ints(pool.shape);
    desc.axes = c_ints(pool.axes);
    desc.window = c_ints(pool.window);
    desc.stride = c_ints(pool.stride);
    desc.dilation = c_ints(pool.dilation);
    desc.pad_lo = c_ints(pool.padding);
    desc.pad_hi = c_ints(pool.padding_hi);
    desc.output_size = c_ints(pool.output_size);
    desc.divisor = pool.divisor ? &*pool.divisor : nullptr;
    desc.beta = pool.beta;
    desc.p = pool.p;
    desc.target = pool.target;
    desc.algorithm = static_cast<std::int32_t>(pool.algorithm);
    ndpool_error error = {};
    ndpool_plan* plan = nullptr;
    if (ndpool_plan_create(&desc, &plan, &error) != NDPOOL_OK) return detail::from_c(error);
    return Plan(Owner(plan));
  }

  // The same for elements of type T, whatever pool.type says.
  template <Element T>
  static Result<Plan> make(Pool pool) {
    pool.type = type_of<T>;
    return make(pool);
  }

  // From one line of text, such as "max f32 32x64x112x112 w3x3 s2 p1 ceil".
  static Result<Plan> parse(const std::string& line) {
    ndpool_error error = {};
    ndpool_plan* plan = nullptr;
    if (ndpool_plan_parse(line.c_str(), &plan, &error) != NDPOOL_OK) return detail::from_c(error);
    return Plan(Owner(plan));
  }

  Type type() const { return state_->type; }
  Type output_type() const { return state_->output_type; }
  Type argmax_type() const { return state_->argmax_type; }
  const Ints& input_shape() const { return state_->input_shape; }
  const Ints& output_shape() const { return state_->output_shape; }
  std::int64_t input_count() const { return *detail::product(state_->input_shape); }
  std::int64_t output_count() const { return *detail::product(state_->output_shape); }

  // Per axis: the cells at the end that no window covers.
  Ints dropped() const {
    Ints result(rank());
    ndpool_plan_dropped(c_plan(), result.data());
    return result;
  }

  // Per axis: the padding in force, before and after; 0 on axes that are not pooled.
  std::pair<Ints, Ints> padding() const {
    Ints lo(rank());
    Ints hi(rank());
    ndpool_plan_padding(c_plan(), lo.data(), hi.data());
    return {std::move(lo), std::move(hi)};
  }

  // Scratch that any call needs with that many threads; see Exec::scratch.
  std::size_t scratch_bytes(int threads) const {
    return ndpool_plan_scratch_bytes(c_plan(), threads);
  }

  // What the plan chose and why, as text.
  std::string explain() const {
    std::string text(ndpool_plan_explain(c_plan(), nullptr, 0), '\0');
    ndpool_plan_explain(c_plan(), text.data(), text.size() + 1);
    return text;
  }

  // A buffer for the compact argmax of a whole forward call.
  Compact make_argmax() const { return Compact(argmax_type(), output_count()); }

  const ndpool_plan* c_plan() const { return state_->plan.get(); }

  // y from x. argmax: compact tap numbers of the winners; index: flat int64 positions (max and
  // min).
  Result<void> try_forward(Input x, Output y, Output argmax, Output index,
                           const Exec& exec = {}) const {
    Call call(*state_, exec);
    call.check(x, "x", type(), kX);
    call.check(y, "y", output_type(), kY);
    call.check(argmax, "argmax", argmax_type(), kY);
    call.check(index, "index", Type::i64, kY);
    return call.run([&](const ndpool_exec* c_exec, ndpool_error* error) {
      return ndpool_forward(c_plan(), detail::c_array(x), detail::c_array(y),
                            detail::c_array(argmax), detail::c_array(index), c_exec, error);
    });
  }
  Result<void> try_forward(Input x, Output y, const Exec& exec = {}) const {
    return try_forward(x, y, none, none, exec);
  }
  Result<void> try_forward(Input x, Output y, Output argmax, const Exec& exec = {}) const {
    return try_forward(x, y, argmax, none, exec);
  }
  Result<void> try_forward_with_index(Input x, Output y, Output index,
                                      const Exec& exec = {}) const {
    return try_forward(x, y, none, index, exec);
  }
  void forward(Input x, Output y, Output argmax, Output index, const Exec& exec = {}) const {
    try_forward(x, y, argmax, index, exec).value();
  }
  void forward(Input x, Output y, const Exec& exec = {}) const {
    try_forward(x, y, none, none, exec).value();
  }
  void forward(Input x, Output y, Output argmax, const Exec& exec = {}) const {
    try_forward(x, y, argmax, none, exec).value();
  }
  void forward_with_index(Input x, Output y, Output index, const Exec& exec = {}) const {
    try_forward(x, y, none, index, exec).value();
  }

  // dy = J·dx, and y unless it is none.
  Result<void> try_jvp(Input x, Input dx, Output y, Output dy, const Exec& exec = {}) const {
    Call call(*state_, exec);
    call.check(x, "x", type(), kX);
    call.check(dx, "dx", type(), kX);
    call.check(y, "y", output_type(), kY);
    call.check(dy, "dy", output_type(), kY);
    return call.run([&](const ndpool_exec* c_exec, ndpool_error* error) {
      return ndpool_jvp(c_plan(), detail::c_array(x), detail::c_array(dx), detail::c_array(y),
                        detail::c_array(dy), c_exec, error);
    });
  }
  void jvp(Input x, Input dx, Output y, Output dy, const Exec& exec = {}) const {
    try_jvp(x, dx, y, dy, exec).value();
  }

  // dx = Jᵀ·g from the input; avg takes none for x.
  Result<void> try_vjp(Input x, Input g, Output dx, const Exec& exec = {}) const {
    Call call(*state_, exec);
    call.check(x, "x", type(), kX);
    call.check(g, "g", type(), kY);
    call.check(dx, "dx", type(), kDx);
    return call.run([&](const ndpool_exec* c_exec, ndpool_error* error) {
      return ndpool_vjp(c_plan(), detail::c_array(x), detail::c_array(g), detail::c_array(dx),
                        c_exec, error);
    });
  }
  void vjp(Input x, Input g, Output dx, const Exec& exec = {}) const {
    try_vjp(x, g, dx, exec).value();
  }

  // dy = J·dx of max and min from what forward kept (ties first, last).
  Result<void> try_jvp_argmax(Input argmax, Input dx, Output dy, const Exec& exec = {}) const {
    Call call(*state_, exec);
    call.check(argmax, "argmax", argmax_type(), kY);
    call.check(dx, "dx", type(), kX);
    call.check(dy, "dy", type(), kY);
    return call.run([&](const ndpool_exec* c_exec, ndpool_error* error) {
      return ndpool_jvp_argmax(c_plan(), detail::c_array(argmax), detail::c_array(dx),
                               detail::c_array(dy), c_exec, error);
    });
  }
  void jvp_argmax(Input argmax, Input dx, Output dy, const Exec& exec = {}) const {
    try_jvp_argmax(argmax, dx, dy, exec).value();
  }

  // dx = Jᵀ·g of max and min from what forward kept (ties first, last).
  Result<void> try_vjp_argmax(Input argmax, Input g, Output dx, const Exec& exec = {}) const {
    Call call(*state_, exec);
    call.check(argmax, "argmax", argmax_type(), kY);
    call.check(g, "g", type(), kY);
    call.check(dx, "dx", type(), kDx);
    return call.run([&](const ndpool_exec* c_exec, ndpool_error* error) {
      return ndpool_vjp_argmax(c_plan(), detail::c_array(argmax), detail::c_array(g),
                               detail::c_array(dx), c_exec, error);
    });
  }
  void vjp_argmax(Input argmax, Input g, Output dx, const Exec& exec = {}) const {
    try_vjp_argmax(argmax, g, dx, exec).value();
  }

  // The derivative in x of <v, VJP(x, g)>: smooth max and Lp.
  Result<void> try_hvp(Input x, Input g, Input v, Output hx, const Exec& exec = {}) const {
    Call call(*state_, exec);
    call.check(x, "x", type(), kX);
    call.check(g, "g", type(), kY);
    call.check(v, "v", type(), kX);
    call.check(hx, "hx", type(), kDx);
    return call.run([&](const ndpool_exec* c_exec, ndpool_error* error) {
      return ndpool_hvp(c_plan(), detail::c_array(x), detail::c_array(g), detail::c_array(v),
                        detail::c_array(hx), c_exec, error);
    });
  }
  void hvp(Input x, Input g, Input v, Output hx, const Exec& exec = {}) const {
    try_hvp(x, g, v, hx, exec).value();
  }

 private:
  struct Destroy {
    void operator()(ndpool_plan* plan) const { ndpool_plan_destroy(plan); }
  };

  using Owner = std::unique_ptr<ndpool_plan, Destroy>;

  // The C plan and what the checks of every call look at.
  struct State {
    explicit State(Owner owner) : plan(std::move(owner)) {
      const auto rank = static_cast<std::size_t>(ndpool_plan_rank(plan.get()));
      input_shape.resize(rank);
      output_shape.resize(rank);
      ndpool_plan_input_shape(plan.get(), input_shape.data());
      ndpool_plan_output_shape(plan.get(), output_shape.data());
      type = static_cast<Type>(ndpool_plan_input_type(plan.get()));
      output_type = static_cast<Type>(ndpool_plan_output_type(plan.get()));
      argmax_type = static_cast<Type>(ndpool_plan_argmax_type(plan.get()));
    }
    Owner plan;
    Type type = Type::same;
    Type output_type = Type::same;
    Type argmax_type = Type::same;
    Ints input_shape;
    Ints output_shape;
  };

  enum Place { kX, kY, kDx };  // which box of a tile an array belongs to

  // Collects the first thing that is wrong with the arrays of one call, then makes the call.
  class Call {
   public:
    Call(const State& state, const Exec& exec) : state_(state), exec_(exec) {
      if (exec.tile == nullptr) return;
      const std::size_t rank = state.input_shape.size();
      error_ = detail::check_box(exec.tile->x, "x", rank);
      if (!error_) error_ = detail::check_box(exec.tile->y, "y", rank);
      if (!error_) error_ = detail::check_box(exec.tile->dx, "dx", rank);
    }

    template <class Array>
    void check(const Array& array, const char* name, Type type, Place place) {
      if (!error_) error_ = detail::check_array(array.memory(), name, type, sizes(place));
    }

    template <class CCall>
    Result<void> run(CCall c_call) const {
      if (error_) return *error_;
      const detail::CExec c_exec(exec_);
      ndpool_error error = {};
      const std::int32_t status = c_call(c_exec.get(), &error);
      return detail::outcome(status, error);
    }

   private:
    std::span<const std::int64_t> sizes(Place place) const {
      if (exec_.tile != nullptr) {
        const Box& box = place == kX ? exec_.tile->x : place == kY ? exec_.tile->y : exec_.tile->dx;
        if (!box.size.empty()) return box.size;
      }
      return place == kY ? state_.output_shape : state_.input_shape;
    }

    const State& state_;
    const Exec& exec_;
    std::optional<Error> error_;
  };

  explicit Plan(Owner plan) : state_(std::make_shared<const State>(std::move(plan))) {}

  static ndpool_ints c_ints(const Ints& ints) {
    return {ints.data(), static_cast<std::int64_t>(ints.size())};
  }
  std::size_t rank() const { return state_->input_shape.size(); }

  std::shared_ptr<const State> state_;
};

}  // namespace ndpool::inline front

#endif  // NDPOOL_CPP_PLAN_HPP_
