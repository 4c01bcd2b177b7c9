// Keys folded with numbers, and the bare cipher.
#include "kernels.h"

TTF_NAMESPACE_BEGIN

TTF_KERNEL fold_in_keys(TTF_ARGUMENT FoldIn fold, int64_t count) {
  for (int64_t i = thread_number(); i < count; i += thread_count()) {
    // A child by number is that of the partitionable layout, in either.
    const Key2x32 child = Threefry2x32::child(load_key(fold.keys, i), fold.number_of(i), 0);
    fold.out[2 * i] = child.word[0];
    fold.out[2 * i + 1] = child.word[1];
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
  return launch_items(fold_in_keys, count, stream, fold, count);
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
