// Words and keys of the streams over Threefry-2x32: first the counters of all elements of a block, then their
// encryption, then the words out of the encrypted blocks. Included by words.h.
#pragma once

TTF_NAMESPACE_BEGIN

using Lanes32 = Lanes<uint32_t>;

// Two words an element: counters, then their encryption, in place. `second` is a Place's.
struct Blocks {
  alignas(64) uint32_t word0[kBlock], word1[kBlock], second[kBlock];
};

template <>
struct KeyBlock<Key2x32> {
  alignas(64) uint32_t word0[kBlock], word1[kBlock];

  void set(int i, Key2x32 key) {
    word0[i] = key.word[0];
    word1[i] = key.word[1];
  }
  Key2x32 at(int i) const { return {{word0[i], word1[i]}}; }
  void take(int i, const KeyBlock& from, int at) { set(i, from.at(at)); }
};

template <>
struct Gather<Key2x32> {
  KeyBlock<Key2x32> keys;  // one an element
  Indices index;

  int key_of(int i) const { return i; }
  int key_count(int count) const { return count; }
  void set_one_each(int) {}
  void set(int i, Key2x32 key, uint64_t at) {
    keys.set(i, key);
    index.set(i, at);
  }
  void add(int i, int length, Key2x32 key, uint64_t first, uint64_t step) {
    for (int j = 0; j < length; ++j) set(i + j, key, first + step * uint64_t(j));
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
TTF_HD void set_counters(const Run<Key2x32>& run, int count, PlaceOf place, Blocks& blocks) {
  const uint32_t first_hi = hi32(run.first), first_lo = lo32(run.first);
  for (int i = 0; i < count; ++i) {
    const uint32_t lo = first_lo + run.step * i;
    set_counter<choose>(i, place(first_hi + (lo < first_lo), lo), blocks);
  }
}

// Of Listed or Gather.
template <bool choose, class Source, class PlaceOf>
TTF_HD void set_counters(const Source& source, int count, PlaceOf place, Blocks& blocks) {
  const Indices& index = source.index;
  for (int i = 0; i < count; ++i) set_counter<choose>(i, place(index.hi[i], index.lo[i]), blocks);
}

// ---- Cipher ----

// The keys of a bundle, by where it begins.
struct EachKey2x32 {
  const KeyBlock<Key2x32>& keys;

  TTF_HD KeyLanes<uint32_t, 2> operator()(int base) const {
    KeyLanes<uint32_t, 2> key;
    key.word[0].load(keys.word0 + base);
    key.word[1].load(keys.word1 + base);
    return key;
  }
};

template <class KeyOf>
TTF_HD void encrypt_in_place(int count, Blocks& blocks, KeyOf key_of) {
  encrypt_bundles<uint32_t, 2>(
      count, key_of,
      [&blocks](int base, Lanes32(&block)[2]) {
        block[0].load(blocks.word0 + base);
        block[1].load(blocks.word1 + base);
      },
      [&blocks](int base, Lanes32(&block)[2]) {
        block[0].store(blocks.word0 + base);
        block[1].store(blocks.word1 + base);
      });
}

TTF_NOINLINE inline void encrypt(const Run<Key2x32>& run, int count, Blocks& blocks) {
  const Key2x32 key = run.key;
  encrypt_in_place(count, blocks, [key](int) { return key; });
}

inline void encrypt(const Listed<Key2x32>& listed, int count, Blocks& blocks) {
  encrypt(Run<Key2x32>{listed.key, 0}, count, blocks);
}

TTF_NOINLINE inline void encrypt(const Gather<Key2x32>& gather, int count, Blocks& blocks) {
  encrypt_in_place(count, blocks, EachKey2x32{gather.keys});
}

// ---- Words ----

template <class Stream, template <class> class Source>
void words_of_blocks(const Source<Key2x32>& source, int count, uint64_t n, uint32_t* out) {
  Blocks blocks;
  set_counters<Stream::chooses>(source, count, [n](uint32_t hi, uint32_t lo) { return Stream::place32(hi, lo, n); }, blocks);
  encrypt(source, count, blocks);
  for (int i = 0; i < count; ++i) {
    out[i] = Stream::word32(blocks.word0[i], blocks.word1[i], Stream::chooses ? blocks.second[i] : 0);
  }
}

// The commonest draws, consecutive 32-bit words of the partitionable stream, stay in registers from counter to
// word. (Not where the low half of the counter wraps around, once in 2^32 elements.)
TTF_NOINLINE inline void run_words(const Run<Key2x32>& run, int count, uint32_t* out) {
  const Key2x32 key = run.key;
  const Lanes32 hi = Lanes32::all(hi32(run.first));
  const uint32_t lo = lo32(run.first);
  encrypt_bundles<uint32_t, 2>(
      count, [key](int) { return key; },
      [hi, lo](int base, Lanes32(&block)[2]) {
        block[0] = hi;
        block[1] = Lanes32::count_from(lo + uint32_t(base));
      },
      [out](int base, Lanes32(&block)[2]) {
        block[0] ^= block[1];
        block[0].store(out + base);
      });
}

template <class Stream>
void words(const Run<Key2x32>& run, int count, uint64_t n, uint32_t* out) {
  if (!Stream::chooses && run.step == 1 && lo32(run.first) <= UINT32_MAX - kBlock) return run_words(run, count, out);
  words_of_blocks<Stream>(run, count, n, out);
}

template <class Stream, template <class> class Source>
void words(const Source<Key2x32>& source, int count, uint64_t n, uint32_t* out) {
  words_of_blocks<Stream>(source, count, n, out);
}

template <class Stream, template <class> class Source>
void words(const Source<Key2x32>& source, int count, uint64_t n, uint64_t* out) {
  Blocks blocks;
  set_counters<false>(source, count, [n](uint32_t hi, uint32_t lo) { return Stream::place64(hi, lo, n); }, blocks);
  encrypt(source, count, blocks);
  for (int i = 0; i < count; ++i) out[i] = join32(blocks.word0[i], blocks.word1[i]);
}

template <class Stream, template <class> class Source, class Narrow>
void narrow_words(const Source<Key2x32>& source, int count, uint64_t n, Narrow* out) {
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
template <class Stream, template <class> class Source>
void words(const Source<Key2x32>& source, int count, uint64_t n, uint8_t* out) {
  narrow_words<Stream>(source, count, n, out);
}
template <class Stream, template <class> class Source>
void words(const Source<Key2x32>& source, int count, uint64_t n, uint16_t* out) {
  narrow_words<Stream>(source, count, n, out);
}

// Both words of the original layout's blocks first, first + 1...: word0[i] is word first + i of the draw
// of n words, and word1[i] is word ceil(n / 2) + first + i.
inline void word_pairs(const Run<Key2x32>& run, int count, uint64_t n, Blocks& blocks) {
  set_counters<false>(run, count, [n](uint32_t hi, uint32_t lo) { return Threefry2x32Original::place32(hi, lo, n); }, blocks);
  encrypt(run, count, blocks);
}

// ---- One key an element ----

// The block at one counter, under each key. The results may take the keys' place.
TTF_NOINLINE inline void encrypt_each(const KeyBlock<Key2x32>& keys, int count, uint32_t c0, uint32_t c1,
                                      KeyBlock<Key2x32>& out) {
  encrypt_bundles<uint32_t, 2>(
      count, EachKey2x32{keys},
      [c0, c1](int, Lanes32(&block)[2]) {
        block[0] = Lanes32::all(c0);
        block[1] = Lanes32::all(c1);
      },
      [&out](int base, Lanes32(&block)[2]) {
        block[0].store(out.word0 + base);
        block[1].store(out.word1 + base);
      });
}

// Child i of each key's n children. The children may take their parents' place.
template <class Stream>
TTF_NOINLINE void children(const KeyBlock<Key2x32>& keys, int count, uint64_t i, uint64_t n, KeyBlock<Key2x32>& out) {
  if constexpr (!Stream::chooses) {
    encrypt_each(keys, count, hi32(i), lo32(i), out);
  } else {
    const Place first = Stream::place32(0, uint32_t(2 * i), 2 * n);
    const Place second = Stream::place32(0, uint32_t(2 * i + 1), 2 * n);
    KeyBlock<Key2x32> blocks[2];
    encrypt_each(keys, count, first.c0, first.c1, blocks[0]);
    encrypt_each(keys, count, second.c0, second.c1, blocks[1]);
    for (int j = 0; j < count; ++j) {
      out.word0[j] = Stream::word32(blocks[0].word0[j], blocks[0].word1[j], first.second);
      out.word1[j] = Stream::word32(blocks[1].word0[j], blocks[1].word1[j], second.second);
    }
  }
}

template <class Stream>
void only_words(const KeyBlock<Key2x32>& keys, int count, uint32_t* out) {
  const Place place = Stream::place32(0, 0, 1);
  KeyBlock<Key2x32> blocks;
  encrypt_each(keys, count, place.c0, place.c1, blocks);
  for (int i = 0; i < count; ++i) out[i] = Stream::word32(blocks.word0[i], blocks.word1[i], place.second);
}
template <class Stream>
void only_words(const KeyBlock<Key2x32>& keys, int count, uint64_t* out) {
  const Place place = Stream::place64(0, 0, 1);
  KeyBlock<Key2x32> blocks;
  encrypt_each(keys, count, place.c0, place.c1, blocks);
  for (int i = 0; i < count; ++i) out[i] = join32(blocks.word0[i], blocks.word1[i]);
}

inline void own_words(const KeyBlock<Key2x32>& keys, int count, uint32_t i, uint64_t* first, uint64_t* second) {
  KeyBlock<Key2x32> blocks;
  encrypt_each(keys, count, 0, 2 * i, blocks);
  for (int j = 0; j < count; ++j) first[j] = join32(blocks.word0[j], blocks.word1[j]);
  encrypt_each(keys, count, 0, 2 * i + 1, blocks);
  for (int j = 0; j < count; ++j) second[j] = join32(blocks.word0[j], blocks.word1[j]);
}

// ---- Elements' own keys ----

// For element i, child i of its key's n children.
template <class Stream, template <class> class Source>
TTF_NOINLINE void element_keys(const Source<Key2x32>& source, int count, uint64_t n, KeyBlock<Key2x32>& out) {
  if constexpr (!Stream::chooses) {
    Blocks blocks;
    set_counters<false>(source, count, [](uint32_t hi, uint32_t lo) { return Stream::place64(hi, lo, 0); }, blocks);
    encrypt(source, count, blocks);
    for (int i = 0; i < count; ++i) out.set(i, {{blocks.word0[i], blocks.word1[i]}});
  } else {
    words_of_blocks<Stream>(spread(source, 2, 0, count), count, 2 * n, out.word0);
    words_of_blocks<Stream>(spread(source, 2, 1, count), count, 2 * n, out.word1);
  }
}

// Child i of the root of the key's own streams, in either layout.
inline void own_keys(const Run<Key2x32>& run, int count, KeyBlock<Key2x32>& out) {
  const Run<Key2x32> root = {encrypt(run.key, kOwnStreams, kOwnStreams), run.first, run.step};
  element_keys<Threefry2x32>(root, count, 0, out);
}
inline void own_keys(const Gather<Key2x32>& gather, int count, KeyBlock<Key2x32>& out) {
  Gather<Key2x32> roots = gather;
  encrypt_each(gather.keys, count, kOwnStreams, kOwnStreams, roots.keys);
  element_keys<Threefry2x32>(roots, count, 0, out);
}

// A child by number is one of the partitionable layout, in either.
inline void fold_in(const Gather<Key2x32>& gather, int count, KeyBlock<Key2x32>& out) {
  element_keys<Threefry2x32>(gather, count, 0, out);
}

TTF_NAMESPACE_END
