// What all operators' arguments have in common.
#pragma once

#include <stdint.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <vector>

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

}  // namespace torch_threefry
