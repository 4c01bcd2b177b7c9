// A bundle of words that the cipher treats as one: several of the target's vectors.
//
// Threefry is a chain of dependent operations, so one vector at a time would wait for each of
// them. A bundle keeps several in flight, as many as the registers hold two words of.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../macros.h"
#include "../threefry.h"

TTF_NAMESPACE_BEGIN

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kVectors = 4;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kVectors = 4;
#else
constexpr int kVectorBytes = 16, kVectors = 4;
#endif
constexpr int kLanes = kVectors * kVectorBytes / int(sizeof(uint32_t));

// g++'s and clang's vectors: + ^ << >> work on all lanes, on any target.
typedef uint32_t Vector __attribute__((vector_size(kVectorBytes)));
typedef uint8_t ByteVector __attribute__((vector_size(kVectorBytes)));

// Rotations by whole bytes are one shuffle where there is no rotate instruction (AVX-512 has one).
#if defined(__AVX2__) && !defined(__AVX512F__) && !defined(__clang__)
#define TTF_SHUFFLE_BYTES
template <int bytes>
TTF_HD Vector rotl_bytes(Vector x) {
  ByteVector from;
  for (int i = 0; i < kVectorBytes; ++i) from[i] = uint8_t(i / 4 * 4 + (i + 4 - bytes) % 4);
  return Vector(__builtin_shuffle(ByteVector(x), from));
}
#endif

TTF_HD Vector rotl(Vector x, int n) {
#if defined(TTF_SHUFFLE_BYTES)
  if (n == 16) return rotl_bytes<2>(x);
  if (n == 24) return rotl_bytes<3>(x);
#endif
  return (x << n) | (x >> (32 - n));
}

struct Lanes {
  Vector vector[kVectors];

  TTF_HD void load(const uint32_t* from) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) memcpy(&vector[i], from + i * (kLanes / kVectors), sizeof(Vector));
  }
  TTF_HD void store(uint32_t* to) const {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) memcpy(to + i * (kLanes / kVectors), &vector[i], sizeof(Vector));
  }

  // first, first + 1, ...
  TTF_HD static Lanes count_from(uint32_t first) {
    Vector steps;
    for (int i = 0; i < kLanes / kVectors; ++i) steps[i] = uint32_t(i);
    Lanes result;
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) result.vector[i] = steps + (first + uint32_t(i * (kLanes / kVectors)));
    return result;
  }
  TTF_HD static Lanes all(uint32_t word) {
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
  TTF_HD Lanes& operator+=(uint32_t word) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] += word;
    return *this;
  }
  TTF_HD Lanes& operator^=(uint32_t word) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] ^= word;
    return *this;
  }
};

TTF_HD Lanes rotl(const Lanes& x, int n) {
  Lanes result;
  TTF_UNROLL(8)
  for (int i = 0; i < kVectors; ++i) result.vector[i] = rotl(x.vector[i], n);
  return result;
}

TTF_NAMESPACE_END
