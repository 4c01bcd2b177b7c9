// Distributions of whole rows: what turns independent draws into a point of a simplex or a ball, and weights into
// the shares that a multinomial draws by.
#pragma once

#include "../draw.h"
#include "distribution.h"

TTF_NAMESPACE_BEGIN

// exp(x - the largest x), scaled to the sum 1: a Dirichlet point from the logarithms of gamma draws. The sum is taken
// in order, in float64. NaN if all are -inf.
template <class T>
TTF_HD void softmax_row(const T* logits, int64_t n, T* out) {
  T largest = -infinity<T>();
  for (int64_t i = 0; i < n; ++i) largest = logits[i] > largest || logits[i] != logits[i] ? logits[i] : largest;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) out[i] = numerics::exp(logits[i] - largest);
  for (int64_t i = 0; i < n; ++i) sum += double(out[i]);
  for (int64_t i = 0; i < n; ++i) out[i] = T(double(out[i]) / sum);
}

// Each weight's part of the sum of its own and all later ones: a category's probability once those before it are drawn.
// NaN for the whole row where a weight is negative or not finite, or where all are zero.
template <class T>
TTF_HD void shares_row(const T* weights, int64_t n, T* out) {
  double rest = 0;
  bool valid = true;
  for (int64_t i = n; i-- > 0;) {
    const double weight = weights[i];
    valid = valid && weight >= 0 && is_finite(weight);
    rest += weight;
    out[i] = T(weight > 0 ? weight / rest : 0);
  }
  if (valid && rest > 0 && is_finite(rest)) return;
  for (int64_t i = 0; i < n; ++i) out[i] = not_a_number<T>();
}

// Uniform in the unit ball of the p-norm: Barthe, Guédon, Mendelson & Naor, "A probabilistic approach to the geometry
// of the l_p^n-ball" (Annals of Probability 33, 2005). With G_i = |g_i|^p gamma draws of concentration 1/p and e
// exponential it is sign_i (G_i / (sum G + e))^(1/p); in logarithms, as G^(1/p) may be out of range.
template <class T>
TTF_HD void ball_row(const T* log_gammas, const typename Format<T>::Word* sign_words, T e, T p, int64_t n, T* out) {
  const T log_e = numerics::log(e);
  T largest = log_e;
  for (int64_t i = 0; i < n; ++i) largest = log_gammas[i] > largest ? log_gammas[i] : largest;
  double sum = double(numerics::exp(log_e - largest));
  for (int64_t i = 0; i < n; ++i) out[i] = numerics::exp(log_gammas[i] - largest);
  for (int64_t i = 0; i < n; ++i) sum += double(out[i]);
  const T log_sum = largest + numerics::log(T(sum));
  for (int64_t i = 0; i < n; ++i) out[i] = sign_of(sign_words[i]) * numerics::exp((log_gammas[i] - log_sum) / p);
}

template <class T>
TTF_HD void map_row(const Rows& rows, int64_t row) {
  const int64_t start = row * rows.length;
  const T* const in = static_cast<const T*>(rows.in) + start;
  T* const out = static_cast<T*>(rows.out) + start;
  switch (rows.function) {
    case RowFunction::softmax: return softmax_row(in, rows.length, out);
    case RowFunction::shares: return shares_row(in, rows.length, out);
    case RowFunction::ball:
      ball_row(in, static_cast<const typename Format<T>::Word*>(rows.words) + start,
               static_cast<const T*>(rows.exponentials)[row], static_cast<const T*>(rows.p)[row], rows.length, out);
  }
}

TTF_NAMESPACE_END
