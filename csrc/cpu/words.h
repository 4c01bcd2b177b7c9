// Counter -> cipher -> word, in buffers of one block of elements that stay in L1: first the counters
// of all its elements, then their encryption, then the words out of the encrypted blocks.
#pragma once

#include <stdint.h>

#include "../distributions/distribution.h"
#include "../streams.h"
#include "lanes.h"

TTF_NAMESPACE_BEGIN

constexpr int kBlock = 512;  // elements a block; a multiple of kLanes, for whole bundles are encrypted

// Two words an element: counters, then their encryption, in place. `second` is a Place's.
struct Blocks {
  alignas(64) uint32_t word0[kBlock], word1[kBlock], second[kBlock];
};

// Which words of which streams a block of elements asks for: consecutive ones of one key...
struct Run {
  Key2x32 key;
  uint64_t first;
};

// ... or any words of any keys, listed one by one.
struct Gather {
  alignas(64) uint32_t key0[kBlock], key1[kBlock];
  alignas(64) uint32_t hi[kBlock], lo[kBlock];  // the index

  void set(int i, Key2x32 key, uint64_t index) {
    key0[i] = key.word[0];
    key1[i] = key.word[1];
    hi[i] = hi32(index);
    lo[i] = lo32(index);
  }
};

// ---- Counters ----

// With `choose`, an element takes one of its block's words, and `second` is set too.
template <bool choose>
TTF_HD void set_counter(int i, const Place& place, Blocks& blocks) {
  blocks.word0[i] = place.c0;
  blocks.word1[i] = place.c1;
  if (choose) blocks.second[i] = place.second;
}

template <bool choose, class PlaceOf>
TTF_HD void set_counters(const Run& run, int count, PlaceOf place, Blocks& blocks) {
  const uint32_t first_hi = hi32(run.first), first_lo = lo32(run.first);
  for (int i = 0; i < count; ++i) {
    const uint32_t lo = first_lo + i;
    set_counter<choose>(i, place(first_hi + (lo < first_lo), lo), blocks);
  }
}

template <bool choose, class PlaceOf>
TTF_HD void set_counters(const Gather& gather, int count, PlaceOf place, Blocks& blocks) {
  for (int i = 0; i < count; ++i) set_counter<choose>(i, place(gather.hi[i], gather.lo[i]), blocks);
}

// ---- Cipher ----

// For every bundle: load its counters, encrypt, store. Each use holds a whole unrolled cipher, and so there
// are few of them, not inlined.
template <class Key, class Load, class Store>
TTF_HD void encrypt_bundles(int count, Key key_of, Load load, Store store) {
  for (int base = 0; base < count; base += kLanes) {
    Lanes block[2];
    load(base, block);
    threefry<uint32_t, 2>(block, key_of(base).word, kRounds);
    store(base, block);
  }
}

struct KeyLanes {
  Lanes word[2];
};

template <class Key>
TTF_HD void encrypt_in_place(int count, Blocks& blocks, Key key_of) {
  encrypt_bundles(
      count, key_of,
      [&blocks](int base, Lanes(&block)[2]) {
        block[0].load(blocks.word0 + base);
        block[1].load(blocks.word1 + base);
      },
      [&blocks](int base, Lanes(&block)[2]) {
        block[0].store(blocks.word0 + base);
        block[1].store(blocks.word1 + base);
      });
}

TTF_NOINLINE inline void encrypt(const Run& run, int count, Blocks& blocks) {
  const Key2x32 key = run.key;
  encrypt_in_place(count, blocks, [key](int) { return key; });
}

TTF_NOINLINE inline void encrypt(const Gather& gather, int count, Blocks& blocks) {
  encrypt_in_place(count, blocks, [&gather](int base) {
    KeyLanes key;
    key.word[0].load(gather.key0 + base);
    key.word[1].load(gather.key1 + base);
    return key;
  });
}

// ---- Words ----

template <class Stream, class Source>
void block_words(const Source& source, int count, uint64_t n, uint32_t* out) {
  Blocks blocks;
  set_counters<Stream::chooses>(source, count, [n](uint32_t hi, uint32_t lo) { return Stream::place32(hi, lo, n); }, blocks);
  encrypt(source, count, blocks);
  for (int i = 0; i < count; ++i) {
    out[i] = Stream::word32(blocks.word0[i], blocks.word1[i], Stream::chooses ? blocks.second[i] : 0);
  }
}

template <class Stream, class Source>
void words(const Source& source, int count, uint64_t n, uint32_t* out) {
  block_words<Stream>(source, count, n, out);
}

template <class Stream, class Source>
void words(const Source& source, int count, uint64_t n, uint64_t* out) {
  Blocks blocks;
  set_counters<false>(source, count, [n](uint32_t hi, uint32_t lo) { return Stream::place64(hi, lo, n); }, blocks);
  encrypt(source, count, blocks);
  for (int i = 0; i < count; ++i) out[i] = join32(blocks.word0[i], blocks.word1[i]);
}

// The commonest draws, 32-bit words of a run of the partitionable stream, stay in registers from counter to
// word. (Not where the low half of the counter wraps around, once in 2^32 elements.)
TTF_NOINLINE inline void run_words(const Run& run, int count, uint32_t* out) {
  const Key2x32 key = run.key;
  const Lanes hi = Lanes::all(hi32(run.first));
  const uint32_t lo = lo32(run.first);
  encrypt_bundles(
      count, [key](int) { return key; },
      [hi, lo](int base, Lanes(&block)[2]) {
        block[0] = hi;
        block[1] = Lanes::count_from(lo + uint32_t(base));
      },
      [out](int base, Lanes(&block)[2]) {
        block[0] ^= block[1];
        block[0].store(out + base);
      });
}

template <>
inline void words<Threefry2x32>(const Run& run, int count, uint64_t n, uint32_t* out) {
  if (lo32(run.first) <= UINT32_MAX - kBlock) return run_words(run, count, out);
  block_words<Threefry2x32>(run, count, n, out);
}

// 8- and 16-bit words. Partitionable: the low bits of the 32-bit word. Original: the 32-bit words cut
// up, low part first. The word is then encrypted again for each of its parts, which costs time but
// keeps the rule that an element is found by its index alone.
template <class Stream, class Source, class Narrow>
void narrow_words(const Source& source, int count, uint64_t n, Narrow* out) {
  constexpr uint32_t bits = 8 * sizeof(Narrow), parts = Stream::chooses ? 32 / bits : 1;
  constexpr int log2_parts = parts == 4 ? 2 : parts == 2 ? 1 : 0;
  const uint64_t total = (n + parts - 1) / parts;
  Blocks blocks;
  set_counters<Stream::chooses>(
      source, count,
      [total](uint32_t hi, uint32_t lo) {
        const uint64_t word = join32(hi, lo) >> log2_parts;
        Place place = Stream::place32(hi32(word), lo32(word), total);
        place.second |= lo % parts * bits << 1;  // how far to shift, above the choice of the word
        return place;
      },
      blocks);
  encrypt(source, count, blocks);
  for (int i = 0; i < count; ++i) {
    const uint32_t choice = Stream::chooses ? blocks.second[i] : 0;
    out[i] = Narrow(Stream::word32(blocks.word0[i], blocks.word1[i], choice & 1) >> (choice >> 1));
  }
}
template <class Stream, class Source>
void words(const Source& source, int count, uint64_t n, uint8_t* out) {
  narrow_words<Stream>(source, count, n, out);
}
template <class Stream, class Source>
void words(const Source& source, int count, uint64_t n, uint16_t* out) {
  narrow_words<Stream>(source, count, n, out);
}

// Both words of the original layout's blocks first, first + 1...: word0[i] is word first + i of the draw
// of n words, and word1[i] is word ceil(n / 2) + first + i.
inline void word_pairs(const Run& run, int count, uint64_t n, Blocks& blocks) {
  set_counters<false>(run, count, [n](uint32_t hi, uint32_t lo) { return Threefry2x32Original::place32(hi, lo, n); }, blocks);
  encrypt(run, count, blocks);
}

TTF_NAMESPACE_END
