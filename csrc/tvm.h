// TVM's generator, for the numbers of those who have used it: apache/tvm 0.8 to 0.19, bit for bit. Nothing else here
// is built on it. It is the splittable generator of Claessen & Palka (Haskell Symposium 2013) over a block function
// that was meant to be Threefry-4x64 with 20 rounds, and is not:
//
// - MIX makes its second word out of the new first one plus the old second one, (a + b) + b, where Threefry takes
//   a + b alone. So two inputs can have the same output: it is no cipher.
// - There is no subkey after the last round.
//
// A state is ten words: key 4 | path 2 | counter 2 | position of the path's next bit 2, pairs with the high word first.
// Splits use the first 64 bits of the path, draws that find the counter full all of it; of the counter, only the low
// word counts, and it counts words, not blocks. Block b of a draw hashes path and counter with b added to each of their
// four words.
#pragma once

#include <stdint.h>

#include "draw.h"
#include "macros.h"
#include "numerics.h"
#include "threefry.h"

namespace torch_threefry {

constexpr int kTvmWords = 10;  // of a state

// In which version's way: `first` is that of the version that had the generator first, `release` that of the releases.
// They differ in a draw's last block where that is not whole, in what is room for it, and in uniform numbers.
enum class TvmRule : int { first, release };

// Element i of the result is element i % count of the draw of state i / count.
struct TvmDraw {
  TvmRule rule;
  Value value;  // int64: the words themselves; float32, float64: uniform numbers
  KeyBatch states;
  int64_t state_count;
  int64_t count = 1;
  double low = 0, high = 0;
  void* out;
  uint64_t* next;  // the states after the draw, side by side

  // Blocks of a state's draw. Also a draw of nothing has one, whose maker hands the state on.
  TTF_HD int64_t blocks() const { return count > 0 ? (count - 1) / 4 + 1 : 1; }
  TTF_HD int64_t positions() const { return state_count * blocks(); }
};

struct TvmSplit {
  KeyBatch states;
  int64_t state_count;
  uint64_t *left, *right;
};

}  // namespace torch_threefry

TTF_NAMESPACE_BEGIN

// ---- The block function ----

// In place, over a word type like threefry's: an unsigned integer, or a bundle of them with one block a lane.
template <class T>
TTF_HD void tvm_hash(T (&x)[4], const uint64_t (&key)[4]) {
  using Constants = ThreefryConstants<uint64_t, 4>;
  const uint64_t schedule[5] = {key[0], key[1], key[2], key[3], Constants::parity ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
  TTF_UNROLL(20)
  for (int round = 0; round < 20; ++round) {
    if (round % 4 == 0) {
      const int injection = round / 4;
      TTF_UNROLL(4)
      for (int i = 0; i < 4; ++i) x[i] += schedule[(injection + i) % 5];
      x[3] += uint64_t(injection);
    }
    TTF_UNROLL(2)
    for (int mix = 0; mix < 2; ++mix) {
      T& a = x[2 * mix];
      T& b = x[round % 2 ? 3 - 2 * mix : 2 * mix + 1];
      a += b;
      const T rotated = rotl(b, Constants::rotation(round, mix));
      b += a;  // Threefry has a alone here
      b ^= rotated;
    }
  }
}

// ---- States ----

struct TvmState {
  uint64_t key[4];
  uint64_t input[4];     // of the block function: path and counter
  uint64_t position[2];  // one bit is set, the path's next; none once all 128 are used
};

TTF_HD TvmState load_tvm_state(const KeyBatch& states, int64_t number) {
  const uint64_t* const words = static_cast<const uint64_t*>(states.words) + states.walk.at(number);
  const int64_t step = states.word_stride;
  TvmState state;
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) state.key[i] = words[i * step];
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) state.input[i] = words[(4 + i) * step];
  TTF_UNROLL(2)
  for (int i = 0; i < 2; ++i) state.position[i] = words[(8 + i) * step];
  return state;
}

// As number i of states side by side.
TTF_HD void store_tvm_state(const TvmState& state, uint64_t* states, int64_t number) {
  uint64_t* const words = states + number * kTvmWords;
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) words[i] = state.key[i];
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) words[4 + i] = state.input[i];
  TTF_UNROLL(2)
  for (int i = 0; i < 2; ++i) words[8 + i] = state.position[i];
}

// Fold path and counter into the key, and start both anew.
TTF_HD_LONG void tvm_new_key(TvmState& state) {
  tvm_hash(state.input, state.key);
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    state.key[i] = state.input[i];
    state.input[i] = 0;
  }
  state.position[0] = uint64_t(1) << 63;
  state.position[1] = 0;
}

// Append a bit to the path.
TTF_HD void tvm_append(TvmState& state, bool bit) {
  if (bit) {
    state.input[0] |= state.position[0];
    state.input[1] |= state.position[1];
  }
  state.position[1] = state.position[1] >> 1 | state.position[0] << 63;
  state.position[0] >>= 1;
}

TTF_HD void split_tvm(const TvmSplit& split, int64_t number) {
  TvmState left = load_tvm_state(split.states, number);
  // The path counts as full after 64 bits: TVM's test of both words of the position comes down to the first.
  if (left.position[0] == 0) tvm_new_key(left);
  TvmState right = left;
  tvm_append(left, false);
  tvm_append(right, true);
  store_tvm_state(left, split.left, number);
  store_tvm_state(right, split.right, number);
}

// ---- Draws ----

TTF_HD uint64_t tvm_whole_blocks(int64_t count) { return (uint64_t(count) + 3) / 4 * 4; }

// Make sure that the counter has room for a draw: if it has not, go on with the right child's path, at the counter 0.
TTF_HD void tvm_make_room(TvmState& state, const TvmDraw& draw) {
  const uint64_t words = draw.rule == TvmRule::first ? tvm_whole_blocks(draw.count) : uint64_t(draw.count);
  if (state.input[3] < UINT64_MAX - words) return;
  // TVM reads beyond an array here; as nobody can have its numbers, the key is made as in a split.
  if ((state.position[0] | state.position[1]) == 0) return tvm_new_key(state);
  tvm_append(state, true);
  state.input[2] = state.input[3] = 0;
}

// The state that the first block of a state's draw is made from.
TTF_HD TvmState tvm_start(const TvmDraw& draw, int64_t number) {
  TvmState state = load_tvm_state(draw.states, number);
  tvm_make_room(state, draw);
  return state;
}

// The words of block b.
TTF_HD_LONG void tvm_block(const TvmDraw& draw, const TvmState& start, int64_t b, uint64_t (&words)[4]) {
  // The releases make a last block that is not whole on its own: it is the first one from the words before it on.
  const bool apart = draw.rule == TvmRule::release && b >= draw.count / 4;
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) words[i] = start.input[i] + (apart ? 0 : uint64_t(b));
  if (apart) words[3] += 4 * uint64_t(b);
  tvm_hash(words, start.key);
}

// Block b as values into the result.
template <class Values>
TTF_HD void draw_tvm_block(const TvmDraw& draw, const Values& values, const TvmState& start, int64_t number, int64_t b) {
  uint64_t words[4];
  tvm_block(draw, start, b, words);
  typename Values::Out* const out = static_cast<typename Values::Out*>(draw.out) + number * draw.count;
  TTF_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    if (4 * b + i < draw.count) out[4 * b + i] = values(words[i]);
  }
}

// Hand on the state after the draw: whoever makes its first block.
TTF_HD void finish_tvm(const TvmDraw& draw, TvmState state, int64_t number) {
  state.input[2] = 0;
  state.input[3] += tvm_whole_blocks(draw.count);
  store_tvm_state(state, draw.next, number);
}

// ---- Words to values ----

struct TvmWords {
  using Out = uint64_t;
  TTF_HD uint64_t operator()(uint64_t word) const { return word; }
};

// k / 2^23 or k / 2^52, of the word's low 32 bits or all 64, then scaled and shifted with two roundings.
template <class T>
struct TvmUniform {
  using Out = T;
  T low, span;

  TTF_HD explicit TvmUniform(const TvmDraw& draw) : low(T(draw.low)), span(T(draw.high) - T(draw.low)) {}
  TTF_HD T operator()(uint64_t word) const { return unit(word, T()) * span + low; }

  TTF_HD static float unit(uint64_t word, float) {
    return numerics::float_from_bits(uint32_t(word) >> 9 | 0x3F800000u) - 1.0f;
  }
  TTF_HD static double unit(uint64_t word, double) {
    return numerics::double_from_bits(word >> 12 | 0x3FF0000000000000u) - 1.0;
  }
};

// The first version's: a number of [1, 2) from the low 52 bits, scaled; and the shift is less by one span.
struct TvmFirstUniform {
  using Out = double;
  double span, shift;

  TTF_HD explicit TvmFirstUniform(const TvmDraw& draw) : span(draw.high - draw.low), shift(draw.low - span) {}
  TTF_HD double operator()(uint64_t word) const {
    return numerics::double_from_bits((word & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u) * span + shift;
  }
};

// visitor(values) with what makes the draw's values.
template <class Visitor>
auto visit_tvm_values(const TvmDraw& draw, const Visitor& visitor) {
  if (draw.value == Value::int64) return visitor(TvmWords());
  if (draw.rule == TvmRule::first) return visitor(TvmFirstUniform(draw));
  if (draw.value == Value::float32) return visitor(TvmUniform<float>(draw));
  return visitor(TvmUniform<double>(draw));
}

TTF_NAMESPACE_END
