#include "array.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>
#include <numpy/arrayobject.h>

#include <sys/mman.h>

#include <cstring>
#include <string>

namespace ndpool::python {

namespace nb = nanobind;

namespace {

static_assert(sizeof(npy_intp) == sizeof(int64_t));

PyObject* bfloat16 = nullptr;

int type_of(PyArray_Descr* descr) {
  const npy_intp size = PyDataType_ELSIZE(descr);
  const auto by_size = [size](int one, int two, int four, int eight) {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : size == 8 ? eight : -1;
  };
  switch (descr->kind) {
    case 'f':
      return by_size(-1, NDPOOL_F16, NDPOOL_F32, NDPOOL_F64);
    case 'i':
      return by_size(NDPOOL_I8, NDPOOL_I16, NDPOOL_I32, NDPOOL_I64);
    case 'u':
      return by_size(NDPOOL_U8, NDPOOL_U16, NDPOOL_U32, NDPOOL_U64);
    case 'b':
      return NDPOOL_BOOL;
    default:
      return bfloat16 && descr->type_num == reinterpret_cast<PyArray_Descr*>(bfloat16)->type_num
                 ? NDPOOL_BF16
                 : -1;
  }
}

PyArray_Descr* descr_of(int type) {
  static constexpr int kNumbers[] = {NPY_FLOAT16, NPY_VOID,   NPY_FLOAT32, NPY_FLOAT64, NPY_INT8,
                                     NPY_UINT8,   NPY_INT16,  NPY_UINT16,  NPY_INT32,   NPY_UINT32,
                                     NPY_INT64,   NPY_UINT64, NPY_BOOL};
  if (type == NDPOOL_BF16) {
    if (!bfloat16) {
      PyErr_SetString(PyExc_TypeError, "bfloat16 arrays need the package ml_dtypes");
      return nullptr;
    }
    Py_INCREF(bfloat16);
    return reinterpret_cast<PyArray_Descr*>(bfloat16);
  }
  return PyArray_DescrFromType(kNumbers[type]);
}

// Fresh memory of a framework's comes in small pages, and taking them one by one costs more than
// pooling. NumPy asks for huge ones itself.
void advise_huge_pages(const Array& array) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kPage = uintptr_t{1} << 21;
  uintptr_t bytes = ndpool_type_size(array.type);
  for (int i = 0; i < array.rank; ++i) bytes *= static_cast<uintptr_t>(array.shape[i]);
  const uintptr_t first = reinterpret_cast<uintptr_t>(array.data);
  const uintptr_t begin = (first + kPage - 1) / kPage * kPage;
  const uintptr_t end = (first + bytes) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

void fill(PyArrayObject* from, Array* array) {
  array->data = PyArray_DATA(from);
  array->type = PyArray_ISNOTSWAPPED(from) ? type_of(PyArray_DESCR(from)) : -1;
  array->rank = PyArray_NDIM(from);
  array->shape = reinterpret_cast<const int64_t*>(PyArray_DIMS(from));
  array->strides = reinterpret_cast<const int64_t*>(PyArray_STRIDES(from));
  array->writable = PyArray_ISWRITEABLE(from);
}

}  // namespace

bool load_numpy() { return _import_array() >= 0; }

void set_bfloat16(PyObject* dtype) {
  if (!PyArray_DescrCheck(dtype)) throw nb::type_error("set_bfloat16 takes a NumPy dtype");
  Py_INCREF(dtype);
  Py_XDECREF(bfloat16);
  bfloat16 = dtype;
}

bool is_plain(PyObject* object, Array* array) {
  if (!PyArray_CheckExact(object)) return false;
  fill(reinterpret_cast<PyArrayObject*>(object), array);
  return array->type >= 0;
}

bool is_result(PyObject* object, Array* array) {
  if (!PyArray_Check(object) || PyObject_HasAttrString(object, "filled")) return false;
  fill(reinterpret_cast<PyArrayObject*>(object), array);
  return true;
}

PyObject* new_array(int type, int rank, const int64_t* shape, Array* array) {
  PyArray_Descr* descr = descr_of(type);
  if (!descr) return nullptr;
  PyObject* made = PyArray_Empty(rank, reinterpret_cast<const npy_intp*>(shape), descr, 0);
  if (made) fill(reinterpret_cast<PyArrayObject*>(made), array);
  return made;
}

Given::Given(PyObject* object, const char* name, bool to_be_written) {
  if (object == Py_None) return;
  given_ = true;
  if (PyArray_Check(object)) {
    fill(reinterpret_cast<PyArrayObject*>(object), &array_);
    if (to_be_written && !array_.writable) {
      throw nb::value_error((std::string(name) + " is read-only").c_str());
    }
    return;
  }
  const nb::handle memory(object);
  array_.data = reinterpret_cast<void*>(nb::cast<uintptr_t>(memory[0]));
  array_.type = nb::cast<int>(memory[1]);
  shape_ = nb::cast<std::vector<int64_t>>(memory[2]);
  strides_ = nb::cast<std::vector<int64_t>>(memory[3]);
  array_.rank = static_cast<int>(shape_.size());
  array_.shape = shape_.data();
  array_.strides = strides_.data();
  if (to_be_written) advise_huge_pages(array_);
  if (strides_.size() != shape_.size()) throw nb::value_error("as many strides as axes, please");
}

}  // namespace ndpool::python
