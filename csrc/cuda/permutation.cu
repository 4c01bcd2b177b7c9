// Permutations: in each round the items are sorted, stably, by fresh 32-bit words. Many rows are sorted at once, by the row's
// number above the word.
#include "kernels.h"
#include "sort.h"

TTF_NAMESPACE_BEGIN

// The key of a row's words in a round.
template <class Stream>
TTF_DEVICE typename Stream::Key round_key(const Permutation& permutation, int64_t row, int round) {
  auto key = load_key<typename Stream::Key>(permutation.keys, row);
  TTF_ROLLED
  for (int r = 0; r < round; ++r) key = Stream::child(key, 0, 2);
  return Stream::child(key, 1, 2);
}

// Some rows of a permutation, side by side.
struct SomeRows {
  int64_t first, count;
};

// A key a row.
template <class Stream>
TTF_KERNEL find_round_keys(TTF_ARGUMENT Permutation permutation, SomeRows rows, int round, void* keys) {
  for (int64_t i = thread_number(); i < rows.count; i += thread_count()) {
    static_cast<typename Stream::Key*>(keys)[i] = round_key<Stream>(permutation, rows.first + i, round);
  }
}

// New words for all items; in the first round, the items too.
template <class Stream, class SortKey>
TTF_KERNEL find_sort_keys(TTF_ARGUMENT Permutation permutation, SomeRows rows, const void* keys, SortKey* sort_keys,
                          uint32_t* items) {
  const int64_t n = permutation.n;
  for (int64_t i = thread_number(); i < rows.count * n; i += thread_count()) {
    const Division by = rows.count == 1 ? Division{0, i} : divide(i, n);
    const auto& key = static_cast<const typename Stream::Key*>(keys)[by.quotient];
    const uint32_t word = stream_word<Stream, uint32_t>(key, uint64_t(by.remainder), uint64_t(n));
    sort_keys[i] = sizeof(SortKey) == 4 ? SortKey(word) : SortKey(join32(uint32_t(by.quotient), word));
    if (items) items[i] = uint32_t(by.remainder);
  }
}

TTF_KERNEL write_items(TTF_ARGUMENT Permutation permutation, SomeRows rows, const uint32_t* items) {
  const int64_t n = permutation.n, begin = rows.first * n;
  for (int64_t i = thread_number(); i < rows.count * n; i += thread_count()) {
    // Without a round, the identity.
    const uint32_t item = items ? items[i] : uint32_t(divide(i, n).remainder);
    if (permutation.value == Value::int32) {
      static_cast<int32_t*>(permutation.out)[begin + i] = int32_t(item);
    } else {
      static_cast<int64_t*>(permutation.out)[begin + i] = int64_t(item);
    }
  }
}

TTF_NAMESPACE_END

namespace torch_threefry {
namespace {

constexpr int64_t kItems = 1 << 24;  // to sort at once, if a row has no more

int64_t rows_at_once(const Permutation& permutation, int64_t keys) {
  const int64_t most = permutation.n < kItems ? kItems / permutation.n : 1;
  return most < keys ? most : keys;
}

int bits_of(int64_t x) {
  int bits = 0;
  while (x >> bits > 0) ++bits;
  return bits;
}

// The parts of the workspace.
template <class SortKey>
struct Workspace {
  void* round_keys;  // of the permutation's implementation
  TwoArrays<SortKey> sort_keys;
  TwoArrays<uint32_t> items;
  void* scratch;
  int64_t scratch_bytes, all_bytes;
  int bits;  // of a sort key

  Error plan(const Permutation& permutation, int64_t rows, void* memory) {
    const int64_t n = permutation.n;
    const int64_t key_bytes = visit_stream(permutation.impl, [](auto of) { return int64_t(sizeof(typename decltype(of)::Key)); });
    bits = 32 + bits_of(rows - 1);
    if (Error error = find_sort_scratch<SortKey>(rows * n, bits, &scratch_bytes)) return error;
    uintptr_t next = reinterpret_cast<uintptr_t>(memory);
    const auto take = [&](int64_t bytes) {
      void* const part = reinterpret_cast<void*>(next);
      next += uintptr_t(divide_up(bytes, 256) * 256);
      return part;
    };
    const int64_t sort_key_bytes = rows * n * int64_t(sizeof(SortKey)), item_bytes = rows * n * int64_t(sizeof(uint32_t));
    round_keys = take(rows * key_bytes);
    sort_keys.first = static_cast<SortKey*>(take(sort_key_bytes));
    sort_keys.second = static_cast<SortKey*>(take(sort_key_bytes));
    items.first = static_cast<uint32_t*>(take(item_bytes));
    items.second = static_cast<uint32_t*>(take(item_bytes));
    scratch = take(scratch_bytes);
    all_bytes = int64_t(next - reinterpret_cast<uintptr_t>(memory));
    return nullptr;
  }
};

template <class Stream, class SortKey>
Error permute_rows(const Permutation& permutation, SomeRows rows, void* memory, void* stream) {
  const int64_t items = rows.count * permutation.n;
  if (permutation.rounds == 0) return launch_items(write_items, items, stream, permutation, rows, nullptr);
  Workspace<SortKey> work;
  if (Error error = work.plan(permutation, rows.count, memory)) return error;
  for (int round = 0; round < permutation.rounds; ++round) {
    Error error = launch_items(find_round_keys<Stream>, rows.count, stream, permutation, rows, round, work.round_keys);
    if (!error) {
      error = launch_items(find_sort_keys<Stream, SortKey>, items, stream, permutation, rows, work.round_keys,
                           work.sort_keys.first, round == 0 ? work.items.first : nullptr);
    }
    if (!error) error = sort_pairs(work.sort_keys, work.items, items, work.bits, work.scratch, work.scratch_bytes, stream);
    if (error) return error;
  }
  return launch_items(write_items, items, stream, permutation, rows, work.items.first);
}

}  // namespace

Error find_permutation_workspace(const Permutation& permutation, int64_t keys, int64_t* bytes) {
  *bytes = 0;
  if (permutation.rounds == 0) return nullptr;
  const int64_t rows = rows_at_once(permutation, keys);
  Workspace<uint32_t> one;
  Workspace<uint64_t> many;
  const Error error = rows == 1 ? one.plan(permutation, rows, nullptr) : many.plan(permutation, rows, nullptr);
  if (!error) *bytes = rows == 1 ? one.all_bytes : many.all_bytes;
  return error;
}

Error run_permutation(const Permutation& permutation, int64_t keys, void* workspace, void* stream) {
  const int64_t at_once = rows_at_once(permutation, keys);
  for (int64_t first = 0; first < keys; first += at_once) {
    const SomeRows rows = {first, keys - first < at_once ? keys - first : at_once};
    const Error error = visit_stream(permutation.impl, [&](auto of) {
      using Stream = decltype(of);
      return rows.count == 1 ? permute_rows<Stream, uint32_t>(permutation, rows, workspace, stream)
                             : permute_rows<Stream, uint64_t>(permutation, rows, workspace, stream);
    });
    if (error) return error;
  }
  return nullptr;
}

}  // namespace torch_threefry
