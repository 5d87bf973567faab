// Arrays as the engine sees them: NumPy's, and memory that a framework describes.
#ifndef NDPOOL_PYTHON_CORE_ARRAY_H_
#define NDPOOL_PYTHON_CORE_ARRAY_H_

#include <Python.h>

#include <cstdint>
#include <vector>

#include "ndpool/ndpool.h"

namespace ndpool::python {

// Loads NumPy's interface. False: an exception is set.
bool load_numpy();
// NumPy has no bfloat16 of its own: the type of ml_dtypes, once somebody has it.
void set_bfloat16(PyObject* dtype);

struct Array {
  void* data = nullptr;
  int type = -1;  // an ndpool_type, or -1: none that ndpool has
  int rank = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;  // in bytes
  bool writable = false;

  ndpool_array out() const { return {data, strides}; }
  ndpool_const_array in() const { return {data, strides}; }
};

// Whether `object` is a NumPy array (of exactly that class) with native bytes and a type that
// ndpool has, and then what it is.
bool is_plain(PyObject* object, Array* array);

// Whether `object` is a NumPy array that can be a result: subclasses too, but for masked arrays.
// Its type may be none that ndpool has.
bool is_result(PyObject* object, Array* array);

// A new NumPy array, row-major, not filled. Null: an exception is set.
PyObject* new_array(int type, int rank, const int64_t* shape, Array* array);

// What a function of this module was given: a NumPy array (subclasses too), None, or memory as
// (address, type, shape, strides in bytes). Throws nanobind's exceptions for anything else.
class Given {
 public:
  Given(PyObject* object, const char* name, bool to_be_written);
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  const Array& array() const { return array_; }
  explicit operator bool() const { return array_.data != nullptr || given_; }

 private:
  Array array_;
  bool given_ = false;
  std::vector<int64_t> shape_, strides_;
};

}  // namespace ndpool::python

#endif  // NDPOOL_PYTHON_CORE_ARRAY_H_
