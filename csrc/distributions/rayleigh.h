// Rayleigh by inversion: scale sqrt(-2 log u), u uniform on (0, 1).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Rayleigh : FloatDistribution<T> {
  static constexpr int kParameters = 1;

  struct Prepared {
    T scale;
  };
  TTF_HD static Prepared prepare(T scale) { return {nan_unless(scale >= 0 && is_finite(scale), scale)}; }

  // u = 0 stands for all of [0, step): its middle, so that the draw is finite.
  TTF_HD static T value(typename Format<T>::Word word, const Prepared& p) {
    const T cell = unit(word), u = cell == 0 ? Format<T>::step / 2 : cell;
    return p.scale * numerics::sqrt(T(-2) * numerics::log_of_normal(u));
  }
};

TTF_NAMESPACE_END
