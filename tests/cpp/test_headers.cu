// All of csrc's headers in one CUDA translation unit, and a kernel that runs the cipher and the
// numerics on the device. It is only compiled: that needs nvcc but no GPU.

#include "all_headers.h"  // written by the test: every header of csrc/ and csrc/distributions/

using torch_threefry::threefry;
namespace numerics = torch_threefry::numerics;

template <class Word, int N>
__device__ Word encrypted_sum(Word counter, Word key_word, int rounds) {
  Word block[N] = {counter}, key[N] = {key_word};
  threefry<Word, N>(block, key, rounds);
  Word sum = 0;
  for (int i = 0; i < N; ++i) sum += block[i];
  return sum;
}

template <class T>
__device__ T all_functions(T x) {
  const T root = numerics::sqrt(numerics::abs(x));
  const T sum = numerics::exp(x) + numerics::pow(root, x) + numerics::tan(x) + numerics::erf(numerics::floor(x));
  return sum + numerics::fma(numerics::log(x), numerics::log1p(x), numerics::erf_inv(root));
}

__device__ double special_functions(double x) {
  return numerics::stirling_tail(x) + numerics::deviance(x) + numerics::normal_tail_ratio(x, x + 1) +
         numerics::normal_tail_inverse(x, 0.5) + numerics::loggamma_slope(x, x);
}

__global__ void kernel(uint32_t* words32, uint64_t* words64, float* floats, double* doubles, uint16_t* halves) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  words32[i] = encrypted_sum<uint32_t, 2>(i, 1, 20) + encrypted_sum<uint32_t, 4>(i, 2, 20);
  words64[i] = encrypted_sum<uint64_t, 2>(i, 3, 20) + encrypted_sum<uint64_t, 4>(i, 4, 20);
  floats[i] = all_functions(numerics::float_from_bits(numerics::to_bits(floats[i]) + 1));
  doubles[i] = all_functions(numerics::double_from_bits(numerics::to_bits(doubles[i]) + 1));
  doubles[i] += special_functions(doubles[i]);
  const float sum = numerics::from_float16_bits(halves[i]) + numerics::from_bfloat16_bits(halves[i]);
  halves[i] = numerics::to_float16_bits(sum) ^ numerics::to_bfloat16_bits(sum);
}
