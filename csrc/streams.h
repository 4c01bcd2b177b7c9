// Streams: from (key, element index) to a word, and from a key to its children.
//
// Element i of a draw asks for word i of its key's stream. One struct an implementation says which counter block
// holds that word, how the word comes out of the encrypted block, and where new keys come from:
//   Key                    the key in registers
//   child(key, i, n)       child i of n: what split makes
//   fold_in(key, number)   the child with a number
//   element_key(key, i, n) element i's own key in a draw of n elements that each have one (the gamma family)
//   own_key(key, i)        the same where the draw is none of JAX's, and so does not depend on the layout; its words are
//                          those of the stream Own
//   own_words(key, i)      of Own: 64-bit words 2i and 2i + 1
//   word(key, i, n)        word i of the stream of n words, of any width
// `n` is the number of words in the whole draw, which only JAX's original layout looks at.
#pragma once

#include <stdint.h>

#include "integers.h"
#include "macros.h"
#include "threefry.h"

namespace torch_threefry {

// The numbers by which ops and Key name an implementation; fixed, since exported programs hold them.
enum class Impl : int { threefry2x32 = 0, threefry2x32_original = 1, threefry4x64 = 2 };

}  // namespace torch_threefry

TTF_NAMESPACE_BEGIN

constexpr int kRounds = 20;  // of every stream; only the bare cipher takes another number

// ---- Threefry-2x32: JAX's layouts ----
//
// An index comes as two halves, so that whole lanes of them stay in 32-bit arithmetic.

struct Key2x32 {
  using Word = uint32_t;
  static constexpr int kWords = 2;  // in memory
  uint32_t word[2];

  TTF_HD static Key2x32 load(const uint32_t* from, int64_t step) { return {{from[0], from[step]}}; }
  TTF_HD void store(uint32_t* to) const {
    to[0] = word[0];
    to[1] = word[1];
  }
};

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

// One word at a time.
template <class Stream, class Word>
struct StreamWord {  // of 8 or 16 bits
  TTF_HD static Word at(Key2x32 key, uint64_t i, uint64_t n) {
    const NarrowPlace at = narrow_place<Stream, Word>(hi32(i), lo32(i), n);
    const Key2x32 block = encrypt(key, at.place.c0, at.place.c1);
    return Word(Stream::word32(block.word[0], block.word[1], at.place.second) >> at.shift);
  }
};
template <class Stream>
struct StreamWord<Stream, uint32_t> {
  TTF_HD static uint32_t at(Key2x32 key, uint64_t i, uint64_t n) {
    const Place place = Stream::place32(hi32(i), lo32(i), n);
    const Key2x32 block = encrypt(key, place.c0, place.c1);
    return Stream::word32(block.word[0], block.word[1], place.second);
  }
};
template <class Stream>
struct StreamWord<Stream, uint64_t> {
  TTF_HD static uint64_t at(Key2x32 key, uint64_t i, uint64_t n) {
    const Place place = Stream::place64(hi32(i), lo32(i), n);
    const Key2x32 block = encrypt(key, place.c0, place.c1);
    return join32(block.word[0], block.word[1]);
  }
};

struct TwoWords {
  uint64_t first, second;
};

// Draws that are not JAX's have streams of their own. Their root is the child with the last of all numbers,
// fold_in(key, -1): no split that fits into a memory and no other draw's word lies there.
constexpr uint32_t kOwnStreams = 0xFFFFFFFFu;

// JAX's partitionable layout: block i serves element i alone.
struct Threefry2x32 {
  static constexpr Impl impl = Impl::threefry2x32;
  using Key = Key2x32;
  using Own = Threefry2x32;
  static constexpr bool chooses = false;  // whether an element takes one of its block's words, or both

  TTF_HD static Place place32(uint32_t hi, uint32_t lo, uint64_t) { return {hi, lo, 0}; }
  TTF_HD static Place place64(uint32_t hi, uint32_t lo, uint64_t) { return {hi, lo, 0}; }
  TTF_HD static uint32_t word32(uint32_t o0, uint32_t o1, uint32_t) { return o0 ^ o1; }

  template <class Word>
  TTF_HD static Word word(Key2x32 key, uint64_t i, uint64_t n) {
    return StreamWord<Threefry2x32, Word>::at(key, i, n);
  }

  TTF_HD static Key2x32 child(Key2x32 key, uint64_t i, uint64_t) { return encrypt(key, hi32(i), lo32(i)); }
  TTF_HD static Key2x32 fold_in(Key2x32 key, uint64_t number) { return child(key, number, 0); }
  TTF_HD static Key2x32 element_key(Key2x32 key, uint64_t i, uint64_t n) { return child(key, i, n); }
  TTF_HD static Key2x32 own_key(Key2x32 key, uint64_t i) { return child(encrypt(key, kOwnStreams, kOwnStreams), i, 0); }
  TTF_HD static TwoWords own_words(Key2x32 key, uint64_t i) {
    return {word<uint64_t>(key, 2 * i, 0), word<uint64_t>(key, 2 * i + 1, 0)};
  }
};

// JAX's layout before: the counts 0..n-1 (odd n padded with a zero) are cut into halves, the first
// encrypted as c0 and the second as c1; the outputs are the two halves of the draw. n < 2^32.
struct Threefry2x32Original {
  static constexpr Impl impl = Impl::threefry2x32_original;
  using Key = Key2x32;
  using Own = Threefry2x32;
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

  template <class Word>
  TTF_HD static Word word(Key2x32 key, uint64_t i, uint64_t n) {
    return StreamWord<Threefry2x32Original, Word>::at(key, i, n);
  }

  // The children's words are the 32-bit stream of length 2n, two in a row for a child.
  TTF_HD static Key2x32 child(Key2x32 key, uint64_t i, uint64_t n) {
    return {{word<uint32_t>(key, 2 * i, 2 * n), word<uint32_t>(key, 2 * i + 1, 2 * n)}};
  }
  TTF_HD static Key2x32 fold_in(Key2x32 key, uint64_t number) { return Threefry2x32::fold_in(key, number); }
  TTF_HD static Key2x32 element_key(Key2x32 key, uint64_t i, uint64_t n) { return child(key, i, n); }
  TTF_HD static Key2x32 own_key(Key2x32 key, uint64_t i) { return Threefry2x32::own_key(key, i); }
};

// ---- Threefry-4x64: paths ----
//
// Claessen & Palka, "Splittable pseudorandom number generators using cryptographic hashing" (Haskell Symposium 2013):
// a key is a node of a binary tree, the cipher's key together with the path from that key's root to the node. What is
// hashed is the path with its end marker, a 1 after its last bit, so that no path is another's beginning.
//
// The first two words of a hashed block are the path and marker, whose last bit is free: it is 0 where the block is words
// of a draw, the other two words being their counter, and 1 where it is a new cipher key, the other two words being
// what that is for, and a number. So no two of all these blocks under one cipher key are the same.

struct Key4x64 {
  using Word = uint64_t;
  static constexpr int kWords = 10;  // in memory: cipher key 4, path 2, counter 2, end marker 2; high words first
  uint64_t word[4];
  Wide path;     // with its end marker, the lowest bit that is set, in bits 127 to 1
  Wide counter;  // of the first block of a draw

  TTF_HD static Key4x64 load(const uint64_t* from, int64_t step) {
    return {{from[0], from[step], from[2 * step], from[3 * step]},
            {from[4 * step] | from[8 * step], from[5 * step] | from[9 * step]},
            {from[6 * step], from[7 * step]}};
  }
  TTF_HD void store(uint64_t* to) const {
    const Wide marker = lowest_bit(path);
    const uint64_t rest[6] = {path.hi ^ marker.hi, path.lo ^ marker.lo, counter.hi, counter.lo, marker.hi, marker.lo};
    TTF_UNROLL(4)
    for (int i = 0; i < 4; ++i) to[i] = word[i];
    TTF_UNROLL(6)
    for (int i = 0; i < 6; ++i) to[4 + i] = rest[i];
  }
};

constexpr uint64_t kEmptyPath = uint64_t(1) << 63;  // its high word: the marker alone; the low word is 0

// What a new cipher key is for.
enum Purpose : uint64_t {
  kRestart = 0,  // the key's path has become full; it goes on with an empty one
  kFoldIn = 1,
  kElement = 2,  // an element of a draw
};

struct Block4x64 {
  uint64_t word[4];

  // Word i, without an index into registers.
  TTF_HD uint64_t operator[](uint32_t i) const {
    const uint64_t low = i & 1 ? word[1] : word[0], high = i & 1 ? word[3] : word[2];
    return i & 2 ? high : low;
  }
};

TTF_HD_LONG Block4x64 encrypt(const Key4x64& key, Wide first, Wide second) {
  Block4x64 block = {{first.hi, first.lo, second.hi, second.lo}};
  threefry<uint64_t, 4>(block.word, key.word, kRounds);
  return block;
}

// Block i of the key's stream.
TTF_HD Block4x64 stream_block(const Key4x64& key, uint64_t i) { return encrypt(key, key.path, add(key.counter, i)); }

TTF_HD Key4x64 new_key(const Key4x64& key, Purpose purpose, uint64_t number) {
  const Block4x64 block = encrypt(key, {key.path.hi, key.path.lo | 1}, {purpose, number});
  return {{block.word[0], block.word[1], block.word[2], block.word[3]}, {kEmptyPath, 0}, {0, 0}};
}

// How many bits tell n children apart: at least 1, for a child is not its parent.
TTF_HD int child_bits(uint64_t n) { return n > 2 ? 64 - leading_zeros(n - 1) : 1; }

// The path with the last `count` of some bits after its own, the first of them first. There must be room.
TTF_HD Wide append(Wide path, uint64_t bits, int count) {
  const Wide marker = lowest_bit(path), end = shift_left(2 * bits + 1, trailing_zeros(path) - count);
  return {(path.hi ^ marker.hi) | end.hi, (path.lo ^ marker.lo) | end.lo};
}

// Whether the marker has come to its last place. (Also for words that are no path at all.)
TTF_HD bool is_full(Wide path) { return (path.lo & 3) != 0 || (path.hi | path.lo) == 0; }

struct Threefry4x64 {
  static constexpr Impl impl = Impl::threefry4x64;
  using Key = Key4x64;
  using Own = Threefry4x64;

  // Child i of n has the bits of i, first ones first. Its counter begins at 0.
  TTF_HD static Key4x64 child(Key4x64 key, uint64_t i, uint64_t n) {
    const int count = child_bits(n);
    key.counter = {0, 0};
    if (!is_full(key.path) && count < trailing_zeros(key.path)) {
      key.path = append(key.path, i, count);
      return key;
    }
    TTF_ROLLED
    for (int bit = count; bit-- > 0;) {
      if (is_full(key.path)) key = new_key(key, kRestart, 0);
      key.path = append(key.path, i >> bit & 1, 1);
    }
    return key;
  }
  TTF_HD static Key4x64 fold_in(const Key4x64& key, uint64_t number) { return new_key(key, kFoldIn, number); }
  TTF_HD static Key4x64 element_key(const Key4x64& key, uint64_t i, uint64_t) { return new_key(key, kElement, i); }
  TTF_HD static Key4x64 own_key(const Key4x64& key, uint64_t i) { return new_key(key, kElement, i); }
  TTF_HD static TwoWords own_words(const Key4x64& key, uint64_t i) {
    const Block4x64 block = stream_block(key, i >> 1);
    return i & 1 ? TwoWords{block.word[2], block.word[3]} : TwoWords{block.word[0], block.word[1]};
  }

  // The draws of all widths are the same bits: narrow words are the 64-bit words cut up, low part first.
  template <class Word>
  TTF_HD static Word word(const Key4x64& key, uint64_t i, uint64_t) {
    constexpr uint32_t parts = 8 / sizeof(Word);
    constexpr int log2_parts = parts == 8 ? 3 : parts == 4 ? 2 : parts == 2 ? 1 : 0;
    const uint64_t whole = i >> log2_parts;
    return Word(stream_block(key, whole >> 2)[uint32_t(whole) & 3] >> (uint32_t(i) % parts * 8 * sizeof(Word)));
  }
};

// ---- All of them ----

// f(stream) of an implementation.
template <class F>
auto visit_stream(Impl impl, F f) {
  switch (impl) {
    case Impl::threefry2x32_original: return f(Threefry2x32Original());
    case Impl::threefry4x64: return f(Threefry4x64());
    default: return f(Threefry2x32());
  }
}

template <class Stream, class Word>
TTF_HD Word stream_word(const typename Stream::Key& key, uint64_t i, uint64_t n) {
  return Stream::template word<Word>(key, i, n);
}

TTF_NAMESPACE_END
