// Poisson and binomial counts by transformed rejection: Hörmann, "The transformed rejection
// method for generating Poisson random variables" (Insurance: Mathematics and Economics 12, 1993), PTRS, and "The
// generation of binomial random variates" (Journal of Statistical Computation and Simulation 46, 1993), BTRS.
//
// A trial takes two uniforms, u on [-1/2, 1/2) and v on [0, 1). All is computed in float64. The probabilities are
// written with the deviance (Loader, "Fast and accurate computation of binomial probabilities", 2000), whose terms do
// not cancel: they are accurate to some 1e-14 for any rate or count, where k log(rate) - log(k!) loses digits as both
// grow.
#pragma once

#include "../special.h"
#include "distribution.h"

TTF_NAMESPACE_BEGIN

constexpr double kHalfLogTwoPi = 0.91893853320467274178;

// A candidate, and what to do with it; in float64, as a loop over trials is.
struct Trial {
  double count;
  double verdict;  // 1: accepted without a look at its probability; 0: in doubt; -1: impossible
};

// What both methods share: candidates from a hat, a / us^2 + b with us = 1/2 - |u|.
struct Hat {
  double a, b, centre, quick;

  TTF_HD double candidate(double u) const {
    const double us = 0.5 - numerics::abs(u);
    return numerics::floor((2 * a / us + b) * u + centre);
  }
  TTF_HD bool accepts_quickly(double u, double v) const { return (0.5 - numerics::abs(u) >= 0.07) & (v <= quick); }

  // log(v scale / (a / us^2 + b)): a candidate counts if its log-probability is not below that.
  TTF_HD double log_height(double u, double v, double scale) const {
    const double us = 0.5 - numerics::abs(u), square = us * us;
    return log_of_part(v * scale * square / numerics::fma(b, square, a));
  }
};

// Rates of 10 and more.
struct PoissonTrial {
  static constexpr int kFields = 7;

  Hat hat;
  double rate, scale, log_rate;

  TTF_HD static PoissonTrial prepare(double rate, double) {
    const double b = 0.931 + 2.53 * numerics::sqrt(rate), a = -0.059 + 0.02483 * b;
    const Hat hat = {a, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2)};
    return {hat, rate, 1.1239 + 1.1328 / (b - 3.4), numerics::log_of_normal(rate)};
  }

  TTF_HD Trial propose(double u, double v) const {
    const double us = 0.5 - numerics::abs(u), count = hat.candidate(u);
    const bool impossible = (count < 0) | ((us < 0.013) & (v > us));
    return {count, hat.accepts_quickly(u, v) ? 1.0 : impossible ? -1.0 : 0.0};
  }

  // log(k!) = (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2 + tail(k), so that with y = (k + 1) / rate - 1
  // k log(rate) - rate - log(k!) = -rate deviance(y) + log(k + 1) / 2 - log(rate) - log(2 pi) / 2 - tail(k).
  TTF_HD double log_probability(double k) const {
    const double y = (k + 1 - rate) / rate;
    return -rate * numerics::deviance(y) + 0.5 * numerics::log_of_normal(k + 1) - log_rate - kHalfLogTwoPi -
           numerics::stirling_tail(k);
  }

  TTF_HD bool accepts(double u, double v, double count) const {
    return hat.log_height(u, v, scale) <= log_probability(count);
  }

  // As a column of kFields rows.
  TTF_HD void write(double* to, int stride) const {
    const double fields[kFields] = {hat.a, hat.b, hat.centre, hat.quick, rate, scale, log_rate};
    TTF_UNROLL(8)
    for (int k = 0; k < kFields; ++k) to[k * stride] = fields[k];
  }
  TTF_HD static PoissonTrial read(const double* from, int stride) {
    const Hat hat = {from[0], from[stride], from[2 * stride], from[3 * stride]};
    return {hat, from[4 * stride], from[5 * stride], from[6 * stride]};
  }
};

// Counts with n p >= 10 and p <= 1/2.
struct BinomialTrial {
  static constexpr int kFields = 8;

  Hat hat;
  double n, p, scale, mode_shape;

  TTF_HD static BinomialTrial prepare(double n, double p) {
    const double deviation = numerics::sqrt(n * p * (1 - p));
    const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
    const Hat hat = {a, b, n * p + 0.5, 0.92 - 4.2 / b};
    return {hat, n, p, (2.83 + 5.1 / b) * deviation, log_shape(n, p, numerics::floor((n + 1) * p))};
  }

  TTF_HD Trial propose(double u, double v) const {
    const double count = hat.candidate(u);
    const bool impossible = (count < 0) | (count > n);
    return {count, hat.accepts_quickly(u, v) ? 1.0 : impossible ? -1.0 : 0.0};
  }

  // The part of log P(k) that depends on k. With K = k + 1, L = n - k + 1 and M = n + 2 = K + L it is
  // -M p deviance(K / (M p) - 1) - M q deviance(L / (M q) - 1) + log(K L) / 2 - tail(k) - tail(n - k).
  TTF_HD static double log_shape(double n, double p, double k) {
    const double total = n + 2, away = numerics::fma(-total, p, k + 1);
    const double mean = total * p, rest = total * (1 - p);
    return -mean * numerics::deviance(away / mean) - rest * numerics::deviance(-away / rest) +
           0.5 * numerics::log_of_normal((k + 1) * (n - k + 1)) - numerics::stirling_tail(k) -
           numerics::stirling_tail(n - k);
  }

  TTF_HD bool accepts(double u, double v, double count) const {
    return hat.log_height(u, v, scale) <= log_shape(n, p, count) - mode_shape;
  }

  TTF_HD void write(double* to, int stride) const {
    const double fields[kFields] = {hat.a, hat.b, hat.centre, hat.quick, n, p, scale, mode_shape};
    TTF_UNROLL(8)
    for (int k = 0; k < kFields; ++k) to[k * stride] = fields[k];
  }
  TTF_HD static BinomialTrial read(const double* from, int stride) {
    const Hat hat = {from[0], from[stride], from[2 * stride], from[3 * stride]};
    return {hat, from[4 * stride], from[5 * stride], from[6 * stride], from[7 * stride]};
  }
};

// Counts with n p < 10 and p <= 1/2, by inversion: one uniform, the probabilities summed from 0 up.
struct BinomialSearch {
  static constexpr int kMost = 128;  // P(count > 128) is below 1e-90

  double n, odds, rest, term, count;

  // The first probability is (1 - p)^n. What 1 - p loses when it is rounded is put back into its logarithm.
  TTF_HD static BinomialSearch begin(double u, double n, double p) {
    const double q = 1 - p, lost = (1 - q) - p;
    const double log_q = numerics::log_of_normal(q) + lost / q;
    return {n, p / q, u, numerics::exp(n * log_q), 0};
  }
  // Past the mode, which is below 10, a term of 2^-60 is less than u's last place and stands for all that follow: what
  // is left then is rounding.
  TTF_HD bool is_over() const { return (rest < term) | (count >= n) | ((count >= 10) & (term < 0x1p-60)); }
  // One step, or nothing if the search is over.
  TTF_HD void advance() {
    const bool over = is_over();
    const double k = count + 1;
    rest = over ? rest : rest - term;
    term = over ? term : term * ((n - count) / k * odds);
    count = over ? count : k;
  }
};

// A parameter's kind of count.
enum class CountMethod : int { invalid, zero, infinite, small, large };

TTF_HD CountMethod poisson_method(double rate) {
  if (!(rate >= 0)) return CountMethod::invalid;
  if (!is_finite(rate)) return CountMethod::infinite;
  if (float(rate) == 0) return CountMethod::zero;
  return float(rate) < 10 ? CountMethod::small : CountMethod::large;
}

TTF_HD CountMethod binomial_method(double n, double p) {
  if (!(n >= 0 && n <= 0x1p53 && p >= 0 && p <= 1)) return CountMethod::invalid;
  const double smaller = p > 0.5 ? 1 - p : p;
  if (n == 0 || smaller == 0) return CountMethod::zero;
  return n * smaller < 10 ? CountMethod::small : CountMethod::large;
}

TTF_NAMESPACE_END
