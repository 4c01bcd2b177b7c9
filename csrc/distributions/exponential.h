// Exponential with rate 1 by inversion: -log(1 - u), u uniform on [0, 1).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Exponential : FloatDistribution<T> {
  TTF_HD static T value(typename Format<T>::Word word) { return -numerics::log1p_regular(-unit(word)); }
};

TTF_NAMESPACE_END
