// The arguments of a call as bytes, so that plans are found again without looking at them in
// Python. Types are part of it: 2, 2.0 and True are different keys.
#ifndef NDPOOL_PYTHON_CORE_KEY_H_
#define NDPOOL_PYTHON_CORE_KEY_H_

#include <Python.h>

#include <string>

namespace ndpool::python {

// Appends None, bools, ints of 64 bits, floats, strings, and tuples and lists of such. False: it is
// something else, and no key can be made.
bool append_key(PyObject* value, std::string* key);
void append_key(const void* bytes, size_t count, std::string* key);

}  // namespace ndpool::python

#endif  // NDPOOL_PYTHON_CORE_KEY_H_
