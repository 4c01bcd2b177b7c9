// Word -> value: a distribution's transform over the buffers of a block, parameters alongside.
#pragma once

#include <stdint.h>

#include "../distributions/bernoulli.h"
#include "../distributions/bits.h"
#include "../distributions/exponential.h"
#include "../distributions/gumbel.h"
#include "../distributions/laplace.h"
#include "../distributions/logistic.h"
#include "../distributions/normal.h"
#include "../distributions/randint.h"
#include "../distributions/uniform.h"
#include "../draw.h"
#include "words.h"

TTF_NAMESPACE_BEGIN

TTF_HD int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// One number that stands for a whole array of them.
template <class T>
struct Broadcast {
  T value;
  TTF_HD T operator[](int) const { return value; }
};

template <class T>
Broadcast<T> number(const Parameter& parameter) {
  constexpr bool integral = T(0.5) == T(0);
  return {integral ? T(parameter.integer) : T(parameter.real)};
}

// The parameter's elements at positions first, first + 1..., copied side by side.
template <class T>
const T* elements(const Parameter& parameter, int64_t first, int count, T* buffer) {
  if (!parameter.data) {
    for (int i = 0; i < count; ++i) buffer[i] = number<T>(parameter)[i];
    return buffer;
  }
  const Walk& walk = parameter.walk;
  const int64_t step = walk.step();
  for (int i = 0; i < count;) {
    const T* from = static_cast<const T*>(parameter.data) + walk.at(first + i);
    const int length = int(smaller(walk.axes > 0 ? walk.row(first + i) : count, count - i));
    for (int j = 0; j < length; ++j) buffer[i + j] = from[j * step];
    i += length;
  }
  return buffer;
}

template <class D, class... Inputs>
void transform(int count, typename D::Out* __restrict out, Inputs... inputs) {
  for (int i = 0; i < count; ++i) out[i] = D::value(inputs[i]...);
}

template <class D>
void transform_in_steps(int count, typename D::Out* __restrict out, const typename D::Word* words) {
  using T = typename D::Parameter;
  alignas(64) T v[kBlock], w[kBlock];
  for (int i = 0; i < count; ++i) {
    const auto step = D::begin(words[i]);
    v[i] = step.v;
    w[i] = step.w;
  }
  for (int i = 0; i < count; ++i) out[i] = D::finish(typename D::Step{v[i], w[i]});
}

template <class D, class... Parameters>
void transform_words(int count, typename D::Out* out, const void* words0, const void* words1, Parameters... parameters) {
  const auto* first = static_cast<const typename D::Word*>(words0);
  if constexpr (HasSteps<D>::value) {
    transform_in_steps<D>(count, out, first);
  } else if constexpr (D::kWords == Words::one) {
    transform<D>(count, out, first, parameters...);
  } else {
    transform<D>(count, out, first, static_cast<const typename D::Word*>(words1), parameters...);
  }
}

// Parameters prepared one by one.
template <class D>
struct PreparedEach {
  const typename D::Parameter *first, *second;
  TTF_HD typename D::Prepared operator[](int i) const { return D::prepare(first[i], second[i]); }
};

// Elements position... of the result, from their words.
template <class D>
void values(const Draw& draw, int64_t position, int count, const void* words0, const void* words1) {
  using T = typename D::Parameter;
  auto* out = static_cast<typename D::Out*>(draw.out) + position;
  const Parameter* p = draw.parameter;
  if constexpr (D::kParameters == 0) {
    transform_words<D>(count, out, words0, words1);
  } else if constexpr (D::kParameters == 1) {
    if (!p[0].data) return transform_words<D>(count, out, words0, words1, number<T>(p[0]));
    T buffer[kBlock];
    transform_words<D>(count, out, words0, words1, elements<T>(p[0], position, count, buffer));
  } else if (!p[0].data && !p[1].data) {
    const auto prepared = D::prepare(number<T>(p[0]).value, number<T>(p[1]).value);
    transform_words<D>(count, out, words0, words1, Broadcast<typename D::Prepared>{prepared});
  } else {
    T first[kBlock], second[kBlock];
    elements<T>(p[0], position, count, first);
    elements<T>(p[1], position, count, second);
    transform_words<D>(count, out, words0, words1, PreparedEach<D>{first, second});
  }
}

// A distribution as the block loop sees it.
struct Method {
  int word_bits;
  Words words;
  void (*values)(const Draw&, int64_t position, int count, const void* words0, const void* words1);
};

template <class D>
Method method_of() {
  return {8 * int(sizeof(typename D::Word)), D::kWords, values<D>};
}

// Float distributions exist in all four types, half precision by rounding the float32 draw.
template <template <class> class D>
Method float_method(Value value) {
  switch (value) {
    case Value::float16: return method_of<AsHalf<D<float>, Float16>>();
    case Value::bfloat16: return method_of<AsHalf<D<float>, BFloat16>>();
    case Value::float64: return method_of<D<double>>();
    default: return method_of<D<float>>();
  }
}

inline Method uniform_method(Value value) {
  switch (value) {
    case Value::float16: return method_of<UniformHalf<Float16>>();
    case Value::bfloat16: return method_of<UniformHalf<BFloat16>>();
    case Value::float64: return method_of<Uniform<double>>();
    default: return method_of<Uniform<float>>();
  }
}

inline Method bits_method(Value value) {
  switch (value) {
    case Value::int8: return method_of<Bits<uint8_t>>();
    case Value::int16: return method_of<Bits<uint16_t>>();
    case Value::int64: return method_of<Bits<uint64_t>>();
    default: return method_of<Bits<uint32_t>>();
  }
}

inline Method randint_method(Value value) {
  switch (value) {
    case Value::int8: return method_of<RandInt<uint8_t>>();
    case Value::int16: return method_of<RandInt<uint16_t>>();
    case Value::int64: return method_of<RandInt64>();
    default: return method_of<RandInt<uint32_t>>();
  }
}

inline Method rademacher_method(Value value) {
  switch (value) {
    case Value::int8: return method_of<Rademacher<int8_t>>();
    case Value::int16: return method_of<Rademacher<int16_t>>();
    case Value::int32: return method_of<Rademacher<int32_t>>();
    case Value::int64: return method_of<Rademacher<int64_t>>();
    case Value::float16: return method_of<AsHalf<Rademacher<float>, Float16>>();
    case Value::bfloat16: return method_of<AsHalf<Rademacher<float>, BFloat16>>();
    case Value::float64: return method_of<Rademacher<double>>();
    default: return method_of<Rademacher<float>>();
  }
}

inline Method method(const Draw& draw) {
  switch (draw.distribution) {
    case Distribution::bits: return bits_method(draw.value);
    case Distribution::key_pair: return method_of<KeyPair>();
    case Distribution::uniform: return uniform_method(draw.value);
    case Distribution::randint: return randint_method(draw.value);
    case Distribution::normal: return float_method<Normal>(draw.value);
    case Distribution::exponential: return float_method<Exponential>(draw.value);
    case Distribution::gumbel: return float_method<Gumbel>(draw.value);
    case Distribution::gumbel_high: return float_method<GumbelHigh>(draw.value);
    case Distribution::laplace: return float_method<Laplace>(draw.value);
    case Distribution::logistic: return float_method<Logistic>(draw.value);
    case Distribution::bernoulli:
      return draw.wide ? method_of<Bernoulli<double>>() : method_of<Bernoulli<float>>();
    case Distribution::bernoulli_high:
      return draw.wide ? method_of<BernoulliHigh<double>>() : method_of<BernoulliHigh<float>>();
    default: return rademacher_method(draw.value);
  }
}

TTF_NAMESPACE_END
