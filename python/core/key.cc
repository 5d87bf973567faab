#include "key.h"

namespace ndpool::python {
namespace {

bool append_sequence(char tag, PyObject* const* items, Py_ssize_t count, std::string* key) {
  *key += tag;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!append_key(items[i], key)) return false;
  }
  *key += ')';
  return true;
}

}  // namespace

void append_key(const void* bytes, size_t count, std::string* key) {
  key->append(static_cast<const char*>(bytes), count);
}

bool append_key(PyObject* value, std::string* key) {
  if (value == Py_None) {
    *key += 'n';
  } else if (value == Py_True || value == Py_False) {
    *key += value == Py_True ? 't' : 'f';
  } else if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    *key += 'i';
    append_key(&number, sizeof number, key);
  } else if (PyFloat_CheckExact(value)) {
    const double number = PyFloat_AS_DOUBLE(value);
    *key += 'd';
    append_key(&number, sizeof number, key);
  } else if (PyUnicode_CheckExact(value)) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &length);
    if (!text) {
      PyErr_Clear();
      return false;
    }
    *key += 's';
    append_key(&length, sizeof length, key);
    append_key(text, static_cast<size_t>(length), key);
  } else if (PyTuple_CheckExact(value)) {
    return append_sequence('(', PySequence_Fast_ITEMS(value), PyTuple_GET_SIZE(value), key);
  } else if (PyList_CheckExact(value)) {
    return append_sequence('[', PySequence_Fast_ITEMS(value), PyList_GET_SIZE(value), key);
  } else {
    return false;
  }
  return true;
}

}  // namespace ndpool::python
