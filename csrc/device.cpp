#include "device.h"

#include <dlfcn.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace torch_threefry {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using torch::stable::accelerator::DeviceGuard;

namespace {

constexpr int64_t kGrain = 16384;  // elements below which another thread is not worth waking

const CudaKernels* cuda_kernels = nullptr;
const CudaKernels* stand_in = nullptr;  // for the CPU

// ---- The CPU ----

// work(begin, end) over parts of the positions [0, count), at the same time if there are more than `grain`.
template <class Work>
void in_parallel(int64_t count, int64_t grain, const Work& work) {
  if (count > grain) {
    torch::stable::parallel_for(0, count, grain, work);
  } else if (count > 0) {
    work(0, count);
  }
}

void run_serially(int64_t tasks, void (*task)(void*, int64_t), void* context) {
  for (int64_t i = 0; i < tasks; ++i) task(context, i);
}
void run_in_parallel(int64_t tasks, void (*task)(void*, int64_t), void* context) {
  torch::stable::parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) task(context, i);
  });
}

void permute_on_cpu(const Permutation& permutation, int64_t keys) {
  const CpuKernels& kernels = cpu_kernels();
  const int64_t n = permutation.n;
  const bool many = keys > 1 && n < kGrain * 8;  // rows are work enough for the threads
  const auto rows = [&](int64_t begin, int64_t end) {
    std::unique_ptr<uint64_t[]> scratch(new uint64_t[size_t(kernels.permutation_scratch(n))]);
    for (int64_t row = begin; row < end; ++row) {
      kernels.permutation(permutation, row, scratch.get(), many ? run_serially : run_in_parallel);
    }
  };
  if (many) {
    torch::stable::parallel_for(0, keys, std::max<int64_t>(1, kGrain / 4 / n), rows);
  } else {
    rows(0, keys);
  }
}

// ---- CUDA ----

using GetStream = AOTITorchError (*)(int32_t device_index, void** stream);

// torch's function for the current stream. It is in torch's CUDA library, which this one is not linked with, so that
// it also loads where there is none.
GetStream find_get_stream() {
  void* const library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  return library ? reinterpret_cast<GetStream>(dlsym(library, "aoti_torch_get_current_cuda_stream")) : nullptr;
}

void* current_stream(int32_t device_index) {
  static const GetStream get_stream = find_get_stream();
  STD_TORCH_CHECK(get_stream != nullptr, "key: lies on a CUDA device, but torch's CUDA library was not found");
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(get_stream(device_index, &stream));
  return stream;
}

}  // namespace

const CpuKernels& cpu_kernels() {
  const char* requested = nullptr;
  const CpuKernels* table = find_cpu_kernels(&requested);
  STD_TORCH_CHECK(table != nullptr, "TORCH_THREEFRY_CPU=", requested ? requested : "(unset)",
                  ": this processor has no such instruction set; accepted are v2, v3 and v4 on x86-64 as far as it "
                  "goes, base elsewhere");
  return *table;
}

void set_cuda_kernels(const CudaKernels* kernels, bool on_cpu) { (on_cpu ? stand_in : cuda_kernels) = kernels; }

Device::Device(const Tensor& tensor) {
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &type_));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(tensor.get(), &index_));
  static const int32_t cpu = aoti_torch_device_type_cpu();
  if (type_ == cpu) {
    cuda_ = stand_in;
  } else {
    cuda_ = cuda_kernels;
    STD_TORCH_CHECK(cuda_ != nullptr,
                    "key: lies on a CUDA device, but torch_threefry was built without its CUDA kernels; install it again "
                    "with nvcc on the PATH and TORCH_THREEFRY_CUDA=1");
  }
}

bool Device::holds(const Tensor& tensor) const {
  int32_t type = 0, index = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(tensor.get(), &index));
  return type == type_ && index == index_;
}

Tensor Device::empty(const std::vector<int64_t>& sizes, ScalarType dtype) const {
  STD_TORCH_CHECK(sizes.size() <= size_t(kMaxDims), "size: more than ", kMaxDims, " dimensions");
  int64_t strides[kMaxDims];
  int64_t stride = 1;
  for (size_t a = sizes.size(); a-- > 0;) {
    strides[a] = stride;
    const int64_t size = std::max<int64_t>(sizes[a], 1);
    STD_TORCH_CHECK(stride <= INT64_MAX / size, "size: more than 2^63-1 elements");
    stride *= size;
  }
  const int32_t dtype_code = torch::stable::detail::to<int32_t>(torch::stable::detail::from(dtype));
  AtenTensorHandle handle = nullptr;
  const AOTITorchError error = aoti_torch_empty_strided(int64_t(sizes.size()), sizes.data(), strides, dtype_code, type_,
                                                        index_, &handle);
  STD_TORCH_CHECK(error == AOTI_TORCH_SUCCESS, "size: no memory for a result of ", stride, " elements");
  return Tensor(handle);
}

template <class Launch>
void Device::on_stream(Launch launch) const {
  std::optional<DeviceGuard> guard;
  void* stream = nullptr;
  Error error = nullptr;
  if (cuda_ != stand_in) {  // which has no device
    guard.emplace(index_);
    stream = current_stream(index_);
    error = cuda_->set_device(index_);
  }
  if (!error) error = launch(stream);
  STD_TORCH_CHECK(error == nullptr, "CUDA: ", error);
}

void Device::draw(const Draw& draw) const {
  if (draw.key_count * draw.count == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->draw(draw, stream); });
  const CpuKernels& kernels = cpu_kernels();
  // Trials cost many times what a word does.
  const int64_t grain = draw.distribution >= Distribution::gamma ? kGrain / 8 : kGrain;
  in_parallel(kernels.draw_positions(draw), grain, [&](int64_t begin, int64_t end) { kernels.draw(draw, begin, end); });
}

void Device::multinomial(const Multinomial& multinomial) const {
  const int64_t rows = multinomial.rows.key_count * multinomial.rows.count;
  if (rows == 0 || multinomial.categories == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->multinomial(multinomial, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(rows, std::max<int64_t>(1, kGrain / 16 / multinomial.categories),
              [&](int64_t begin, int64_t end) { kernels.multinomial(multinomial, begin, end); });
}

void Device::rows(const Rows& rows, int64_t count) const {
  if (count == 0 || rows.length == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->rows(rows, count, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(count, std::max<int64_t>(1, kGrain / rows.length),
              [&](int64_t begin, int64_t end) { kernels.rows(rows, begin, end); });
}

void Device::gamma_slopes(const GammaSlopes& slopes, int64_t count) const {
  if (count == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->gamma_slopes(slopes, count, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(count, kGrain / 16, [&](int64_t begin, int64_t end) { kernels.gamma_slopes(slopes, begin, end); });
}

void Device::fold_in(const FoldIn& fold, int64_t count) const {
  if (count == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->fold_in(fold, count, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(count, kGrain, [&](int64_t begin, int64_t end) { kernels.fold_in(fold, begin, end); });
}

void Device::split(const Split& split, int64_t keys) const {
  const int64_t count = keys * split.n;
  if (count == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->split(split, count, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(count, kGrain, [&](int64_t begin, int64_t end) { kernels.split(split, begin, end); });
}

void Device::cipher(const Cipher& cipher, int64_t rows) const {
  if (rows == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->cipher(cipher, rows, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(rows, kGrain / 4, [&](int64_t begin, int64_t end) { kernels.cipher(cipher, begin, end); });
}

void Device::permutation(const Permutation& permutation, int64_t keys) const {
  if (keys == 0 || permutation.n == 0) return;
  if (!cuda_) return permute_on_cpu(permutation, keys);
  int64_t bytes = 0;
  on_stream([&](void*) { return cuda_->permutation_workspace(permutation, keys, &bytes); });
  const Tensor workspace = empty({bytes}, ScalarType::Byte);
  on_stream([&](void* stream) {
    return cuda_->permutation(permutation, keys, bytes > 0 ? workspace.mutable_data_ptr() : nullptr, stream);
  });
}

void Device::tvm_draw(const TvmDraw& draw) const {
  if (draw.state_count == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->tvm_draw(draw, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(draw.positions(), kGrain / 4, [&](int64_t begin, int64_t end) { kernels.tvm_draw(draw, begin, end); });
}

void Device::tvm_split(const TvmSplit& split) const {
  if (split.state_count == 0) return;
  if (cuda_) return on_stream([&](void* stream) { return cuda_->tvm_split(split, stream); });
  const CpuKernels& kernels = cpu_kernels();
  in_parallel(split.state_count, kGrain / 4, [&](int64_t begin, int64_t end) { kernels.tvm_split(split, begin, end); });
}

}  // namespace torch_threefry
