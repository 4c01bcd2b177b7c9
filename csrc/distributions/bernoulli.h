// True with probability p; and its symmetric form, a sign.
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Bernoulli : FloatDistribution<T> {
  using Out = uint8_t;
  static constexpr int kParameters = 1;

  TTF_HD static uint8_t value(typename Format<T>::Word word, T p) { return unit(word) < p; }
};

// Twice the bits: u1 + 2^-mantissa u2 < p. The difference p - u1 is exact wherever it decides:
// between p / 2 and 2 p by Sterbenz's lemma, and elsewhere it is 0 > or at least one step of u1.
template <class T>
struct BernoulliHigh : Bernoulli<T> {
  using Word = typename Format<T>::Word;
  using Inputs = Halves;

  TTF_HD static uint8_t value(Word high_word, Word low_word, T p) {
    return unit(low_word) * Format<T>::step < p - unit(high_word);
  }
};

// +1 where bernoulli(1/2) is true, that is where the first bit is 0, else -1.
template <class O>
struct Rademacher {
  using Word = uint32_t;
  using Out = O;
  using Parameter = float;
  static constexpr int kParameters = 0;
  using Inputs = OneWord;

  TTF_HD static O value(uint32_t word) { return word >> 31 ? O(-1) : O(1); }
};

TTF_NAMESPACE_END
