// Standard Gumbel by inversion: -log(-log(u)).
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

// One word: u from [tiny, 1). The left tail is a lattice below u = 2^-mantissa.
template <class T>
struct Gumbel : FloatDistribution<T> {
  TTF_HD static T value(typename Format<T>::Word word) {
    const T u = uniform_between(unit(word), Format<T>::tiny, T(1));
    return -numerics::log_of_normal(-numerics::log_of_normal(u));
  }
};

// Two words: 1 - u with its small values filled in from a second uniform, so that the right tail,
// which decides an argmax, goes twice as far.
template <class T>
struct GumbelHigh : FloatDistribution<T> {
  using Word = typename Format<T>::Word;
  using Inputs = Halves;

  TTF_HD static T value(Word high_word, Word low_word) {
    const T high = unit(high_word);
    const T filled = high + Format<T>::step * unit(low_word) + Format<T>::tiny;
    const T x = high >= T(0.5) ? high : filled;
    return -numerics::log_of_normal(-numerics::log1p_regular(-x));
  }
};

TTF_NAMESPACE_END
