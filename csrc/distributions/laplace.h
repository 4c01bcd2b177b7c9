// Standard Laplace by inversion: sign(v) log(1 - |v|), v uniform on (-1, 1).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Laplace : FloatDistribution<T> {
  TTF_HD static T value(typename Format<T>::Word word) {
    const T v = uniform_between(unit(word), T(-1) + Format<T>::epsneg, T(1));
    const T sign = v > 0 ? T(1) : (v < 0 ? T(-1) : v);
    return sign * numerics::log1p_regular(-numerics::abs(v));
  }
};

TTF_NAMESPACE_END
