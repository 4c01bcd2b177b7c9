#include "sort.h"

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#else
#include <algorithm>
#include <numeric>
#include <vector>
#endif

namespace torch_threefry {

#if defined(__CUDACC__)

namespace {

template <class Key>
Error call_cub(TwoArrays<Key>& keys, TwoArrays<uint32_t>& values, int64_t n, int bits, void* scratch, size_t* bytes,
               void* stream) {
  cub::DoubleBuffer<Key> key_buffer(keys.first, keys.second);
  cub::DoubleBuffer<uint32_t> value_buffer(values.first, values.second);
  const cudaError_t error = cub::DeviceRadixSort::SortPairs(scratch, *bytes, key_buffer, value_buffer, n, 0, bits,
                                                            static_cast<cudaStream_t>(stream));
  keys = {key_buffer.Current(), key_buffer.Alternate()};
  values = {value_buffer.Current(), value_buffer.Alternate()};
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

template <class Key>
Error find_sort_scratch(int64_t n, int bits, int64_t* bytes) {
  TwoArrays<Key> keys = {nullptr, nullptr};
  TwoArrays<uint32_t> values = {nullptr, nullptr};
  size_t size = 0;
  const Error error = call_cub(keys, values, n, bits, nullptr, &size, nullptr);
  *bytes = int64_t(size);
  return error;
}

template <class Key>
Error sort_pairs(TwoArrays<Key>& keys, TwoArrays<uint32_t>& values, int64_t n, int bits, void* scratch,
                 int64_t scratch_bytes, void* stream) {
  size_t size = size_t(scratch_bytes);
  return call_cub(keys, values, n, bits, scratch, &size, stream);
}

#else

template <class Key>
Error find_sort_scratch(int64_t, int, int64_t* bytes) {
  *bytes = 0;
  return nullptr;
}

template <class Key>
Error sort_pairs(TwoArrays<Key>& keys, TwoArrays<uint32_t>& values, int64_t n, int bits, void*, int64_t, void*) {
  const Key mask = bits == 8 * int(sizeof(Key)) ? ~Key(0) : (Key(1) << bits) - 1;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return (keys.first[a] & mask) < (keys.first[b] & mask); });
  for (int64_t i = 0; i < n; ++i) {
    keys.second[i] = keys.first[order[size_t(i)]];
    values.second[i] = values.first[order[size_t(i)]];
  }
  keys = {keys.second, keys.first};
  values = {values.second, values.first};
  return nullptr;
}

#endif

template Error find_sort_scratch<uint32_t>(int64_t, int, int64_t*);
template Error find_sort_scratch<uint64_t>(int64_t, int, int64_t*);
template Error sort_pairs<uint32_t>(TwoArrays<uint32_t>&, TwoArrays<uint32_t>&, int64_t, int, void*, int64_t, void*);
template Error sort_pairs<uint64_t>(TwoArrays<uint64_t>&, TwoArrays<uint32_t>&, int64_t, int, void*, int64_t, void*);

}  // namespace torch_threefry
