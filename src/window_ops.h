// Operations that look at a window as a whole, for one row of outputs at a time: first measure()
// finds what the row's windows have in common (pivot, sum, winners), then values, tangents and
// gradients follow tap by tap. Lanes are outputs × inner.
#ifndef NDPOOL_SRC_WINDOW_OPS_H_
#define NDPOOL_SRC_WINDOW_OPS_H_

#include <cstdint>

#include "arena.h"
#include "plan.h"
#include "taps.h"
#include "tree.h"

namespace ndpool {

// A row of outputs and where its cells come from: x, then a tangent where one is needed.
template <class T>
struct WindowRow {
  const int64_t* across = nullptr;
  Range outputs;
  int64_t inner = 1;
  typename TapWalk<T>::Source sources[kMaxSources]{};
  int64_t lanes() const { return outputs.size() * inner; }
};

// What all of them share.
template <class T>
class WindowOp {
 public:
  using Lane = T;
  WindowOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut,
           Arena* arena);

  TapWalk<T>& walk() { return walk_; }

 protected:
  // Sums leaf(run, out) over the taps of each window, in the order of Tree. The result has lanes().
  template <class F>
  const T* tree_sum(const WindowRow<T>& row, int sources, F leaf);

  const Plan& plan_;
  TapWalk<T> walk_;
  Tree tree_;
  T* zeros_ = nullptr;
};

// y = pivot + log(sum of exp(beta*(x-pivot)))/beta.
class SmoothOp : public WindowOp<double> {
 public:
  SmoothOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut,
           Arena* arena);
  void measure(const WindowRow<double>& row);
  void value(int64_t lanes, double* y) const;
  void tangent(const WindowRow<double>& row, double* dy);
  void set_gradient(int64_t lanes, const double* g);
  void gradient(const TapRun<double>& run, double* out);
  // `mean` is tangent() of v; run.cells[1] is v.
  void second(const TapRun<double>& run, const double* mean, double* out);

 private:
  void count_terms(const WindowRow<double>& row);

  double *pivot_, *sum_, *rest_, *count_, *pads_, *terms_, *weight_, *pad_term_;
  const double* g_ = nullptr;
};

// y = (sum of |x|^p)^(1/p).
class LpOp : public WindowOp<double> {
 public:
  LpOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut, Arena* arena);
  void measure(const WindowRow<double>& row);
  void value(int64_t lanes, double* y) const;
  void tangent(const WindowRow<double>& row, double* dy);
  void set_gradient(int64_t lanes, const double* g);
  void gradient(const TapRun<double>& run, double* out);
  void second(const TapRun<double>& run, const double* mean, double* out);

 private:
  void direction(const TapRun<double>& run, double* u);
  double value_at(int64_t lane) const;

  double *largest_, *sum_, *ratio_, *log_ratio_, *u_, *power_;
  uint64_t* first_;  // p infinite: the number of the first largest tap
  const double* g_ = nullptr;
};

// Max and min whose derivative is carried by all winners, in full or in equal shares.
template <class T>
class TiesOp : public WindowOp<T> {
 public:
  TiesOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut, Arena* arena);
  void measure(const WindowRow<T>& row);
  void value(int64_t lanes, T* y) const;
  void tangent(const WindowRow<T>& row, T* dy);
  void set_gradient(int64_t lanes, const T* g);
  void gradient(const TapRun<T>& run, T* out);

 private:
  const WinnerKernels<T>& winners() const;

  T *best_, *share_;
  double* count_;
  bool* started_;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_WINDOW_OPS_H_
