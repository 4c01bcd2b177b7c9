// Maxwell: the norm of three standard normals; and its symmetric form with a location and a scale.
#pragma once

#include "normal.h"

TTF_NAMESPACE_BEGIN

template <class T>
struct Maxwell : FloatDistribution<T> {
  using Word = typename Format<T>::Word;
  using Inputs = Triple;

  TTF_HD static T value(Word x_word, Word y_word, Word z_word) {
    const T x = Normal<T>::value(x_word), y = Normal<T>::value(y_word), z = Normal<T>::value(z_word);
    return numerics::sqrt(x * x + y * y + z * z);
  }
};

template <class T>
struct DoubleSidedMaxwell : FloatDistribution<T> {
  using Word = typename Format<T>::Word;
  using Inputs = TripleAndWord;
  static constexpr int kParameters = 2;

  struct Prepared {
    T location, scale;
  };
  TTF_HD static Prepared prepare(T location, T scale) { return {location, scale}; }
  TTF_HD static T value(Word x_word, Word y_word, Word z_word, Word sign_word, const Prepared& p) {
    return sign_of(sign_word) * Maxwell<T>::value(x_word, y_word, z_word) * p.scale + p.location;
  }
};

TTF_NAMESPACE_END
