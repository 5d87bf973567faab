// ndpool._core: the engine for Python. Conversion and checks of memory; everything that is computed
// is computed by the library.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <vector>

#include "array.h"
#include "plan.h"
#include "pool.h"

namespace ndpool::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using PlanPtr = std::shared_ptr<Plan>;

nb::tuple as_tuple(const std::vector<int64_t>& numbers) {
  nb::list list;
  for (const int64_t number : numbers) list.append(number);
  return nb::tuple(list);
}

// An argument of a call, with the type and shape that it must have.
Array checked(const Given& given, const char* name, int type, const std::vector<int64_t>& shape) {
  const Array& array = given.array();
  if (!given) return array;
  if (array.type != type) {
    throw nb::type_error((std::string(name) + " must have type " + ndpool_type_name(type)).c_str());
  }
  if (array.rank != static_cast<int>(shape.size()) ||
      !std::equal(shape.begin(), shape.end(), array.shape)) {
    refuse(std::string(name) + " has another shape than the plan: " +
           nb::cast<std::string>(nb::str(as_tuple(shape))) + " is wanted");
  }
  return array;
}

struct In {
  In(nb::handle object, const char* name, int type, const std::vector<int64_t>& shape)
      : given(object.ptr(), name, false), array(checked(given, name, type, shape)) {}
  operator ndpool_const_array() const { return array.in(); }
  Given given;
  Array array;
};

struct Out {
  Out(nb::handle object, const char* name, int type, const std::vector<int64_t>& shape)
      : given(object.ptr(), name, true), array(checked(given, name, type, shape)) {}
  operator ndpool_array() const { return array.out(); }
  Given given;
  Array array;
};

void forward(const Plan& plan, nb::handle x, nb::handle y, nb::handle argmax, nb::handle index,
             int threads) {
  const In in(x, "x", plan.type, plan.input_shape);
  const Out out(y, "y", plan.out_type, plan.output_shape);
  const Out winners(argmax, "argmax", plan.argmax_type, plan.output_shape);
  const Out numbers(index, "index", NDPOOL_I64, plan.output_shape);
  Call call(plan.bytes, threads);
  call.finish(
      ndpool_forward(plan.handle.get(), in, out, winners, numbers, call.exec(), call.error()));
}

// Some outputs from some cells: y_start and x_start say where both lie in the whole arrays.
void forward_tile(const Plan& plan, nb::handle x, const std::vector<int64_t>& x_start, nb::handle y,
                  const std::vector<int64_t>& y_start, int threads) {
  const Given in(x.ptr(), "x", false), out(y.ptr(), "y", true);
  const int rank = static_cast<int>(plan.input_shape.size());
  if (in.array().type != plan.type || out.array().type != plan.out_type) {
    throw nb::type_error("x and y must have the types of the plan");
  }
  if (in.array().rank != rank || out.array().rank != rank ||
      x_start.size() != plan.input_shape.size() || y_start.size() != plan.input_shape.size()) {
    refuse("a tile has as many axes as its plan: " + std::to_string(rank));
  }
  const ndpool_tile tile = {
      {x_start.data(), in.array().shape}, {y_start.data(), out.array().shape}, {}};
  Call call(plan.bytes, threads, &tile);
  call.finish(ndpool_forward(plan.handle.get(), in.array().in(), out.array().out(), {}, {},
                             call.exec(), call.error()));
}

nb::tuple cells_of(const Plan& plan, int axis, int64_t begin, int64_t end) {
  int64_t first = 0, last = 0;
  ndpool_error error = {};
  if (ndpool_plan_cells(plan.handle.get(), axis, begin, end, &first, &last, &error) != NDPOOL_OK) {
    refuse(error);
  }
  return nb::make_tuple(first, last);
}

nb::tuple padding(const Plan& plan) {
  std::vector<int64_t> lo(plan.input_shape.size()), hi(lo);
  ndpool_plan_padding(plan.handle.get(), lo.data(), hi.data());
  return nb::make_tuple(as_tuple(lo), as_tuple(hi));
}

void jvp(const Plan& plan, nb::handle x, nb::handle dx, nb::handle y, nb::handle dy, int threads) {
  const In in(x, "x", plan.type, plan.input_shape);
  const In tangent(dx, "dx", plan.type, plan.input_shape);
  const Out out(y, "y", plan.out_type, plan.output_shape);
  const Out slope(dy, "dy", plan.out_type, plan.output_shape);
  Call call(2 * plan.bytes, threads);
  call.finish(ndpool_jvp(plan.handle.get(), in, tangent, out, slope, call.exec(), call.error()));
}

void vjp(const Plan& plan, nb::handle x, nb::handle g, nb::handle dx, int threads) {
  const In in(x, "x", plan.type, plan.input_shape);
  const In gradient(g, "g", plan.type, plan.output_shape);
  const Out out(dx, "dx", plan.type, plan.input_shape);
  Call call(2 * plan.bytes, threads);
  call.finish(ndpool_vjp(plan.handle.get(), in, gradient, out, call.exec(), call.error()));
}

void vjp_argmax(const Plan& plan, nb::handle argmax, nb::handle g, nb::handle dx, int threads) {
  const In winners(argmax, "argmax", plan.argmax_type, plan.output_shape);
  const In gradient(g, "g", plan.type, plan.output_shape);
  const Out out(dx, "dx", plan.type, plan.input_shape);
  Call call(plan.bytes, threads);
  call.finish(
      ndpool_vjp_argmax(plan.handle.get(), winners, gradient, out, call.exec(), call.error()));
}

void jvp_argmax(const Plan& plan, nb::handle argmax, nb::handle dx, nb::handle dy, int threads) {
  const In winners(argmax, "argmax", plan.argmax_type, plan.output_shape);
  const In tangent(dx, "dx", plan.type, plan.input_shape);
  const Out slope(dy, "dy", plan.type, plan.output_shape);
  Call call(plan.bytes, threads);
  call.finish(
      ndpool_jvp_argmax(plan.handle.get(), winners, tangent, slope, call.exec(), call.error()));
}

void hvp(const Plan& plan, nb::handle x, nb::handle g, nb::handle v, nb::handle hx, int threads) {
  const In in(x, "x", plan.type, plan.input_shape);
  const In gradient(g, "g", plan.type, plan.output_shape);
  const In direction(v, "v", plan.type, plan.input_shape);
  const Out out(hx, "hx", plan.type, plan.input_shape);
  Call call(3 * plan.bytes, threads);
  call.finish(
      ndpool_hvp(plan.handle.get(), in, gradient, direction, out, call.exec(), call.error()));
}

// Unpool and its VJP: `from` is y or the gradient of the result, `to` is the result or dy.
template <class Function>
void unpool(Function* function, bool back, nb::handle from, nb::handle index, nb::handle to,
            const std::vector<int64_t>& axes, int threads) {
  const Given in(from.ptr(), back ? "g" : "y", false);
  const Given out(to.ptr(), back ? "dy" : "out", true);
  const Array &y = back ? out.array() : in.array(), &whole = back ? in.array() : out.array();
  const std::vector<int64_t> y_shape(y.shape, y.shape + y.rank);
  const Given given(index.ptr(), "indices", false);
  const Array numbers = checked(given, "indices", NDPOOL_I64, y_shape);
  if (y.type != whole.type || y.type < 0) {
    throw nb::type_error("max_unpool: values and result need the same type");
  }
  ndpool_unpool_desc desc;
  ndpool_unpool_desc_init(&desc);
  desc.type = y.type;
  desc.y_shape = {y.shape, y.rank};
  desc.output_shape = {whole.shape, whole.rank};
  desc.axes = {axes.data(), static_cast<int64_t>(axes.size())};
  int64_t bytes = static_cast<int64_t>(ndpool_type_size(y.type));
  for (int i = 0; i < whole.rank; ++i) bytes *= std::max<int64_t>(whole.shape[i], 1);
  Call call(bytes, threads);
  call.finish(
      function(&desc, in.array().in(), numbers.in(), out.array().out(), call.exec(), call.error()));
}

std::string explain(const Plan& plan) {
  std::string text(ndpool_plan_explain(plan.handle.get(), nullptr, 0), '\0');
  ndpool_plan_explain(plan.handle.get(), text.data(), text.size() + 1);
  return text;
}

// One number per axis, from a function of the C interface.
template <class Function>
nb::tuple per_axis(const Plan& plan, Function function) {
  std::vector<int64_t> numbers(plan.input_shape.size());
  function(plan.handle.get(), numbers.data());
  return as_tuple(numbers);
}

nb::list targets() {
  nb::list names;
  for (int i = 0; ndpool_target_name(i); ++i) names.append(ndpool_target_name(i));
  return names;
}

void set_num_threads(int64_t n) {
  if (n < 0 || n > 1 << 16 || ndpool_set_num_threads(static_cast<int32_t>(n)) != NDPOOL_OK) {
    refuse("set_num_threads: " + std::to_string(n) +
           " is no number of threads; pass 1 or more, or 0 for the default");
  }
}

}  // namespace
}  // namespace ndpool::python

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using namespace nb::literals;
  using namespace ndpool::python;

  nb::set_leak_warnings(false);  // the package's own operations live as long as the interpreter
  if (!load_numpy()) throw nb::python_error();

  nb::class_<Plan>(m, "Plan")
      .def_ro("line", &Plan::line)
      .def_ro("tokens", &Plan::tokens)
      .def_ro("type", &Plan::type)
      .def_ro("out_type", &Plan::out_type)
      .def_ro("argmax_type", &Plan::argmax_type)
      .def_prop_ro("input_shape", [](const Plan& p) { return as_tuple(p.input_shape); })
      .def_prop_ro("output_shape", [](const Plan& p) { return as_tuple(p.output_shape); })
      .def_prop_ro("dropped", [](const Plan& p) { return per_axis(p, ndpool_plan_dropped); })
      .def_prop_ro("padding", padding)
      .def("cells_of", cells_of, "axis"_a, "begin"_a, "end"_a)
      .def("explain", explain);

  nb::class_<Pool>(m, "Pool")
      .def(nb::init<nb::callable, nb::callable>(), "describe"_a, "as_array"_a)
      .def("run", &Pool::run, "x"_a.none(), "out"_a.none(), "index"_a, "args"_a, "kwargs"_a)
      .def("plan", &Pool::plan, "type"_a, "shape"_a, "args"_a, "kwargs"_a);

  m.def(
      "plan",
      [](const std::string& tokens, int type, const std::vector<int64_t>& shape) {
        return std::const_pointer_cast<Plan>(
            plan_of(line_of(tokens, type, static_cast<int>(shape.size()), shape.data())));
      },
      "tokens"_a, "type"_a, "shape"_a);
  m.def(
      "parse", [](const std::string& line) { return std::const_pointer_cast<Plan>(plan_of(line)); },
      "line"_a);
  m.def("forward", forward, "plan"_a, "x"_a, "y"_a, "argmax"_a = nb::none(), "index"_a = nb::none(),
        "threads"_a = 0);
  m.def("forward_tile", forward_tile, "plan"_a, "x"_a, "x_start"_a, "y"_a, "y_start"_a,
        "threads"_a = 0);
  m.def("jvp", jvp, "plan"_a, "x"_a.none(), "dx"_a, "y"_a.none(), "dy"_a, "threads"_a = 0);
  m.def("vjp", vjp, "plan"_a, "x"_a.none(), "g"_a, "dx"_a, "threads"_a = 0);
  m.def("vjp_argmax", vjp_argmax, "plan"_a, "argmax"_a, "g"_a, "dx"_a, "threads"_a = 0);
  m.def("jvp_argmax", jvp_argmax, "plan"_a, "argmax"_a, "dx"_a, "dy"_a, "threads"_a = 0);
  m.def("hvp", hvp, "plan"_a, "x"_a, "g"_a, "v"_a, "hx"_a, "threads"_a = 0);
  m.def(
      "unpool",
      [](nb::handle y, nb::handle index, nb::handle out, const std::vector<int64_t>& axes,
         int threads) { unpool(ndpool_unpool, false, y, index, out, axes, threads); },
      "y"_a, "index"_a, "out"_a, "axes"_a, "threads"_a = 0);
  m.def(
      "unpool_vjp",
      [](nb::handle g, nb::handle index, nb::handle dy, const std::vector<int64_t>& axes,
         int threads) { unpool(ndpool_unpool_vjp, true, g, index, dy, axes, threads); },
      "g"_a, "index"_a, "dy"_a, "axes"_a, "threads"_a = 0);
  m.def("set_bfloat16", [](nb::handle dtype) { set_bfloat16(dtype.ptr()); }, "dtype"_a);
  m.def("set_num_threads", set_num_threads, "n"_a);
  m.def("get_num_threads", ndpool_get_num_threads);
  m.def("type_name", [](int type) { return ndpool_type_name(type); }, "type"_a);
  m.def("version", [] { return ndpool_version(); });
  m.def("targets", targets);
}
