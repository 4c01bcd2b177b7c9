// Standard Cauchy by inversion: tan(pi (u - 1/2)), u uniform on [step, 1).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Cauchy : FloatDistribution<T> {
  TTF_HD static T value(typename Format<T>::Word word) {
    const T u = uniform_between(unit(word), Format<T>::step, T(1));
    return numerics::tan(T(3.14159265358979323846) * (u - T(0.5)));
  }
};

TTF_NAMESPACE_END
