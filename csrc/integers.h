// Unsigned integers by their halves and their bits.
#pragma once

#include <stdint.h>

#include "macros.h"

TTF_NAMESPACE_BEGIN

TTF_HD uint32_t hi32(uint64_t x) { return uint32_t(x >> 32); }
TTF_HD uint32_t lo32(uint64_t x) { return uint32_t(x); }
TTF_HD uint64_t join32(uint32_t hi, uint32_t lo) { return uint64_t(hi) << 32 | lo; }

// x must not be 0.
TTF_HD int leading_zeros(uint64_t x) {
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}
TTF_HD int trailing_zeros(uint64_t x) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return __builtin_ctzll(x);
#endif
}

// 128 bits.
struct Wide {
  uint64_t hi, lo;
};

TTF_HD Wide add(Wide a, uint64_t b) {
  const uint64_t lo = a.lo + b;
  return {a.hi + (lo < b), lo};
}

// x << n, 0 <= n < 128.
TTF_HD Wide shift_left(uint64_t x, int n) {
  if (n >= 64) return {x << (n - 64), 0};
  return {n ? x >> (64 - n) : 0, x << n};
}

// The lowest bit that is set, by itself; without a branch, for loops over many.
TTF_HD Wide lowest_bit(Wide x) { return {x.lo ? 0 : x.hi & (0 - x.hi), x.lo & (0 - x.lo)}; }

// How many bits lie below the lowest that is set; 128 for 0.
TTF_HD int trailing_zeros(Wide x) {
  if (x.lo) return trailing_zeros(x.lo);
  return x.hi ? 64 + trailing_zeros(x.hi) : 128;
}

TTF_NAMESPACE_END
