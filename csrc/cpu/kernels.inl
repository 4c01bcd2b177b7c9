// The CPU kernels, compiled once for each instruction set: kernels_*.cpp include this with TTF_ISA set.
// No torch and no standard library here: their templates could be merged across instruction sets.
#include "../distributions/rows.h"
#include "../gamma_slope.h"
#include "kernels.h"
#include "tvm.h"
#include "values.h"
#include "words.h"

TTF_NAMESPACE_BEGIN
namespace {

// ---- Draws ----

struct Buffers {
  InputBuffer input[kMaxInputs];
  alignas(64) double concentrations[kBlock];  // or floats
};

template <class Stream, class Source>
TTF_NOINLINE void words_of_width(const Source& source, int count, uint64_t n, int bits, void* out) {
  switch (bits) {
    case 8: return words<Stream>(source, count, n, static_cast<uint8_t*>(out));
    case 16: return words<Stream>(source, count, n, static_cast<uint16_t*>(out));
    case 32: return words<Stream>(source, count, n, static_cast<uint32_t*>(out));
    default: return words<Stream>(source, count, n, static_cast<uint64_t*>(out));
  }
}

template <class Stream, class Source>
void fill_words(const Source& source, int count, uint64_t n, const Input& input, int bits, void* out) {
  const uint64_t row = uint64_t(input.stride) * n, start = uint64_t(input.row) * row + uint64_t(input.offset);
  const uint64_t length = uint64_t(input.rows) * row;
  if (input.stride == 1 && start == 0) return words_of_width<Stream>(source, count, length, bits, out);
  words_of_width<Stream>(spread(source, uint64_t(input.stride), start, count), count, length, bits, out);
}

template <class Stream, class Source>
TTF_NOINLINE void fill_gammas(const Source& source, int count, uint64_t n, int bits, const void* concentrations,
                              InputBuffer& out) {
  KeyBlock<typename Stream::Key> keys;
  element_keys<Stream>(source, count, n, keys);
  if (bits == 64) {
    draw_gammas<Stream>(keys, count, static_cast<const double*>(concentrations), *out.as<GammaBlock<double>>());
  } else {
    draw_gammas<Stream>(keys, count, static_cast<const float*>(concentrations), *out.as<GammaBlock<float>>());
  }
}

// All that a method takes out of the streams for a block of elements.
template <class Stream, class Source>
void draw_values(const Draw& draw, const Method& method, const Source& source, int64_t position, int count,
                 Buffers& buffers) {
  InputPointers pointers;
  int gammas = 0;
  for (int k = 0; k < method.input_count; ++k) {
    const Input& input = method.inputs[k];
    InputBuffer& buffer = buffers.input[k];
    pointers.at[k] = buffer.bytes;
    if (input.kind == Input::gamma) method.concentrations(draw, position, count, gammas++, buffers.concentrations);
    const auto fill = [&](const Source& from) {
      if (input.kind == Input::gamma) {
        fill_gammas<Stream>(from, count, draw.total, method.word_bits, buffers.concentrations, buffer);
      } else {
        fill_words<Stream>(from, count, draw.total, input, method.word_bits, buffer.bytes);
      }
    };
    input.child < 0 ? fill(source) : fill(child<Stream>(source, uint64_t(input.child), 2, count));
  }
  method.values(draw, position, count, pointers);
}

template <class Stream, class Source>
void draw_counts(const Draw& draw, const Source& source, int64_t position, int count) {
  alignas(64) double first[kBlock], second[kBlock], counts[kBlock];
  elements<double>(draw.parameter[0], position, count, first);
  if (draw.distribution == Distribution::poisson) {
    draw_poissons<Stream>(source, count, draw.total, first, counts);
  } else {
    elements<double>(draw.parameter[1], position, count, second);
    draw_binomials<Stream>(source, count, first, second, counts);
  }
  store_counts(draw.value, counts, count, draw.out, position);
}

bool draws_counts(const Draw& draw) { return group_of(draw.distribution) == Group::counts; }

// Below this many consecutive elements it is cheaper to list them one by one.
constexpr int64_t kShortRun = 64;

// block(source, position, count) for blocks of elements that cover positions [begin, end): a Run where many elements
// follow one another, else a Gather.
template <class Stream, class Block>
void for_each_block(const Draw& draw, int64_t begin, int64_t end, Block block) {
  using Key = typename Stream::Key;
  const int64_t step = draw.window.step();
  for (int64_t position = begin; position < end;) {
    const int64_t wanted = smaller(end - position, kBlock);
    const int64_t within = position % draw.count;
    const int64_t run = step == 1 ? smaller(draw.window.row(within), wanted) : 1;
    int count = int(run);
    if (run == wanted || run >= kShortRun) {
      const Key key = load_key<Key>(draw.keys, position / draw.count);
      block(Run<Key>{key, uint64_t(draw.window.at(within))}, position, count);
    } else {
      Gather<Key> source;
      int64_t number = position / draw.count, index = within;
      for (count = 0; count < wanted;) {
        const int length = int(smaller(draw.window.row(index), wanted - count));
        const Key key = load_key<Key>(draw.keys, number);
        const uint64_t first = uint64_t(draw.window.at(index));
        length == 1 ? source.set(count, key, first) : source.add(count, length, key, first, uint64_t(step));
        count += length;
        index += length;
        if (index < draw.count) continue;
        index = 0;
        ++number;
      }
      block(source, position, count);
    }
    position += count;
  }
}

template <class Stream>
void draw_elements(const Draw& draw, int64_t begin, int64_t end) {
  if (draws_counts(draw)) {
    return for_each_block<Stream>(draw, begin, end, [&](const auto& source, int64_t position, int count) {
      draw_counts<Stream>(draw, source, position, count);
    });
  }
  const Method how = method(draw);
  Buffers buffers;
  for_each_block<Stream>(draw, begin, end, [&](const auto& source, int64_t position, int count) {
    draw_values<Stream>(draw, how, source, position, count, buffers);
  });
}

// In the original layout a block holds a word of each half of the draw. A draw that is not windowed
// uses both: its positions are then blocks.
bool in_pairs(const Draw& draw) {
  if (draw.impl != Impl::threefry2x32_original || uint64_t(draw.count) != draw.total || draw.total < 2) return false;
  if (draws_counts(draw)) return false;
  const Method how = method(draw);
  return how.word_bits == 32 && how.input_count <= 2 && are_own_words(how.inputs, how.input_count);
}

void draw_pairs(const Draw& draw, int64_t begin, int64_t end) {
  const Method how = method(draw);
  Blocks blocks[2];
  const int64_t n = draw.count, pairs = n / 2 + n % 2;
  for (int64_t position = begin; position < end;) {
    const int64_t block = position % pairs, number = position / pairs;
    const int count = int(smaller(smaller(pairs - block, end - position), kBlock));
    const Run<Key2x32> run = {load_key<Key2x32>(draw.keys, number), uint64_t(block)};
    InputPointers first, second;
    for (int k = 0; k < how.input_count; ++k) {
      const int which = how.inputs[k].child;
      const Run<Key2x32> own = which < 0 ? run : child<Threefry2x32Original>(run, uint64_t(which), 2, count);
      word_pairs(own, count, draw.total, blocks[k]);
      first.at[k] = blocks[k].word0;
      second.at[k] = blocks[k].word1;
    }
    const int second_count = int(smaller(count, n - pairs - block));  // odd n: the last block has one word
    how.values(draw, number * n + block, count, first);
    how.values(draw, number * n + pairs + block, second_count, second);
    position += count;
  }
}

int64_t draw_positions(const Draw& draw) {
  return draw.key_count * (in_pairs(draw) ? draw.count / 2 + draw.count % 2 : draw.count);
}

// An element's own key takes two words of its parent.
double draw_words(const Draw& draw) {
  if (draw.distribution == Distribution::poisson) return double(draw.total);
  if (draw.distribution == Distribution::binomial) return 0;  // its streams are those of the partitionable layout
  const Method how = method(draw);
  double most = 0;
  for (int k = 0; k < how.input_count; ++k) {
    const Input& input = how.inputs[k];
    const double words = input.kind == Input::gamma ? 2 : input.rows * input.stride * how.word_bits / 32.0;
    most = words > most ? words : most;
  }
  return double(draw.total) * most;
}

void draw(const Draw& draw, int64_t begin, int64_t end) {
  if (in_pairs(draw)) return draw_pairs(draw, begin, end);
  visit_stream(draw.impl, [&](auto stream) { draw_elements<decltype(stream)>(draw, begin, end); });
}

// ---- Multinomial counts ----

// Category by category: a binomial of what is left, under the category's own key, that is child j of the categories.
template <class Stream>
void multinomial_rows(const Multinomial& multinomial, int64_t begin, int64_t end) {
  const Draw& rows = multinomial.rows;
  const int64_t categories = multinomial.categories, step = multinomial.shares.walk.step();
  for_each_block<Stream>(rows, begin, end, [&](const auto& source, int64_t position, int count) {
    alignas(64) double left[kBlock], share[kBlock], counts[kBlock];
    const double* row[kBlock];
    elements<double>(rows.parameter[0], position, count, left);
    for (int i = 0; i < count; ++i) {
      const int64_t first = multinomial.shares.walk.at((position + i) * categories);
      row[i] = static_cast<const double*>(multinomial.shares.data) + first;
    }
    for (int64_t j = 0; j < categories; ++j) {
      for (int i = 0; i < count; ++i) share[i] = row[i][j * step];
      const auto own = child<Stream>(source, uint64_t(j), uint64_t(categories), count);
      draw_binomials<Stream>(own, count, left, share, counts);
      for (int i = 0; i < count; ++i) left[i] = numerics::floor(left[i]) - counts[i];
      store_counts(rows.value, counts, count, rows.out, position * categories + j, categories);
    }
  });
}

void multinomial(const Multinomial& multinomial, int64_t begin, int64_t end) {
  visit_stream(multinomial.rows.impl, [&](auto stream) { multinomial_rows<decltype(stream)>(multinomial, begin, end); });
}

// ---- Rows and slopes ----

template <class T>
void map_rows(const Rows& rows, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) map_row<T>(rows, row);
}

void rows(const Rows& rows, int64_t begin, int64_t end) {
  rows.value == Value::float64 ? map_rows<double>(rows, begin, end) : map_rows<float>(rows, begin, end);
}

template <class T>
void gamma_slopes_of(const GammaSlopes& slopes, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) set_gamma_slope<T>(slopes, i);
}

void gamma_slopes(const GammaSlopes& slopes, int64_t begin, int64_t end) {
  if (slopes.value == Value::float64) return gamma_slopes_of<double>(slopes, begin, end);
  gamma_slopes_of<float>(slopes, begin, end);
}

// ---- Keys and the bare cipher ----

template <class Key>
void folded_keys(const FoldIn& fold, int64_t begin, int64_t end) {
  KeyBlock<Key> folded;
  for (int64_t position = begin; position < end; position += kBlock) {
    const int count = int(smaller(end - position, kBlock));
    Gather<Key> source;
    for (int i = 0; i < count; ++i) {
      source.set(i, load_key<Key>(fold.keys, position + i), fold.number_of(position + i));
    }
    fold_in(source, count, folded);
    for (int i = 0; i < count; ++i) store_key(folded.at(i), fold.out, position + i);
  }
}

void fold_in_keys(const FoldIn& fold, int64_t begin, int64_t end) {
  visit_stream(fold.impl, [&](auto stream) { folded_keys<typename decltype(stream)::Key>(fold, begin, end); });
}

template <class Stream>
void split_children(const Split& split, int64_t begin, int64_t end) {
  using Key = typename Stream::Key;
  for (int64_t position = begin; position < end;) {
    const int64_t number = position / split.n, last = smaller(end, (number + 1) * split.n);
    const Key key = load_key<Key>(split.keys, number);
    for (; position < last; ++position) {
      store_key(Stream::child(key, uint64_t(position - number * split.n), uint64_t(split.n)), split.out, position);
    }
  }
}

void split_keys(const Split& split, int64_t begin, int64_t end) {
  visit_stream(split.impl, [&](auto stream) { split_children<decltype(stream)>(split, begin, end); });
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

// ---- TVM's generator ----

void tvm_draw(const TvmDraw& draw, int64_t begin, int64_t end) {
  const int64_t blocks = draw.blocks();
  visit_tvm_values(draw, [&](const auto& values) {
    for (int64_t position = begin; position < end;) {
      const int64_t number = position / blocks, first = position % blocks;
      const int64_t last = smaller(blocks, first + end - position);
      draw_tvm_blocks(draw, values, number, first, last);
      position += last - first;
    }
  });
}

void tvm_split(const TvmSplit& split, int64_t begin, int64_t end) {
  for (int64_t number = begin; number < end; ++number) split_tvm(split, number);
}

// ---- Permutations ----

// Each round sorts items by fresh 32-bit keys; an item is its key above a 32-bit value. The sort is stable, as
// the order of equal keys is part of the stream. The keys are uniform, so that their first bits share the
// items out evenly: first over buckets that fit a cache, by chunks of items at the same time; then each
// bucket over places for one or two items, which an insertion sort puts in order.
constexpr int kMaxBucketBits = 11;    // 2048 buckets
constexpr int kBucketItemBits = 11;   // of some 2048 items, as long as the buckets suffice
constexpr int64_t kMaxChunks = 16, kMinChunk = 1 << 14, kBucketTasks = 64;

TTF_HD int floor_log2(int64_t x) { return 63 - leading_zeros(uint64_t(x)); }

struct Shuffle {
  const Permutation* permutation;
  const void* key;  // of this round's sort keys
  void (*words)(const Shuffle&, int64_t first, int count, uint32_t* out);  // sort keys, from the key's stream
  bool first_round, last_round;
  int64_t n, chunk;
  int bucket_bits;
  char* row;  // of the result
  uint64_t *items, *sorted;
  uint32_t* counts;   // a row of buckets for each chunk
  uint32_t* starts;   // where each bucket begins, and n
  uint32_t* places;   // room for a count an item

  int64_t buckets() const { return int64_t(1) << bucket_bits; }
  uint32_t bucket_of(uint64_t item) const { return uint32_t(item >> 32 >> (32 - bucket_bits)); }
};

int64_t permutation_scratch(int64_t n) {
  constexpr int64_t tables = (kMaxChunks + 2) << kMaxBucketBits;
  return 2 * n + (n + tables) / 2 + 1;
}

template <class Stream>
void sort_keys(const Shuffle& s, int64_t first, int count, uint32_t* out) {
  using Key = typename Stream::Key;
  words<Stream>(Run<Key>{*static_cast<const Key*>(s.key), uint64_t(first)}, count, uint64_t(s.n), out);
}

// Give a chunk's items new keys and count them by bucket.
void new_keys(void* context, int64_t chunk) {
  Shuffle& s = *static_cast<Shuffle*>(context);
  alignas(64) uint32_t keys[kBlock];
  uint32_t* counts = s.counts + chunk * s.buckets();
  for (int64_t b = 0; b < s.buckets(); ++b) counts[b] = 0;
  const int64_t end = smaller(s.n, (chunk + 1) * s.chunk);
  for (int64_t i = chunk * s.chunk; i < end; i += kBlock) {
    const int count = int(smaller(end - i, kBlock));
    s.words(s, i, count, keys);
    for (int j = 0; j < count; ++j) {
      const uint64_t item = join32(keys[j], s.first_round ? uint32_t(i + j) : uint32_t(s.items[i + j]));
      s.items[i + j] = item;
      if (s.bucket_bits > 0) ++counts[s.bucket_of(item)];
    }
  }
}

// Turn the counts into the places where each chunk's first item of a bucket goes.
void start_places(Shuffle& s, int64_t chunks) {
  uint32_t place = 0;
  for (int64_t b = 0; b < s.buckets(); ++b) {
    s.starts[b] = place;
    for (int64_t c = 0; c < chunks; ++c) {
      uint32_t& count = s.counts[c * s.buckets() + b];
      const uint32_t here = count;
      count = place;
      place += here;
    }
  }
  s.starts[s.buckets()] = place;
}

void scatter(void* context, int64_t chunk) {
  Shuffle& s = *static_cast<Shuffle*>(context);
  uint32_t* next = s.counts + chunk * s.buckets();
  const int64_t end = smaller(s.n, (chunk + 1) * s.chunk);
  for (int64_t i = chunk * s.chunk; i < end; ++i) s.sorted[next[s.bucket_of(s.items[i])]++] = s.items[i];
}

// Items of one bucket, sorted by as many of the key's bits after the bucket's as tell most of them apart.
void share_out(const uint64_t* items, uint64_t* sorted, int64_t n, int bucket_bits, uint32_t* next) {
  const int bits = int(smaller(32 - bucket_bits, floor_log2(n)));
  const int shift = 64 - bucket_bits - bits;
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  for (int64_t p = 0; p <= int64_t(mask); ++p) next[p] = 0;
  for (int64_t i = 0; i < n; ++i) ++next[items[i] >> shift & mask];
  uint32_t place = 0;
  for (int64_t p = 0; p <= int64_t(mask); ++p) {
    const uint32_t here = next[p];
    next[p] = place;
    place += here;
  }
  for (int64_t i = 0; i < n; ++i) sorted[next[items[i] >> shift & mask]++] = items[i];
}

void insertion_sort(uint64_t* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const uint64_t item = items[i];
    int64_t j = i;
    for (; j > 0 && items[j - 1] >> 32 > item >> 32; --j) items[j] = items[j - 1];
    items[j] = item;
  }
}

void sort_bucket(const Shuffle& s, const uint64_t* items, uint64_t* sorted, int64_t first, int64_t n) {
  if (n >= 8) {
    share_out(items + first, sorted + first, n, s.bucket_bits, s.places + first);
  } else {
    for (int64_t i = first; i < first + n; ++i) sorted[i] = items[i];
  }
  insertion_sort(sorted + first, n);
  if (!s.last_round) return;
  if (s.permutation->value == Value::int32) {
    int32_t* out = reinterpret_cast<int32_t*>(s.row);
    for (int64_t i = first; i < first + n; ++i) out[i] = int32_t(sorted[i]);
  } else {
    int64_t* out = reinterpret_cast<int64_t*>(s.row);
    for (int64_t i = first; i < first + n; ++i) out[i] = int64_t(uint32_t(sorted[i]));
  }
}

// A share of the buckets, back from `sorted` to `items`.
void sort_buckets(void* context, int64_t task) {
  const Shuffle& s = *static_cast<Shuffle*>(context);
  const int64_t end = (task + 1) * s.buckets() / kBucketTasks;
  for (int64_t b = task * s.buckets() / kBucketTasks; b < end; ++b) {
    sort_bucket(s, s.sorted, s.items, s.starts[b], int64_t(s.starts[b + 1]) - s.starts[b]);
  }
}

void shuffle_once(Shuffle& s, ParallelTasks parallel) {
  const int64_t chunks = (s.n + s.chunk - 1) / s.chunk;
  parallel(chunks, new_keys, &s);
  if (s.bucket_bits == 0) {
    sort_bucket(s, s.items, s.sorted, 0, s.n);
    uint64_t* const swap = s.items;
    s.items = s.sorted;
    s.sorted = swap;
    return;
  }
  start_places(s, chunks);
  parallel(chunks, scatter, &s);
  parallel(kBucketTasks, sort_buckets, &s);
}

template <class Integer>
void identity(Integer* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = Integer(i);
}

template <class Stream>
void permute_row(const Permutation& permutation, int64_t key_number, uint64_t* scratch, ParallelTasks parallel) {
  using Key = typename Stream::Key;
  const int64_t n = permutation.n;
  Shuffle s;
  s.permutation = &permutation;
  s.row = static_cast<char*>(permutation.out) + key_number * n * (permutation.value == Value::int32 ? 4 : 8);
  if (permutation.rounds == 0) {
    if (permutation.value == Value::int32) return identity(reinterpret_cast<int32_t*>(s.row), n);
    return identity(reinterpret_cast<int64_t*>(s.row), n);
  }
  const int64_t share = (n + kMaxChunks - 1) / kMaxChunks;
  s.n = n;
  s.chunk = share > kMinChunk ? share : kMinChunk;
  const int64_t spare_bits = floor_log2(n) - kBucketItemBits;
  s.bucket_bits = int(spare_bits < 0 ? 0 : smaller(spare_bits, kMaxBucketBits));
  s.items = scratch;
  s.sorted = scratch + n;
  s.places = reinterpret_cast<uint32_t*>(scratch + 2 * n);
  s.counts = s.places + n;
  s.starts = s.counts + (kMaxChunks << kMaxBucketBits);
  s.words = sort_keys<Stream>;
  Key key = load_key<Key>(permutation.keys, key_number);
  for (int round = 0; round < permutation.rounds; ++round) {
    const Key own = Stream::child(key, 1, 2);
    key = Stream::child(key, 0, 2);
    s.key = &own;
    s.first_round = round == 0;
    s.last_round = round + 1 == permutation.rounds;
    shuffle_once(s, parallel);
  }
}

void permute(const Permutation& permutation, int64_t key_number, uint64_t* scratch, ParallelTasks parallel) {
  visit_stream(permutation.impl,
               [&](auto stream) { permute_row<decltype(stream)>(permutation, key_number, scratch, parallel); });
}

}  // namespace

#define TTF_NAME_OF(isa) #isa
#define TTF_NAME(isa) TTF_NAME_OF(isa)
extern const CpuKernels kernels;
const CpuKernels kernels = {TTF_NAME(TTF_ISA), draw_positions, draw_words, draw, multinomial, rows, gamma_slopes,
                            fold_in_keys, split_keys, cipher, permutation_scratch, permute, tvm_draw, tvm_split};

TTF_NAMESPACE_END
