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

  // The numbers next to the bounds, inside; NaN if there is none.
  struct Inside {
    T least, most;
    TTF_HD T clip(T x) const {
      const T above = x > least ? x : least;
      return above < most ? above : most;
    }
  };
  TTF_HD static Inside inside(T lower, T upper) {
    const T least = Near::above(lower), most = Near::below(upper);
    const bool valid = lower < upper && least <= most;
    return {nan_unless(valid, least), nan_unless(valid, most)};
  }

  struct Prepared {
    Inside bounds;
    Interval<T> between;  // in u
  };
  TTF_HD static Prepared prepare(T lower, T upper) {
    const T low = numerics::erf(lower / Format<T>::sqrt_two), high = numerics::erf(upper / Format<T>::sqrt_two);
    // As in a normal draw, the open end stays open.
    const T open = T(-1) + Format<T>::epsneg, from = low > open ? low : open;
    return {inside(lower, upper), {from, high, high - from, Neighbours<T>::below(high)}};
  }
  TTF_HD static T value(Word word, const Prepared& p) {
    const T u = confine(numerics::fma(unit(word), p.between.span, p.between.low), p.between);
    const T w = -numerics::log1p_regular(u * -u);
    return p.bounds.clip(Format<T>::sqrt_two * numerics::erf_inv_regular(u, w));
  }

  TTF_HD static bool is_rare(T lower, T upper) { return lower > 1 || upper < -1; }
  TTF_HD static T rare_value(Word word, T lower, T upper) {
    const bool upper_tail = lower > 0;
    const double near = upper_tail ? lower : -upper, far = upper_tail ? upper : -lower;
    const double part = upper_tail ? unit(word) : 1 - unit(word);  // of the way to the far bound
    if (!(near < far)) return not_a_number<T>();
    const double x = numerics::normal_tail_inverse(near, 1 - part * (1 - numerics::normal_tail_ratio(near, far)));
    return inside(lower, upper).clip(T(upper_tail ? x : -x));
  }
};

TTF_NAMESPACE_END
