// Uniform on [low, high): never high, low where the range is empty, NaN where high - low is not finite.
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

// The scale-and-shift can round up to the excluded end; the draw is then the number before it, `last`.
template <class T>
TTF_HD T below_end(T x, T low, T high, T span, T last) {
  const T inside = (low < high && x >= high) ? last : x;
  return span - span == 0 ? inside : T(__builtin_nanf(""));
}

template <class T>
struct Uniform : FloatDistribution<T> {
  using Word = typename Format<T>::Word;
  static constexpr int kParameters = 2;

  TTF_HD static T value(Word word, T low, T high) {
    // If high is 0, the number before it: minus the smallest subnormal.
    const T last = high == 0 ? -Format<T>::smallest : next_below(high);
    return below_end(uniform_between(unit(word), low, high), low, high, high - low, last);
  }
};

// float16 takes 16-bit words, bfloat16 8-bit words. As JAX has it, the multiplication and the
// addition round each on its own. Exact in float32 up to the rounding: no product or sum of two
// half-precision numbers is hurt by being rounded to 24 bits first (24 >= 2 * 11 + 2).
template <class Half>
struct UniformHalf {
  using Word = typename Half::Word;
  using Out = uint16_t;
  using Parameter = float;  // holds a number of the half-precision type
  static constexpr int kParameters = 2;
  static constexpr Words kWords = Words::one;

  TTF_HD static float round(float x) { return Half::widen(Half::narrow(x)); }

  TTF_HD static uint16_t value(Word word, float low, float high) {
    const float u = float(int32_t(word) >> Half::spare_bits) * Half::unit_step;
    const float span = round(high - low);
    const float x = round(round(u * span) + low);
    const uint16_t bits = Half::narrow(high);
    const float before = Half::widen(uint16_t(high > 0 ? bits - 1 : bits + 1));
    const float last = high == 0 ? -Half::smallest : before;
    return Half::narrow(below_end(low > x ? low : x, low, high, span, last));
  }
};

struct Float16 {
  using Word = uint16_t;
  static constexpr int spare_bits = 6;
  static constexpr float unit_step = 0x1p-10f;
  static constexpr float smallest = 0x1p-24f;
  TTF_HD static uint16_t narrow(float x) { return numerics::to_float16_bits(x); }
  TTF_HD static float widen(uint16_t bits) { return numerics::from_float16_bits(bits); }
};

struct BFloat16 {
  using Word = uint8_t;
  static constexpr int spare_bits = 1;
  static constexpr float unit_step = 0x1p-7f;
  static constexpr float smallest = 0x1p-133f;
  TTF_HD static uint16_t narrow(float x) { return numerics::to_bfloat16_bits(x); }
  TTF_HD static float widen(uint16_t bits) { return numerics::from_bfloat16_bits(bits); }
};

TTF_NAMESPACE_END
