// What every distribution states, and the parts that many share.
//
// A distribution is a struct with
//   Word        the unsigned type of the words it takes
//   Out         the type it yields (half precision is made of float's draws, rounded once)
//   Parameter   the type of its parameters, and kParameters, how many it has
//   Inputs      what of the streams an element takes, one of the lists below
//   value(input..., parameter...)  the transform, branch-free where that is possible
// An input is a word, or a GammaDraw (gamma.h) of which concentration(number, parameter...) is the concentration.
// With parameters it is value(input..., prepared), where prepare(parameter...) does the work that is the same for all
// elements that share them: what depends on parameters alone, checks above all, must not be in value, or its loop
// becomes branches. A single parameter may do without.
// A long transform of one word may state itself in two steps besides, finish(begin(word)), Step {v, w} being what
// goes from one to the other. A loop over each keeps a processor busier than one over their chain of dependences.
// A transform with a long case that some parameters make may leave it to rare_value(word, parameter...), where
// is_rare(parameter...).
#pragma once

#include <stdint.h>

#include "../macros.h"
#include "../numerics.h"

TTF_NAMESPACE_BEGIN

// One thing that element i of a draw of n elements takes out of its key's streams.
struct Input {
  enum Kind : int {
    word,   // word row * n + stride * i + offset of the stream of length rows * stride * n
    gamma,  // a gamma draw from child i of the key's n children
  };
  Kind kind = word;
  int child = -1;  // of the key itself, or of its child 0 or 1 of two
  int stride = 1, offset = 0;
  int rows = 1, row = 0;
};

constexpr int kMaxInputs = 4;

// Whether all inputs are words at the element's own index, of streams as long as the draw.
constexpr bool are_own_words(const Input* inputs, int count) {
  for (int k = 0; k < count; ++k) {
    if (inputs[k].kind != Input::word || inputs[k].stride != 1 || inputs[k].rows != 1) return false;
  }
  return true;
}

constexpr int count_gammas(const Input* inputs, int count) {
  int gammas = 0;
  for (int k = 0; k < count; ++k) gammas += inputs[k].kind == Input::gamma;
  return gammas;
}

struct OneWord {
  static constexpr int kCount = 1;
  static constexpr Input kInputs[kCount] = {{}};
};

// Rows 0 and 1 of a (2, *shape) draw.
struct Halves {
  static constexpr int kCount = 2;
  static constexpr Input kInputs[kCount] = {{Input::word, -1, 1, 0, 2, 0}, {Input::word, -1, 1, 0, 2, 1}};
};

// A word of each child.
struct Children {
  static constexpr int kCount = 2;
  static constexpr Input kInputs[kCount] = {{Input::word, 0}, {Input::word, 1}};
};

// Row i of a (*shape, 3) draw.
struct Triple {
  static constexpr int kCount = 3;
  static constexpr Input kInputs[kCount] = {
      {Input::word, -1, 3, 0}, {Input::word, -1, 3, 1}, {Input::word, -1, 3, 2}};
};

// Row i of a (*shape, 3) draw of the first child, and a word of the second.
struct TripleAndWord {
  static constexpr int kCount = 4;
  static constexpr Input kInputs[kCount] = {
      {Input::word, 0, 3, 0}, {Input::word, 0, 3, 1}, {Input::word, 0, 3, 2}, {Input::word, 1}};
};

struct OneGamma {
  static constexpr int kCount = 1;
  static constexpr Input kInputs[kCount] = {{Input::gamma, -1}};
};

struct TwoGammas {
  static constexpr int kCount = 2;
  static constexpr Input kInputs[kCount] = {{Input::gamma, 0}, {Input::gamma, 1}};
};

struct WordAndGamma {
  static constexpr int kCount = 2;
  static constexpr Input kInputs[kCount] = {{Input::word, 0}, {Input::gamma, 1}};
};

struct GammaAndWord {
  static constexpr int kCount = 2;
  static constexpr Input kInputs[kCount] = {{Input::gamma, 0}, {Input::word, 1}};
};

// The floating-point formats by their parts.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Word = uint32_t;
  static constexpr float step = 0x1p-23f;       // of the unit uniform: 2^-mantissa
  static constexpr float tiny = 0x1p-126f;      // the smallest normal number
  static constexpr float largest = 0x1.fffffep127f;
  static constexpr float smallest = 0x1p-149f;  // the smallest number above 0
  static constexpr float epsneg = 0x1p-24f;     // 1 - epsneg is the largest number below 1
  static constexpr float sqrt_two = 1.41421356f;
};
template <>
struct Format<double> {
  using Word = uint64_t;
  static constexpr double step = 0x1p-52;
  static constexpr double tiny = 0x1p-1022;
  static constexpr double largest = 0x1.fffffffffffffp1023;
  static constexpr double smallest = 0x1p-1074;
  static constexpr double epsneg = 0x1p-53;
  static constexpr double sqrt_two = 1.4142135623730951;
};

template <class T>
TTF_HD T not_a_number() {
  return T(__builtin_nanf(""));
}
template <class T>
TTF_HD T infinity() {
  return T(__builtin_inff());
}
template <class T>
TTF_HD bool is_finite(T x) {
  return x - x == 0;
}
// Infinity as the largest number, so that 0 times it is 0.
template <class T>
TTF_HD T clamp_to_finite(T x) {
  constexpr T largest = Format<T>::largest;
  return x > largest ? largest : x < -largest ? -largest : x;
}
// A parameter, or NaN where it is not valid, which then spreads to the draw.
template <class T>
TTF_HD T nan_unless(bool valid, T x) {
  return valid ? x : not_a_number<T>();
}

// [0, 1): the word's high bits under the exponent of 1, minus 1; a multiple of 2^-mantissa, never 1.
TTF_HD float unit(uint32_t word) { return numerics::float_from_bits(word >> 9 | 0x3F800000u) - 1.0f; }
TTF_HD double unit(uint64_t word) {
  return numerics::double_from_bits(word >> 12 | 0x3FF0000000000000u) - 1.0;
}

// log(x) of a uniform number or a part of one: -infinity at 0, without the special cases of a whole log.
template <class T>
TTF_HD T log_of_part(T x) {
  const bool normal = x > Format<T>::tiny;
  return normal ? numerics::log_of_normal(normal ? x : T(1)) : -infinity<T>();
}

// JAX's uniform on [low, high), low < high: one fused scale-and-shift of the unit uniform.
template <class T>
TTF_HD T uniform_between(T u, T low, T high) {
  return numerics::fma(u, high - low, low);
}

// The largest number below x (x finite or inf, and not zero).
TTF_HD float next_below(float x) {
  const uint32_t bits = numerics::to_bits(x);
  return numerics::float_from_bits(x > 0 ? bits - 1 : bits + 1);
}
TTF_HD double next_below(double x) {
  const uint64_t bits = numerics::to_bits(x);
  return numerics::double_from_bits(x > 0 ? bits - 1 : bits + 1);
}

// The smallest number above x (x finite or -inf, and not zero).
TTF_HD float next_above(float x) { return -next_below(-x); }
TTF_HD double next_above(double x) { return -next_below(-x); }

// +1 or -1 by the word's first bit.
TTF_HD float sign_of(uint32_t word) { return word >> 31 ? -1.0f : 1.0f; }
TTF_HD double sign_of(uint64_t word) { return word >> 63 ? -1.0 : 1.0; }

// The half-precision formats: their bits to and from float32, and how a uniform's word makes a mantissa.
struct Float16 {
  using Word = uint16_t;  // of a uniform
  static constexpr int spare_bits = 6, mantissa_shift = 23 - 10;
  static constexpr float smallest = 0x1p-24f;
  TTF_HD static uint16_t narrow(float x) { return numerics::to_float16_bits(x); }
  TTF_HD static float widen(uint16_t bits) { return numerics::from_float16_bits(bits); }
};

struct BFloat16 {
  using Word = uint8_t;
  static constexpr int spare_bits = 1, mantissa_shift = 23 - 7;
  static constexpr float smallest = 0x1p-133f;
  TTF_HD static uint16_t narrow(float x) { return numerics::to_bfloat16_bits(x); }
  TTF_HD static float widen(uint16_t bits) { return numerics::from_bfloat16_bits(bits); }
};

// Which of the optional parts a distribution states.
template <class D, class = void>
struct HasSteps {
  static constexpr bool value = false;
};
template <class D>
struct HasSteps<D, decltype(void(sizeof(typename D::Step)))> {
  static constexpr bool value = true;
};
template <class D, class = void>
struct HasPrepared {
  static constexpr bool value = false;
};
template <class D>
struct HasPrepared<D, decltype(void(sizeof(typename D::Prepared)))> {
  static constexpr bool value = true;
};
template <class D, class = void>
struct HasRareCase {
  static constexpr bool value = false;
};
template <class D>
struct HasRareCase<D, decltype(void(&D::is_rare))> {
  static constexpr bool value = true;
};

// The common case: a float of type T from one word of its width, no parameters.
template <class T>
struct FloatDistribution {
  using Word = typename Format<T>::Word;
  using Out = T;
  using Parameter = T;
  using Inputs = OneWord;
  static constexpr int kParameters = 0;
};

TTF_NAMESPACE_END
