// Which of the CPU kernels this machine runs.
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

namespace torch_threefry {

// The tables live in the namespaces of their instruction sets; see macros.h.
#if defined(__x86_64__)
namespace v2 {
extern const CpuKernels kernels;
}
namespace v3 {
extern const CpuKernels kernels;
}
namespace v4 {
extern const CpuKernels kernels;
}
#else
inline namespace base {
extern const CpuKernels kernels;
}
#endif

namespace {

const CpuKernels* choose(const char* requested) {
  const CpuKernels* runnable[3];
  int count = 0;
#if defined(__x86_64__)
  // The features of the psABI's levels that set them apart.
  __builtin_cpu_init();
  const bool has_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3");
  const bool has_v3 = has_v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi2");
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (has_v4) runnable[count++] = &v4::kernels;
  if (has_v3) runnable[count++] = &v3::kernels;
  if (has_v2) runnable[count++] = &v2::kernels;
#else
  runnable[count++] = &base::kernels;
#endif
  if (!requested || !*requested) return count > 0 ? runnable[0] : nullptr;
  for (int i = 0; i < count; ++i) {
    if (!strcmp(requested, runnable[i]->name)) return runnable[i];
  }
  return nullptr;
}

}  // namespace

const CpuKernels* find_cpu_kernels(const char** requested) {
  static const char* const name = getenv("TORCH_THREEFRY_CPU");
  static const CpuKernels* const table = choose(name);
  *requested = name;
  return table;
}

}  // namespace torch_threefry
