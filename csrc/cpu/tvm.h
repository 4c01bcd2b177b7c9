// TVM's generator on the CPU: whole blocks in vectors, the others one by one.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../tvm.h"
#include "lanes.h"

TTF_NAMESPACE_BEGIN

// A bundle of 64-bit words, one a lane.
struct TvmLanes {
  typedef uint64_t Vector __attribute__((vector_size(kVectorBytes)));
  static constexpr int kVectors = 2, kInVector = kVectorBytes / int(sizeof(uint64_t)), kCount = kVectors * kInVector;

  Vector vector[kVectors];

  // first, first + 1, ...
  TTF_HD static TvmLanes count_from(uint64_t first) {
    TvmLanes result;
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) {
      for (int j = 0; j < kInVector; ++j) result.vector[i][j] = uint64_t(i * kInVector + j);
      result.vector[i] += first;
    }
    return result;
  }
  TTF_HD void store(uint64_t* to) const {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) memcpy(to + i * kInVector, &vector[i], sizeof(Vector));
  }

  TTF_HD TvmLanes& operator+=(const TvmLanes& other) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] += other.vector[i];
    return *this;
  }
  TTF_HD TvmLanes& operator+=(uint64_t word) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] += word;
    return *this;
  }
  TTF_HD TvmLanes& operator^=(const TvmLanes& other) {
    TTF_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) vector[i] ^= other.vector[i];
    return *this;
  }
};

TTF_HD TvmLanes rotl(const TvmLanes& x, int n) {
  TvmLanes result;
  TTF_UNROLL(8)
  for (int i = 0; i < TvmLanes::kVectors; ++i) result.vector[i] = (x.vector[i] << n) | (x.vector[i] >> (64 - n));
  return result;
}

// TvmLanes::kCount whole blocks from block b on, as values side by side.
template <class Values>
void draw_tvm_lanes(const Values& values, const TvmState& start, int64_t b, typename Values::Out* out) {
  constexpr int kLanes = TvmLanes::kCount;
  TvmLanes x[4];
  alignas(64) uint64_t columns[4][kLanes], words[4 * kLanes];
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) x[i] = TvmLanes::count_from(start.input[i] + uint64_t(b));
  tvm_hash(x, start.key);
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) x[i].store(columns[i]);
  for (int block = 0; block < kLanes; ++block) {
    for (int i = 0; i < 4; ++i) words[4 * block + i] = columns[i][block];
  }
  for (int i = 0; i < 4 * kLanes; ++i) out[i] = values(words[i]);
}

// Blocks [begin, end) of one state's draw.
template <class Values>
void draw_tvm_blocks(const TvmDraw& draw, const Values& values, int64_t number, int64_t begin, int64_t end) {
  const TvmState start = tvm_start(draw, number);
  typename Values::Out* const out = static_cast<typename Values::Out*>(draw.out) + number * draw.count;
  const int64_t whole = end < draw.count / 4 ? end : draw.count / 4;
  int64_t b = begin;
  for (; b + TvmLanes::kCount <= whole; b += TvmLanes::kCount) draw_tvm_lanes(values, start, b, out + 4 * b);
  for (; b < end; ++b) draw_tvm_block(draw, values, start, number, b);
  if (begin == 0) finish_tvm(draw, start, number);
}

TTF_NAMESPACE_END
