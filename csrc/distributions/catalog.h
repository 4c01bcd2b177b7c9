// Which functor draws a distribution in a type. The CPU and CUDA kernels are made from this one list.
//
// Each function below calls visit(Functor<D, As>()) with the functor D of the draw and what As makes of its values,
// and returns what that returns.
#pragma once

#include "../draw.h"
#include "bernoulli.h"
#include "bits.h"
#include "cauchy.h"
#include "exponential.h"
#include "gamma.h"
#include "geometric.h"
#include "gumbel.h"
#include "laplace.h"
#include "logistic.h"
#include "lognormal.h"
#include "maxwell.h"
#include "normal.h"
#include "pareto.h"
#include "randint.h"
#include "rayleigh.h"
#include "triangular.h"
#include "truncated_normal.h"
#include "uniform.h"
#include "wald.h"
#include "weibull_min.h"

TTF_NAMESPACE_BEGIN

// What becomes of a functor's values.
struct AsTheyAre {};  // the result's elements
struct AsCounts {};   // whole numbers in float64, converted to the result's type
template <class T>
struct Rounded {};    // float32, as it is (T = float) or rounded to half precision

template <class D, class As = AsTheyAre>
struct Functor {};

// ---- By type ----

// Float distributions exist in all four types.
template <template <class> class D, class Visit>
auto visit_float(Value value, Visit visit) {
  switch (value) {
    case Value::float16: return visit(Functor<D<float>, Rounded<Float16>>());
    case Value::bfloat16: return visit(Functor<D<float>, Rounded<BFloat16>>());
    case Value::float64: return visit(Functor<D<double>>());
    default: return visit(Functor<D<float>, Rounded<float>>());
  }
}

template <class Visit>
auto visit_uniform(Value value, Visit visit) {
  switch (value) {
    case Value::float16: return visit(Functor<UniformHalf<Float16>>());
    case Value::bfloat16: return visit(Functor<UniformHalf<BFloat16>>());
    case Value::float64: return visit(Functor<Uniform<double>>());
    default: return visit(Functor<Uniform<float>>());
  }
}

template <class Visit>
auto visit_truncated_normal(Value value, Visit visit) {
  switch (value) {
    case Value::float16:
      return visit(Functor<TruncatedNormal<float, HalfNeighbours<Float16>>, Rounded<Float16>>());
    case Value::bfloat16:
      return visit(Functor<TruncatedNormal<float, HalfNeighbours<BFloat16>>, Rounded<BFloat16>>());
    case Value::float64: return visit(Functor<TruncatedNormal<double>>());
    default: return visit(Functor<TruncatedNormal<float>, Rounded<float>>());
  }
}

template <class Visit>
auto visit_bits(Value value, Visit visit) {
  switch (value) {
    case Value::int8: return visit(Functor<Bits<uint8_t>>());
    case Value::int16: return visit(Functor<Bits<uint16_t>>());
    case Value::int64: return visit(Functor<Bits<uint64_t>>());
    default: return visit(Functor<Bits<uint32_t>>());
  }
}

template <class Visit>
auto visit_randint(Value value, Visit visit) {
  switch (value) {
    case Value::int8: return visit(Functor<RandInt<uint8_t>>());
    case Value::int16: return visit(Functor<RandInt<uint16_t>>());
    case Value::int64: return visit(Functor<RandInt64>());
    default: return visit(Functor<RandInt<uint32_t>>());
  }
}

template <class Visit>
auto visit_rademacher(Value value, Visit visit) {
  switch (value) {
    case Value::int8: return visit(Functor<Rademacher<int8_t>>());
    case Value::int16: return visit(Functor<Rademacher<int16_t>>());
    case Value::int32: return visit(Functor<Rademacher<int32_t>>());
    case Value::int64: return visit(Functor<Rademacher<int64_t>>());
    case Value::float16: return visit(Functor<Rademacher<float>, Rounded<Float16>>());
    case Value::bfloat16: return visit(Functor<Rademacher<float>, Rounded<BFloat16>>());
    case Value::float64: return visit(Functor<Rademacher<double>>());
    default: return visit(Functor<Rademacher<float>, Rounded<float>>());
  }
}

// ---- By distribution, in groups ----

enum class Group : int {
  words,         // words, or little more: integers, uniform numbers, two values
  continuous,    // transforms of words
  gamma_family,  // made of gamma draws
  counts,        // by trials with words of their own; they have no functor
};

TTF_HD Group group_of(Distribution distribution) {
  if (distribution <= Distribution::rademacher) return Group::words;
  if (distribution <= Distribution::geometric) return Group::continuous;
  if (distribution <= Distribution::generalized_normal) return Group::gamma_family;
  return Group::counts;
}

template <class Visit>
auto visit_words(const Draw& draw, Visit visit) {
  switch (draw.distribution) {
    case Distribution::bits: return visit_bits(draw.value, visit);
    case Distribution::key_pair: return visit(Functor<KeyPair>());
    case Distribution::uniform: return visit_uniform(draw.value, visit);
    case Distribution::randint: return visit_randint(draw.value, visit);
    case Distribution::bernoulli:
      return draw.wide ? visit(Functor<Bernoulli<double>>()) : visit(Functor<Bernoulli<float>>());
    case Distribution::bernoulli_high:
      return draw.wide ? visit(Functor<BernoulliHigh<double>>()) : visit(Functor<BernoulliHigh<float>>());
    default: return visit_rademacher(draw.value, visit);
  }
}

template <class Visit>
auto visit_continuous(const Draw& draw, Visit visit) {
  switch (draw.distribution) {
    case Distribution::exponential: return visit_float<Exponential>(draw.value, visit);
    case Distribution::gumbel: return visit_float<Gumbel>(draw.value, visit);
    case Distribution::gumbel_high: return visit_float<GumbelHigh>(draw.value, visit);
    case Distribution::laplace: return visit_float<Laplace>(draw.value, visit);
    case Distribution::logistic: return visit_float<Logistic>(draw.value, visit);
    case Distribution::cauchy: return visit_float<Cauchy>(draw.value, visit);
    case Distribution::maxwell: return visit_float<Maxwell>(draw.value, visit);
    case Distribution::double_sided_maxwell: return visit_float<DoubleSidedMaxwell>(draw.value, visit);
    case Distribution::pareto: return visit_float<Pareto>(draw.value, visit);
    case Distribution::rayleigh: return visit_float<Rayleigh>(draw.value, visit);
    case Distribution::weibull_min: return visit_float<WeibullMin>(draw.value, visit);
    case Distribution::lognormal: return visit_float<LogNormal>(draw.value, visit);
    case Distribution::triangular: return visit_float<Triangular>(draw.value, visit);
    case Distribution::wald: return visit_float<Wald>(draw.value, visit);
    case Distribution::truncated_normal: return visit_truncated_normal(draw.value, visit);
    case Distribution::geometric:
      return draw.wide ? visit(Functor<Geometric<double>, AsCounts>()) : visit(Functor<Geometric<float>, AsCounts>());
    default: return visit_float<Normal>(draw.value, visit);
  }
}

template <class Visit>
auto visit_gamma_family(const Draw& draw, Visit visit) {
  switch (draw.distribution) {
    case Distribution::loggamma: return visit_float<LogGamma>(draw.value, visit);
    case Distribution::chisquare: return visit_float<ChiSquare>(draw.value, visit);
    case Distribution::beta: return visit_float<Beta>(draw.value, visit);
    case Distribution::f: return visit_float<FisherF>(draw.value, visit);
    case Distribution::t: return visit_float<StudentT>(draw.value, visit);
    case Distribution::generalized_normal: return visit_float<GeneralizedNormal>(draw.value, visit);
    default: return visit_float<Gamma>(draw.value, visit);
  }
}

// Of any group but the counts'.
template <class Visit>
auto visit_functor(const Draw& draw, Visit visit) {
  switch (group_of(draw.distribution)) {
    case Group::words: return visit_words(draw, visit);
    case Group::gamma_family: return visit_gamma_family(draw, visit);
    default: return visit_continuous(draw, visit);
  }
}

TTF_NAMESPACE_END
