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

// The keys of a block of elements, where each has its own.
struct KeyBlock {
  alignas(64) uint32_t word0[kBlock], word1[kBlock];

  void set(int i, Key2x32 key) {
    word0[i] = key.word[0];
    word1[i] = key.word[1];
  }
  // Key i becomes number `at` of another block, or of this one.
  void take(int i, const KeyBlock& from, int at) { set(i, {{from.word0[at], from.word1[at]}}); }
};

// Which words of which streams a block of elements asks for: evenly spaced ones of one key...
struct Run {
  Key2x32 key;
  uint64_t first;
  uint32_t step = 1;
};

// ... any words of one key ...
struct Listed {
  Key2x32 key;
  alignas(64) uint32_t hi[kBlock], lo[kBlock];  // the index

  void set(int i, uint64_t index) {
    hi[i] = hi32(index);
    lo[i] = lo32(index);
  }
};

// ... or any words of any keys.
struct Gather {
  KeyBlock keys;
  alignas(64) uint32_t hi[kBlock], lo[kBlock];  // the index

  void set(int i, Key2x32 key, uint64_t index) {
    keys.set(i, key);
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
    const uint32_t lo = first_lo + run.step * i;
    set_counter<choose>(i, place(first_hi + (lo < first_lo), lo), blocks);
  }
}

// Of Listed or Gather.
template <bool choose, class Source, class PlaceOf>
TTF_HD void set_counters(const Source& source, int count, PlaceOf place, Blocks& blocks) {
  for (int i = 0; i < count; ++i) set_counter<choose>(i, place(source.hi[i], source.lo[i]), blocks);
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

// The keys of a bundle, by where it begins.
struct EachKey {
  const KeyBlock& keys;

  TTF_HD KeyLanes operator()(int base) const {
    KeyLanes key;
    key.word[0].load(keys.word0 + base);
    key.word[1].load(keys.word1 + base);
    return key;
  }
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

inline void encrypt(const Listed& listed, int count, Blocks& blocks) { encrypt(Run{listed.key, 0}, count, blocks); }

TTF_NOINLINE inline void encrypt(const Gather& gather, int count, Blocks& blocks) {
  encrypt_in_place(count, blocks, EachKey{gather.keys});
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

// The commonest draws, consecutive 32-bit words of the partitionable stream, stay in registers from counter to
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
  if (run.step == 1 && lo32(run.first) <= UINT32_MAX - kBlock) return run_words(run, count, out);
  block_words<Threefry2x32>(run, count, n, out);
}

template <class Stream, class Source, class Narrow>
void narrow_words(const Source& source, int count, uint64_t n, Narrow* out) {
  Blocks blocks;
  set_counters<Stream::chooses>(
      source, count,
      [n](uint32_t hi, uint32_t lo) {
        NarrowPlace narrow = narrow_place<Stream, Narrow>(hi, lo, n);
        narrow.place.second |= narrow.shift << 1;  // above the choice of the word
        return narrow.place;
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

// ---- One key an element ----

// The block at one counter, under each key. The results may take the keys' place.
TTF_NOINLINE inline void encrypt_each(const KeyBlock& keys, int count, uint32_t c0, uint32_t c1, KeyBlock& out) {
  encrypt_bundles(
      count, EachKey{keys},
      [c0, c1](int, Lanes(&block)[2]) {
        block[0] = Lanes::all(c0);
        block[1] = Lanes::all(c1);
      },
      [&out](int base, Lanes(&block)[2]) {
        block[0].store(out.word0 + base);
        block[1].store(out.word1 + base);
      });
}

// Child i of each key's n children. The children may take their parents' place.
template <class Stream>
TTF_NOINLINE void children(const KeyBlock& keys, int count, uint64_t i, uint64_t n, KeyBlock& out) {
  if constexpr (!Stream::chooses) {
    encrypt_each(keys, count, hi32(i), lo32(i), out);
  } else {
    const Place first = Stream::place32(0, uint32_t(2 * i), 2 * n);
    const Place second = Stream::place32(0, uint32_t(2 * i + 1), 2 * n);
    KeyBlock blocks[2];
    encrypt_each(keys, count, first.c0, first.c1, blocks[0]);
    encrypt_each(keys, count, second.c0, second.c1, blocks[1]);
    for (int j = 0; j < count; ++j) {
      out.word0[j] = Stream::word32(blocks[0].word0[j], blocks[0].word1[j], first.second);
      out.word1[j] = Stream::word32(blocks[1].word0[j], blocks[1].word1[j], second.second);
    }
  }
}

// The only word of each key's draw of one.
template <class Stream>
void only_words(const KeyBlock& keys, int count, uint32_t* out) {
  const Place place = Stream::place32(0, 0, 1);
  KeyBlock blocks;
  encrypt_each(keys, count, place.c0, place.c1, blocks);
  for (int i = 0; i < count; ++i) out[i] = Stream::word32(blocks.word0[i], blocks.word1[i], place.second);
}
template <class Stream>
void only_words(const KeyBlock& keys, int count, uint64_t* out) {
  const Place place = Stream::place64(0, 0, 1);
  KeyBlock blocks;
  encrypt_each(keys, count, place.c0, place.c1, blocks);
  for (int i = 0; i < count; ++i) out[i] = join32(blocks.word0[i], blocks.word1[i]);
}

// ---- Sources made of others ----

// The same elements of the streams of the keys' child i of n.
template <class Stream>
Run child(const Run& run, uint64_t i, uint64_t n, int) {
  return {Stream::child(run.key, i, n), run.first, run.step};
}
template <class Stream>
Gather child(const Gather& gather, uint64_t i, uint64_t n, int count) {
  Gather result = gather;
  children<Stream>(gather.keys, count, i, n, result.keys);
  return result;
}

// Words start + stride * i for the elements' i.
inline Run spread(const Run& run, uint64_t stride, uint64_t start, int) {
  return {run.key, start + stride * run.first, uint32_t(stride) * run.step};
}
TTF_NOINLINE inline Gather spread(const Gather& gather, uint64_t stride, uint64_t start, int count) {
  Gather result = gather;
  for (int i = 0; i < count; ++i) {
    const uint64_t index = start + stride * join32(gather.hi[i], gather.lo[i]);
    result.hi[i] = hi32(index);
    result.lo[i] = lo32(index);
  }
  return result;
}

// For element i, child i of its key's n children.
template <class Stream, class Source>
TTF_NOINLINE void element_keys(const Source& source, int count, uint64_t n, KeyBlock& out) {
  if constexpr (!Stream::chooses) {
    Blocks blocks;
    set_counters<false>(source, count, [](uint32_t hi, uint32_t lo) { return Stream::place64(hi, lo, 0); }, blocks);
    encrypt(source, count, blocks);
    for (int i = 0; i < count; ++i) {
      out.word0[i] = blocks.word0[i];
      out.word1[i] = blocks.word1[i];
    }
  } else {
    block_words<Stream>(spread(source, 2, 0, count), count, 2 * n, out.word0);
    block_words<Stream>(spread(source, 2, 1, count), count, 2 * n, out.word1);
  }
}

TTF_NAMESPACE_END
