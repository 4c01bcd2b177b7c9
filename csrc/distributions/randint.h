// Integers: low + (h * 2^w + l) mod span, from a word h of w bits of the key's first child and a word
// l of its second. The remainder is that of the exact 2w-bit number, so the bias is below span / 2^2w
// for every span. (JAX loses h for most spans above 2^(w/2); up to there, and for powers of two, the
// two agree.) Span 0 stands for the full range 2^w.
#pragma once

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

// n mod d by Barrett's reduction. reciprocal = floor((2^64 - 1) / d), so the estimated quotient is at
// most two short.
TTF_HD uint64_t remainder(uint64_t n, uint64_t d, uint64_t reciprocal) {
  uint64_t r = n - multiply_high(n, reciprocal) * d;
  r = r >= d ? r - d : r;
  return r >= d ? r - d : r;
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
  r = r > q0 ? r + divisor : r;
  r = r >= divisor ? r - divisor : r;
  return r >> shift;
}

TTF_HD int leading_zeros(uint64_t x) {
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}

// Parameters: low, and span as an unsigned number.
template <class O>
struct RandInt {
  using Word = uint32_t;
  using Out = O;
  using Parameter = uint64_t;
  static constexpr int kParameters = 2;
  static constexpr Words kWords = Words::children;

  TTF_HD static O value(uint32_t h, uint32_t l, uint64_t low, uint64_t span) {
    const uint64_t d = span ? span : uint64_t(1) << 32;
    return O(low + remainder(uint64_t(h) << 32 | l, d, ~uint64_t(0) / d));
  }
};

struct RandInt64 : RandInt<uint64_t> {
  using Word = uint64_t;

  TTF_HD static uint64_t value(uint64_t h, uint64_t l, uint64_t low, uint64_t span) {
    const uint64_t d = span ? span : 1;
    const int shift = leading_zeros(d);
    const uint64_t v = uint64_t(~(unsigned __int128)(0) / (d << shift));  // less 2^64, by wrapping
    const uint64_t r = remainder_wide(remainder(h, d, ~uint64_t(0) / d), l, d, shift, v);
    return low + (span ? r : l);
  }
};

TTF_NAMESPACE_END
