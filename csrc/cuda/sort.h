// A stable sort of pairs by some bits of their keys: CUB's radix sort, or the standard library's where the kernels are
// compiled as plain C++.
#pragma once

#include <stdint.h>

#include "launch.h"

namespace torch_threefry {

// Two arrays, of which the first holds the data; after a sort, `first` is the one that does.
template <class T>
struct TwoArrays {
  T *first, *second;
};

// How many bytes of scratch the sort of n pairs needs.
template <class Key>
Error find_sort_scratch(int64_t n, int bits, int64_t* bytes);

// By the keys' low bits.
template <class Key>
Error sort_pairs(TwoArrays<Key>& keys, TwoArrays<uint32_t>& values, int64_t n, int bits, void* scratch,
                 int64_t scratch_bytes, void* stream);

}  // namespace torch_threefry
