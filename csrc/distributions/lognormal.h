// Log-normal: exp(sigma x), x standard normal.
#pragma once

#include "normal.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct LogNormal : FloatDistribution<T> {
  static constexpr int kParameters = 1;

  struct Prepared {
    T sigma;
  };
  TTF_HD static Prepared prepare(T sigma) { return {nan_unless(is_finite(sigma), sigma)}; }
  TTF_HD static T value(typename Format<T>::Word word, const Prepared& p) {
    return numerics::exp(Normal<T>::value(word) * p.sigma);
  }
};

TTF_NAMESPACE_END
