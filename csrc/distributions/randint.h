// Integers: low + (h * 2^w + l) mod span, from a word h of w bits of the key's first child and a word
// l of its second. The remainder is that of the exact 2w-bit number, so the bias is below span / 2^2w
// for every span. (JAX loses h for most spans above 2^(w/2); up to there, and for powers of two, the
// two agree.) Span 0 stands for the full range 2^w.
#pragma once

#include "../integers.h"
#include "distribution.h"

TTF_NAMESPACE_BEGIN

// High half of a 128-bit product.
TTF_HD uint64_t multiply_high(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  return uint64_t((unsigned __int128)(a) * b >> 64);
#endif
}

// x - d if x >= d, else x: with a mask, since compilers make a branch of a select here, and it is a coin toss.
TTF_HD uint64_t reduce_once(uint64_t x, uint64_t d) { return x - (d & (uint64_t(0) - uint64_t(x >= d))); }

// n mod d by Barrett's reduction. reciprocal = floor((2^64 - 1) / d), so the estimated quotient is at
// most two short.
TTF_HD uint64_t remainder(uint64_t n, uint64_t d, uint64_t reciprocal) {
  return reduce_once(reduce_once(n - multiply_high(n, reciprocal) * d, d), d);
}

// (high * 2^64 + low) mod d for high < d: Möller & Granlund, "Improved division by invariant
// integers" (IEEE Transactions on Computers, 2011), algorithm 4. d is shifted up until its first bit
// is set; v = floor((2^128 - 1) / d) - 2^64 of the shifted d.
TTF_HD uint64_t remainder_wide(uint64_t high, uint64_t low, uint64_t d, int shift, uint64_t v) {
  const uint64_t divisor = d << shift;
  const uint64_t u1 = shift ? high << shift | low >> (64 - shift) : high;
  const uint64_t u0 = low << shift;
  uint64_t q0 = v * u1;
  uint64_t q1 = multiply_high(v, u1) + u1;
  q0 += u0;
  q1 += (q0 < u0) + 1;
  uint64_t r = u0 - q1 * divisor;
  r += divisor & (uint64_t(0) - uint64_t(r > q0));
  return reduce_once(r, divisor) >> shift;
}

// Parameters: low, and span as an unsigned number.
template <class O>
struct RandInt {
  using Word = uint32_t;
  using Out = O;
  using Parameter = uint64_t;
  static constexpr int kParameters = 2;
  using Inputs = Children;

  struct Prepared {
    uint64_t low, divisor, reciprocal;
  };
  TTF_HD static Prepared prepare(uint64_t low, uint64_t span) {
    const uint64_t divisor = span ? span : uint64_t(1) << 32;
    return {low, divisor, ~uint64_t(0) / divisor};
  }
  TTF_HD static O value(uint32_t h, uint32_t l, const Prepared& p) {
    return O(p.low + remainder(uint64_t(h) << 32 | l, p.divisor, p.reciprocal));
  }
};

struct RandInt64 {
  using Word = uint64_t;
  using Out = uint64_t;
  using Parameter = uint64_t;
  static constexpr int kParameters = 2;
  using Inputs = Children;

  struct Prepared {
    uint64_t low, span, divisor, reciprocal, shifted_reciprocal;
    int shift;
  };
  TTF_HD static Prepared prepare(uint64_t low, uint64_t span) {
    const uint64_t divisor = span ? span : 1;
    const int shift = leading_zeros(divisor);
    const unsigned __int128 all_ones = ~(unsigned __int128)(0);
    // The quotient less 2^64, by wrapping.
    return {low, span, divisor, ~uint64_t(0) / divisor, uint64_t(all_ones / (divisor << shift)), shift};
  }
  TTF_HD static uint64_t value(uint64_t h, uint64_t l, const Prepared& p) {
    const uint64_t high = remainder(h, p.divisor, p.reciprocal);
    const uint64_t r = remainder_wide(high, l, p.divisor, p.shift, p.shifted_reciprocal);
    return p.low + (p.span ? r : l);
  }
};

TTF_NAMESPACE_END
