// Word -> value: a distribution's transform over the buffers of a block, parameters alongside.
#pragma once

#include <stdint.h>

#include "../distributions/bernoulli.h"
#include "../distributions/bits.h"
#include "../distributions/cauchy.h"
#include "../distributions/exponential.h"
#include "../distributions/gamma.h"
#include "../distributions/geometric.h"
#include "../distributions/gumbel.h"
#include "../distributions/laplace.h"
#include "../distributions/logistic.h"
#include "../distributions/lognormal.h"
#include "../distributions/maxwell.h"
#include "../distributions/normal.h"
#include "../distributions/pareto.h"
#include "../distributions/randint.h"
#include "../distributions/rayleigh.h"
#include "../distributions/triangular.h"
#include "../distributions/truncated_normal.h"
#include "../distributions/uniform.h"
#include "../distributions/wald.h"
#include "../distributions/weibull_min.h"
#include "../draw.h"
#include "counts.h"
#include "rejection.h"
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

// The buffers of a block's inputs: words of any width, or gamma draws of either type.
struct InputBuffer {
  alignas(64) char bytes[sizeof(GammaBlock<double>)];

  template <class T>
  TTF_HD T* as() {
    return reinterpret_cast<T*>(bytes);
  }
};

// Where a block's inputs lie, whichever buffers they are in.
struct InputPointers {
  const void* at[kMaxInputs];
};

template <class T>
struct GammaView {
  const GammaBlock<T>* block;
  TTF_HD GammaDraw<T> operator[](int i) const { return (*block)[i]; }
};

// Input `number` of a distribution as an array of what its transform takes.
template <class D, int number>
TTF_HD auto input(const InputPointers& inputs) {
  if constexpr (D::Inputs::kInputs[number].kind == Input::gamma) {
    using T = typename D::Parameter;
    return GammaView<T>{static_cast<const GammaBlock<T>*>(inputs.at[number])};
  } else {
    return static_cast<const typename D::Word*>(inputs.at[number]);
  }
}

template <class D, class... Arrays>
void transform(int count, typename D::Out* __restrict out, Arrays... arrays) {
  for (int i = 0; i < count; ++i) out[i] = D::value(arrays[i]...);
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
void transform_inputs(int count, typename D::Out* out, const InputPointers& inputs, Parameters... parameters) {
  constexpr int n = D::Inputs::kCount;
  if constexpr (HasSteps<D>::value) {
    transform_in_steps<D>(count, out, input<D, 0>(inputs));
  } else if constexpr (n == 1) {
    transform<D>(count, out, input<D, 0>(inputs), parameters...);
  } else if constexpr (n == 2) {
    transform<D>(count, out, input<D, 0>(inputs), input<D, 1>(inputs), parameters...);
  } else if constexpr (n == 3) {
    transform<D>(count, out, input<D, 0>(inputs), input<D, 1>(inputs), input<D, 2>(inputs), parameters...);
  } else {
    transform<D>(count, out, input<D, 0>(inputs), input<D, 1>(inputs), input<D, 2>(inputs), input<D, 3>(inputs),
                 parameters...);
  }
}

// All the parameters of a block of elements, as arrays or single numbers.
template <class D>
struct ParameterArrays {
  using T = typename D::Parameter;
  alignas(64) T value[D::kParameters][kBlock];

  ParameterArrays(const Draw& draw, int64_t position, int count) {
    for (int k = 0; k < D::kParameters; ++k) elements<T>(draw.parameter[k], position, count, value[k]);
  }
  // f(parameter...) of element i.
  template <class F>
  TTF_HD auto apply(F f, int i) const {
    if constexpr (D::kParameters == 1) {
      return f(value[0][i]);
    } else if constexpr (D::kParameters == 2) {
      return f(value[0][i], value[1][i]);
    } else {
      return f(value[0][i], value[1][i], value[2][i]);
    }
  }
};

template <class D>
struct PreparedEach {
  const ParameterArrays<D>* arrays;
  TTF_HD typename D::Prepared operator[](int i) const {
    return arrays->apply([](auto... parameters) { return D::prepare(parameters...); }, i);
  }
};

// The elements whose parameters make a rare case, once more.
template <class D>
void transform_rare(int count, typename D::Out* out, const typename D::Word* words, const ParameterArrays<D>& arrays,
                    bool same) {
  const auto is_rare = [](auto... parameters) { return D::is_rare(parameters...); };
  if (same && !arrays.apply(is_rare, 0)) return;
  for (int i = 0; i < count; ++i) {
    const int of = same ? 0 : i;
    if (!arrays.apply(is_rare, of)) continue;
    out[i] = arrays.apply([word = words[i]](auto... parameters) { return D::rare_value(word, parameters...); }, of);
  }
}

template <class D>
bool all_numbers(const Draw& draw) {
  for (int k = 0; k < D::kParameters; ++k) {
    if (draw.parameter[k].data) return false;
  }
  return true;
}

// Elements position... of the result, from their inputs.
template <class D>
TTF_NOINLINE void write_values(const Draw& draw, int64_t position, int count, const InputPointers& inputs,
                               typename D::Out* out) {
  using T = typename D::Parameter;
  if constexpr (D::kParameters == 0) {
    transform_inputs<D>(count, out, inputs);
  } else if constexpr (HasPrepared<D>::value) {
    const bool same = all_numbers<D>(draw);
    const ParameterArrays<D> arrays(draw, position, same ? 1 : count);
    const PreparedEach<D> each = {&arrays};
    if (same) {
      transform_inputs<D>(count, out, inputs, Broadcast<typename D::Prepared>{each[0]});
    } else {
      transform_inputs<D>(count, out, inputs, each);
    }
    if constexpr (HasRareCase<D>::value) transform_rare<D>(count, out, input<D, 0>(inputs), arrays, same);
  } else {
    if (!draw.parameter[0].data) return transform_inputs<D>(count, out, inputs, number<T>(draw.parameter[0]));
    T buffer[kBlock];
    transform_inputs<D>(count, out, inputs, elements<T>(draw.parameter[0], position, count, buffer));
  }
}

template <class D>
void values(const Draw& draw, int64_t position, int count, const InputPointers& inputs) {
  write_values<D>(draw, position, count, inputs, static_cast<typename D::Out*>(draw.out) + position);
}

// Half precision: float's values, rounded once.
template <class D, class Half>
void half_values(const Draw& draw, int64_t position, int count, const InputPointers& inputs) {
  alignas(64) float whole[kBlock];
  write_values<D>(draw, position, count, inputs, whole);
  uint16_t* const out = static_cast<uint16_t*>(draw.out) + position;
  for (int i = 0; i < count; ++i) out[i] = Half::narrow(whole[i]);
}

// A count in float64 takes any of the types of counts.
template <class D>
void count_values(const Draw& draw, int64_t position, int count, const InputPointers& inputs) {
  alignas(64) double counts[kBlock];
  write_values<D>(draw, position, count, inputs, counts);
  store_counts(draw.value, counts, count, draw.out, position);
}

// The concentrations of a gamma input.
template <class D>
void concentrations(const Draw& draw, int64_t position, int count, int number, void* out) {
  using T = typename D::Parameter;
  const ParameterArrays<D> arrays(draw, position, count);
  for (int i = 0; i < count; ++i) {
    static_cast<T*>(out)[i] = arrays.apply([number](auto... p) { return D::concentration(number, p...); }, i);
  }
}

// A distribution as the block loop sees it.
struct Method {
  int word_bits;
  const Input* inputs;
  int input_count;
  void (*values)(const Draw&, int64_t position, int count, const InputPointers& inputs);
  void (*concentrations)(const Draw&, int64_t position, int count, int number, void* out) = nullptr;
};

template <class D>
constexpr bool has_gammas() {
  for (const Input& input : D::Inputs::kInputs) {
    if (input.kind == Input::gamma) return true;
  }
  return false;
}

template <class D>
Method method_with(void (*values)(const Draw&, int64_t, int, const InputPointers&)) {
  Method result = {8 * int(sizeof(typename D::Word)), D::Inputs::kInputs, D::Inputs::kCount, values};
  if constexpr (has_gammas<D>()) result.concentrations = concentrations<D>;
  return result;
}

template <class D>
Method method_of() {
  return method_with<D>(values<D>);
}
template <class D, class Half>
Method half_method_of() {
  return method_with<D>(half_values<D, Half>);
}
template <class D>
Method count_method_of() {
  return method_with<D>(count_values<D>);
}

// Float distributions exist in all four types.
template <template <class> class D>
Method float_method(Value value) {
  switch (value) {
    case Value::float16: return half_method_of<D<float>, Float16>();
    case Value::bfloat16: return half_method_of<D<float>, BFloat16>();
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

inline Method truncated_normal_method(Value value) {
  switch (value) {
    case Value::float16: return half_method_of<TruncatedNormal<float, HalfNeighbours<Float16>>, Float16>();
    case Value::bfloat16: return half_method_of<TruncatedNormal<float, HalfNeighbours<BFloat16>>, BFloat16>();
    case Value::float64: return method_of<TruncatedNormal<double>>();
    default: return method_of<TruncatedNormal<float>>();
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
    case Value::float16: return half_method_of<Rademacher<float>, Float16>();
    case Value::bfloat16: return half_method_of<Rademacher<float>, BFloat16>();
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
    case Distribution::cauchy: return float_method<Cauchy>(draw.value);
    case Distribution::maxwell: return float_method<Maxwell>(draw.value);
    case Distribution::double_sided_maxwell: return float_method<DoubleSidedMaxwell>(draw.value);
    case Distribution::pareto: return float_method<Pareto>(draw.value);
    case Distribution::rayleigh: return float_method<Rayleigh>(draw.value);
    case Distribution::weibull_min: return float_method<WeibullMin>(draw.value);
    case Distribution::lognormal: return float_method<LogNormal>(draw.value);
    case Distribution::triangular: return float_method<Triangular>(draw.value);
    case Distribution::wald: return float_method<Wald>(draw.value);
    case Distribution::truncated_normal: return truncated_normal_method(draw.value);
    case Distribution::gamma: return float_method<Gamma>(draw.value);
    case Distribution::loggamma: return float_method<LogGamma>(draw.value);
    case Distribution::chisquare: return float_method<ChiSquare>(draw.value);
    case Distribution::beta: return float_method<Beta>(draw.value);
    case Distribution::f: return float_method<FisherF>(draw.value);
    case Distribution::t: return float_method<StudentT>(draw.value);
    case Distribution::generalized_normal: return float_method<GeneralizedNormal>(draw.value);
    case Distribution::geometric:
      return draw.wide ? count_method_of<Geometric<double>>() : count_method_of<Geometric<float>>();
    default: return rademacher_method(draw.value);
  }
}

TTF_NAMESPACE_END
