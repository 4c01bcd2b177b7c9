// Standard normal between two bounds, by inversion.
#pragma once

#include "../special.h"
#include "normal.h"
#include "uniform.h"

TTF_NAMESPACE_BEGIN

// The numbers of type T next to one.
template <class T>
struct Neighbours {
  TTF_HD static T above(T x) { return x == 0 ? Format<T>::smallest : next_above(x); }
  TTF_HD static T below(T x) { return x == 0 ? -Format<T>::smallest : next_below(x); }
};

// The numbers of a half-precision type next to one of type float: a draw between those stays between when it is
// rounded.
template <class Half>
struct HalfNeighbours {
  TTF_HD static float above(float x) { return -below(-x); }
  TTF_HD static float below(float x) {
    const uint16_t bits = Half::narrow(x);
    const float nearest = Half::widen(bits);
    const float next = nearest == 0 ? -Half::smallest : Half::widen(uint16_t(nearest > 0 ? bits - 1 : bits + 1));
    return nearest < x ? nearest : next;
  }
};

// Near the middle, sqrt(2) erf_inv(u) with u uniform between the bounds' erf. In the tails erf is too close to 1 to
// tell numbers apart; there the draw is where the upper tail's probability has fallen to a uniform part of what it was
// at the nearer bound. Both are the same function of the word.
template <class T, class Near = Neighbours<T>>
struct TruncatedNormal : FloatDistribution<T> {
  using Word = typename Format<T>::Word;
  static constexpr int kParameters = 2;

  struct Prepared {
    T lower, upper;
    T least, most;         // the numbers next to them, inside
    Interval<T> between;   // in u
    double far_over_near;  // tails: the upper tail's probability at the far bound, over that at the near one
  };

  TTF_HD static bool is_tail(T lower, T upper) { return lower > 1 || upper < -1; }

  TTF_HD static Prepared prepare(T lower, T upper) {
    const T low = numerics::erf(lower / Format<T>::sqrt_two), high = numerics::erf(upper / Format<T>::sqrt_two);
    // As in a normal draw, the open end stays open.
    const T open = T(-1) + Format<T>::epsneg, from = low > open ? low : open;
    const double near = lower > 0 ? lower : -upper, far = lower > 0 ? upper : -lower;
    const T least = Near::above(lower), most = Near::below(upper);
    const bool valid = lower < upper && least <= most;
    const bool tail = valid && is_tail(lower, upper);
    return {nan_unless(valid, lower), upper, nan_unless(valid, least), nan_unless(valid, most),
            {from, high, high - from, Neighbours<T>::below(high)},
            tail ? numerics::normal_tail_ratio(near, far) : 0};
  }

  TTF_HD static T inside(T x, const Prepared& p) {
    const T above = x > p.least ? x : p.least;
    return above < p.most ? above : p.most;
  }

  TTF_HD static T value(Word word, const Prepared& p) {
    const T u = confine(numerics::fma(unit(word), p.between.span, p.between.low), p.between);
    const T w = -numerics::log1p_regular(u * -u);
    return inside(Format<T>::sqrt_two * numerics::erf_inv_regular(u, w), p);
  }

  TTF_HD static bool is_rare(const Prepared& p) { return is_tail(p.lower, p.upper); }
  TTF_HD static T rare_value(Word word, const Prepared& p) {
    const bool upper_tail = p.lower > 0;
    const double near = upper_tail ? p.lower : -p.upper;
    const double part = upper_tail ? unit(word) : 1 - unit(word);  // of the way to the far bound
    const double x = numerics::normal_tail_inverse(near, 1 - part * (1 - p.far_over_near));
    return inside(T(upper_tail ? x : -x), p);
  }
};

TTF_NAMESPACE_END
