// What every distribution states, and the parts that many share.
//
// A distribution is a struct with
//   Word        the unsigned type of the words it takes
//   Out         the type it yields; float16 and bfloat16 are uint16_t, their bits
//   Parameter   the type of its parameters, and kParameters, how many it has
//   kWords      which words of the streams an element takes
//   value(word..., parameter...)  the transform, branch-free where that is possible
// With two parameters, prepare(parameter...) does the work that is the same for all elements that share them,
// and it is value(word..., prepared).
// A long transform may state itself in two steps besides, finish(begin(word)), Step {v, w} being what goes from
// one to the other. A loop over each keeps a processor busier than one over their chain of dependences.
#pragma once

#include <stdint.h>

#include "../macros.h"
#include "../numerics.h"

TTF_NAMESPACE_BEGIN

enum class Words {
  one,       // word i of the key's stream
  halves,    // words i and n + i of the key's stream of length 2n: row 0 and row 1 of a (2, *shape) draw
  children,  // word i of the streams of the key's two children
};

// The floating-point formats by their parts.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Word = uint32_t;
  static constexpr float step = 0x1p-23f;       // of the unit uniform: 2^-mantissa
  static constexpr float tiny = 0x1p-126f;      // the smallest normal number
  static constexpr float smallest = 0x1p-149f;  // the smallest number above 0
  static constexpr float epsneg = 0x1p-24f;     // 1 - epsneg is the largest number below 1
  static constexpr float sqrt_two = 1.41421356f;
};
template <>
struct Format<double> {
  using Word = uint64_t;
  static constexpr double step = 0x1p-52;
  static constexpr double tiny = 0x1p-1022;
  static constexpr double smallest = 0x1p-1074;
  static constexpr double epsneg = 0x1p-53;
  static constexpr double sqrt_two = 1.4142135623730951;
};

// [0, 1): the word's high bits under the exponent of 1, minus 1; a multiple of 2^-mantissa, never 1.
TTF_HD float unit(uint32_t word) { return numerics::float_from_bits(word >> 9 | 0x3F800000u) - 1.0f; }
TTF_HD double unit(uint64_t word) {
  return numerics::double_from_bits(word >> 12 | 0x3FF0000000000000u) - 1.0;
}

// JAX's uniform on [low, high), low < high: one fused scale-and-shift of the unit uniform.
template <class T>
TTF_HD T uniform_between(T u, T low, T high) {
  return numerics::fma(u, high - low, low);
}

// The largest number below x (x finite and not zero).
TTF_HD float next_below(float x) {
  const uint32_t bits = numerics::to_bits(x);
  return numerics::float_from_bits(x > 0 ? bits - 1 : bits + 1);
}
TTF_HD double next_below(double x) {
  const uint64_t bits = numerics::to_bits(x);
  return numerics::double_from_bits(x > 0 ? bits - 1 : bits + 1);
}

// The half-precision formats: their bits to and from float32, and how a uniform's word makes a mantissa.
struct Float16 {
  using Word = uint16_t;
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

// Half precision: the float32 draw, rounded once.
template <class D, class Half>
struct AsHalf : D {
  using Out = uint16_t;
  template <class... Args>
  TTF_HD static Out value(Args... args) {
    return Half::narrow(D::value(args...));
  }
  template <class Step>
  TTF_HD static Out finish(Step step) {
    return Half::narrow(D::finish(step));
  }
};

// Whether a distribution states its transform in steps.
template <class D, class = void>
struct HasSteps {
  static constexpr bool value = false;
};
template <class D>
struct HasSteps<D, decltype(void(sizeof(typename D::Step)))> {
  static constexpr bool value = true;
};

// The common case: a float of type T from one word of its width, no parameters.
template <class T>
struct FloatDistribution {
  using Word = typename Format<T>::Word;
  using Out = T;
  using Parameter = T;
  static constexpr int kParameters = 0;
  static constexpr Words kWords = Words::one;
};

TTF_NAMESPACE_END
