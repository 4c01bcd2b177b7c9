// Wald, the inverse Gaussian with shape 1: Michael, Schucany & Haas, "Generating random variates using
// transformations with multiple roots" (The American Statistician 30, 1976).
#pragma once

#include "normal.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Wald : FloatDistribution<T> {
  using Word = typename Format<T>::Word;
  using Inputs = Children;
  static constexpr int kParameters = 1;

  struct Prepared {
    T mean;
  };
  TTF_HD static Prepared prepare(T mean) { return {nan_unless(mean > 0 && is_finite(mean), mean)}; }

  // The smaller root of mean^2 / x + x - 2 mean = mean^2 y. The usual form of it, mean + mean^2 y / 2 - (mean / 2)
  // sqrt(4 mean y + mean^2 y^2), cancels; this is mean^2 over the larger root, which does not.
  TTF_HD static T value(Word normal_word, Word choice_word, const Prepared& p) {
    const T v = Normal<T>::value(normal_word);
    const T t = p.mean * (v * v) / 2;
    const T larger = 1 + t + numerics::sqrt(t) * numerics::sqrt(2 + t);  // over the mean
    const T x = is_finite(larger) ? p.mean / larger : 1 / (v * v);  // for large means; beyond T's range, their limit
    return unit(choice_word) <= p.mean / (p.mean + x) ? x : p.mean * larger;
  }
};

TTF_NAMESPACE_END
