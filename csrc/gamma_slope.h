// d log x / d alpha at a fixed quantile of Gamma(alpha, 1): the implicit reparameterisation gradient
// (Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", NeurIPS 2018). With P the
// regularised lower incomplete gamma function and p(x) = x^(alpha-1) e^-x / Gamma(alpha) its density,
//
//   slope = -(dP / dalpha) / (x p(x)).
//
// It is positive everywhere. The functions below compute alpha * slope, which does not overflow, each where
// it loses little or nothing to cancellation:
//
//   near_the_mean     alpha >= 24 and x within a factor of 1.9 of it: expansion in 1 / alpha;
//   from_lower_tail   x up to alpha or 2: power series of P;
//   from_upper_tail   x above: continued fraction of 1 - P.
//
// Relative error against values of 30 digits (tests/data/make_gamma_slope.py): below 5e-14, mostly below 1e-15;
// the most for alpha << 1 and x from 1 to 2.
//
// As in numerics.h, only correctly rounded operations are used, so the bits are the same everywhere;
// unlike there, branches and loops are, for these functions are called for one number at a time.
#pragma once

#include "distributions/distribution.h"
#include "draw.h"
#include "numerics.h"

TTF_NAMESPACE_BEGIN
namespace numerics {

// d log Gamma(x) / dx for x > 0, within some 1e-15 or, where it is larger than 1, some units in the
// last place: psi(x) = psi(x + 1) - 1 / x (DLMF 5.5.2) until x >= 10, then the asymptotic series
// log x - 1 / (2 x) - sum B_2k / (2 k x^2k) (DLMF 5.11.2), whose first term left out is below 5e-17.
TTF_HD double digamma(double x) {
  if (!(x > 0)) return __builtin_nan("");
  double reciprocals = 0;
  for (; x < 10; x += 1) reciprocals += 1 / x;
  const double inverse = 1 / x, inverse2 = inverse * inverse;
  const double series = inverse2 * polynomial(inverse2, 1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                              1.0 / 252, -1.0 / 120, 1.0 / 12);
  return log(x) - (fma(0.5, inverse, series) + reciprocals);
}

namespace gamma_slope {

// With lambda = log(x / alpha) and G = alpha * slope, the definition of slope times x p(x), differentiated in
// log x at fixed alpha, is
//
//   G' / alpha = digamma(alpha) - log(alpha) - lambda + (e^lambda - 1) G,
//
// the dash for d / dlambda. With digamma(alpha) ~ log(alpha) + sum e_k alpha^-k (DLMF 5.11.2), its solution
// without a factor like e^x has the expansion G ~ sum G_k(lambda) alpha^-k,
//
//   G_0 = lambda / (e^lambda - 1), G_k = (G_(k-1)' - e_k) / (e^lambda - 1).
//
// The e_k are such that no G_k has a pole at 0; the nearest are at +-2 pi i. Below are their Taylor series
// about 0, for |lambda| <= 0.65 without what adds less than 3e-16; "make_gamma_slope.py --coefficients" in
// tests/data computes them. Leaving out G_9 and beyond costs up to 3e-15 at alpha = 24.
TTF_HD double near_the_mean(double alpha, double lambda) {
  return polynomial(
      1 / alpha,
      polynomial(lambda, 0.0003149993281572229, 5.89430349492269e-05, -0.0016416761772798925, 0.0026507290439178985,
                 0.0, -0.00298059783353901),
      polynomial(lambda, -5.7490865830649114e-05, -8.81006463436804e-05, 0.0005384906845820158, -0.000496766305589835,
                 -0.001490298916769505, 0.004166666666666667, -0.0032634032634032634),
      polynomial(lambda, -4.971369861075744e-06, 9.492034453334762e-06, 3.135674381804413e-05, -0.0001366892911010558,
                 1.2283468165821107e-05, 0.000844988344988345, -0.0016317016317016317, 0.0, 0.0023254523254523257),
      polynomial(lambda, 8.592956892525258e-07, -1.6086154571153835e-06, -7.781991325408693e-06, 3.036768968141517e-05,
                 2.5206275206275207e-05, -0.000311031561031561, 0.00038757538757538756, 0.0011627261627261628,
                 -0.003968253968253968, 0.0036075036075036075),
      polynomial(lambda, -1.299476614090764e-07, 3.100070210247615e-07, 1.5218629539357831e-06, -6.475006475006475e-06,
                 -9.789593122926455e-06, 9.157509157509158e-05, -5.5037555037555035e-05, -0.0007215007215007215,
                 0.0018037518037518038, 0.0, -0.0035714285714285713),
      polynomial(lambda, 2.548507872146831e-09, 1.5559324178605223e-08, -6.442955862306936e-08,
                 -2.2182127836889742e-07, 1.3856431267145554e-06, 2.0003145003145e-06, -2.4154086654086653e-05,
                 6.313131313131313e-06, 0.0003021284271284271, -0.0005952380952380953, -0.0017857142857142857,
                 0.008333333333333333, -0.009523809523809525),
      polynomial(lambda, -4.589422821993628e-10, -9.37407323572901e-10, 1.1649689229054309e-08, 1.4031016015142999e-08,
                 -2.7323316013792205e-07, -8.01116872545444e-08, 5.711880711880712e-06, -4.2087542087542085e-06,
                 -9.92063492063492e-05, 0.0001984126984126984, 0.0011904761904761906, -0.004761904761904762, 0.0,
                 0.016666666666666666),
      polynomial(lambda, 4.0676163555871e-11, -9.367775571479276e-11, -1.2178108242923058e-09, 3.1705140832124957e-09,
                 3.4875654915337455e-08, -1.043837849393405e-07, -9.394540644540645e-07, 3.306878306878307e-06,
                 2.3148148148148147e-05, -9.92063492063492e-05, -0.000496031746031746, 0.002777777777777778,
                 0.008333333333333333, -0.08333333333333333, 0.16666666666666666),
      polynomial(lambda, -3.3896802963225827e-13, 0.0, 1.3382536530684679e-11, 0.0, -5.284190138687493e-10, 0.0,
                 2.08767569878681e-08, 0.0, -8.267195767195768e-07, 0.0, 3.306878306878307e-05, 0.0,
                 -0.001388888888888889, 0.0, 0.08333333333333333, -0.5, 1.0));
}

// The lower incomplete gamma function is gamma(alpha, x) = x^alpha e^-x / alpha * S, S = sum_n c_n with
// c_n = x^n / ((alpha + 1) ... (alpha + n)) (DLMF 8.11.4). Differentiated,
//
//   alpha * slope = S (digamma(alpha + 1) - log x) + sum_n c_n sum_(j <= n) 1 / (alpha + j).
//
// No term is negative while x <= exp(digamma(alpha + 1)), about alpha + 1 / 2; beyond, they begin to cancel.
TTF_HD double from_lower_tail(double alpha, double log_x, double x) {
  constexpr int enough = 200;
  double term = 1, harmonic = 0, sum = 1, weighted_sum = 0, added = 1;
  for (int n = 1; n < enough && added > 0x1p-53 * weighted_sum; ++n) {
    const double inverse = 1 / (alpha + n);
    term *= x * inverse;
    harmonic += inverse;
    added = term * harmonic;
    sum += term;
    weighted_sum += added;
  }
  return fma(sum, digamma(alpha + 1) - log_x, weighted_sum);
}

// A continued fraction's numerator or denominator, and x times its derivative in alpha.
struct Convergent {
  double value, slope;
};

// One step of the recurrence; a and b have the slopes n / x^2 and -1 / x.
TTF_HD void advance(Convergent& last, Convergent& before, double a, double b, double n_by_x) {
  const Convergent next{fma(b, last.value, a * before.value),
                        fma(b, last.slope, a * before.slope) + fma(n_by_x, before.value, -last.value)};
  before = last;
  last = next;
}

// Legendre's continued fraction Gamma(alpha, x) = x^alpha e^-x F (DLMF 8.9.2, even part),
//
//   x F = 1 / (b_0 + a_1 / (b_1 + a_2 / (b_2 + ...))), b_n = (x - alpha + 2 n + 1) / x, a_n = n (alpha - n) / x^2,
//
// by the forward recurrence (DLMF 1.12.5) and its derivative in alpha (compare Moore, "AS 187: Derivatives of
// the Incomplete Gamma Integral", Appl. Statist. 31, 1982), so that no division is in the loop. Differentiated,
//
//   alpha * slope = alpha F (log x - digamma(alpha + 1) + dlog F / dalpha) + F.
//
// Divided by x, no term overflows: there are at most 70 of them, and few where alpha is large.
TTF_HD double from_upper_tail(double alpha, double log_x, double x) {
  // Found by trial for 1e-16, for x >= 2 and alpha <= x, or less where alpha > 24.
  const double terms = 4 + 104 / x + 0.6 * (alpha < 24 ? alpha : 24);
  const double inverse = 1 / x, alpha_by_x = alpha * inverse, first = (x - alpha) * inverse;
  Convergent above{1, 0}, above_before{0, 0}, below{first + inverse, -1}, below_before{1, 0};
  for (double n = 1; n < terms; ++n) {
    const double n_by_x = n * inverse, a = n_by_x * (alpha_by_x - n_by_x), b = first + (n_by_x + n_by_x + inverse);
    advance(above, above_before, a, b, n_by_x);
    advance(below, below_before, a, b, n_by_x);
  }
  const double fraction = above.value / below.value;
  const double log_slope = (above.slope / above.value - below.slope / below.value) * inverse;
  return fma(alpha_by_x * fraction, (log_x - digamma(alpha + 1)) + log_slope, fraction * inverse);
}

// For finite alpha > 0 and log_x.
TTF_HD double times_alpha(double alpha, double log_x) {
  const bool large = alpha >= 24;
  const double lambda = large ? log_x - log(alpha) : 0.0;
  if (large && abs(lambda) <= 0.65) return near_the_mean(alpha, lambda);
  constexpr double largest_x = 0x1p1022;  // the largest whose reciprocal is normal
  const double unbounded_x = exp(log_x), x = unbounded_x < largest_x ? unbounded_x : largest_x;
  // Below 2 the continued fraction needs many terms, and the sum loses little more than a digit.
  return x > (alpha > 2 ? alpha : 2.0) ? from_upper_tail(alpha, log_x, x) : from_lower_tail(alpha, log_x, x);
}

}  // namespace gamma_slope

// d log x / d alpha where log_x is the logarithm of a Gamma(alpha, 1) variate: the variate itself may be
// too small for a double. At most the largest double, and that also in the limits alpha = 0 and
// log_x = -inf, so that 0 * slope is 0. NaN for alpha < 0 and where an argument is NaN.
TTF_HD double loggamma_slope(double alpha, double log_x) {
  constexpr double infinity = __builtin_inf(), largest = 0x1.fffffffffffffp1023;
  if (!(alpha >= 0) || log_x != log_x) return __builtin_nan("");
  if (alpha == 0 || log_x == -infinity) return largest;
  if (alpha == infinity || log_x == infinity) return 0;
  const double slope = gamma_slope::times_alpha(alpha, log_x) / alpha;
  return slope < largest ? slope : largest;
}

}  // namespace numerics

// Element i of what a kernel is asked for.
template <class T>
TTF_HD void set_gamma_slope(const GammaSlopes& slopes, int64_t i) {
  const T concentration = static_cast<const T*>(slopes.concentration)[i];
  const T log_draw = static_cast<const T*>(slopes.log_draw)[i];
  static_cast<T*>(slopes.out)[i] = clamp_to_finite(T(numerics::loggamma_slope(concentration, log_draw)));
}

TTF_NAMESPACE_END
