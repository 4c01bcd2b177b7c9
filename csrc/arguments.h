// What all operators' arguments have in common.
#pragma once

#include <stdint.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <vector>

#include "draw.h"

namespace torch_threefry {

using Sizes = std::vector<int64_t>;

// a * b for sizes, or a failed check.
inline int64_t product(int64_t a, int64_t b) {
  STD_TORCH_CHECK(b == 0 || a <= INT64_MAX / b, "size: more than 2^63-1 elements");
  return a * b;
}

// Operators take dtypes as libtorch's numbers for them: torch parses an int several microseconds faster
// than a dtype.
inline torch::headeronly::ScalarType dtype_of(int64_t code) {
  STD_TORCH_CHECK(code >= 0 && code < 64, "dtype: unknown number ", code);
  return torch::stable::detail::to<torch::headeronly::ScalarType>(torch::stable::detail::from(int32_t(code)));
}

// Keys, or states of a generator, and the shape that they are a batch of.
struct Keys : KeyBatch {
  int64_t count = 1;
  Sizes batch;
};

// Of so many words each, in a tensor's last dimension.
inline Keys batch_of(const torch::stable::Tensor& data, torch::headeronly::ScalarType dtype, int64_t words, const char* name) {
  const bool wide = dtype == torch::headeronly::ScalarType::UInt64;
  STD_TORCH_CHECK(data.scalar_type() == dtype, name, ": its data must be ", wide ? "uint64" : "uint32");
  const int64_t axes = data.dim() - 1;
  STD_TORCH_CHECK(axes >= 0 && data.size(axes) == words, name, ": the last dimension of its data must be ", words);
  Keys keys;
  keys.words = data.const_data_ptr();
  keys.word_stride = data.stride(axes);
  for (int64_t a = 0; a < axes; ++a) {
    keys.batch.push_back(data.size(a));
    keys.count = product(keys.count, data.size(a));
    STD_TORCH_CHECK(keys.walk.push(data.size(a), data.stride(a)), name, ": too many dimensions");
  }
  return keys;
}

}  // namespace torch_threefry
