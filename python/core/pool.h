// One operation as Python calls it: arguments to plans, plans to results.
#ifndef NDPOOL_PYTHON_CORE_POOL_H_
#define NDPOOL_PYTHON_CORE_POOL_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "array.h"
#include "plan.h"

namespace ndpool::python {

class Pool {
 public:
  // describe(*args, **kwargs) gives the tokens of a problem line without type and shape, and the
  // axes that the result does not keep. as_array(x) makes a NumPy array, or raises.
  Pool(nanobind::callable describe, nanobind::callable as_array);

  // The call itself. out: None, an array, or (y, index) if an index is wanted.
  nanobind::object run(nanobind::object x, nanobind::object out, bool index,
                       const nanobind::tuple& args, const nanobind::dict& kwargs);
  // The plan for arrays of a type and shape, and the shape of the result.
  nanobind::tuple plan(int type, const std::vector<int64_t>& shape, const nanobind::tuple& args,
                       const nanobind::dict& kwargs);

 private:
  struct Entry {
    std::shared_ptr<const Plan> plan;
    std::vector<int64_t> result_shape;
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  EntryPtr find(int type, int rank, const int64_t* shape, const nanobind::tuple& args,
                const nanobind::dict& kwargs);
  EntryPtr make(int type, int rank, const int64_t* shape, const nanobind::tuple& args,
                const nanobind::dict& kwargs) const;

  nanobind::callable describe_, as_array_;
  std::unordered_map<std::string, EntryPtr> entries_;
};

// The array to write to: `out` after checks, or a new one if `out` is None.
nanobind::object target(const nanobind::object& out, const char* name, int type,
                        const std::vector<int64_t>& shape, Array* array);

}  // namespace ndpool::python

#endif  // NDPOOL_PYTHON_CORE_POOL_H_
