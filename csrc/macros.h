// Compiler-facing macros, in one place: everything else in csrc/ reads as plain C++.
#pragma once

#if defined(__CUDACC__)
#define TTF_HD __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define TTF_HD inline __attribute__((always_inline))
#else
#define TTF_HD inline
#endif

#if defined(__GNUC__)
#define TTF_NOINLINE __attribute__((noinline))
#else
#define TTF_NOINLINE
#endif

// A function too long to be inlined wherever it is used; on a GPU, where a call takes memory, it is.
#if defined(__CUDACC__)
#define TTF_HD_LONG TTF_HD
#else
#define TTF_HD_LONG TTF_NOINLINE inline
#endif

// A loop that stays one: its body is long, and seldom run more than once or twice.
#if defined(__CUDA_ARCH__)
#define TTF_ROLLED TTF_PRAGMA(unroll 1)
#else
#define TTF_ROLLED
#endif

// Ask for a loop to be unrolled completely (up to n iterations).
#define TTF_PRAGMA(text) _Pragma(#text)
#if defined(__CUDA_ARCH__)
#define TTF_UNROLL(n) TTF_PRAGMA(unroll)
#elif defined(__CUDACC__)
#define TTF_UNROLL(n)  // nvcc's host pass knows neither spelling
#elif defined(__clang__)
#define TTF_UNROLL(n) TTF_PRAGMA(clang loop unroll(full))
#elif defined(__GNUC__)
#define TTF_UNROLL(n) TTF_PRAGMA(GCC unroll n)
#else
#define TTF_UNROLL(n)
#endif

// The same headers are compiled once for each instruction set. Every copy lives in a namespace
// of its own, so that the linker cannot merge a function that was compiled for one set into the
// code of another.
#if !defined(TTF_ISA)
#define TTF_ISA base
#endif
#define TTF_NAMESPACE_BEGIN namespace torch_threefry { inline namespace TTF_ISA {
#define TTF_NAMESPACE_END } }
