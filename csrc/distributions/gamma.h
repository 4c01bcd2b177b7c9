// Gamma with rate 1, and what is made of gamma draws.
//
// Marsaglia & Tsang, "A simple method for generating gamma variables" (ACM TOMS 26, 2000): with d = alpha - 1/3 and
// c = 1 / (3 sqrt(d)), x normal and v = (1 + c x)^3, d v is accepted with a probability that makes it Gamma(alpha).
// For alpha < 1 it is a draw for alpha + 1 times u^(1 / alpha).
#pragma once

#include "distribution.h"
#include "normal.h"

TTF_NAMESPACE_BEGIN

// A draw as body * exp(log_boost): apart, as for small alpha their product underflows.
template <class T>
struct GammaDraw {
  T body, log_boost;
};

template <class T>
TTF_HD T gamma_of(GammaDraw<T> g) {
  return g.body * numerics::exp(g.log_boost);
}
template <class T>
TTF_HD T log_gamma_of(GammaDraw<T> g) {
  return numerics::log_of_normal(g.body) + g.log_boost;
}

// What a concentration asks of a trial.
template <class T>
struct GammaTrial {
  T d, c;

  TTF_HD static bool is_boosted(T alpha) { return alpha < 1; }

  // A concentration outside of the domain counts as 1, so that its trials end; its draws are then NaN.
  TTF_HD static T in_domain(T alpha) { return alpha >= 0 && is_finite(alpha) ? alpha : T(1); }

  TTF_HD static GammaTrial prepare(T alpha) {
    const T d = (is_boosted(alpha) ? alpha + 1 : alpha) - T(1.0 / 3.0);
    return {d, T(1.0 / 3.0) / numerics::sqrt(d)};
  }

  // 1 + c x has to be positive.
  TTF_HD static T root(T c, T x) { return 1 + x * c; }

  // Whether a trial with u uniform on [0, 1) is accepted. The first test is cheaper and implies the second, but a loop
  // over both has no branch.
  TTF_HD static bool accepts(T d, T x, T root, T u) {
    const T square = x * x, v = root * root * root;
    const bool squeezed = u < 1 - T(0.0331) * (square * square);
    return squeezed | (log_of_part(u) < square * T(0.5) + d * (1 - v + numerics::log_of_normal(v)));
  }
};

// The logarithm of u^(1 / alpha), from a word of the key's second child.
template <class T>
TTF_HD T gamma_log_boost(typename Format<T>::Word word, T alpha) {
  const T log_u = numerics::log1p_regular(-unit(word));
  return alpha == 0 ? -infinity<T>() : log_u == 0 ? T(0) : log_u * (1 / alpha);
}

template <class T>
struct GammaDistribution : FloatDistribution<T> {
  using Inputs = OneGamma;
  static constexpr int kParameters = 1;

  TTF_HD static bool is_valid(T concentration) { return concentration > 0 && is_finite(concentration); }
};

template <class T>
struct Gamma : GammaDistribution<T> {
  TTF_HD static T concentration(int, T a) { return a; }
  struct Prepared {
    T one;
  };
  TTF_HD static Prepared prepare(T a) { return {nan_unless(a == 0 || Gamma::is_valid(a), T(1))}; }
  TTF_HD static T value(GammaDraw<T> g, const Prepared& p) { return p.one * gamma_of(g); }
};

template <class T>
struct LogGamma : GammaDistribution<T> {
  TTF_HD static T concentration(int, T a) { return a; }
  struct Prepared {
    T zero;
  };
  TTF_HD static Prepared prepare(T a) { return {nan_unless(a == 0 || LogGamma::is_valid(a), T(0))}; }
  TTF_HD static T value(GammaDraw<T> g, const Prepared& p) { return p.zero + log_gamma_of(g); }
};

template <class T>
struct ChiSquare : GammaDistribution<T> {
  TTF_HD static T concentration(int, T df) { return df / 2; }
  struct Prepared {
    T two;
  };
  TTF_HD static Prepared prepare(T df) { return {nan_unless(ChiSquare::is_valid(df), T(2))}; }
  TTF_HD static T value(GammaDraw<T> g, const Prepared& p) { return p.two * gamma_of(g); }
};

template <class T>
struct Beta : GammaDistribution<T> {
  using Inputs = TwoGammas;
  static constexpr int kParameters = 2;

  struct Prepared {
    T zero;
  };
  TTF_HD static Prepared prepare(T a, T b) { return {nan_unless(Beta::is_valid(a) && Beta::is_valid(b), T(0))}; }
  TTF_HD static T concentration(int number, T a, T b) { return number == 0 ? a : b; }

  // The first over the sum of both, scaled by the larger, as both may be too small for T.
  TTF_HD static T value(GammaDraw<T> first, GammaDraw<T> second, const Prepared& p) {
    const T log_first = log_gamma_of(first), log_second = log_gamma_of(second);
    const T log_larger = log_first > log_second ? log_first : log_second;
    const T scaled_first = numerics::exp(log_first - log_larger);
    const T scaled_second = numerics::exp(log_second - log_larger);
    return p.zero + scaled_first / (scaled_first + scaled_second);
  }
};

// Fisher's F. The second child makes the numerator.
template <class T>
struct FisherF : GammaDistribution<T> {
  using Inputs = TwoGammas;
  static constexpr int kParameters = 2;

  struct Prepared {
    T numerator_df, denominator_df;
  };
  TTF_HD static Prepared prepare(T dfnum, T dfden) {
    const bool valid = FisherF::is_valid(dfnum) && FisherF::is_valid(dfden);
    return {nan_unless(valid, dfnum), dfden};
  }
  TTF_HD static T concentration(int number, T dfnum, T dfden) { return (number == 0 ? dfden : dfnum) / 2; }
  TTF_HD static T value(GammaDraw<T> denominator, GammaDraw<T> numerator, const Prepared& p) {
    const T ratio = (numerator.body / p.numerator_df) / (denominator.body / p.denominator_df);
    return ratio * numerics::exp(numerator.log_boost - denominator.log_boost);
  }
};

template <class T>
struct StudentT : GammaDistribution<T> {
  using Inputs = WordAndGamma;

  TTF_HD static T concentration(int, T df) { return df / 2; }
  struct Prepared {
    T half_df;
  };
  TTF_HD static Prepared prepare(T df) { return {nan_unless(StudentT::is_valid(df), df / 2)}; }
  TTF_HD static T value(typename Format<T>::Word word, GammaDraw<T> g, const Prepared& p) {
    return Normal<T>::value(word) * numerics::sqrt(p.half_df / g.body) * numerics::exp(T(-0.5) * g.log_boost);
  }
};

// Density proportional to exp(-|x|^p).
template <class T>
struct GeneralizedNormal : GammaDistribution<T> {
  using Inputs = GammaAndWord;

  TTF_HD static T concentration(int, T p) { return 1 / p; }
  struct Prepared {
    T exponent;
  };
  TTF_HD static Prepared prepare(T p) { return {nan_unless(GeneralizedNormal::is_valid(p), 1 / p)}; }
  TTF_HD static T value(GammaDraw<T> g, typename Format<T>::Word sign_word, const Prepared& p) {
    return sign_of(sign_word) * numerics::exp(log_gamma_of(g) * p.exponent);
  }
};

TTF_NAMESPACE_END
