// Threefry, the counter-based block cipher of Salmon, Moraes, Dror & Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011), equal to Random123's: N words of W bits, any rounds.
//
// The cipher is written once, over a word type T. T is an unsigned integer, or a bundle of them
// with the operators used here (cpu/lanes.h), in which case it encrypts one block a lane.
#pragma once

#include <stdint.h>

#include "macros.h"

TTF_NAMESPACE_BEGIN

// 0 < n < the word's bits.
#if defined(__CUDA_ARCH__)
// One funnel shift; nvcc makes three operations of two shifts that are then XORed with something.
TTF_HD uint32_t rotl(uint32_t x, int n) { return __funnelshift_l(x, x, n); }
TTF_HD uint64_t rotl(uint64_t x, int n) {
  const uint32_t high = uint32_t(x >> 32), low = uint32_t(x);
  const uint32_t first = n < 32 ? high : low, second = n < 32 ? low : high;
  return uint64_t(__funnelshift_l(second, first, n)) << 32 | __funnelshift_l(first, second, n);
}
#else
TTF_HD uint32_t rotl(uint32_t x, int n) { return (x << n) | (x >> (32 - n)); }
TTF_HD uint64_t rotl(uint64_t x, int n) { return (x << n) | (x >> (64 - n)); }
#endif

// rotation(r, m): how far the m-th MIX of round r rotates; rounds repeat after eight.
// parity: the key words XORed with it give the extra word of the key schedule.
template <class Word, int N>
struct ThreefryConstants;

template <>
struct ThreefryConstants<uint32_t, 2> {
  static constexpr uint32_t parity = 0x1BD11BDAu;
  static constexpr int max_rounds = 32;
  TTF_HD static constexpr int rotation(int round, int) {
    constexpr int table[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    return table[round % 8];
  }
};

template <>
struct ThreefryConstants<uint32_t, 4> {
  static constexpr uint32_t parity = 0x1BD11BDAu;
  static constexpr int max_rounds = 72;
  TTF_HD static constexpr int rotation(int round, int mix) {
    constexpr int table[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5}, {6, 20}, {17, 11}, {25, 10}, {18, 20}};
    return table[round % 8][mix];
  }
};

template <>
struct ThreefryConstants<uint64_t, 2> {
  static constexpr uint64_t parity = 0x1BD11BDAA9FC1A22u;
  static constexpr int max_rounds = 32;
  TTF_HD static constexpr int rotation(int round, int) {
    constexpr int table[8] = {16, 42, 12, 31, 16, 32, 24, 21};
    return table[round % 8];
  }
};

template <>
struct ThreefryConstants<uint64_t, 4> {
  static constexpr uint64_t parity = 0x1BD11BDAA9FC1A22u;
  static constexpr int max_rounds = 72;
  TTF_HD static constexpr int rotation(int round, int mix) {
    constexpr int table[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37}, {25, 33}, {46, 12}, {58, 22}, {32, 32}};
    return table[round % 8][mix];
  }
};

// Encrypt the counter block x in place. Key is a word shared by all lanes, or a T with one a lane.
template <class Word, int N, class T, class Key>
TTF_HD void threefry(T (&x)[N], const Key (&key)[N], int rounds) {
  using Constants = ThreefryConstants<Word, N>;
  Key schedule[N + 1];
  schedule[N] = key[0];
  schedule[N] ^= Constants::parity;
  TTF_UNROLL(4)
  for (int i = 1; i < N; ++i) schedule[N] ^= key[i];
  TTF_UNROLL(4)
  for (int i = 0; i < N; ++i) {
    schedule[i] = key[i];
    x[i] += schedule[i];
  }
  TTF_UNROLL(72)
  for (int round = 0; round < rounds; ++round) {
    // With four words, odd rounds mix 0 with 3 and 2 with 1 (the cipher's word permutation).
    TTF_UNROLL(2)
    for (int mix = 0; mix < N / 2; ++mix) {
      T& a = x[2 * mix];
      T& b = x[N == 4 && round % 2 ? 3 - 2 * mix : 2 * mix + 1];
      a += b;
      b = rotl(b, Constants::rotation(round, mix));
      b ^= a;
    }
    if (round % 4 == 3) {
      const int injection = round / 4 + 1;
      TTF_UNROLL(4)
      for (int i = 0; i < N; ++i) x[i] += schedule[(injection + i) % (N + 1)];
      x[N - 1] += Word(injection);
    }
  }
}

TTF_NAMESPACE_END
