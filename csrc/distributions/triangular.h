// Triangular by inversion of its two parabolas, left and right of the mode.
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Triangular : FloatDistribution<T> {
  static constexpr int kParameters = 3;

  struct Prepared {
    T left, right, width, root_of_rise, root_of_fall, at_mode;  // at_mode: the CDF there
  };
  TTF_HD static Prepared prepare(T left, T mode, T right) {
    const bool valid = left <= mode && mode <= right && left < right && is_finite(right - left);
    const T width = right - left, rise = mode - left;
    return {nan_unless(valid, left),         nan_unless(valid, right), width, numerics::sqrt(rise),
            numerics::sqrt(right - mode), rise / width};
  }
  TTF_HD static T value(typename Format<T>::Word word, const Prepared& p) {
    const T u = unit(word);
    // Two roots, for the product under one may be out of range.
    const T rising = p.left + numerics::sqrt(u * p.width) * p.root_of_rise;
    const T falling = p.right - numerics::sqrt((1 - u) * p.width) * p.root_of_fall;
    const T x = u < p.at_mode ? rising : falling;
    return x < p.left ? p.left : x > p.right ? p.right : x;  // by rounding alone
  }
};

TTF_NAMESPACE_END
