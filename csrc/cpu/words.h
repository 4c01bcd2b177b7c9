// Counter -> cipher -> word, in buffers of one block of elements that stay in L1: which words of which keys' streams a
// block asks for. How they are made is in words_2x32.h and words_4x64.h, by the type of the key:
//   words<Stream>(source, count, n, out)          the words, of any width
//   element_keys<Stream>(source, count, n, out)   each element's own key, or
//   own_keys(source, count, out)                  where the draw is none of JAX's, and
//   own_words(keys, count, i, first, second)      words 2i and 2i + 1 of each of the latter keys
//   children<Stream>(keys, count, i, n, out)      child i of each key's n
//   only_words<Stream>(keys, count, out)          the only word of each key's draw of one
//   fold_in(gather, count, out)                   each key's child with the number that stands as the index
#pragma once

#include <stdint.h>

#include "../distributions/distribution.h"
#include "../streams.h"
#include "lanes.h"

TTF_NAMESPACE_BEGIN

constexpr int kBlock = 512;  // elements a block; a multiple of a bundle's lanes, for whole bundles are encrypted

// The keys of a block of elements, where each has its own: set(i, key), and take(i, from, at), key i becoming number `at`
// of another block, or of this one.
template <class Key>
struct KeyBlock;

// Which words of which streams a block of elements asks for: evenly spaced ones of one key...
template <class Key>
struct Run {
  Key key;
  uint64_t first;
  uint32_t step = 1;
};

// An element's index, in halves.
struct Indices {
  alignas(64) uint32_t hi[kBlock], lo[kBlock];

  void set(int i, uint64_t index) {
    hi[i] = hi32(index);
    lo[i] = lo32(index);
  }
  TTF_HD uint64_t operator[](int i) const { return join32(hi[i], lo[i]); }
};

// ... any words of one key ...
template <class Key>
struct Listed {
  Key key;
  Indices index;
};

// ... or any words of any keys, with
//   keys, index            the keys, and each element's index
//   key_of(i)              which of the keys is element i's
//   key_count(count)       how many there are for so many elements
//   set(i, key, index)     makes the next element, i, a key's word
//   add(i, length, key, first, step)  makes the next elements, i, i + 1..., a key's words first, first + step...
//   set_one_each(count)    says that so many elements have a key each, in order
template <class Key>
struct Gather;

// Words start + stride * i for the elements' i.
template <class Key>
Run<Key> spread(const Run<Key>& run, uint64_t stride, uint64_t start, int) {
  return {run.key, start + stride * run.first, uint32_t(stride) * run.step};
}
template <class Key>
TTF_NOINLINE Gather<Key> spread(const Gather<Key>& gather, uint64_t stride, uint64_t start, int count) {
  Gather<Key> result = gather;
  for (int i = 0; i < count; ++i) result.index.set(i, start + stride * gather.index[i]);
  return result;
}

// For every bundle of a block's lanes: load its counters, encrypt, store. Each use holds a whole unrolled cipher, and so
// there are few of them, not inlined.
template <class Word, int N, class KeyOf, class Load, class Store>
TTF_HD void encrypt_bundles(int count, KeyOf key_of, Load load, Store store) {
  for (int base = 0; base < count; base += Lanes<Word>::kCount) {
    Lanes<Word> block[N];
    load(base, block);
    threefry<Word, N>(block, key_of(base).word, kRounds);
    store(base, block);
  }
}

// The cipher keys of a bundle.
template <class Word, int N>
struct KeyLanes {
  Lanes<Word> word[N];
};

TTF_NAMESPACE_END

#include "words_2x32.h"
#include "words_4x64.h"

TTF_NAMESPACE_BEGIN

// The same elements of the streams of the keys' child i of n.
template <class Stream, class Key>
Run<Key> child(const Run<Key>& run, uint64_t i, uint64_t n, int) {
  return {Stream::child(run.key, i, n), run.first, run.step};
}
template <class Stream, class Key>
Gather<Key> child(const Gather<Key>& gather, uint64_t i, uint64_t n, int count) {
  Gather<Key> result = gather;
  children<Stream>(gather.keys, gather.key_count(count), i, n, result.keys);
  return result;
}

TTF_NAMESPACE_END
