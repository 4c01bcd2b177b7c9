// Pareto with minimum 1 and tail index b: exp(e / b), e exponential.
#pragma once

#include "exponential.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Pareto : FloatDistribution<T> {
  static constexpr int kParameters = 1;

  struct Prepared {
    T b;
  };
  TTF_HD static Prepared prepare(T b) { return {nan_unless(b > 0 && is_finite(b), b)}; }
  TTF_HD static T value(typename Format<T>::Word word, const Prepared& p) {
    return numerics::exp(Exponential<T>::value(word) / p.b);
  }
};

TTF_NAMESPACE_END
