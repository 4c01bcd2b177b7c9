// Standard logistic by inversion: log(v / (1 - v)), v uniform on (0, 1).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Logistic : FloatDistribution<T> {
  TTF_HD static T value(typename Format<T>::Word word) {
    const T v = uniform_between(unit(word), Format<T>::tiny, T(1));
    return numerics::log_of_normal(v) - numerics::log1p_regular(-v);
  }
};

TTF_NAMESPACE_END
