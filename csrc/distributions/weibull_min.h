// Weibull by inversion: scale e^(1 / concentration), e exponential.
#pragma once

#include "exponential.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct WeibullMin : FloatDistribution<T> {
  static constexpr int kParameters = 2;

  struct Prepared {
    T scale, exponent;
  };
  TTF_HD static Prepared prepare(T scale, T concentration) {
    const bool valid = scale >= 0 && is_finite(scale) && concentration > 0 && is_finite(concentration);
    return {nan_unless(valid, scale), scale == 0 ? T(0) : 1 / concentration};  // 0 times infinity is no number
  }
  TTF_HD static T value(typename Format<T>::Word word, const Prepared& p) {
    return numerics::pow(Exponential<T>::value(word), p.exponent) * p.scale;
  }
};

TTF_NAMESPACE_END
