// The C interface: pointers checked, exceptions kept inside, each call handed to its operation.
#include <cstring>
#include <new>
#include <string>

#include "call.h"
#include "direct.h"
#include "ndpool/ndpool.h"
#include "operations.h"
#include "plan.h"
#include "problem.h"
#include "runner.h"
#include "scratch.h"
#include "status.h"

struct ndpool_plan {
  std::unique_ptr<ndpool::Plan> plan;
};

namespace {

using ndpool::ArrayArg;
using ndpool::Box;
using ndpool::Boxes;
using ndpool::Exec;
using ndpool::fail;
using ndpool::Message;
using ndpool::NamedArray;
using ndpool::Needs;
using ndpool::Plan;

// Memory is all that can run out inside.
template <class F>
int32_t guarded(ndpool_error* error, F f) noexcept {
  try {
    const int32_t code = f();
    return code == NDPOOL_OK ? ndpool::succeed(error) : code;
  } catch (...) {
    return fail(error, Message::out_of_memory);
  }
}

// What every call of a plan does first: defaults, boxes and arrays. `work` runs if there is
// anything.
struct Call {
  const Plan* plan = nullptr;
  Exec exec;
  Boxes boxes;
  NamedArray arrays[ndpool::kMaxArrays];
  int count = 0;

  int32_t begin(const ndpool_plan* handle, const ndpool_exec* given, Needs needs,
                ndpool_error* error) {
    if (!handle) return fail(error, Message::null_pointer, -1, {}, "plan");
    plan = handle->plan.get();
    if (int32_t code = resolve_exec(given, &exec, error)) return code;
    return resolve_boxes(*plan, given, needs, &boxes, error);
  }
  ArrayArg input(const char* name, ndpool_const_array a, const Box& box, int type) {
    return add({name, array_arg(a.data, a.strides, box, ndpool::type_size(type)), false});
  }
  ArrayArg output(const char* name, ndpool_array a, const Box& box, int type) {
    return add({name, array_arg(a.data, a.strides, box, ndpool::type_size(type)), true});
  }
  // For outputs that may be left out.
  ArrayArg optional(const char* name, ndpool_array a, const Box& box, int type) {
    return a.data ? output(name, a, box, type) : ArrayArg{};
  }
  int32_t check(ndpool_error* error) const {
    return check_arrays(plan->rank, arrays, count, error);
  }
  bool nothing_to_do(const Box& target) const {
    for (int axis = 0; axis < plan->rank; ++axis) {
      if (target.size[axis] == 0) return true;
    }
    return false;
  }

 private:
  ArrayArg add(const NamedArray& array) {
    arrays[count++] = array;
    return array.arg;
  }
};

int32_t check_derivative(const Plan& plan, ndpool_error* error) {
  if (ndpool::is_float(plan.type)) return NDPOOL_OK;
  return fail(error, Message::derivative_of_integers, -1, {}, ndpool::type_name(plan.type));
}

int32_t check_extreme(const Plan& plan, ndpool_error* error) {
  if (plan.op == NDPOOL_MAX || plan.op == NDPOOL_MIN) return NDPOOL_OK;
  return fail(error, Message::not_max_or_min, -1, {}, ndpool::op_name(plan.op));
}

// A whole array in row-major order, aligned.
bool is_plain(const Plan& plan, const ArrayArg& a) {
  if (a.start || reinterpret_cast<uintptr_t>(a.data) % static_cast<uintptr_t>(a.element) != 0) {
    return false;
  }
  int64_t row_major = a.element;
  for (int axis = plan.rank - 1; axis >= 0 && a.strides; --axis) {
    if (a.size[axis] != 1 && a.strides[axis] != row_major) return false;
    row_major *= a.size[axis];
  }
  return true;
}

// Descriptions come from an _init function, which says how large they are.
template <class Desc>
int32_t check_desc(const Desc* desc, ndpool_error* error) {
  if (!desc) return fail(error, Message::null_pointer, -1, {}, "desc");
  if (desc->struct_size == sizeof *desc) return NDPOOL_OK;
  return fail(error, Message::struct_size, -1,
              {static_cast<int64_t>(desc->struct_size), int64_t{sizeof *desc}});
}

int32_t run_unpool(const ndpool_unpool_desc* desc, bool vjp, ndpool_const_array from,
                   ndpool_const_array index, ndpool_array to, const ndpool_exec* exec,
                   ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    if (int32_t code = check_desc(desc, error)) return code;
    return ndpool::unpool(*desc, vjp, from, index, to, exec, error);
  });
}

int32_t check_one_winner(const Plan& plan, ndpool_error* error) {
  if (plan.ties == NDPOOL_TIES_FIRST || plan.ties == NDPOOL_TIES_LAST) return NDPOOL_OK;
  return fail(error, Message::argmax_of_many, -1, {},
              plan.ties == NDPOOL_TIES_ALL ? "all" : "split");
}

}  // namespace

extern "C" {

void ndpool_desc_init(ndpool_desc* desc) {
  if (!desc) return;
  std::memset(desc, 0, sizeof *desc);
  desc->struct_size = sizeof *desc;
  desc->type = NDPOOL_F32;
  desc->out_type = NDPOOL_SAME_TYPE;
  desc->count_include_pad = 1;
  desc->beta = 1;
  desc->p = 2;
}

int32_t ndpool_plan_create(const ndpool_desc* desc, ndpool_plan** plan, ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    if (int32_t code = check_desc(desc, error)) return code;
    if (!plan) return fail(error, Message::null_pointer, -1, {}, "plan");
    auto made = std::make_unique<ndpool_plan>();
    if (int32_t code = ndpool::make_plan(*desc, &made->plan, error)) return code;
    *plan = made.release();
    return NDPOOL_OK;
  });
}

int32_t ndpool_plan_parse(const char* line, ndpool_plan** plan, ndpool_error* error) {
  if (!line) return fail(error, Message::null_pointer, -1, {}, "line");
  const ndpool::ParsedProblem parsed = ndpool::parse_problem(line);
  if (!parsed) {
    if (error) *error = parsed.error;
    return parsed.error.code;
  }
  const ndpool_desc desc = parsed.problem.desc();
  return ndpool_plan_create(&desc, plan, error);
}

void ndpool_plan_destroy(ndpool_plan* plan) { delete plan; }

int32_t ndpool_plan_rank(const ndpool_plan* plan) { return plan ? plan->plan->rank : 0; }

void ndpool_plan_input_shape(const ndpool_plan* plan, int64_t* shape) {
  if (!plan || !shape) return;
  for (int64_t size : plan->plan->shape) *shape++ = size;
}

void ndpool_plan_output_shape(const ndpool_plan* plan, int64_t* shape) {
  if (!plan || !shape) return;
  for (int64_t size : plan->plan->output_shape) *shape++ = size;
}

void ndpool_plan_dropped(const ndpool_plan* plan, int64_t* dropped) {
  if (!plan || !dropped) return;
  const Plan& p = *plan->plan;
  for (int axis = 0; axis < p.rank; ++axis) dropped[axis] = 0;
  for (int i = 0; i < p.pooled; ++i) dropped[p.axis_number[i]] = p.axes[i].dropped();
}

void ndpool_plan_padding(const ndpool_plan* plan, int64_t* lo, int64_t* hi) {
  if (!plan || !lo || !hi) return;
  const Plan& p = *plan->plan;
  for (int axis = 0; axis < p.rank; ++axis) lo[axis] = hi[axis] = 0;
  for (int i = 0; i < p.pooled; ++i) {
    lo[p.axis_number[i]] = p.axes[i].pad_lo;
    hi[p.axis_number[i]] = p.axes[i].pad_hi;
  }
}

int32_t ndpool_plan_cells(const ndpool_plan* plan, int32_t axis, int64_t begin, int64_t end,
                          int64_t* first, int64_t* last, ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    if (!plan || !first || !last) {
      return fail(error, Message::null_pointer, -1, {}, !plan ? "the plan" : "the result");
    }
    const Plan& p = *plan->plan;
    const int64_t outputs =
        axis < 0 || axis >= p.rank ? 0 : p.output_shape[static_cast<size_t>(axis)];
    if (begin < 0 || end < begin || end > outputs) {
      return fail(error, Message::tile_box, axis, {begin, end - begin, outputs}, "y");
    }
    ndpool::Range cells{begin, end};
    for (int i = 0; i < p.pooled; ++i) {
      if (p.axis_number[i] == axis) cells = ndpool::cells_of(p.axes[i], cells);
    }
    *first = cells.begin;
    *last = cells.end;
    return NDPOOL_OK;
  });
}

int32_t ndpool_plan_input_type(const ndpool_plan* plan) { return plan ? plan->plan->type : -1; }

int32_t ndpool_plan_output_type(const ndpool_plan* plan) {
  return plan ? plan->plan->out_type : -1;
}

int32_t ndpool_plan_argmax_type(const ndpool_plan* plan) {
  return plan ? plan->plan->argmax_type : -1;
}

size_t ndpool_plan_explain(const ndpool_plan* plan, char* text, size_t size) {
  if (!plan) return 0;
  try {
    const std::string full = ndpool::explain(*plan->plan);
    if (text && size > 0) {
      const size_t length = full.size() < size ? full.size() : size - 1;
      std::memcpy(text, full.data(), length);
      text[length] = '\0';
    }
    return full.size();
  } catch (...) {
    return 0;
  }
}

size_t ndpool_plan_scratch_bytes(const ndpool_plan* plan, int32_t threads) {
  if (!plan || threads < 0) return 0;
  const int32_t n = threads == 0 ? ndpool::get_num_threads() : threads;
  return ndpool::scratch_bytes(*plan->plan) * static_cast<size_t>(n) + ndpool::Arena::kAlign;
}

int32_t ndpool_forward(const ndpool_plan* plan, ndpool_const_array x, ndpool_array y,
                       ndpool_array argmax, ndpool_array index, const ndpool_exec* exec,
                       ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    Call call;
    if (int32_t code = call.begin(plan, exec, Needs::forward, error)) return code;
    const Plan& p = *call.plan;
    if (argmax.data || index.data) {
      if (int32_t code = check_extreme(p, error)) return code;
    }
    if (argmax.data) {
      if (int32_t code = check_one_winner(p, error)) return code;
    }
    const Boxes& boxes = call.boxes;
    const ArrayArg ax = call.input("x", x, boxes.x, p.type);
    const ArrayArg ay = call.output("y", y, boxes.y, p.out_type);
    const ArrayArg aa = call.optional("argmax", argmax, boxes.y, p.argmax_type);
    const ArrayArg ai = call.optional("index", index, boxes.y, NDPOOL_I64);
    if (int32_t code = call.check(error)) return code;
    if (call.nothing_to_do(boxes.y)) return NDPOOL_OK;
    if (p.direct && !aa.data && !ai.data && is_plain(p, ax) && is_plain(p, ay)) {
      if (call.exec.cancelled && call.exec.cancelled(call.exec.cancelled_context) != 0) {
        return fail(error, Message::cancelled);
      }
      ndpool::direct_forward(p, ax.data, ay.data);
      return NDPOOL_OK;
    }
    switch (p.op) {
      case NDPOOL_MAX:
      case NDPOOL_MIN:
        return ndpool::extreme_forward(p, call.exec, ax, ay, aa, ai, error);
      case NDPOOL_AVG:
        return ndpool::average(p, call.exec, ax, ay, {}, {}, error);
      default:
        return ndpool::terms_forward(p, call.exec, ax, {}, ay, {}, error);
    }
  });
}

int32_t ndpool_jvp(const ndpool_plan* plan, ndpool_const_array x, ndpool_const_array dx,
                   ndpool_array y, ndpool_array dy, const ndpool_exec* exec, ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    Call call;
    if (int32_t code = call.begin(plan, exec, Needs::forward, error)) return code;
    const Plan& p = *call.plan;
    if (int32_t code = check_derivative(p, error)) return code;
    const Boxes& boxes = call.boxes;
    // The tangent of a linear operation does not depend on x.
    const bool needs_x = p.op != NDPOOL_AVG || y.data;
    const ArrayArg ax = needs_x ? call.input("x", x, boxes.x, p.type) : ArrayArg{};
    const ArrayArg adx = call.input("dx", dx, boxes.x, p.type);
    const ArrayArg ay = call.optional("y", y, boxes.y, p.out_type);
    const ArrayArg ady = call.output("dy", dy, boxes.y, p.out_type);
    if (int32_t code = call.check(error)) return code;
    if (call.nothing_to_do(boxes.y)) return NDPOOL_OK;
    switch (p.op) {
      case NDPOOL_AVG:
        return ndpool::average(p, call.exec, ax, ay, adx, ady, error);
      case NDPOOL_SMOOTH_MAX:
      case NDPOOL_LP:
        return ndpool::terms_forward(p, call.exec, ax, adx, ay, ady, error);
      case NDPOOL_MAX:
      case NDPOOL_MIN:
        if (p.ties == NDPOOL_TIES_FIRST || p.ties == NDPOOL_TIES_LAST) {
          return ndpool::extreme_jvp(p, call.exec, ax, adx, ay, ady, error);
        }
        [[fallthrough]];
      default:
        return ndpool::windows_forward(p, call.exec, ax, adx, ay, ady, error);
    }
  });
}

int32_t ndpool_jvp_argmax(const ndpool_plan* plan, ndpool_const_array argmax, ndpool_const_array dx,
                          ndpool_array dy, const ndpool_exec* exec, ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    Call call;
    if (int32_t code = call.begin(plan, exec, Needs::forward, error)) return code;
    const Plan& p = *call.plan;
    if (int32_t code = check_extreme(p, error)) return code;
    if (int32_t code = check_derivative(p, error)) return code;
    if (int32_t code = check_one_winner(p, error)) return code;
    const Boxes& boxes = call.boxes;
    const ArrayArg aa = call.input("argmax", argmax, boxes.y, p.argmax_type);
    const ArrayArg adx = call.input("dx", dx, boxes.x, p.type);
    const ArrayArg ady = call.output("dy", dy, boxes.y, p.type);
    if (int32_t code = call.check(error)) return code;
    if (call.nothing_to_do(boxes.y)) return NDPOOL_OK;
    return ndpool::argmax_jvp(p, call.exec, aa, adx, ady, error);
  });
}

int32_t ndpool_vjp(const ndpool_plan* plan, ndpool_const_array x, ndpool_const_array g,
                   ndpool_array dx, const ndpool_exec* exec, ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    Call call;
    const bool linear = plan && plan->plan->op == NDPOOL_AVG;
    const Needs needs = linear ? Needs::vjp_of_outputs : Needs::vjp_of_input;
    if (int32_t code = call.begin(plan, exec, needs, error)) return code;
    const Plan& p = *call.plan;
    if (int32_t code = check_derivative(p, error)) return code;
    const Boxes& boxes = call.boxes;
    const ArrayArg ax = linear ? ArrayArg{} : call.input("x", x, boxes.x, p.type);
    const ArrayArg ag = call.input("g", g, boxes.y, p.type);
    const ArrayArg adx = call.output("dx", dx, boxes.dx, p.type);
    if (int32_t code = call.check(error)) return code;
    if (call.nothing_to_do(boxes.dx)) return NDPOOL_OK;
    if (linear) return ndpool::average_vjp(p, call.exec, ag, adx, error);
    const bool extreme = p.op == NDPOOL_MAX || p.op == NDPOOL_MIN;
    if (extreme && (p.ties == NDPOOL_TIES_FIRST || p.ties == NDPOOL_TIES_LAST)) {
      return ndpool::winner_vjp(p, call.exec, ax, ag, adx, error);
    }
    if (!extreme) return ndpool::terms_vjp(p, call.exec, ax, ag, adx, error);
    return ndpool::windows_vjp(p, call.exec, ax, ag, {}, adx, error);
  });
}

int32_t ndpool_vjp_argmax(const ndpool_plan* plan, ndpool_const_array argmax, ndpool_const_array g,
                          ndpool_array dx, const ndpool_exec* exec, ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    Call call;
    if (int32_t code = call.begin(plan, exec, Needs::vjp_of_outputs, error)) return code;
    const Plan& p = *call.plan;
    if (int32_t code = check_extreme(p, error)) return code;
    if (int32_t code = check_derivative(p, error)) return code;
    if (int32_t code = check_one_winner(p, error)) return code;
    const Boxes& boxes = call.boxes;
    const ArrayArg aa = call.input("argmax", argmax, boxes.y, p.argmax_type);
    const ArrayArg ag = call.input("g", g, boxes.y, p.type);
    const ArrayArg adx = call.output("dx", dx, boxes.dx, p.type);
    if (int32_t code = call.check(error)) return code;
    if (call.nothing_to_do(boxes.dx)) return NDPOOL_OK;
    return ndpool::argmax_vjp(p, call.exec, aa, ag, adx, error);
  });
}

int32_t ndpool_hvp(const ndpool_plan* plan, ndpool_const_array x, ndpool_const_array g,
                   ndpool_const_array v, ndpool_array hx, const ndpool_exec* exec,
                   ndpool_error* error) {
  return guarded(error, [&]() -> int32_t {
    Call call;
    if (int32_t code = call.begin(plan, exec, Needs::vjp_of_input, error)) return code;
    const Plan& p = *call.plan;
    if (p.op != NDPOOL_SMOOTH_MAX && p.op != NDPOOL_LP) {
      return fail(error, Message::no_second_order, -1, {}, ndpool::op_name(p.op));
    }
    const Boxes& boxes = call.boxes;
    const ArrayArg ax = call.input("x", x, boxes.x, p.type);
    const ArrayArg ag = call.input("g", g, boxes.y, p.type);
    const ArrayArg av = call.input("v", v, boxes.x, p.type);
    const ArrayArg ah = call.output("hx", hx, boxes.dx, p.type);
    if (int32_t code = call.check(error)) return code;
    if (call.nothing_to_do(boxes.dx)) return NDPOOL_OK;
    return ndpool::windows_vjp(p, call.exec, ax, ag, av, ah, error);
  });
}

void ndpool_unpool_desc_init(ndpool_unpool_desc* desc) {
  if (!desc) return;
  std::memset(desc, 0, sizeof *desc);
  desc->struct_size = sizeof *desc;
  desc->type = NDPOOL_F32;
}

int32_t ndpool_unpool(const ndpool_unpool_desc* desc, ndpool_const_array y,
                      ndpool_const_array index, ndpool_array out, const ndpool_exec* exec,
                      ndpool_error* error) {
  return run_unpool(desc, false, y, index, out, exec, error);
}

int32_t ndpool_unpool_vjp(const ndpool_unpool_desc* desc, ndpool_const_array g,
                          ndpool_const_array index, ndpool_array dy, const ndpool_exec* exec,
                          ndpool_error* error) {
  return run_unpool(desc, true, g, index, dy, exec, error);
}

#define NDPOOL_TEXT(number) #number
#define NDPOOL_VERSION_TEXT(a, b, c) NDPOOL_TEXT(a) "." NDPOOL_TEXT(b) "." NDPOOL_TEXT(c)

const char* ndpool_version(void) {
  return NDPOOL_VERSION_TEXT(NDPOOL_VERSION_MAJOR, NDPOOL_VERSION_MINOR, NDPOOL_VERSION_PATCH);
}

const char* ndpool_type_name(int32_t type) { return ndpool::type_name(type); }

size_t ndpool_type_size(int32_t type) {
  return ndpool::is_type(type) ? ndpool::type_size(type) : 0;
}

const char* ndpool_op_name(int32_t op) { return ndpool::op_name(op); }

int32_t ndpool_set_num_threads(int32_t n) {
  return ndpool::set_num_threads(n) ? NDPOOL_OK : NDPOOL_BAD_ARGUMENT;
}

int32_t ndpool_get_num_threads(void) { return ndpool::get_num_threads(); }

const char* ndpool_target_name(int32_t i) {
  const ndpool::Kernels* kernels = ndpool::kernels_at(i);
  return kernels ? kernels->name : nullptr;
}

}  // extern "C"
