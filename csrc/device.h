// Where an operator's work is done: on the threads of the CPU, or on the current stream of a CUDA device.
#pragma once

#include <stdint.h>
#include <torch/csrc/stable/tensor.h>

#include <vector>

#include "cpu/kernels.h"
#include "cuda/kernels.h"
#include "draw.h"
#include "tvm.h"

namespace torch_threefry {

class Device {
 public:
  // Where a tensor lies. Fails if there are no kernels for that.
  explicit Device(const torch::stable::Tensor& tensor);

  bool holds(const torch::stable::Tensor& tensor) const;

  // An uninitialised, contiguous tensor.
  torch::stable::Tensor empty(const std::vector<int64_t>& sizes, torch::headeronly::ScalarType dtype) const;

  // Each does all of its work, or puts it on the stream. Counts may be 0.
  void draw(const Draw& draw) const;
  void multinomial(const Multinomial& multinomial) const;
  void rows(const Rows& rows, int64_t count) const;
  void gamma_slopes(const GammaSlopes& slopes, int64_t count) const;
  void fold_in(const FoldIn& fold, int64_t count) const;
  void split(const Split& split, int64_t keys) const;
  void cipher(const Cipher& cipher, int64_t rows) const;
  void permutation(const Permutation& permutation, int64_t keys) const;
  void tvm_draw(const TvmDraw& draw) const;
  void tvm_split(const TvmSplit& split) const;

 private:
  int32_t type_ = 0, index_ = 0;
  const CudaKernels* cuda_ = nullptr;  // null: the CPU's

  // error = launch(stream), with this device as the current one.
  template <class Launch>
  void on_stream(Launch launch) const;
};

// Fails if the environment asks for kernels that this machine cannot run.
const CpuKernels& cpu_kernels();

// Sets the kernels for CUDA devices. `on_cpu`: for the CPU, as a stand-in for such a device; null ends that.
void set_cuda_kernels(const CudaKernels* kernels, bool on_cpu);

}  // namespace torch_threefry
