// A bundle of words that the cipher treats as one: the loops over lanes become vector instructions.
//
// Threefry is a chain of dependent operations, so one vector at a time would wait for each of
// them. kLanes keeps several vectors in flight, as many as the registers hold two words of.
#pragma once

#include <stdint.h>

#include "../macros.h"
#include "../threefry.h"

TTF_NAMESPACE_BEGIN

#if defined(__AVX512F__)
constexpr int kLanes = 64;
#elif defined(__AVX2__)
constexpr int kLanes = 32;
#else
constexpr int kLanes = 16;
#endif

template <class Word>
struct Lanes {
  Word lane[kLanes];

  // Loops, not memcpy, which g++ cuts into smaller moves than the vectors that then wait for them.
  TTF_HD void load(const Word* from) {
    for (int l = 0; l < kLanes; ++l) lane[l] = from[l];
  }
  TTF_HD void store(Word* to) const {
    for (int l = 0; l < kLanes; ++l) to[l] = lane[l];
  }

  TTF_HD Lanes& operator+=(const Lanes& other) {
    for (int l = 0; l < kLanes; ++l) lane[l] += other.lane[l];
    return *this;
  }
  TTF_HD Lanes& operator^=(const Lanes& other) {
    for (int l = 0; l < kLanes; ++l) lane[l] ^= other.lane[l];
    return *this;
  }
  TTF_HD Lanes& operator+=(Word word) {
    for (int l = 0; l < kLanes; ++l) lane[l] += word;
    return *this;
  }
  TTF_HD Lanes& operator^=(Word word) {
    for (int l = 0; l < kLanes; ++l) lane[l] ^= word;
    return *this;
  }
};

template <class Word>
TTF_HD Lanes<Word> rotl(const Lanes<Word>& x, int n) {
  Lanes<Word> result;
  for (int l = 0; l < kLanes; ++l) result.lane[l] = rotl(x.lane[l], n);
  return result;
}

TTF_NAMESPACE_END
