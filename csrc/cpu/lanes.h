// A bundle of words that the cipher treats as one: several of the target's vectors.
//
// Threefry is a chain of dependent operations, so one vector at a time would wait for each of
// them. A bundle keeps several in flight, as many as the registers hold a block's words of: four of 32-bit words,
// of which a block has two; two of 64-bit words, of which it has four.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../macros.h"
#include "../threefry.h"

TTF_NAMESPACE_BEGIN

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// g++'s and clang's vectors: + ^ << >> work on all lanes, on any target.
template <class Word>
struct VectorOf;
template <>
struct VectorOf<uint32_t> {
  typedef uint32_t Type __attribute__((vector_size(kVectorBytes)));
};
template <>
struct VectorOf<uint64_t> {
  typedef uint64_t Type __attribute__((vector_size(kVectorBytes)));
};
typedef uint8_t ByteVector __attribute__((vector_size(kVectorBytes)));

// Rotations by whole bytes are one shuffle where there is no rotate instruction (AVX-512 has one).
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__clang__)
#define TTF_SHUFFLE_BYTES
template <int word_bytes, int bytes, class Vector>
TTF_HD Vector rotl_bytes(Vector x) {
  ByteVector from;
  for (int i = 0; i < kVectorBytes; ++i) {
    from[i] = uint8_t(i / word_bytes * word_bytes + (i + word_bytes - bytes) % word_bytes);
  }
  return Vector(__builtin_shuffle(ByteVector(x), from));
}
#endif

TTF_HD VectorOf<uint32_t>::Type rotl(VectorOf<uint32_t>::Type x, int n) {
#if defined(TTF_SHUFFLE_BYTES)
  if (n == 16) return rotl_bytes<4, 2>(x);
  if (n == 24) return rotl_bytes<4, 3>(x);
#endif
  return (x << n) | (x >> (32 - n));
}
TTF_HD VectorOf<uint64_t>::Type rotl(VectorOf<uint64_t>::Type x, int n) {
#if defined(TTF_SHUFFLE_BYTES)
  if (n == 16) return rotl_bytes<8, 2>(x);
  if (n == 32) return rotl_bytes<8, 4>(x);
  if (n == 40) return rotl_bytes<8, 5>(x);
#endif
  return (x << n) | (x >> (64 - n));
}

template <class Word>
struct Lanes {
  using Vector = typename VectorOf<Word>::Type;
  static constexpr int kVectors = sizeof(Word) == 4 ? 4 : 2;
  static constexpr int kInVector = kVectorBytes / int(sizeof(Word));
  static constexpr int kCount = kVectors * kInVector;

  Vector vector[kVectors];

  TTF_HD void load(const Word* from) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) memcpy(&vector[i], from + i * kInVector, sizeof(Vector));
  }
  TTF_HD void store(Word* to) const {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) memcpy(to + i * kInVector, &vector[i], sizeof(Vector));
  }

  // first, first + 1, ...
  TTF_HD static Lanes count_from(Word first) {
    Vector steps;
    for (int i = 0; i < kInVector; ++i) steps[i] = Word(i);
    Lanes result;
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) result.vector[i] = steps + (first + Word(i * kInVector));
    return result;
  }
  TTF_HD static Lanes all(Word word) {
    Lanes result;
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) result.vector[i] = Vector{} + word;
    return result;
  }

  TTF_HD Lanes& operator+=(const Lanes& other) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] += other.vector[i];
    return *this;
  }
  TTF_HD Lanes& operator^=(const Lanes& other) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] ^= other.vector[i];
    return *this;
  }
  TTF_HD Lanes& operator+=(Word word) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] += word;
    return *this;
  }
  TTF_HD Lanes& operator^=(Word word) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] ^= word;
    return *this;
  }
};

template <class Word>
TTF_HD Lanes<Word> rotl(const Lanes<Word>& x, int n) {
  Lanes<Word> result;
  TTF_UNROLL(8)
  for (int i = 0; i < Lanes<Word>::kVectors; ++i) result.vector[i] = rotl(x.vector[i], n);
  return result;
}

TTF_NAMESPACE_END
