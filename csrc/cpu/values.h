// Word -> value: a distribution's transform over the buffers of a block, parameters alongside.
#pragma once

#include <stdint.h>

#include "../distributions/catalog.h"
#include "../draw.h"
#include "../store_counts.h"
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

struct MethodOf {
  template <class D>
  static Method with(void (*values)(const Draw&, int64_t, int, const InputPointers&)) {
    Method result = {8 * int(sizeof(typename D::Word)), D::Inputs::kInputs, D::Inputs::kCount, values};
    if constexpr (count_gammas(D::Inputs::kInputs, D::Inputs::kCount) > 0) result.concentrations = concentrations<D>;
    return result;
  }

  template <class D>
  Method operator()(Functor<D, AsTheyAre>) const {
    return with<D>(values<D>);
  }
  template <class D>
  Method operator()(Functor<D, Rounded<float>>) const {
    return with<D>(values<D>);
  }
  template <class D, class Half>
  Method operator()(Functor<D, Rounded<Half>>) const {
    return with<D>(half_values<D, Half>);
  }
  template <class D>
  Method operator()(Functor<D, AsCounts>) const {
    return with<D>(count_values<D>);
  }
};

inline Method method(const Draw& draw) { return visit_functor(draw, MethodOf()); }

TTF_NAMESPACE_END
