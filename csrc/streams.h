// Streams: from (key, element index) to a word.
//
// Element i of a draw asks for word i of its key's stream. A stream says which counter block
// holds that word (its Place) and how the word comes out of the encrypted block. The layouts
// are JAX's; `n` is the number of words in the whole draw, which only the original one needs.
//
// An index comes as two halves, so that whole lanes of them stay in 32-bit arithmetic.
#pragma once

#include <stdint.h>

#include "macros.h"
#include "threefry.h"

namespace torch_threefry {

// The numbers by which ops and Key name an implementation; fixed, since exported programs hold them.
enum class Impl : int { threefry2x32 = 0, threefry2x32_original = 1 };

}  // namespace torch_threefry

TTF_NAMESPACE_BEGIN

constexpr int kRounds = 20;  // of every stream; only the bare cipher takes another number

struct Key2x32 {
  uint32_t word[2];
};

TTF_HD uint32_t hi32(uint64_t x) { return uint32_t(x >> 32); }
TTF_HD uint32_t lo32(uint64_t x) { return uint32_t(x); }
TTF_HD uint64_t join32(uint32_t hi, uint32_t lo) { return uint64_t(hi) << 32 | lo; }

// H(key; c0, c1) of the design: one block of Threefry-2x32-20.
TTF_HD Key2x32 encrypt(Key2x32 key, uint32_t c0, uint32_t c1) {
  uint32_t block[2] = {c0, c1};
  threefry<uint32_t, 2>(block, key.word, kRounds);
  return {{block[0], block[1]}};
}

struct Place {
  uint32_t c0, c1;  // the counter block
  uint32_t second;  // whether the word is the block's second one (where that is a choice)
};

// Where an 8- or 16-bit word lies: so many bits up in a 32-bit word.
struct NarrowPlace {
  Place place;
  uint32_t shift;
};

// Word i of the key's stream of n 32-bit words.
template <class Stream>
TTF_HD uint32_t stream_word32(Key2x32 key, uint64_t i, uint64_t n) {
  const Place place = Stream::place32(hi32(i), lo32(i), n);
  const Key2x32 block = encrypt(key, place.c0, place.c1);
  return Stream::word32(block.word[0], block.word[1], place.second);
}

// JAX's partitionable layout: block i serves element i alone.
struct Threefry2x32 {
  static constexpr Impl impl = Impl::threefry2x32;
  static constexpr bool chooses = false;  // whether an element takes one of its block's words, or both

  TTF_HD static Place place32(uint32_t hi, uint32_t lo, uint64_t) { return {hi, lo, 0}; }
  TTF_HD static Place place64(uint32_t hi, uint32_t lo, uint64_t) { return {hi, lo, 0}; }
  TTF_HD static uint32_t word32(uint32_t o0, uint32_t o1, uint32_t) { return o0 ^ o1; }

  TTF_HD static Key2x32 child(Key2x32 key, uint64_t i, uint64_t) { return encrypt(key, hi32(i), lo32(i)); }
};

// JAX's layout before: the counts 0..n-1 (odd n padded with a zero) are cut into halves, the first
// encrypted as c0 and the second as c1; the outputs are the two halves of the draw. n < 2^32.
struct Threefry2x32Original {
  static constexpr Impl impl = Impl::threefry2x32_original;
  static constexpr bool chooses = true;

  TTF_HD static Place place32(uint32_t, uint32_t i, uint64_t n) {
    const uint32_t count = uint32_t(n);
    const uint32_t half = count / 2 + count % 2;
    const uint32_t second = i >= half;
    const uint32_t c0 = i - (second ? half : 0);
    return {c0, c0 + half < count ? c0 + half : 0, second};
  }
  // A 64-bit word joins words i and n + i of the 32-bit stream of length 2n: both of one block.
  TTF_HD static Place place64(uint32_t, uint32_t i, uint64_t n) { return {i, uint32_t(n) + i, 0}; }
  TTF_HD static uint32_t word32(uint32_t o0, uint32_t o1, uint32_t second) { return second ? o1 : o0; }

  // The children's words are the 32-bit stream of length 2n, two in a row for a child.
  TTF_HD static Key2x32 child(Key2x32 key, uint64_t i, uint64_t n) {
    return {{stream_word32<Threefry2x32Original>(key, 2 * i, 2 * n),
             stream_word32<Threefry2x32Original>(key, 2 * i + 1, 2 * n)}};
  }
};

// 8- and 16-bit words. Partitionable: the low bits of the 32-bit word. Original: the 32-bit words cut
// up, low part first. The word is then encrypted again for each of its parts, which costs time but
// keeps the rule that an element is found by its index alone.
template <class Stream, class Narrow>
TTF_HD NarrowPlace narrow_place(uint32_t hi, uint32_t lo, uint64_t n) {
  constexpr uint32_t bits = 8 * sizeof(Narrow), parts = Stream::chooses ? 32 / bits : 1;
  constexpr int log2_parts = parts == 4 ? 2 : parts == 2 ? 1 : 0;
  const uint64_t word = join32(hi, lo) >> log2_parts;
  return {Stream::place32(hi32(word), lo32(word), (n + parts - 1) / parts), lo % parts * bits};
}

// ---- One word at a time ----

// Word i of the key's stream of n words, of the width of Word.
template <class Word>
struct StreamWord {  // of 8 or 16 bits
  template <class Stream>
  TTF_HD static Word at(Key2x32 key, uint64_t i, uint64_t n) {
    const NarrowPlace at = narrow_place<Stream, Word>(hi32(i), lo32(i), n);
    const Key2x32 block = encrypt(key, at.place.c0, at.place.c1);
    return Word(Stream::word32(block.word[0], block.word[1], at.place.second) >> at.shift);
  }
};
template <>
struct StreamWord<uint32_t> {
  template <class Stream>
  TTF_HD static uint32_t at(Key2x32 key, uint64_t i, uint64_t n) {
    return stream_word32<Stream>(key, i, n);
  }
};
template <>
struct StreamWord<uint64_t> {
  template <class Stream>
  TTF_HD static uint64_t at(Key2x32 key, uint64_t i, uint64_t n) {
    const Place place = Stream::place64(hi32(i), lo32(i), n);
    const Key2x32 block = encrypt(key, place.c0, place.c1);
    return join32(block.word[0], block.word[1]);
  }
};

template <class Stream, class Word>
TTF_HD Word stream_word(Key2x32 key, uint64_t i, uint64_t n) {
  return StreamWord<Word>::template at<Stream>(key, i, n);
}

TTF_NAMESPACE_END
