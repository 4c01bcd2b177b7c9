// Words and keys of Threefry4x64. Included by words.h.
#pragma once

#include <string.h>

TTF_NAMESPACE_BEGIN

using Lanes64 = Lanes<uint64_t>;

template <>
struct KeyBlock<Key4x64> {
  alignas(64) uint64_t word[4][kBlock], path_hi[kBlock], path_lo[kBlock], counter_hi[kBlock], counter_lo[kBlock];

  void set(int i, const Key4x64& key) {
    for (int w = 0; w < 4; ++w) word[w][i] = key.word[w];
    path_hi[i] = key.path.hi;
    path_lo[i] = key.path.lo;
    counter_hi[i] = key.counter.hi;
    counter_lo[i] = key.counter.lo;
  }
  Key4x64 at(int i) const {
    return {{word[0][i], word[1][i], word[2][i], word[3][i]}, {path_hi[i], path_lo[i]}, {counter_hi[i], counter_lo[i]}};
  }
  void take(int i, const KeyBlock& from, int at) { set(i, from.at(at)); }
};

template <>
struct Gather<Key4x64> {
  KeyBlock<Key4x64> keys;  // one for elements that were added together: they are large
  int keys_added = 0;
  int key_number[kBlock];
  Indices index;

  int key_of(int i) const { return key_number[i]; }
  int key_count(int) const { return keys_added; }
  void set_one_each(int count) {
    for (int i = 0; i < count; ++i) key_number[i] = i;
    keys_added = count;
  }
  void set(int i, const Key4x64& key, uint64_t at) {
    key_number[i] = keys_added;
    index.set(i, at);
    keys.set(keys_added++, key);
  }
  void add(int i, int length, const Key4x64& key, uint64_t first, uint64_t step) {
    set(i, key, first);
    for (int j = 1; j < length; ++j) {
      key_number[i + j] = key_number[i];
      index.set(i + j, first + step * uint64_t(j));
    }
  }
};

// ---- Cipher ----

// The words of some encrypted blocks, word by word.
struct Blocks4x64 {
  alignas(64) uint64_t word[4][kBlock];
};

TTF_HD void store_blocks(const Lanes64 (&block)[4], int base, uint64_t (*words)[kBlock]) {
  TTF_UNROLL(4)
  for (int w = 0; w < 4; ++w) block[w].store(words[w] + base);
}

// Block after block.
TTF_HD void store_side_by_side(const Lanes64 (&block)[4], uint64_t* out) {
  alignas(64) uint64_t words[4][Lanes64::kCount];
  TTF_UNROLL(4)
  for (int w = 0; w < 4; ++w) block[w].store(words[w]);
  for (int i = 0; i < Lanes64::kCount; ++i) {
    TTF_UNROLL(4)
    for (int w = 0; w < 4; ++w) out[4 * i + w] = words[w][i];
  }
}

// The counter a + (0, 1, 2...), in two words.
TTF_HD void count_from(Wide a, Lanes64& hi, Lanes64& lo) {
  lo = Lanes64::count_from(a.lo);
  hi = Lanes64::all(a.hi);
  TTF_UNROLL(4)
  for (int i = 0; i < Lanes64::kVectors; ++i) hi.vector[i] -= Lanes64::Vector(lo.vector[i] < a.lo);  // true is -1
}

// Blocks first, first + 1... of a key's stream, as their words lie side by side. Whole bundles of them are written.
TTF_NOINLINE inline void encrypt_run(const Key4x64& key, uint64_t first, int count, uint64_t* out) {
  const Lanes64 path_hi = Lanes64::all(key.path.hi), path_lo = Lanes64::all(key.path.lo);
  encrypt_bundles<uint64_t, 4>(
      count, [&key](int) -> const Key4x64& { return key; },
      [&](int base, Lanes64(&block)[4]) {
        block[0] = path_hi;
        block[1] = path_lo;
        count_from(add(key.counter, first + uint64_t(base)), block[2], block[3]);
      },
      [out](int base, Lanes64(&block)[4]) { store_side_by_side(block, out + 4 * base); });
}

// The cipher keys of a bundle, by where it begins.
struct EachKey4x64 {
  const KeyBlock<Key4x64>& keys;

  TTF_HD KeyLanes<uint64_t, 4> operator()(int base) const {
    KeyLanes<uint64_t, 4> key;
    TTF_UNROLL(4)
    for (int w = 0; w < 4; ++w) key.word[w].load(keys.word[w] + base);
    return key;
  }
};

// Block i of each key's stream.
TTF_NOINLINE inline void encrypt_each(const KeyBlock<Key4x64>& keys, int count, uint64_t i, Blocks4x64& out) {
  encrypt_bundles<uint64_t, 4>(
      count, EachKey4x64{keys},
      [&keys, i](int base, Lanes64(&block)[4]) {
        block[0].load(keys.path_hi + base);
        block[1].load(keys.path_lo + base);
        block[2].load(keys.counter_hi + base);
        block[3].load(keys.counter_lo + base);
        block[3] += i;
        TTF_UNROLL(4)
        for (int v = 0; v < Lanes64::kVectors; ++v) block[2].vector[v] -= Lanes64::Vector(block[3].vector[v] < i);
      },
      [&out](int base, Lanes64(&block)[4]) { store_blocks(block, base, out.word); });
}

// ---- Words ----

// Where a word lies in its block: so many bits up in one of the four.
template <class Word>
struct Place4x64 {
  static constexpr uint64_t kParts = 8 / sizeof(Word), kInBlock = 4 * kParts;

  TTF_HD static uint64_t block(uint64_t index) { return index / kInBlock; }
  TTF_HD static uint32_t word(uint64_t index) { return uint32_t(index / kParts % 4); }
  TTF_HD static uint32_t shift(uint64_t index) { return uint32_t(index % kParts * 8 * sizeof(Word)); }
};

// Narrow words out of 64-bit ones, low part first, as a little-endian memory has them.
template <class Word>
void cut(const uint64_t* from, uint64_t offset, int count, Word* out) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(out, reinterpret_cast<const char*>(from) + offset * sizeof(Word), size_t(count) * sizeof(Word));
#else
  for (int i = 0; i < count; ++i) {
    const uint64_t at = offset + uint64_t(i);
    out[i] = Word(from[at / Place4x64<Word>::kParts] >> Place4x64<Word>::shift(at));
  }
#endif
}

template <class Word>
void consecutive_words(const Key4x64& key, uint64_t first, int count, Word* out) {
  constexpr uint64_t in_block = Place4x64<Word>::kInBlock;
  const uint64_t offset = first % in_block;
  alignas(64) uint64_t words[kBlock + 4 * Lanes64::kCount];
  encrypt_run(key, first / in_block, int((offset + uint64_t(count) + in_block - 1) / in_block), words);
  cut(words, offset, count, out);
}

template <class Stream, class Word>
void words(const Run<Key4x64>& run, int count, uint64_t, Word* out) {
  if (run.step == 1) return consecutive_words(run.key, run.first, count, out);
  // Whole stretches, of which some words are taken.
  const int step = int(run.step), most = kBlock / step > 1 ? kBlock / step : 1;
  alignas(64) Word stretch[kBlock];
  for (int i = 0; i < count; i += most) {
    const int taken = count - i < most ? count - i : most;
    consecutive_words(run.key, run.first + uint64_t(step) * uint64_t(i), (taken - 1) * step + 1, stretch);
    for (int j = 0; j < taken; ++j) out[i + j] = stretch[j * step];
  }
}

// Neighbours' words may come of the same block, which is then encrypted once.
template <class Word, class KeyOf>
void listed_words(const KeyBlock<Key4x64>& keys, KeyOf key_of, const Indices& index, int count, Word* out) {
  using Place = Place4x64<Word>;
  int block_of[kBlock], key_number[kBlock], blocks = 0;
  alignas(64) uint64_t number[kBlock];
  bool first_blocks = true;  // of all keys, in order
  for (int i = 0; i < count; ++i) {
    const int key = key_of(i);
    const uint64_t block = Place::block(index[i]);
    if (i == 0 || block != number[blocks - 1] || key != key_number[blocks - 1]) {
      first_blocks = first_blocks && block == 0 && key == blocks;
      number[blocks] = block;
      key_number[blocks++] = key;
    }
    block_of[i] = blocks - 1;
  }
  Blocks4x64 encrypted;
  if (first_blocks) {
    encrypt_each(keys, blocks, 0, encrypted);
  } else {
    KeyBlock<Key4x64> each;  // a block's key, moved on to it
    for (int b = 0; b < blocks; ++b) {
      Key4x64 key = keys.at(key_number[b]);
      key.counter = add(key.counter, number[b]);
      each.set(b, key);
    }
    encrypt_each(each, blocks, 0, encrypted);
  }
  for (int i = 0; i < count; ++i) {
    const uint64_t at = index[i];
    out[i] = Word(encrypted.word[Place::word(at)][block_of[i]] >> Place::shift(at));
  }
}

template <class Stream, class Word>
TTF_NOINLINE void words(const Gather<Key4x64>& gather, int count, uint64_t, Word* out) {
  listed_words(gather.keys, [&gather](int i) { return gather.key_of(i); }, gather.index, count, out);
}

template <class Stream, class Word>
TTF_NOINLINE void words(const Listed<Key4x64>& listed, int count, uint64_t, Word* out) {
  KeyBlock<Key4x64> keys;
  keys.set(0, listed.key);
  listed_words(keys, [](int) { return 0; }, listed.index, count, out);
}

// ---- One key an element ----

// Keys whose paths are full go on with new ones.
inline void restart_full(KeyBlock<Key4x64>& keys, int count) {
  uint64_t full = 0;
  for (int i = 0; i < count; ++i) full |= uint64_t(is_full({keys.path_hi[i], keys.path_lo[i]}));
  if (!full) return;
  for (int i = 0; i < count; ++i) {
    const Key4x64 key = keys.at(i);
    if (is_full(key.path)) keys.set(i, new_key(key, kRestart, 0));
  }
}

// The children may take their parents' place.
template <class Stream>
TTF_NOINLINE void children(const KeyBlock<Key4x64>& keys, int count, uint64_t i, uint64_t n, KeyBlock<Key4x64>& out) {
  for (int j = 0; j < count; ++j) {
    Key4x64 key = keys.at(j);
    key.counter = {0, 0};
    out.set(j, key);
  }
  for (int bit = child_bits(n); bit-- > 0;) {
    restart_full(out, count);
    const uint64_t right = i >> bit & 1, kept = 0 - right;  // of the old marker
    for (int j = 0; j < count; ++j) {
      const Wide path = {out.path_hi[j], out.path_lo[j]}, marker = lowest_bit(path);
      out.path_hi[j] = (path.hi ^ (marker.hi & ~kept)) | marker.hi >> 1;
      out.path_lo[j] = (path.lo ^ (marker.lo & ~kept)) | marker.lo >> 1 | marker.hi << 63;
    }
  }
}

template <class Stream, class Word>
void only_words(const KeyBlock<Key4x64>& keys, int count, Word* out) {
  Blocks4x64 blocks;
  encrypt_each(keys, count, 0, blocks);
  for (int i = 0; i < count; ++i) out[i] = Word(blocks.word[0][i]);
}

inline void own_words(const KeyBlock<Key4x64>& keys, int count, uint32_t i, uint64_t* first, uint64_t* second) {
  Blocks4x64 blocks;
  encrypt_each(keys, count, i / 2, blocks);
  memcpy(first, blocks.word[i % 2 * 2], size_t(count) * sizeof(uint64_t));
  memcpy(second, blocks.word[i % 2 * 2 + 1], size_t(count) * sizeof(uint64_t));
}

// ---- New keys ----

TTF_HD void load_numbers(const Indices& index, int base, Lanes64& numbers) {
  alignas(64) uint64_t joined[Lanes64::kCount];
  for (int i = 0; i < Lanes64::kCount; ++i) joined[i] = index[base + i];
  numbers.load(joined);
}

inline void set_empty_paths(KeyBlock<Key4x64>& keys, int count) {
  for (int i = 0; i < count; ++i) {
    keys.path_hi[i] = kEmptyPath;
    keys.path_lo[i] = keys.counter_hi[i] = keys.counter_lo[i] = 0;
  }
}

// new_key for a purpose and the elements' indices, of one key...
TTF_NOINLINE inline void new_keys(const Run<Key4x64>& run, int count, Purpose purpose, KeyBlock<Key4x64>& out) {
  const Key4x64 key = run.key;
  encrypt_bundles<uint64_t, 4>(
      count, [&key](int) -> const Key4x64& { return key; },
      [&](int base, Lanes64(&block)[4]) {
        block[0] = Lanes64::all(key.path.hi);
        block[1] = Lanes64::all(key.path.lo | 1);
        block[2] = Lanes64::all(purpose);
        alignas(64) uint64_t numbers[Lanes64::kCount];
        for (int i = 0; i < Lanes64::kCount; ++i) numbers[i] = run.first + uint64_t(run.step) * uint64_t(base + i);
        block[3].load(numbers);
      },
      [&out](int base, Lanes64(&block)[4]) { store_blocks(block, base, out.word); });
  set_empty_paths(out, count);
}

// Cipher keys and paths of each element.
inline const KeyBlock<Key4x64>& each_key(const Gather<Key4x64>& gather, int count, KeyBlock<Key4x64>& buffer) {
  if (gather.keys_added == count) return gather.keys;
  for (int i = 0; i < count; ++i) buffer.take(i, gather.keys, gather.key_of(i));
  return buffer;
}

// ... or of one each.
TTF_NOINLINE inline void new_keys(const Gather<Key4x64>& gather, int count, Purpose purpose, KeyBlock<Key4x64>& out) {
  KeyBlock<Key4x64> buffer;
  const KeyBlock<Key4x64>& keys = each_key(gather, count, buffer);
  encrypt_bundles<uint64_t, 4>(
      count, EachKey4x64{keys},
      [&](int base, Lanes64(&block)[4]) {
        block[0].load(keys.path_hi + base);
        block[1].load(keys.path_lo + base);
        for (auto& vector : block[1].vector) vector |= uint64_t(1);
        block[2] = Lanes64::all(purpose);
        load_numbers(gather.index, base, block[3]);
      },
      [&out](int base, Lanes64(&block)[4]) { store_blocks(block, base, out.word); });
  set_empty_paths(out, count);
}

template <class Stream, template <class> class Source>
void element_keys(const Source<Key4x64>& source, int count, uint64_t, KeyBlock<Key4x64>& out) {
  new_keys(source, count, kElement, out);
}

template <template <class> class Source>
void own_keys(const Source<Key4x64>& source, int count, KeyBlock<Key4x64>& out) {
  new_keys(source, count, kElement, out);
}

inline void fold_in(const Gather<Key4x64>& gather, int count, KeyBlock<Key4x64>& out) {
  new_keys(gather, count, kFoldIn, out);
}

TTF_NAMESPACE_END
