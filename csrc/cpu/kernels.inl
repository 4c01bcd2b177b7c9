// The CPU kernels, compiled once for each instruction set: kernels_*.cpp include this with TTF_ISA set.
// No torch and no standard library here: their templates could be merged across instruction sets.
#include "kernels.h"
#include "values.h"
#include "words.h"

TTF_NAMESPACE_BEGIN
namespace {

TTF_HD Key2x32 load_key(const uint32_t* keys, const Walk& walk, int64_t word_stride, int64_t number) {
  const uint32_t* key = keys + walk.at(number);
  return {{key[0], key[word_stride]}};
}

// ---- Draws ----

struct WordBuffers {
  alignas(64) uint64_t words[2][kBlock];
};

template <class Stream, class Source>
void words_of_width(const Source& source, int count, uint64_t n, int bits, void* out) {
  switch (bits) {
    case 8: return words<Stream>(source, count, n, static_cast<uint8_t*>(out));
    case 16: return words<Stream>(source, count, n, static_cast<uint16_t*>(out));
    case 32: return words<Stream>(source, count, n, static_cast<uint32_t*>(out));
    default: return words<Stream>(source, count, n, static_cast<uint64_t*>(out));
  }
}

// The same elements of the keys' child streams.
template <class Stream>
Run child(const Run& run, int which, int) {
  return {Stream::child(run.key, which, 2), run.first};
}
template <class Stream>
Gather child(const Gather& gather, int which, int count) {
  Gather result = gather;
  for (int i = 0; i < count; ++i) {
    const Key2x32 key = Stream::child({{gather.key0[i], gather.key1[i]}}, which, 2);
    result.key0[i] = key.word[0];
    result.key1[i] = key.word[1];
  }
  return result;
}

// The elements n further on in the streams.
inline Run advance(const Run& run, uint64_t n, int) { return {run.key, run.first + n}; }
inline Gather advance(const Gather& gather, uint64_t n, int count) {
  Gather result = gather;
  for (int i = 0; i < count; ++i) {
    const uint64_t index = join32(gather.hi[i], gather.lo[i]) + n;
    result.hi[i] = hi32(index);
    result.lo[i] = lo32(index);
  }
  return result;
}

// All the words that a method needs for a block of elements.
template <class Stream, class Source>
void fill_words(const Source& source, int count, uint64_t n, const Method& method, WordBuffers& buffers) {
  const int bits = method.word_bits;
  switch (method.words) {
    case Words::one:
      return words_of_width<Stream>(source, count, n, bits, buffers.words[0]);
    case Words::halves:
      words_of_width<Stream>(source, count, 2 * n, bits, buffers.words[0]);
      return words_of_width<Stream>(advance(source, n, count), count, 2 * n, bits, buffers.words[1]);
    case Words::children:
      words_of_width<Stream>(child<Stream>(source, 0, count), count, n, bits, buffers.words[0]);
      return words_of_width<Stream>(child<Stream>(source, 1, count), count, n, bits, buffers.words[1]);
  }
}

// Below this many consecutive elements it is cheaper to list them one by one.
constexpr int64_t kShortRun = 64;

template <class Stream>
void draw_elements(const Draw& draw, const Method& method, int64_t begin, int64_t end) {
  WordBuffers buffers;
  const int64_t step = draw.window.step();
  for (int64_t position = begin; position < end;) {
    const int64_t wanted = smaller(end - position, kBlock);
    const int64_t within = position % draw.count;
    const int64_t run = step == 1 ? smaller(draw.window.row(within), wanted) : 1;
    int count = int(run);
    if (run == wanted || run >= kShortRun) {
      const Key2x32 key = load_key(draw.keys, draw.key_walk, draw.key_word_stride, position / draw.count);
      const Run source = {key, uint64_t(draw.window.at(within))};
      fill_words<Stream>(source, count, draw.total, method, buffers);
    } else {
      Gather source;
      for (count = 0; count < wanted;) {
        const int64_t number = (position + count) / draw.count, index = (position + count) % draw.count;
        const Key2x32 key = load_key(draw.keys, draw.key_walk, draw.key_word_stride, number);
        const int64_t first = draw.window.at(index);
        const int64_t length = smaller(draw.window.row(index), wanted - count);
        for (int64_t i = 0; i < length; ++i, ++count) source.set(count, key, uint64_t(first + i * step));
      }
      fill_words<Stream>(source, count, draw.total, method, buffers);
    }
    method.values(draw, position, count, buffers.words[0], buffers.words[1]);
    position += count;
  }
}

// In the original layout a block holds a word of each half of the draw. A draw that is not windowed
// uses both: its positions are then blocks.
bool in_pairs(const Draw& draw, const Method& method) {
  return draw.impl == Impl::threefry2x32_original && method.word_bits == 32 && method.words != Words::halves &&
         uint64_t(draw.count) == draw.total && draw.total > 1;
}

void draw_pairs(const Draw& draw, const Method& method, int64_t begin, int64_t end) {
  Blocks blocks[2];  // two where each element takes a word of both child streams
  const int sources = method.words == Words::children ? 2 : 1;
  const int64_t n = draw.count, pairs = n / 2 + n % 2;
  for (int64_t position = begin; position < end;) {
    const int64_t block = position % pairs, number = position / pairs;
    const int count = int(smaller(smaller(pairs - block, end - position), kBlock));
    const Run run = {load_key(draw.keys, draw.key_walk, draw.key_word_stride, number), uint64_t(block)};
    for (int i = 0; i < sources; ++i) {
      const Run source = sources == 2 ? child<Threefry2x32Original>(run, i, count) : run;
      word_pairs(source, count, draw.total, blocks[i]);
    }
    const int second_count = int(smaller(count, n - pairs - block));  // odd n: the last block has one word
    method.values(draw, number * n + block, count, blocks[0].word0, blocks[1].word0);
    method.values(draw, number * n + pairs + block, second_count, blocks[0].word1, blocks[1].word1);
    position += count;
  }
}

int64_t draw_positions(const Draw& draw) {
  return draw.key_count * (in_pairs(draw, method(draw)) ? draw.count / 2 + draw.count % 2 : draw.count);
}

double draw_words(const Draw& draw) {
  const Method how = method(draw);
  return double(draw.total) * (how.words == Words::halves ? 2 : 1) * how.word_bits / 32;
}

void draw(const Draw& draw, int64_t begin, int64_t end) {
  const Method how = method(draw);
  if (in_pairs(draw, how)) return draw_pairs(draw, how, begin, end);
  if (draw.impl == Impl::threefry2x32) return draw_elements<Threefry2x32>(draw, how, begin, end);
  draw_elements<Threefry2x32Original>(draw, how, begin, end);
}

// ---- Keys and the bare cipher ----

// A child by number is a 64-bit word of the partitionable stream, in either layout.
void fold_in_keys(const FoldIn& fold, int64_t begin, int64_t end) {
  Gather source = {};
  alignas(64) uint64_t blocks[kBlock];
  for (int64_t position = begin; position < end; position += kBlock) {
    const int count = int(smaller(end - position, kBlock));
    for (int i = 0; i < count; ++i) {
      const Key2x32 key = load_key(fold.keys, fold.key_walk, fold.key_word_stride, position + i);
      source.set(i, key, uint64_t(fold.data[fold.data_walk.at(position + i)]));
    }
    words<Threefry2x32>(source, count, 0, blocks);
    for (int i = 0; i < count; ++i) {
      fold.out[2 * (position + i)] = hi32(blocks[i]);
      fold.out[2 * (position + i) + 1] = lo32(blocks[i]);
    }
  }
}

template <class Word, int N>
void cipher_rows(const Cipher& cipher, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    Word block[N], key[N];
    memcpy(block, static_cast<const Word*>(cipher.counter) + row * N, sizeof(block));
    memcpy(key, static_cast<const Word*>(cipher.key) + row * N, sizeof(key));
    threefry<Word, N>(block, key, cipher.rounds);
    memcpy(static_cast<Word*>(cipher.out) + row * N, block, sizeof(block));
  }
}

void cipher(const Cipher& cipher, int64_t begin, int64_t end) {
  if (cipher.width == 32) {
    return cipher.words == 2 ? cipher_rows<uint32_t, 2>(cipher, begin, end) : cipher_rows<uint32_t, 4>(cipher, begin, end);
  }
  cipher.words == 2 ? cipher_rows<uint64_t, 2>(cipher, begin, end) : cipher_rows<uint64_t, 4>(cipher, begin, end);
}

// ---- Permutations ----

// An item is a 32-bit sort key above a 32-bit value. Least-significant-digit radix sort by the key:
// stable, as the order of equal keys is part of the stream. Chunks count their digits, then each
// knows where its items go.
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kMaxChunks = 64;
constexpr int64_t kMinChunk = 1 << 15;

struct Sort {
  const Permutation* permutation;
  Key2x32 key;  // of this round
  bool first_round;
  uint64_t *items, *sorted;
  void* out;  // where the last pass of the last round puts the values, else null
  int64_t n, chunk;
  int shift;
  int64_t counts[kMaxChunks][kDigits];
};

TTF_HD int digit(uint64_t item, int shift) { return int(item >> shift & (kDigits - 1)); }

// Give the chunk's values new sort keys, the words of this round's key.
void new_keys(void* context, int64_t chunk) {
  Sort& sort = *static_cast<Sort*>(context);
  alignas(64) uint32_t buffer[kBlock];
  const int64_t end = smaller(sort.n, (chunk + 1) * sort.chunk);
  for (int64_t i = chunk * sort.chunk; i < end; i += kBlock) {
    const int count = int(smaller(end - i, kBlock));
    const Run run = {sort.key, uint64_t(i)};
    if (sort.permutation->impl == Impl::threefry2x32) {
      words<Threefry2x32>(run, count, uint64_t(sort.n), buffer);
    } else {
      words<Threefry2x32Original>(run, count, uint64_t(sort.n), buffer);
    }
    for (int j = 0; j < count; ++j) {
      const uint32_t value = sort.first_round ? uint32_t(i + j) : uint32_t(sort.items[i + j]);
      sort.items[i + j] = join32(buffer[j], value);
    }
  }
}

void count_digits(void* context, int64_t chunk) {
  Sort& sort = *static_cast<Sort*>(context);
  int64_t* counts = sort.counts[chunk];
  for (int d = 0; d < kDigits; ++d) counts[d] = 0;
  const int64_t end = smaller(sort.n, (chunk + 1) * sort.chunk);
  for (int64_t i = chunk * sort.chunk; i < end; ++i) ++counts[digit(sort.items[i], sort.shift)];
}

template <class Put>
TTF_HD void scatter_to(Sort& sort, int64_t chunk, Put put) {
  int64_t* next = sort.counts[chunk];
  const int64_t end = smaller(sort.n, (chunk + 1) * sort.chunk);
  for (int64_t i = chunk * sort.chunk; i < end; ++i) put(next[digit(sort.items[i], sort.shift)]++, sort.items[i]);
}

void scatter(void* context, int64_t chunk) {
  Sort& sort = *static_cast<Sort*>(context);
  if (!sort.out) {
    scatter_to(sort, chunk, [&](int64_t to, uint64_t item) { sort.sorted[to] = item; });
  } else if (sort.permutation->value == Value::int32) {
    int32_t* out = static_cast<int32_t*>(sort.out);
    scatter_to(sort, chunk, [out](int64_t to, uint64_t item) { out[to] = int32_t(item); });
  } else {
    int64_t* out = static_cast<int64_t*>(sort.out);
    scatter_to(sort, chunk, [out](int64_t to, uint64_t item) { out[to] = int64_t(uint32_t(item)); });
  }
}

// Turn the counts into the places where each chunk's first item with a digit goes.
void start_places(Sort& sort, int64_t chunks) {
  int64_t place = 0;
  for (int d = 0; d < kDigits; ++d) {
    for (int64_t c = 0; c < chunks; ++c) {
      const int64_t count = sort.counts[c][d];
      sort.counts[c][d] = place;
      place += count;
    }
  }
}

template <class Integer>
void identity(Integer* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = Integer(i);
}

void permute(const Permutation& permutation, int64_t key_number, uint64_t* scratch, ParallelTasks parallel) {
  const int64_t n = permutation.n;
  char* row = static_cast<char*>(permutation.out) + key_number * n * (permutation.value == Value::int32 ? 4 : 8);
  if (permutation.rounds == 0) {
    if (permutation.value == Value::int32) return identity(reinterpret_cast<int32_t*>(row), n);
    return identity(reinterpret_cast<int64_t*>(row), n);
  }
  Sort sort;
  sort.permutation = &permutation;
  sort.items = scratch;
  sort.sorted = scratch + n;
  sort.n = n;
  const int64_t even_share = (n + kMaxChunks - 1) / kMaxChunks;
  sort.chunk = even_share > kMinChunk ? even_share : kMinChunk;
  const int64_t chunks = (n + sort.chunk - 1) / sort.chunk;
  Key2x32 key = load_key(permutation.keys, permutation.key_walk, permutation.key_word_stride, key_number);
  for (int round = 0; round < permutation.rounds; ++round) {
    const bool original = permutation.impl == Impl::threefry2x32_original;
    sort.key = original ? Threefry2x32Original::child(key, 1, 2) : Threefry2x32::child(key, 1, 2);
    key = original ? Threefry2x32Original::child(key, 0, 2) : Threefry2x32::child(key, 0, 2);
    sort.first_round = round == 0;
    parallel(chunks, new_keys, &sort);
    for (sort.shift = 32; sort.shift < 64; sort.shift += kDigitBits) {
      const bool last = sort.shift + kDigitBits == 64 && round + 1 == permutation.rounds;
      sort.out = last ? row : nullptr;
      parallel(chunks, count_digits, &sort);
      start_places(sort, chunks);
      parallel(chunks, scatter, &sort);
      uint64_t* const swap = sort.items;
      sort.items = sort.sorted;
      sort.sorted = swap;
    }
  }
}

}  // namespace

#define TTF_NAME_OF(isa) #isa
#define TTF_NAME(isa) TTF_NAME_OF(isa)
extern const CpuKernels kernels;
const CpuKernels kernels = {TTF_NAME(TTF_ISA), draw_positions, draw_words, draw, fold_in_keys, cipher, permute};

TTF_NAMESPACE_END
