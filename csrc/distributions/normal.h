// Standard normal by inversion: sqrt(2) erf_inv(v), v uniform on (-1, 1).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Normal : FloatDistribution<T> {
  TTF_HD static T value(typename Format<T>::Word word) {
    const T low = T(-1) + Format<T>::epsneg;  // the number after -1: the open end stays open
    return Format<T>::sqrt_two * numerics::erf_inv(uniform_between(unit(word), low, T(1)));
  }
};

TTF_NAMESPACE_END
