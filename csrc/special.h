// Special functions of the samplers, in double, made like numerics.h: the same bits on every machine, and
// without branches unless a function says so.
#pragma once

#include "macros.h"
#include "numerics.h"

TTF_NAMESPACE_BEGIN
namespace numerics {

// ---- Stirling's series ----

// What Stirling's formula leaves of log(k!), k >= 0 (not only an integer):
// log(k!) = (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2 + stirling_tail(k). It is Binet's function at
// z = k + 1; z times that is here a rational function of 1 / z^2, a minimax fit weighed by 1 / z, times z^12 above
// and below the bar. The absolute error is within 5.3e-16.
TTF_HD double stirling_tail(double k) {
  constexpr double far = 1e20;  // where the value is below 1e-21, and z^13 is not yet too large
  const double z = (k > far ? far : k) + 1.0, z2 = z * z;
  const double above = polynomial(
      z2, 0.083333333333311861, 0.85684787076571884, 2.7274394253817977, 3.2815318792621356,
      1.4555154219805127, 0.19289954276522643, 0.0036779985166673618);
  const double below = polynomial(
      z2, 1.0, 10.315507782444502, 33.063599561298446, 40.389402175229126, 18.561195525077448,
      2.703691526212547, 0.074299380055124245);
  return k > far ? 0.0 : above / (z * below);
}

// ---- Deviance ----

// (1 + y) log(1 + y) - y for y >= -1, about y^2 / 2 near 0. The relative error is within 7e-16.
//
// With s = y / (2 + y), log(1 + y) = 2 atanh(s) = 2 s + 2 s^3 A(s^2) and 1 + y = (1 + s) / (1 - s), which give
// y s (1 + (s + s^2) A(s^2)). That is for |s| <= 1/3; elsewhere, nothing much cancels if log(1 + y) keeps
// its low part and the error of 1 + y. A is a minimax fit.
TTF_HD double deviance(double y) {
  constexpr double log2_high = 6.93147180369123816490e-01, log2_low = 1.90821492927058770002e-10;
  constexpr double smallest_normal = 0x1p-1022;  // x log(x) rounds to 0 beside 1
  const bool near = abs(y - 0.25) <= 0.75;
  const double sum = 1.0 + y;
  const double x_low = 1.0 - (sum - y);  // exact for y <= -1/2 and for y >= 1
  const double x = sum > smallest_normal ? sum : smallest_normal;
  const Split<double> parts = split_exponent(x);

  const double f = near ? y : parts.fraction;
  const double s = f / (2.0 + f), s2 = s * s;
  const double a = polynomial(
      s2, 8.3143221623187463e-2, 4.2780192494210188e-2, 6.0276646789863705e-2, 6.6537832877365241e-2,
      7.6930219216559306e-2, 9.0908844084944596e-2, 1.1111111622174952e-1, 1.4285714279909198e-1,
      2.0000000000030202e-1, 3.3333333333333287e-1);
  const double ys = y * s;
  const double close = fma(ys, (s + s2) * a, ys);

  const Sum<double> log_x = fast_two_sum(parts.exponent * log2_high, f);
  const double log_low = fma(parts.exponent, log2_low, s * fma(2.0 * s2, a, -f)) + log_x.low;
  const double distant = fma(x, log_x.high, -y) + fma(x, log_low, x_low * log_x.high);
  return near ? close : y < __builtin_inf() ? distant : y;
}

// ---- The normal distribution's tail ----

// Mills' ratio, Q(x) / phi(x) for x >= 0, Q and phi being the standard normal's upper tail and density, as a
// quotient that is not yet taken: it is part of longer ones. A minimax fit in 1 / (x + 2), written in x: all
// coefficients are positive, and both parts of degree 10 and 11 have the leading coefficient 1. Far out it
// is 1 / x - 1 / x^3 + ...
struct Quotient {
  double above, below;
};

TTF_HD Quotient mills_quotient(double x) {
  constexpr double far = 1e8;
  const double near = x > far ? far : x;
  const double above = polynomial(
      near, 1.0, 25.995475112843976014, 337.75264115202992319, 2827.454942352976242, 16690.962607520512267,
      72065.474924118719041, 229406.76035491693463, 530148.04534402927758, 849632.77984096876058,
      850378.57709083939671, 398583.65502674149146);
  const double below = polynomial(
      near, 1.0, 25.995475112843626049, 338.75264115217959119, 2853.4504174411238292, 17026.715250783442584,
      74840.93880741239218, 245432.2213975181365, 596818.47553102884243, 1048962.7343898365746,
      1262725.0251464115976, 932250.1732308616829, 318023.74453421238947);
  return {x > far ? 1.0 : above, x > far ? x : below};
}

// The relative error is within 9e-16.
TTF_HD double mills_ratio(double x) {
  const Quotient mills = mills_quotient(x);
  return mills.above / mills.below;
}

// Q(b) / Q(a) for 0 <= a <= b, a < 1e150, within a relative 1.2e-15 where it is a normal number. The densities'
// ratio is exp(-(b - a) (b + a) / 2); a large exponent needs its low part.
TTF_HD double normal_tail_ratio(double a, double b) {
  const Sum<double> difference = fast_two_sum(b, -a), sum = fast_two_sum(b, a);
  const double product = difference.high * sum.high;
  const double product_low = fma(difference.high, sum.high, -product) +
                             fma(difference.high, sum.low, difference.low * sum.high);
  const double densities = exp_in_two(-0.5 * product, -0.5 * product_low);
  const Quotient at_a = mills_quotient(a), at_b = mills_quotient(b);
  return densities * ((at_b.above * at_a.below) / (at_b.below * at_a.above));
}

// x - a for the x >= a with Q(x) = r Q(a), for 0 <= a < 1e150 and 0 <= r <= 1, within a relative
// 3e-13. With L = -log(r), it is where the hazard 1 / mills_ratio, integrated from a, reaches L. It branches.
TTF_HD double normal_tail_excess(double a, double r) {
  const double target = -log(r);
  const Quotient at_a = mills_quotient(a);
  const double mills_a = at_a.above / at_a.below;
  if (target < 0x1p-8) {
    // The power series in L, as nothing cancels in it: x' = m, and m = mills_ratio(x) has m' = m p and
    // p' = m^2 + p + p^2 with p = x m - 1.
    constexpr int terms = 6;
    double m[terms] = {mills_a}, p[terms] = {a * mills_a - 1.0};
    double excess = m[0] * target, power = target;
    TTF_UNROLL(6)
    for (int k = 0; k < terms - 1; ++k) {
      double next_m = 0.0, next_p = p[k];
      TTF_UNROLL(6)
      for (int i = 0; i <= k; ++i) {
        next_m += m[i] * p[k - i];
        next_p += m[i] * m[k - i] + p[i] * p[k - i];
      }
      m[k + 1] = next_m / (k + 1);
      p[k + 1] = next_p / (k + 1);
      power *= target;
      excess += m[k + 1] * power / (k + 2);
    }
    return excess;
  }
  if (target == __builtin_inf()) return target;
  // The hazard grows at a rate below 1, at which this starts, by Halley's method.
  const double hazard_a = 1.0 / mills_a;
  double excess = 2.0 * target / (hazard_a + sqrt(fma(hazard_a, hazard_a, 2.0 * target)));
  TTF_UNROLL(3)
  for (int step = 0; step < 3; ++step) {
    const double x = a + excess;
    const Quotient at_x = mills_quotient(x);
    const double mills = at_x.above / at_x.below;
    const double ratio = (at_a.above * at_x.below) / (at_a.below * at_x.above);
    const double error = (fma(excess, 0.5 * excess, a * excess) - target) + log(ratio);
    const double newton = error * mills;
    excess -= newton / fma(-0.5 * newton, 1.0 / mills - x, 1.0);
  }
  return excess;
}

// The x itself, within a relative 1e-15 for a >= 1/2.
TTF_HD double normal_tail_inverse(double a, double r) { return a + normal_tail_excess(a, r); }

}  // namespace numerics
TTF_NAMESPACE_END
