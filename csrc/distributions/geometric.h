// Geometric, the number of trials up to the first success: floor(log u / log(1 - p)) + 1.
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

// The count as a whole number in float64; NaN outside of 0 < p <= 1. As in JAX, u = 0 counts as 1.
template <class T>
struct Geometric : FloatDistribution<T> {
  using Out = double;
  static constexpr int kParameters = 1;

  struct Prepared {
    T log_failure;
  };
  TTF_HD static Prepared prepare(T p) {
    return {nan_unless(p > 0 && p <= 1, numerics::log1p(-p))};
  }
  TTF_HD static double value(typename Format<T>::Word word, const Prepared& p) {
    const T cell = unit(word), u = cell == 0 ? T(1) : cell;
    return double(numerics::floor(numerics::log_of_normal(u) / p.log_failure) + 1);
  }
};

TTF_NAMESPACE_END
