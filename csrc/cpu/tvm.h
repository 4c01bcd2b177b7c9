// TVM's generator on the CPU: whole blocks in vectors, the others one by one.
#pragma once

#include <stdint.h>

#include "../tvm.h"
#include "words.h"

TTF_NAMESPACE_BEGIN

// Lanes64::kCount whole blocks from block b on, as values side by side.
template <class Values>
void draw_tvm_lanes(const Values& values, const TvmState& start, int64_t b, typename Values::Out* out) {
  constexpr int kLanes = Lanes64::kCount;
  Lanes64 x[4];
  alignas(64) uint64_t words[4 * kLanes];
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) x[i] = Lanes64::count_from(start.input[i] + uint64_t(b));
  tvm_hash(x, start.key);
  store_side_by_side(x, words);
  for (int i = 0; i < 4 * kLanes; ++i) out[i] = values(words[i]);
}

// Blocks [begin, end) of one state's draw.
template <class Values>
void draw_tvm_blocks(const TvmDraw& draw, const Values& values, int64_t number, int64_t begin, int64_t end) {
  const TvmState start = tvm_start(draw, number);
  typename Values::Out* const out = static_cast<typename Values::Out*>(draw.out) + number * draw.count;
  const int64_t whole = end < draw.count / 4 ? end : draw.count / 4;
  int64_t b = begin;
  for (; b + Lanes64::kCount <= whole; b += Lanes64::kCount) draw_tvm_lanes(values, start, b, out + 4 * b);
  for (; b < end; ++b) draw_tvm_block(draw, values, start, number, b);
  if (begin == 0) finish_tvm(draw, start, number);
}

TTF_NAMESPACE_END
