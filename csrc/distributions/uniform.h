// Uniform on [low, high): never high, low where the range is empty, NaN where high - low is not finite.
#pragma once

#include "distribution.h"

TTF_NAMESPACE_BEGIN

// What is the same for all draws between two bounds. `last` is the number before high.
template <class T>
struct Interval {
  T low, high, span, last;
};

// The scale-and-shift can round up to the excluded end; the draw is then the number before it.
template <class T>
TTF_HD T confine(T x, const Interval<T>& to) {
  const T above_low = to.low > x ? to.low : x;
  const T inside = (to.low < to.high && above_low >= to.high) ? to.last : above_low;
  return to.span - to.span == 0 ? inside : T(__builtin_nanf(""));
}

template <class T>
struct Uniform : FloatDistribution<T> {
  static constexpr int kParameters = 2;

  using Prepared = Interval<T>;
  TTF_HD static Prepared prepare(T low, T high) {
    return {low, high, high - low, high == 0 ? -Format<T>::smallest : next_below(high)};
  }
  TTF_HD static T value(typename Format<T>::Word word, const Prepared& interval) {
    return confine(numerics::fma(unit(word), interval.span, interval.low), interval);
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
  using Inputs = OneWord;

  TTF_HD static float round(float x) { return Half::widen(Half::narrow(x)); }

  using Prepared = Interval<float>;
  TTF_HD static Prepared prepare(float low, float high) {
    const uint16_t bits = Half::narrow(high);
    const float before = Half::widen(uint16_t(high > 0 ? bits - 1 : bits + 1));
    return {low, high, round(high - low), high == 0 ? -Half::smallest : before};
  }
  TTF_HD static uint16_t value(Word word, const Prepared& interval) {
    const uint32_t mantissa = uint32_t(word >> Half::spare_bits) << Half::mantissa_shift;
    const float u = numerics::float_from_bits(mantissa | 0x3F800000u) - 1.0f;
    return Half::narrow(confine(round(round(u * interval.span) + interval.low), interval));
  }
};

TTF_NAMESPACE_END
