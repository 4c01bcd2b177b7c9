// Keys folded with numbers, keys' children where they are no draw's words, and the bare cipher.
#include "kernels.h"

TTF_NAMESPACE_BEGIN

template <class Stream>
TTF_KERNEL fold_in_keys(TTF_ARGUMENT FoldIn fold, int64_t count) {
  for (int64_t i = thread_number(); i < count; i += thread_count()) {
    store_key(Stream::fold_in(load_key<typename Stream::Key>(fold.keys, i), fold.number_of(i)), fold.out, i);
  }
}

template <class Stream>
TTF_KERNEL split_keys(TTF_ARGUMENT Split split, int64_t count) {
  for (int64_t i = thread_number(); i < count; i += thread_count()) {
    const Division by = divide(i, split.n);
    const auto key = load_key<typename Stream::Key>(split.keys, by.quotient);
    store_key(Stream::child(key, uint64_t(by.remainder), uint64_t(split.n)), split.out, i);
  }
}

template <class Word, int N>
TTF_KERNEL encrypt_rows(TTF_ARGUMENT Cipher cipher, int64_t rows) {
  for (int64_t row = thread_number(); row < rows; row += thread_count()) {
    Word block[N], key[N];
    TTF_UNROLL(4)
    for (int i = 0; i < N; ++i) {
      block[i] = static_cast<const Word*>(cipher.counter)[row * N + i];
      key[i] = static_cast<const Word*>(cipher.key)[row * N + i];
    }
    // The usual number of rounds has its loop unrolled.
    cipher.rounds == kRounds ? threefry<Word, N>(block, key, kRounds) : threefry<Word, N>(block, key, cipher.rounds);
    TTF_UNROLL(4)
    for (int i = 0; i < N; ++i) static_cast<Word*>(cipher.out)[row * N + i] = block[i];
  }
}

TTF_NAMESPACE_END

namespace torch_threefry {

Error run_fold_in(const FoldIn& fold, int64_t count, void* stream) {
  return visit_stream(fold.impl, [&](auto of) { return launch_items(fold_in_keys<decltype(of)>, count, stream, fold, count); });
}

Error run_split(const Split& split, int64_t count, void* stream) {
  return visit_stream(split.impl, [&](auto of) { return launch_items(split_keys<decltype(of)>, count, stream, split, count); });
}

Error run_cipher(const Cipher& cipher, int64_t rows, void* stream) {
  if (cipher.width == 32) {
    return cipher.words == 2 ? launch_items(encrypt_rows<uint32_t, 2>, rows, stream, cipher, rows)
                             : launch_items(encrypt_rows<uint32_t, 4>, rows, stream, cipher, rows);
  }
  return cipher.words == 2 ? launch_items(encrypt_rows<uint64_t, 2>, rows, stream, cipher, rows)
                           : launch_items(encrypt_rows<uint64_t, 4>, rows, stream, cipher, rows);
}

}  // namespace torch_threefry
