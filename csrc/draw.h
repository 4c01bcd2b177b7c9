// What a kernel is asked to draw: plain data, filled in by ops.cpp, read by the CPU and CUDA kernels. It is
// the same in all builds of the kernels, and so lies outside of their namespaces.
#pragma once

#include <stdint.h>

#include "macros.h"
#include "streams.h"

namespace torch_threefry {

constexpr int kMaxAxes = 32;  // of a walk, after merging
constexpr int kMaxDims = 64;  // of a tensor, as torch has it

struct Division {
  int64_t quotient, remainder;
};

// Of numbers that are not negative. GPUs have no divider for 64 bits, and many instructions in its place: there
// numbers that fit are divided in 32 bits, and the others by a function.
#if defined(__CUDACC__)
static __host__ __device__ __noinline__ Division divide_wide(uint64_t a, uint64_t b) {
  const uint64_t quotient = a / b;
  return {int64_t(quotient), int64_t(a - quotient * b)};
}
TTF_HD Division divide(int64_t a, int64_t b) {
  if ((a | b) >> 32 != 0) return divide_wide(uint64_t(a), uint64_t(b));
  const uint32_t quotient = uint32_t(a) / uint32_t(b);
  return {int64_t(quotient), int64_t(uint32_t(a) - quotient * uint32_t(b))};
}
#else
TTF_HD Division divide(int64_t a, int64_t b) { return {a / b, a % b}; }
#endif

// Positions 0, 1, 2... of a row-major walk over some axes, mapped to offset + sum of index * stride.
// It stands for a window of a logical shape (to element indices) and for a strided or broadcast
// tensor (to memory). Axes are pushed outermost first; those that continue each other are merged.
struct Walk {
  int axes = 0;
  int64_t offset = 0;
  int64_t extent[kMaxAxes];
  int64_t stride[kMaxAxes];

  // False if there is no room for one more axis.
  TTF_HD bool push(int64_t length, int64_t step) {
    if (length == 1) return true;
    if (axes > 0 && stride[axes - 1] == length * step) {
      extent[axes - 1] *= length;
      stride[axes - 1] = step;
      return true;
    }
    if (axes == kMaxAxes) return false;
    extent[axes] = length;
    stride[axes] = step;
    ++axes;
    return true;
  }

  TTF_HD int64_t at(int64_t position) const {
    int64_t result = offset;
    TTF_ROLLED
    for (int a = axes - 1; a > 0; --a) {
      const Division by = divide(position, extent[a]);
      result += by.remainder * stride[a];
      position = by.quotient;
    }
    return axes > 0 ? result + position * stride[0] : result;
  }

  // The step between positions along the innermost axis, and how many positions from this one on lie
  // on the same row of it.
  TTF_HD int64_t step() const { return axes > 0 ? stride[axes - 1] : 0; }
  TTF_HD int64_t row(int64_t position) const {
    if (axes == 1) return extent[0] - position;
    return axes > 1 ? extent[axes - 1] - position % extent[axes - 1] : 1;
  }
};

// In the groups of distributions/catalog.h.
enum class Distribution : int {
  // words
  bits,
  key_pair,  // a 64-bit word as the two words of a key, first word first
  uniform,
  randint,
  bernoulli,
  bernoulli_high,
  rademacher,
  // continuous
  normal,
  exponential,
  gumbel,
  gumbel_high,
  laplace,
  logistic,
  cauchy,
  maxwell,
  double_sided_maxwell,
  pareto,
  rayleigh,
  weibull_min,
  lognormal,
  triangular,
  wald,
  truncated_normal,
  geometric,
  // gamma family
  gamma,
  loggamma,
  chisquare,
  beta,
  f,
  t,
  generalized_normal,
  // counts
  poisson,
  binomial,
};

// The type of a draw's elements. Integers are named by their size: sign does not change the bits.
enum class Value : int { int8, int16, int32, int64, float16, bfloat16, float32, float64 };

// A parameter is one number for all elements, or a tensor that broadcasts over the result.
struct Parameter {
  double real = 0;
  int64_t integer = 0;
  const void* data = nullptr;  // null: one number
  Walk walk;                   // position in the result -> element of data

  TTF_HD bool differs_between_elements() const { return data && walk.axes > 0; }
};

// A batch of keys in memory: some words a key, of a width, as their implementation has them.
struct KeyBatch {
  const void* words;
  int64_t word_stride;  // from one of a key's words to the next
  Walk walk;            // key number -> its first word
};

// Element `position` of the result belongs to key position / count; its index in that key's draw is
// window.at(position % count).
struct Draw {
  Impl impl;
  Distribution distribution;
  Value value;
  bool wide = false;  // bernoulli, geometric: from a uniform in float64 (64-bit words), not in float32
  KeyBatch keys;
  int64_t key_count;
  Walk window;
  int64_t count;   // elements of a key's window
  uint64_t total;  // elements of the whole logical draw
  Parameter parameter[3];
  void* out;
};

// Multinomial counts. Row i of the result belongs to element i of a draw of rows; its categories lie side by side.
struct Multinomial {
  Draw rows;           // parameter[0]: the number of trials, float64
  int64_t categories;
  // For each row and category, the category's part of what it and those after it have together.
  Parameter shares;
};

// Keys folded with integers: result[i] = fold_in(keys[i], data[i]), both broadcast.
struct FoldIn {
  Impl impl;
  KeyBatch keys;
  int64_t number = 0;
  const int64_t* data = nullptr;  // null: one number
  Walk data_walk;
  void* out;

  TTF_HD uint64_t number_of(int64_t position) const { return uint64_t(data ? data[data_walk.at(position)] : number); }
};

// Row i of the result: key i's n children, where they are no draw's words.
struct Split {
  Impl impl;
  KeyBatch keys;
  int64_t n;
  void* out;
};

// Row i of the result: 0..n-1 in the order that key i gives.
struct Permutation {
  Impl impl;
  KeyBatch keys;
  int64_t n;     // below 2^32
  int rounds;    // how often to shuffle
  Value value;   // int32 or int64
  void* out;
};

// Functions of rows that lie side by side in memory: `length` numbers of type float32 or float64 each.
enum class RowFunction : int {
  softmax,  // in: logarithms; out: their exponentials, scaled to the sum 1
  ball,     // in: logarithms of gamma draws, words, exponentials, p (rows.h); out: points
  shares,   // in: weights; out: each one's part of its own and all later ones' sum
};

struct Rows {
  RowFunction function;
  Value value;
  int64_t length = 0;
  const void *in = nullptr, *words = nullptr, *exponentials = nullptr, *p = nullptr;
  void* out = nullptr;
};

// Derivatives of log-gamma draws at a fixed quantile (gamma_slope.h), float32 or float64.
struct GammaSlopes {
  Value value;
  const void *concentration, *log_draw;
  void* out;
};

// The bare cipher over contiguous rows of words.
struct Cipher {
  int width;  // 32 or 64
  int words;  // 2 or 4
  int rounds;
  const void* counter;
  const void* key;
  void* out;
};

}  // namespace torch_threefry

TTF_NAMESPACE_BEGIN

template <class Key>
TTF_HD Key load_key(const KeyBatch& keys, int64_t number) {
  return Key::load(static_cast<const typename Key::Word*>(keys.words) + keys.walk.at(number), keys.word_stride);
}

// As number i of keys side by side.
template <class Key>
TTF_HD void store_key(const Key& key, void* keys, int64_t i) {
  key.store(static_cast<typename Key::Word*>(keys) + i * Key::kWords);
}

TTF_NAMESPACE_END
