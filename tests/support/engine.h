// The engine through the C interface, on whole arrays or tiles, in a chosen or random setting.
// Every call also checks that inputs and everything around the outputs stay as they were.
#ifndef NDPOOL_TESTS_SUPPORT_ENGINE_H_
#define NDPOOL_TESTS_SUPPORT_ENGINE_H_

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ndpool/ndpool.h"
#include "src/problem.h"
#include "tests/support/data.h"
#include "tests/support/strided.h"

namespace ndpool::test {

// What a test found wrong; the test prints it below the problem line.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PlanDeleter {
  void operator()(ndpool_plan* plan) const { ndpool_plan_destroy(plan); }
};
using PlanPtr = std::unique_ptr<ndpool_plan, PlanDeleter>;

// A plan, or null and the reason.
inline PlanPtr make_plan(const Problem& problem, ndpool_error* error) {
  const ndpool_desc desc = problem.desc();
  ndpool_plan* plan = nullptr;
  const int32_t code = ndpool_plan_create(&desc, &plan, error);
  if ((code == NDPOOL_OK) != (plan != nullptr)) throw Mismatch("status and plan disagree");
  if (code != error->code) throw Mismatch("status and error.code disagree");
  if (code != NDPOOL_OK && error->message[0] == '\0') throw Mismatch("refused without a message");
  return PlanPtr(plan);
}

// The SIMD targets of this machine, best first.
inline const std::vector<std::string>& targets() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (int32_t i = 0; ndpool_target_name(i) != nullptr; ++i)
      list.push_back(ndpool_target_name(i));
    return list;
  }();
  return names;
}

enum class Memory { row_major, column_major, rotated, reversed, gaps, random };

// How a call is made.
struct Setting {
  int32_t threads = 1;
  bool backwards = false;  // a caller's runner that runs its parts last first, on one thread
  bool scratch = false;    // the caller's scratch, of just the size that the plan asks for
  Memory memory = Memory::row_major;
  std::vector<int> order;  // of x, for Memory::random; empty: any
};

inline Setting random_setting(Rng* rng, const std::vector<int>& order) {
  Setting setting;
  setting.threads = rng->pick({1, 1, 1, 2, 3, 7});
  setting.backwards = rng->percent(50);
  setting.scratch = rng->percent(30);
  setting.memory = Memory::random;
  setting.order = order;
  return setting;
}

template <class T>
struct Forward {
  Array<T> y;
  Array<uint64_t> argmax;
  Array<int64_t> index;
};

class Engine {
 public:
  Engine(const Problem& problem, const ndpool_plan* plan, Setting setting, uint64_t seed)
      : type_(problem.type), plan_(plan), setting_(std::move(setting)), rng_(seed) {}

  // For the calls that follow; null: whole arrays.
  void set_tile(const ndpool_tile* tile) { tile_ = tile; }

  template <class T, class Out = T>
  Forward<Out> forward(const Array<T>& x, const Shape& out, bool want_argmax, bool want_index) {
    const int32_t argmax_type = ndpool_plan_argmax_type(plan_);
    Call call(this);
    const Strided& from = call.input(type_, x, true);
    Strided& y = call.output(ndpool_plan_output_type(plan_), out);
    Strided* argmax = want_argmax ? &call.output(argmax_type, out) : nullptr;
    Strided* index = want_index ? &call.output(NDPOOL_I64, out) : nullptr;
    call.done("forward", ndpool_forward(plan_, from.const_array(), y.array(), array_or_none(argmax),
                                        array_or_none(index), call.exec(), call.error()));
    Forward<Out> result{y.get<Out>(), {}, {}};
    if (argmax != nullptr) result.argmax = unsigned_values(*argmax, argmax_type);
    if (index != nullptr) result.index = index->get<int64_t>();
    return result;
  }

  // dy, and y if wanted.
  template <class T>
  std::pair<Array<T>, Array<T>> jvp(const Array<T>& x, const Array<T>& dx, const Shape& out,
                                    bool want_y) {
    Call call(this);
    const Strided& from = call.input(type_, x, true);
    const Strided& tangent = call.input(type_, dx, false);
    Strided* y = want_y ? &call.output(type_, out) : nullptr;
    Strided& dy = call.output(type_, out);
    call.done("jvp", ndpool_jvp(plan_, from.const_array(), tangent.const_array(), array_or_none(y),
                                dy.array(), call.exec(), call.error()));
    return {dy.get<T>(), y != nullptr ? y->get<T>() : Array<T>{}};
  }

  // x may be null where the operation does not read it.
  template <class T>
  Array<T> vjp(const Array<T>* x, const Array<T>& g, const Shape& in) {
    Call call(this);
    const Strided* from = x != nullptr ? &call.input(type_, *x, true) : nullptr;
    const Strided& gradient = call.input(type_, g, false);
    Strided& dx = call.output(type_, in);
    call.done("vjp", ndpool_vjp(plan_, from != nullptr ? from->const_array() : ndpool_const_array{},
                                gradient.const_array(), dx.array(), call.exec(), call.error()));
    return dx.get<T>();
  }

  const ndpool_plan* plan() const { return plan_; }

  template <class T>
  Array<T> vjp_argmax(const Array<uint64_t>& argmax, const Array<T>& g, const Shape& in) {
    const int32_t argmax_type = ndpool_plan_argmax_type(plan_);
    Call call(this);
    const Strided& taps = call.unsigned_input(argmax_type, argmax);
    const Strided& gradient = call.input(type_, g, false);
    Strided& dx = call.output(type_, in);
    call.done("vjp_argmax", ndpool_vjp_argmax(plan_, taps.const_array(), gradient.const_array(),
                                              dx.array(), call.exec(), call.error()));
    return dx.get<T>();
  }

  template <class T>
  Array<T> jvp_argmax(const Array<uint64_t>& argmax, const Array<T>& dx, const Shape& out) {
    const int32_t argmax_type = ndpool_plan_argmax_type(plan_);
    Call call(this);
    const Strided& taps = call.unsigned_input(argmax_type, argmax);
    const Strided& tangent = call.input(type_, dx, false);
    Strided& dy = call.output(type_, out);
    call.done("jvp_argmax", ndpool_jvp_argmax(plan_, taps.const_array(), tangent.const_array(),
                                              dy.array(), call.exec(), call.error()));
    return dy.get<T>();
  }

  template <class T>
  Array<T> hvp(const Array<T>& x, const Array<T>& g, const Array<T>& v, const Shape& in) {
    Call call(this);
    const Strided& from = call.input(type_, x, true);
    const Strided& gradient = call.input(type_, g, false);
    const Strided& direction = call.input(type_, v, false);
    Strided& hx = call.output(type_, in);
    call.done("hvp", ndpool_hvp(plan_, from.const_array(), gradient.const_array(),
                                direction.const_array(), hx.array(), call.exec(), call.error()));
    return hx.get<T>();
  }

  // Expects that the plan refuses the derivatives that its operation or type does not have, and
  // writes nothing. The arrays are of the plan's type and filled with zeros.
  template <class T>
  void expect_no_derivatives(const Shape& in, const Shape& out, bool only_second) {
    const Array<T> x = spec::filled<T>(in, T());
    const Array<T> y = spec::filled<T>(out, T());
    if (!only_second) {
      expect_refused("jvp of a type without derivatives", [&](Call& call) {
        const Strided& from = call.input(type_, x, false);
        Strided& dy = call.output(type_, out);
        return ndpool_jvp(plan_, from.const_array(), from.const_array(), {}, dy.array(),
                          call.exec(), call.error());
      });
      expect_refused("vjp of a type without derivatives", [&](Call& call) {
        const Strided& from = call.input(type_, x, false);
        const Strided& gradient = call.input(type_, y, false);
        return ndpool_vjp(plan_, from.const_array(), gradient.const_array(),
                          call.output(type_, in).array(), call.exec(), call.error());
      });
    }
    expect_refused("hvp of an operation without one", [&](Call& call) {
      const Strided& from = call.input(type_, x, false);
      const Strided& gradient = call.input(type_, y, false);
      return ndpool_hvp(plan_, from.const_array(), gradient.const_array(), from.const_array(),
                        call.output(type_, in).array(), call.exec(), call.error());
    });
  }

  template <class T>
  Array<T> unpool(const ndpool_unpool_desc& desc, const Array<T>& y, const Array<int64_t>& index,
                  const Shape& out) {
    Call call(this);
    const Strided& from = call.input(type_, y, true);
    const Strided& places = call.input(NDPOOL_I64, index, false);
    Strided& result = call.output(type_, out);
    call.done("unpool", ndpool_unpool(&desc, from.const_array(), places.const_array(),
                                      result.array(), call.exec(), call.error()));
    return result.get<T>();
  }

  template <class T>
  void expect_unpool_refused(const ndpool_unpool_desc& desc, const Array<T>& y,
                             const Array<int64_t>& index, const Shape& out) {
    expect_refused("unpool with an index that names no cell", [&](Call& call) {
      const Strided& from = call.input(type_, y, true);
      const Strided& places = call.input(NDPOOL_I64, index, false);
      return ndpool_unpool(&desc, from.const_array(), places.const_array(),
                           call.output(type_, out).array(), call.exec(), call.error());
    });
  }

  template <class T>
  Array<T> unpool_vjp(const ndpool_unpool_desc& desc, const Array<T>& g,
                      const Array<int64_t>& index, const Shape& out) {
    Call call(this);
    const Strided& from = call.input(type_, g, true);
    const Strided& places = call.input(NDPOOL_I64, index, false);
    Strided& result = call.output(type_, out);
    call.done("unpool_vjp", ndpool_unpool_vjp(&desc, from.const_array(), places.const_array(),
                                              result.array(), call.exec(), call.error()));
    return result.get<T>();
  }

 private:
  // One call: its arrays, scratch and runner, and what must hold afterwards.
  class Call {
   public:
    explicit Call(Engine* engine) : engine_(engine) {
      const Setting& setting = engine->setting_;
      exec_.threads = setting.threads;
      if (setting.backwards) exec_.runner = &runner_;
      exec_.tile = engine->tile_;
      if (setting.scratch) {
        const size_t bytes = ndpool_plan_scratch_bytes(engine->plan_, setting.threads);
        scratch_.assign(bytes + kMargin, kPattern);
        exec_.scratch = scratch_.data();
        exec_.scratch_bytes = bytes;
      }
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    template <class T>
    const Strided& input(int32_t type, const Array<T>& values, bool is_x) {
      MemoryLayout layout = engine_->layout(values.shape.size(), is_x);
      if (engine_->setting_.memory == Memory::random && !values.data.empty()) {
        for (size_t axis = 0; axis < values.shape.size(); ++axis) {
          layout.zero[axis] = constant_along(axis, values) && engine_->rng_.percent(50);
        }
      }
      arrays_.push_back(std::make_unique<Strided>(type, values.shape, layout));
      arrays_.back()->set(values);
      inputs_.emplace_back(arrays_.back().get(), *arrays_.back());
      return *arrays_.back();
    }

    const Strided& unsigned_input(int32_t type, const Array<uint64_t>& values) {
      switch (type) {
        case NDPOOL_U8:
          return input(type, narrowed<uint8_t>(values), false);
        case NDPOOL_U16:
          return input(type, narrowed<uint16_t>(values), false);
        case NDPOOL_U32:
          return input(type, narrowed<uint32_t>(values), false);
        default:
          return input(type, values, false);
      }
    }

    Strided& output(int32_t type, const Shape& shape) {
      arrays_.push_back(
          std::make_unique<Strided>(type, shape, engine_->layout(shape.size(), false)));
      outputs_.push_back(arrays_.back().get());
      return *arrays_.back();
    }

    const ndpool_exec* exec() const { return &exec_; }
    ndpool_error* error() { return &error_; }
    const std::vector<Strided*>& outputs() const { return outputs_; }

    // Throws unless the call succeeded and kept to its outputs.
    void done(const std::string& name, int32_t code) const {
      if (code != NDPOOL_OK) throw Mismatch(name + " was refused: " + error_.message);
      for (const Strided* output : outputs_) {
        if (!output->surroundings_untouched()) throw Mismatch(name + " wrote beside an output");
      }
      check_inputs(name);
    }

    void check_inputs(const std::string& name) const {
      for (const auto& [input, before] : inputs_) {
        if (!input->same_bytes(before)) throw Mismatch(name + " changed an input");
      }
      for (size_t i = exec_.scratch_bytes; i < scratch_.size(); ++i) {
        if (scratch_[i] != kPattern) throw Mismatch(name + " wrote behind the scratch");
      }
    }

   private:
    static constexpr size_t kMargin = 64;
    static constexpr uint8_t kPattern = 0x5A;

    template <class T>
    static Array<T> narrowed(const Array<uint64_t>& values) {
      Array<T> result = spec::filled<T>(values.shape, T());
      for (size_t i = 0; i < values.data.size(); ++i)
        result.data[i] = static_cast<T>(values.data[i]);
      return result;
    }

    static void run_backwards(void*, int64_t n, void (*body)(void* arg, int64_t i), void* arg) {
      for (int64_t i = n; i-- > 0;) body(arg, i);
    }

    Engine* engine_;
    ndpool_runner runner_ = {nullptr, run_backwards};
    ndpool_exec exec_ = {};
    ndpool_error error_ = {};
    std::vector<uint8_t> scratch_;
    std::vector<std::unique_ptr<Strided>> arrays_;
    std::vector<std::pair<const Strided*, Strided>> inputs_;
    std::vector<Strided*> outputs_;
  };

  template <class Make>
  void expect_refused(const std::string& name, Make make) {
    Call call(this);
    if (make(call) == NDPOOL_OK) throw Mismatch(name + " was accepted");
    for (const Strided* output : call.outputs()) {
      if (!output->untouched()) throw Mismatch(name + " was refused, but wrote to an output");
    }
    call.check_inputs(name);
  }

  static ndpool_array array_or_none(Strided* array) {
    return array != nullptr ? array->array() : ndpool_array{};
  }

  static Array<uint64_t> unsigned_values(const Strided& array, int32_t type) {
    const auto widen = [](const auto& values) {
      return Array<uint64_t>{values.shape, {values.data.begin(), values.data.end()}};
    };
    switch (type) {
      case NDPOOL_U8:
        return widen(array.get<uint8_t>());
      case NDPOOL_U16:
        return widen(array.get<uint16_t>());
      case NDPOOL_U32:
        return widen(array.get<uint32_t>());
      default:
        return array.get<uint64_t>();
    }
  }

  MemoryLayout layout(size_t rank, bool is_x) {
    MemoryLayout result(rank);
    switch (setting_.memory) {
      case Memory::row_major:
        break;
      case Memory::column_major:
        std::reverse(result.order.begin(), result.order.end());
        break;
      case Memory::rotated:  // channels last: axis 1 innermost
        if (rank > 2)
          std::rotate(result.order.begin() + 1, result.order.begin() + 2, result.order.end());
        break;
      case Memory::reversed:
        result.reversed.assign(rank, true);
        break;
      case Memory::gaps:
        result.gap.assign(rank, 24);
        result.shift = 1;
        break;
      case Memory::random:
        return random_layout(&rng_, rank, is_x ? setting_.order : std::vector<int>{});
    }
    return result;
  }

  int32_t type_;
  const ndpool_plan* plan_;
  Setting setting_;
  Rng rng_;
  const ndpool_tile* tile_ = nullptr;
};

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_ENGINE_H_
