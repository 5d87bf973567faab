#include "pool.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>

#include "key.h"

namespace ndpool::python {

namespace nb = nanobind;

namespace {

constexpr size_t kMostEntries = 4096;

std::string shape_text(int rank, const int64_t* shape) {
  std::string text = "(";
  for (int i = 0; i < rank; ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (rank == 1 ? ",)" : ")");
}

bool row_major(const Array& array, int64_t element) {
  for (int i = array.rank - 1; i >= 0; --i) {
    if (array.shape[i] == 0) return true;
    if (array.shape[i] != 1 && array.strides[i] != element) return false;
    element *= array.shape[i];
  }
  return true;
}

// Whether a key could be made.
bool make_key(int type, int rank, const int64_t* shape, const nb::tuple& args,
              const nb::dict& kwargs, std::string* key) {
  *key += static_cast<char>(type);
  *key += static_cast<char>(rank);
  append_key(shape, static_cast<size_t>(rank) * sizeof *shape, key);
  if (!append_key(args.ptr(), key)) return false;
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwargs.ptr(), &position, &name, &value)) {
    if (!append_key(name, key) || !append_key(value, key)) return false;
  }
  return true;
}

}  // namespace

Pool::Pool(nb::callable describe, nb::callable as_array)
    : describe_(std::move(describe)), as_array_(std::move(as_array)) {}

Pool::EntryPtr Pool::make(int type, int rank, const int64_t* shape, const nb::tuple& args,
                          const nb::dict& kwargs) const {
  const nb::object described = describe_(*args, **kwargs);
  const auto tokens = nb::cast<std::string>(described[0]);
  auto entry = std::make_shared<Entry>();
  entry->plan = plan_of(line_of(tokens, type, rank, shape));
  std::vector<bool> dropped(static_cast<size_t>(rank));
  for (const nb::handle axis : nb::cast<nb::tuple>(described[1])) {
    const int64_t number = nb::cast<int64_t>(axis);
    dropped[static_cast<size_t>(number < 0 ? number + rank : number)] = true;
  }
  for (size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) entry->result_shape.push_back(entry->plan->output_shape[i]);
  }
  return entry;
}

Pool::EntryPtr Pool::find(int type, int rank, const int64_t* shape, const nb::tuple& args,
                          const nb::dict& kwargs) {
  std::string key;
  if (!make_key(type, rank, shape, args, kwargs, &key)) {
    return make(type, rank, shape, args, kwargs);
  }
  if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
  EntryPtr entry = make(type, rank, shape, args, kwargs);
  if (entries_.size() >= kMostEntries) entries_.clear();
  entries_.emplace(std::move(key), entry);
  return entry;
}

nb::tuple Pool::plan(int type, const std::vector<int64_t>& shape, const nb::tuple& args,
                     const nb::dict& kwargs) {
  const EntryPtr entry = find(type, static_cast<int>(shape.size()), shape.data(), args, kwargs);
  nb::list result;
  for (const int64_t size : entry->result_shape) result.append(size);
  return nb::make_tuple(std::const_pointer_cast<Plan>(entry->plan), nb::tuple(result));
}

nb::object target(const nb::object& out, const char* name, int type,
                  const std::vector<int64_t>& shape, Array* array) {
  const int rank = static_cast<int>(shape.size());
  if (out.is_none()) {
    PyObject* made = new_array(type, rank, shape.data(), array);
    if (!made) throw nb::python_error();
    return nb::steal(made);
  }
  const std::string what = name;
  const std::string wanted =
      std::string(ndpool_type_name(type)) + " " + shape_text(rank, shape.data());
  if (!is_result(out.ptr(), array)) {
    throw nb::type_error((what + " must be a NumPy array of " + wanted + ", not " +
                          nb::cast<std::string>(nb::str(out.type().attr("__name__"))))
                             .c_str());
  }
  if (array->type != type) {
    throw nb::type_error((what + " has type " +
                          nb::cast<std::string>(nb::str(out.attr("dtype").attr("str"))) +
                          "; this call gives " + wanted + " in native byte order")
                             .c_str());
  }
  if (array->rank != rank || !std::equal(shape.begin(), shape.end(), array->shape)) {
    refuse(what + " has shape " + shape_text(array->rank, array->shape) + "; this call gives " +
           wanted);
  }
  if (!array->writable) refuse(what + " is read-only; pass an array that can be written to");
  if (!row_major(*array, static_cast<int64_t>(ndpool_type_size(type)))) {
    refuse(what + " is not contiguous; pass a row-major array without gaps, such as numpy.empty(" +
           shape_text(rank, shape.data()) + ", ...) gives, and copy from it");
  }
  return out;
}

nb::object Pool::run(nb::object x, nb::object out, bool index, const nb::tuple& args,
                     const nb::dict& kwargs) {
  Array in;
  if (!is_plain(x.ptr(), &in)) {
    x = as_array_(x);
    if (!is_plain(x.ptr(), &in)) throw nb::type_error("x is no array that ndpool can read");
  }
  const EntryPtr entry = find(in.type, in.rank, in.shape, args, kwargs);
  nb::object out_y = out, out_index = nb::none();
  if (index && !out.is_none()) {
    const bool pair = nb::isinstance<nb::tuple>(out) || nb::isinstance<nb::list>(out);
    if (!pair || nb::len(out) != 2) {
      throw nb::type_error("with return_indices=True, out is a pair (values, indices)");
    }
    out_y = out[0];
    out_index = out[1];
  }
  Array y, numbers;
  const nb::object result = target(out_y, "out", entry->plan->out_type, entry->result_shape, &y);
  nb::object indices;
  if (index) {
    indices = target(out_index, "out[1]", NDPOOL_I64, entry->result_shape, &numbers);
  }
  Call call(entry->plan->bytes, 0);
  call.finish(ndpool_forward(entry->plan->handle.get(), in.in(), {y.data, nullptr}, {},
                             {numbers.data, nullptr}, call.exec(), call.error()));
  if (index) return nb::make_tuple(result, indices);
  return result;
}

}  // namespace ndpool::python
