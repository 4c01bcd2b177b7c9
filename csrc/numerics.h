// Elementary functions whose results do not depend on the machine: the same bits from g++ for any
// instruction set and from nvcc. The C library's log differs between versions and from CUDA's, so
// the transforms use these.
//
// Every operation here is correctly rounded by IEEE 754 (+ - * / sqrt fma); a fused multiply-add is
// written fma, and the compiler must fuse nothing on its own (-ffp-contract=off, -fmad=false).
// There are no branches and no tables, only selects, so that the compiler vectorises a loop over
// any of these functions. Selects keep both sides: an unselected side may be inf or NaN.
#pragma once

#include <stdint.h>
#include <string.h>

#include "macros.h"

TTF_NAMESPACE_BEGIN
namespace numerics {

// ---- The hardware's operations ----

#if defined(__CUDA_ARCH__)
// The intrinsics round to nearest whatever nvcc's -prec-sqrt says.
TTF_HD float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
TTF_HD double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
TTF_HD float sqrt(float x) { return __fsqrt_rn(x); }
TTF_HD double sqrt(double x) { return __dsqrt_rn(x); }
TTF_HD float abs(float x) { return ::fabsf(x); }
TTF_HD double abs(double x) { return ::fabs(x); }
TTF_HD float floor(float x) { return ::floorf(x); }
TTF_HD double floor(double x) { return ::floor(x); }
#else
// One instruction each where the target has it; without FMA, the C library's exact emulation.
TTF_HD float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TTF_HD double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
TTF_HD float sqrt(float x) { return __builtin_sqrtf(x); }
TTF_HD double sqrt(double x) { return __builtin_sqrt(x); }
TTF_HD float abs(float x) { return __builtin_fabsf(x); }
TTF_HD double abs(double x) { return __builtin_fabs(x); }
TTF_HD float floor(float x) { return __builtin_floorf(x); }
TTF_HD double floor(double x) { return __builtin_floor(x); }
#endif

template <class To, class From>
TTF_HD To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

TTF_HD uint32_t to_bits(float x) { return bit_cast<uint32_t>(x); }
TTF_HD uint64_t to_bits(double x) { return bit_cast<uint64_t>(x); }
TTF_HD float float_from_bits(uint32_t bits) { return bit_cast<float>(bits); }
TTF_HD double double_from_bits(uint64_t bits) { return bit_cast<double>(bits); }

// The polynomial with these coefficients, highest power first, by Horner's rule with fma.
template <class T>
TTF_HD T polynomial(T, T value) {
  return value;
}
template <class T, class... Lower>
TTF_HD T polynomial(T x, T value, T next, Lower... lower) {
  return polynomial(x, fma(value, x, next), lower...);
}

// ---- log ----

// x = 2^exponent * (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)), both exact.
template <class T>
struct Split {
  T exponent, fraction;
};

// Adding 1 - sqrt(1/2) to the bits carries into the exponent field just when the significand is
// sqrt(2) or more. x must be positive, normal and finite.
TTF_HD Split<float> split_exponent(float x) {
  constexpr uint32_t one = 0x3F800000u, sqrt_half = 0x3F3504F3u;
  const uint32_t bits = to_bits(x) + (one - sqrt_half);
  return {float(int32_t(bits >> 23) - 127), float_from_bits((bits & 0x007FFFFFu) + sqrt_half) - 1.0f};
}

// AVX2 cannot convert 64-bit integers, so the exponent becomes a double by way of 2^52's bits.
TTF_HD Split<double> split_exponent(double x) {
  constexpr uint64_t one = 0x3FF0000000000000u, sqrt_half = 0x3FE6A09E667F3BCDu;
  constexpr uint64_t two_52 = 0x4330000000000000u;
  const uint64_t bits = to_bits(x) + (one - sqrt_half);
  return {double_from_bits(bits >> 52 | two_52) - (0x1p52 + 1023),
          double_from_bits((bits & 0x000FFFFFFFFFFFFFu) + sqrt_half) - 1.0};
}

// What every log returns where its argument is not positive and finite.
template <class T>
TTF_HD T log_or_special(T x, T log_x) {
  const T infinity = T(__builtin_inff()), nan = T(__builtin_nanf(""));
  const T positive = x == infinity ? infinity : log_x;
  return x > 0 ? positive : x == 0 ? -infinity : nan;
}

// Cephes' logf (Moshier), its polynomial taken in three strands for a shorter chain of
// dependences, as XLA's CPU code has it: JAX's bits. For positive, normal, finite x.
TTF_HD float log_of_normal(float x) {
  constexpr float log2_high = 0.693359375f, log2_low = -2.12194440e-4f;
  const Split<float> parts = split_exponent(x);
  const float f = parts.fraction, f2 = f * f, f3 = f2 * f;
  const float strand_2 = polynomial(f, 7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f);
  const float strand_1 = polynomial(f, -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f);
  const float strand_0 = polynomial(f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
  const float cubic = polynomial(f3, strand_2, strand_1, strand_0);
  const float low = fma(cubic, f3, parts.exponent * log2_low);
  const float high = fma(-0.5f, f2, f);
  return fma(parts.exponent, log2_high, high + low);
}

// Subnormals count as the smallest normal number.
TTF_HD float log(float x) {
  constexpr float smallest_normal = 0x1p-126f;
  return log_or_special(x, log_of_normal(x > smallest_normal ? x : smallest_normal));
}

// The method and coefficients of fdlibm's log (Sun Microsystems, 1993); under 1 ulp. With
// s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - s (f - R(s^2)), and f - f^2/2 is kept apart because
// it is nearly all of the result. log(x / 2^scaled_by) for positive, normal, finite x.
TTF_HD double log_of_normal(double x, double scaled_by = 0.0) {
  constexpr double log2_high = 6.93147180369123816490e-01, log2_low = 1.90821492927058770002e-10;
  const Split<double> parts = split_exponent(x);
  const double exponent = parts.exponent - scaled_by;
  const double f = parts.fraction, half_f2 = 0.5 * f * f;
  const double s = f / (2.0 + f), s2 = s * s, s4 = s2 * s2;
  const double even =
      s4 * polynomial(s4, 1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01);
  const double odd = s2 * polynomial(s4, 1.479819860511658591e-01, 1.818357216161805012e-01,
                                     2.857142874366239149e-01, 6.666666666666735130e-01);
  const double low = fma(exponent, log2_low, s * (half_f2 + (even + odd)));
  return exponent * log2_high - ((half_f2 - low) - f);
}

TTF_HD double log(double x) {
  const bool subnormal = x < 0x1p-1022;
  return log_or_special(x, log_of_normal(subnormal ? x * 0x1p54 : x, subnormal ? 54.0 : 0.0));
}

// ---- log1p ----

// Cephes' log1p (Moshier) as XLA has it: the rational function for |x| < sqrt(2) - 1, else log(1 + x).
// Cephes leaves the rational function at x = sqrt(1/2) - 1 already; beyond, in float64, it is up to
// 130 ulp off. JAX's draws have that error, and so have ours.
template <class T>
TTF_HD T log1p_rational(T x) {
  const T x2 = x * x;
  const T p = polynomial(x, T(4.5270000862445199635215e-5), T(4.9854102823193375972212e-1),
                         T(6.5787325942061044846969), T(2.9911919328553073277375e1),
                         T(6.0949667980987787057556e1), T(5.7112963590585538103336e1),
                         T(2.0039553499201281259648e1));
  const T q = polynomial(x, T(1), T(1.5062909083469192043167e1), T(8.3047565967967209469434e1),
                         T(2.2176239823732856465394e2), T(3.0909872225312059774938e2),
                         T(2.1642788614495947685003e2), T(6.0118660497603843919306e1));
  return x + fma(x2, T(-0.5), (x * x2) * (p / q));
}

// For x > -1 where 1 + x is a normal, finite number.
template <class T>
TTF_HD T log1p_regular(T x) {
  constexpr T sqrt2_minus_1 = T(0.41421356237309504880);
  return abs(x) < sqrt2_minus_1 ? log1p_rational(x) : log_of_normal(x + 1);
}

template <class T>
TTF_HD T log1p_of(T x) {
  constexpr T sqrt2_minus_1 = T(0.41421356237309504880);
  return abs(x) < sqrt2_minus_1 ? log1p_rational(x) : log(x + 1);
}

TTF_HD float log1p(float x) { return log1p_of(x); }
TTF_HD double log1p(double x) { return log1p_of(x); }

// ---- erf_inv ----

// Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition (2012): x times a
// polynomial in w = -log(1 - x^2), with other polynomials in sqrt(w) for the tails. As in XLA, x^2 is
// rounded before it is subtracted from 1; near |x| = 1 that rounding is most of the error.

// For |x| < 1, with w = -log1p(x * -x).
TTF_HD float erf_inv_regular(float x, float w) {
  const float centre = polynomial(
      w - 2.5f, 2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
      -0.00125372503f, -0.00417768164f, 0.246640727f, 1.50140941f);
  const float tail = polynomial(
      sqrt(w) - 3.0f, -0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
      -0.0076224613f, 0.00943887047f, 1.00167406f, 2.83297682f);
  return x * (w < 5.0f ? centre : tail);
}

TTF_HD double erf_inv_regular(double x, double w) {
  const double root = sqrt(w);
  const double centre = polynomial(
      w - 3.125, -3.6444120640178196996e-21, -1.685059138182016589e-19, 1.2858480715256400167e-18,
      1.115787767802518096e-17, -1.333171662854620906e-16, 2.0972767875968561637e-17,
      6.6376381343583238325e-15, -4.0545662729752068639e-14, -8.1519341976054721522e-14,
      2.6335093153082322977e-12, -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09, -4.1126339803469836976e-09, -2.9070369957882005086e-08,
      4.2347877827932403518e-07, -1.3654692000834678645e-06, -1.3882523362786468719e-05,
      0.0001867342080340571352, -0.00074070253416626697512, -0.0060336708714301490533, 0.24015818242558961693,
      1.6536545626831027356);
  const double tail = polynomial(
      root - 3.25, 2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
      1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
      2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
      6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
      0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
      -0.0037512085075692412107, 0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635);
  const double far_tail = polynomial(
      root - 5.0, -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
      -3.7894654401267369937e-09, 7.6157012080783393804e-09, -1.4960026627149240478e-08,
      2.9147953450901080826e-08, -6.7711997758452339498e-08, 2.2900482228026654717e-07,
      -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
      7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026,
      1.0103004648645343977, 4.8499064014085844221);
  return x * (w < 6.25 ? centre : w < 16.0 ? tail : far_tail);
}

template <class T>
TTF_HD T erf_inv_of(T x) {
  return abs(x) == 1 ? x * T(__builtin_inff()) : erf_inv_regular(x, -log1p(x * -x));
}

TTF_HD float erf_inv(float x) { return erf_inv_of(x); }
TTF_HD double erf_inv(double x) { return erf_inv_of(x); }

// From here on the approximations are this library's own, and their bits are not XLA's.

// ---- exp ----

// exp as the product of 2^exponent and of significand, which is in [sqrt(1/2), sqrt(2)] but for rounding.
template <class T>
struct Exponential {
  T significand, exponent;
};

// exp(x + low), |low| no more than x's last place, for finite x with |x| < 1500. Cody and Waite's reduction
// ("Software Manual for the Elementary Functions", 1980): x = exponent log(2) + r, |r| <= log(2) / 2. The
// polynomial is (exp(r) - 1 - r) / r^2, a minimax fit (Remez), off by 2^-56 of exp(r), in float 2^-27.9.
// Adding 1.5 * 2^52 rounds to an integer.
TTF_HD Exponential<double> exp_of_sum(double x, double low) {
  constexpr double log2_e = 1.4426950408889634;
  constexpr double log2_high = 6.93147180369123816490e-01, log2_low = 1.90821492927058770002e-10;
  constexpr double to_integer = 0x1.8p52;
  const double n = fma(x, log2_e, to_integer) - to_integer;
  const double r_high = fma(-n, log2_high, x);  // exact
  const double correction = fma(-n, log2_low, low);
  const double r = r_high + correction;
  const double r_low = (r_high - r) + correction;
  const double p = polynomial(
      r, 2.4999406179037074e-8, 2.763025613272609e-7, 2.7557588704242788e-6, 2.4801493087422268e-5,
      1.9841269503671362e-4, 1.3888888943628394e-3, 8.3333333334959236e-3, 4.1666666666530225e-2,
      1.666666666666641e-1, 5.0000000000000111e-1);
  return {1.0 + (r + fma(p, r * r, r_low)), n};
}

TTF_HD Exponential<float> exp_of_sum(float x, float low) {
  constexpr float log2_e = 1.44269504f, log2_high = 0.693359375f, log2_low = -2.12194440e-4f;
  constexpr float to_integer = 0x1.8p23f;
  const float n = fma(x, log2_e, to_integer) - to_integer;
  const float r_high = fma(-n, log2_high, x);
  const float correction = fma(-n, log2_low, low);
  const float r = r_high + correction;
  const float r_low = (r_high - r) + correction;
  const float p = polynomial(r, 1.38145837e-3f, 8.36872309e-3f, 4.1668389e-2f, 1.66665211e-1f, 4.9999994e-1f);
  return {1.0f + (r + fma(p, r * r, r_low)), n};
}

// 2^n for an integer n whose power is a normal number: n + bias in the low bits of 1.5 * 2^52, then shifted
// into the exponent's place.
TTF_HD float power_of_2(float n) { return float_from_bits(to_bits(n + (0x1.8p23f + 127.0f)) << 23); }
TTF_HD double power_of_2(double n) { return double_from_bits(to_bits(n + (0x1.8p52 + 1023.0)) << 52); }

// By two factors, for 2^exponent alone may be too large or too small. Only the last product can round.
template <class T>
TTF_HD T scaled(Exponential<T> e) {
  constexpr T to_integer = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);
  const T half = fma(e.exponent, T(0.5), to_integer) - to_integer;
  return e.significand * power_of_2(half) * power_of_2(e.exponent - half);
}

// Beyond these, exp is 0 or infinite. Every comparison with NaN fails, so that it stays.
TTF_HD float clamp_for_exp(float x) { return x > 89.0f ? 89.0f : x < -105.0f ? -105.0f : x; }
TTF_HD double clamp_for_exp(double x) { return x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x; }

// exp(high + low). Where high is infinite or made from an infinity, low may be that or NaN; it is left out.
TTF_HD double exp_in_two(double high, double low) {
  return scaled(exp_of_sum(clamp_for_exp(high), abs(low) < 0x1p-20 ? low : 0.0));
}

// Within 0.88 ulp, subnormal results included: for float, the most over all arguments; for double, the most that was
// found. No float's exp is above that of the next.
TTF_HD float exp(float x) { return scaled(exp_of_sum(clamp_for_exp(x), 0.0f)); }
TTF_HD double exp(double x) { return scaled(exp_of_sum(clamp_for_exp(x), 0.0)); }

// ---- pow ----

// A number as an unevaluated sum, low being no more than high's last place.
template <class T>
struct Sum {
  T high, low;
};

// a + b exactly, where |a| >= |b| or a = 0 (Dekker, "A floating-point technique for extending the available
// precision", 1971).
template <class T>
TTF_HD Sum<T> fast_two_sum(T a, T b) {
  const T high = a + b;
  return {high, (a - high) + b};
}

// log(x / 2^scaled_by) for positive, normal, finite x, off by 2^-64 of itself. As in log,
// log(1 + f) = 2 atanh(s) with s = f / (2 + f), here 2 s + s^3 (2/3 + s^2 Q(s^2)); all but Q is carried in
// two parts. Q is a minimax fit.
TTF_HD Sum<double> log_of_normal_in_two(double x, double scaled_by) {
  constexpr double log2_high = 6.93147180369123816490e-01, log2_low = 1.90821492927058770002e-10;
  constexpr double two_thirds = 6.6666666666666663e-01, two_thirds_low = 3.7007434154171886e-17;
  const Split<double> parts = split_exponent(x);
  const double exponent = parts.exponent - scaled_by, f = parts.fraction;

  const Sum<double> divisor = fast_two_sum(2.0, f);
  const double inverse = 1.0 / divisor.high;
  const double s = f * inverse;
  const double s_low = fma(-s, divisor.low, fma(-s, divisor.high, f)) * inverse;
  const double s2 = s * s;
  const double s2_low = fma(2.0 * s, s_low, fma(s, s, -s2));

  const double q = polynomial(
      s2, 1.1981743982657497e-1, 1.1675781690647502e-1, 1.3336264459757036e-1, 1.5384558429290884e-1,
      1.8181818843986156e-1, 2.2222222217789761e-1, 2.8571428571443841e-1, 3.999999999999998e-1);
  const Sum<double> factor = fast_two_sum(two_thirds, s2 * q);
  const double t = s2 * factor.high;
  const double t_low = fma(s2, factor.high, -t) + fma(s2, factor.low + two_thirds_low, s2_low * factor.high);
  const double cubic = s * t;
  const double cubic_low = fma(s, t, -cubic) + fma(s, t_low, s_low * t);

  const Sum<double> first = fast_two_sum(exponent * log2_high, 2.0 * s);
  const Sum<double> second = fast_two_sum(first.high, cubic);
  const double low = fma(exponent, log2_low, fma(2.0, s_low, cubic_low)) + first.low + second.low;
  return fast_two_sum(second.high, low);
}

// y log(x), but 0 where it is 0 * inf: x^0 and 1^y are 1.
TTF_HD double exponent_of_pow(double x, double log_x, double y) {
  const double product = y * log_x;
  const bool indefinite = (product != product) & (x >= 0.0) & (y == y);
  return indefinite ? 0.0 : product;
}

// x^y for x >= 0. Unlike C's, it is NaN for every x < 0, and wherever an argument is NaN.

// By way of double, so that hardly any result is not the nearest float.
TTF_HD float pow(float x, float y) {
  const double wide = x, log_x = log_or_special(wide, log_of_normal(wide));
  return float(exp(exponent_of_pow(wide, log_x, double(y))));
}

// exp(y log(x)) with log(x) in two parts, for y log(x) is as large as 745. Within 0.9 ulp, as far as was found.
TTF_HD double pow(double x, double y) {
  const bool subnormal = x < 0x1p-1022;
  const Sum<double> log_in_two = log_of_normal_in_two(subnormal ? x * 0x1p54 : x, subnormal ? 54.0 : 0.0);
  const double log_x = log_or_special(x, log_in_two.high);
  const double product = exponent_of_pow(x, log_x, y);
  return exp_in_two(product, fma(y, log_in_two.low, fma(y, log_x, -product)));
}

// ---- tan ----

// value, with its sign flipped where x is negative.
TTF_HD float flip_sign(float value, float x) { return float_from_bits(to_bits(value) ^ (to_bits(x) & 0x80000000u)); }
TTF_HD double flip_sign(double value, double x) {
  return double_from_bits(to_bits(value) ^ (to_bits(x) & 0x8000000000000000u));
}

// (tan(y) - y) / y^3 as a polynomial in z = y^2, |y| <= pi/4: minimax fits, off by 2^-56.2 of tan(y), in
// float 2^-25.7.
TTF_HD float tan_cubic(float z) {
  return polynomial(z, 9.39644314e-3f, 3.10153235e-3f, 2.44413894e-2f, 5.34082018e-2f, 1.33388355e-1f, 3.33331555e-1f);
}
TTF_HD double tan_cubic(double z) {
  return polynomial(
      z, 2.0872357349438424e-5, -4.491412057150582e-5, 8.9521373115793903e-5, -2.6460621381889025e-5,
      1.3657781186740431e-4, 2.2235476756673518e-4, 5.9507309521358723e-4, 1.4547560204168995e-3,
      3.5922893929188349e-3, 8.8632191300972753e-3, 2.1869489611381198e-2, 5.3968253926570425e-2,
      1.3333333333414824e-1, 3.3333333333332776e-1);
}

// half_pi, half_pi_low and half_pi_rest are pi/2 in three parts. Above pi/4, tan(x) = 1 / tan(pi/2 - x); the
// difference is in two parts, its first step being exact, and a Newton step takes account of what rounding
// left of the tangent and its inverse.
template <class T>
TTF_HD T tan_of(T x, T half_pi, T half_pi_low, T half_pi_rest) {
  const T magnitude = abs(x);
  const bool steep = magnitude > half_pi * T(0.5);
  const Sum<T> from_pole = fast_two_sum(half_pi - magnitude, half_pi_low);
  const T y = steep ? from_pole.high : magnitude, y_low = steep ? from_pole.low + half_pi_rest : T(0);
  const T z = y * y;
  const Sum<T> tangent = fast_two_sum(y, fma(y * z, tan_cubic(z), fma(y_low, z, y_low)));
  const T inverse = 1 / tangent.high;
  const T cotangent = fma(inverse, fma(-inverse, tangent.low, fma(-inverse, tangent.high, T(1))), inverse);
  return flip_sign(steep ? cotangent : tangent.high, x);
}

// For |x| up to pi/2 as rounded to the type, which in float is above pi/2. Within 1.1 ulp as far as was found, in
// float 1.34 for all arguments; monotone in float, up to that change of sign.
TTF_HD float tan(float x) { return tan_of(x, 1.57079637f, -4.37113883e-8f, -1.71512454e-15f); }
TTF_HD double tan(double x) { return tan_of(x, 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33); }

// ---- erf ----

// (erf(x) - x) / x as a polynomial in x^2 for |x| <= 1, off by 2^-56 of erf(x), in float 2^-29.4, and
// -log(erfc(1 + u)) for u >= 0, up to where erfc no longer counts: minimax fits, the second weighed by erfc.
TTF_HD float erf_centre(float x2) {
  return polynomial(x2, 7.80690534e-5f, -7.9978531e-4f, 5.1871622e-3f, -2.68533472e-2f, 1.12835787e-1f,
                    -3.7612626e-1f, 1.28379166e-1f);
}
TTF_HD double erf_centre(double x2) {
  return polynomial(
      x2, -7.6073597832563463e-10, 1.3616492226612494e-8, -1.6183951591750406e-7, 1.6444146483297451e-6,
      -1.4924465394612406e-5, 1.2055280488127207e-4, -8.5483254848506035e-4, 5.2239775967352345e-3,
      -2.6866170641959283e-2, 1.1283791670936952e-1, -3.7612638903183343e-1, 1.2837916709551256e-1);
}
TTF_HD float erfc_exponent(float u) {
  return polynomial(u, -9.00673258e-5f, 1.48099661e-3f, -9.45265032e-3f, 4.12622057e-2f, 8.43172371e-1f,
                    2.63896275f, 1.84960556f);
}
TTF_HD double erfc_exponent(double u) {
  return polynomial(
      u, 4.8646337398760664e-12, -1.1931834695815393e-10, 1.3190374734433005e-9, -8.5184366315178403e-9,
      3.3390125120483515e-8, -5.8008919048814572e-8, -2.0481651472995485e-7, 2.1319457076579944e-6,
      -9.6713827992068948e-6, 2.7198977252451233e-5, -2.629632976081034e-5, -2.3731643345554574e-4,
      1.9779012153829101e-3, -1.0033825179037319e-2, 4.1561098025070332e-2, 8.4310725635941319e-1,
      2.6389675142347757, 1.8496055099332482);
}

// erfc(largest) is below half a unit in the last place of 1.
template <class T>
TTF_HD T erf_of(T x, T largest) {
  const T magnitude = abs(x);
  const T centre = fma(x, erf_centre(x * x), x);
  const Exponential<T> erfc = exp_of_sum(-erfc_exponent((magnitude > largest ? largest : magnitude) - 1), T(0));
  return magnitude > 1 ? flip_sign(fma(-erfc.significand, power_of_2(erfc.exponent), T(1)), x) : centre;
}

// Within 0.9 ulp as far as was found, in float 1.05 for all arguments.
TTF_HD float erf(float x) { return erf_of(x, 4.0f); }
TTF_HD double erf(double x) { return erf_of(x, 5.9375); }

// ---- Half precision ----

// To nearest, ties to even. A NaN stays a NaN: its quiet bit is set, for the payload may be lost.

TTF_HD uint16_t to_bfloat16_bits(float x) {
  const uint32_t bits = to_bits(x);
  const uint32_t rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
  return uint16_t((x != x ? bits | 0x00400000u : rounded) >> 16);
}

TTF_HD float from_bfloat16_bits(uint16_t half) { return float_from_bits(uint32_t(half) << 16); }

TTF_HD uint16_t to_float16_bits(float x) {
  constexpr uint32_t rebias = (127u - 15u) << 23, infinity = 0x7C00u, quiet = 0x0200u;
  constexpr uint32_t smallest_normal = 0x38800000u, overflow = 0x47800000u, half = 0x3F000000u;
  const uint32_t magnitude = to_bits(x) & 0x7FFFFFFFu, sign = to_bits(x) >> 16 & 0x8000u;
  const uint32_t normal = (magnitude - rebias + 0x0FFFu + (magnitude >> 13 & 1u)) >> 13;
  // float16's subnormals are multiples of 2^-24, and so are float32's numbers in [0.5, 1).
  const uint32_t subnormal = to_bits(float_from_bits(magnitude) + 0.5f) - half;
  const uint32_t finite = magnitude < smallest_normal ? subnormal : normal;
  const uint32_t nan = infinity | quiet | (magnitude >> 13 & 0x03FFu);
  return uint16_t(sign | (x != x ? nan : magnitude < overflow ? finite : infinity));
}

TTF_HD float from_float16_bits(uint16_t half) {
  constexpr uint32_t rebias = (127u - 15u) << 23, smallest_normal = 0x0400u, infinity = 0x7C00u;
  constexpr uint32_t one_half = 0x3F000000u;  // whose last place is 2^-24, as that of float16's subnormals
  const uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
  const uint32_t normal = (magnitude << 13) + rebias + (magnitude < infinity ? 0u : rebias);
  const uint32_t subnormal = to_bits(float_from_bits(one_half | magnitude) - 0.5f);
  return float_from_bits(sign | (magnitude < smallest_normal ? subnormal : normal));
}

}  // namespace numerics
TTF_NAMESPACE_END
