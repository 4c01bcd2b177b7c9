// Launching a kernel, and what a thread knows of its place. A kernel is right for any shape of the grid.
//
// Compiled as plain C++, the same kernels run on the CPU, one thread of the grid after another. They share no
// memory and wait for nobody, so that the order does not matter; the tests check every kernel in this way.
#pragma once

#include <stdint.h>

#include "../macros.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define TTF_DEVICE __device__ __forceinline__
#define TTF_KERNEL __global__ void __launch_bounds__(torch_threefry::kThreads)
#define TTF_ARGUMENT const __grid_constant__  // read where it lies, not copied into a thread's memory
#else
#define TTF_DEVICE inline
#define TTF_KERNEL void
#define TTF_ARGUMENT const
#endif

namespace torch_threefry {

constexpr int kThreads = 256;  // of a block, at most

// The shape of all launches to come; 0: chosen by the work and the device.
struct LaunchShape {
  int blocks = 0, threads = 0;
};
extern LaunchShape launch_shape;

// Null if all went well, else what went wrong, in words.
using Error = const char*;

}  // namespace torch_threefry

TTF_NAMESPACE_BEGIN

TTF_HD int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Grid {
  int blocks, threads;

  int64_t all_threads() const { return int64_t(blocks) * threads; }
};

// The type of an argument that does not decide a template's.
template <class T>
struct Itself {
  using Type = T;
};

#if defined(__CUDACC__)

TTF_DEVICE int64_t thread_number() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
TTF_DEVICE int64_t thread_count() { return int64_t(gridDim.x) * blockDim.x; }

// The CUDA runtime that is linked with the kernels keeps its own record of the current device, besides torch's.
inline Error set_current_device(int index) {
  const cudaError_t error = cudaSetDevice(index);
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

// How many blocks of a kernel the device runs at once.
inline Error find_capacity(const void* kernel, int threads, int64_t* blocks) {
  int device = 0, processors = 0, resident = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, 0);
  *blocks = int64_t(processors) * resident;
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

template <class... Parameters>
Error launch(void (*kernel)(Parameters...), Grid grid, void* stream, typename Itself<Parameters>::Type... arguments) {
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const cudaError_t error =
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(unsigned(grid.blocks)), dim3(unsigned(grid.threads)),
                       pointers, 0, static_cast<cudaStream_t>(stream));
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

#else

struct ThreadPosition {
  int64_t number, count;
};
inline thread_local ThreadPosition thread_position;

TTF_DEVICE int64_t thread_number() { return thread_position.number; }
TTF_DEVICE int64_t thread_count() { return thread_position.count; }

inline Error set_current_device(int) { return nullptr; }

inline Error find_capacity(const void*, int, int64_t* blocks) {
  *blocks = 6;  // of a small device
  return nullptr;
}

template <class... Parameters>
Error launch(void (*kernel)(Parameters...), Grid grid, void*, typename Itself<Parameters>::Type... arguments) {
  for (int64_t thread = 0; thread < grid.all_threads(); ++thread) {
    thread_position = {thread, grid.all_threads()};
    kernel(arguments...);
  }
  return nullptr;
}

#endif

// A thread an item, or as many as the device runs at once.
template <class Kernel>
Error choose_grid(Kernel* kernel, int64_t items, Grid* grid) {
  *grid = {launch_shape.blocks, launch_shape.threads ? launch_shape.threads : kThreads};
  if (grid->blocks) return nullptr;
  int64_t most = 0;
  const Error error = find_capacity(reinterpret_cast<const void*>(kernel), grid->threads, &most);
  const int64_t wanted = divide_up(items, grid->threads);
  grid->blocks = int(wanted < most ? wanted : most);
  return error;
}

// A kernel that loops over items.
template <class... Parameters>
Error launch_items(void (*kernel)(Parameters...), int64_t items, void* stream,
                   typename Itself<Parameters>::Type... arguments) {
  if (items == 0) return nullptr;
  Grid grid;
  if (Error error = choose_grid(kernel, items, &grid)) return error;
  return launch(kernel, grid, stream, arguments...);
}

TTF_NAMESPACE_END
