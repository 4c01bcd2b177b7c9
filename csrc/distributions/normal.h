// Standard normal by inversion: sqrt(2) erf_inv(v), v uniform on (-1, 1).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Normal : FloatDistribution<T> {
  using Word = typename Format<T>::Word;

  // Half of the transform: v, and w = -log(1 - v^2).
  struct Step {
    T v, w;
  };
  TTF_HD static Step begin(Word word) {
    const T low = T(-1) + Format<T>::epsneg;  // the number after -1: the open end stays open
    const T v = uniform_between(unit(word), low, T(1));
    return {v, -numerics::log1p_regular(v * -v)};
  }
  TTF_HD static T finish(Step step) { return Format<T>::sqrt_two * numerics::erf_inv_regular(step.v, step.w); }

  TTF_HD static T value(Word word) { return finish(begin(word)); }
};

TTF_NAMESPACE_END
