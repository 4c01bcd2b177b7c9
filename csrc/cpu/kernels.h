// The CPU kernels as a table of functions: one table for each instruction set they are compiled for.
#pragma once

#include <stdint.h>

#include "../draw.h"
#include "../tvm.h"

namespace torch_threefry {

// Runs task(context, i) for every i in [0, tasks), in any order, perhaps at the same time.
using ParallelTasks = void (*)(int64_t tasks, void (*task)(void* context, int64_t i), void* context);

// draw, fold_in, split and cipher do the positions [begin, end) of their work. draw_positions says how many
// positions a draw has: its elements, or pairs of them.
struct CpuKernels {
  const char* name;
  int64_t (*draw_positions)(const Draw&);
  // How many 32-bit words the stream of the whole logical draw has.
  double (*draw_words)(const Draw&);
  void (*draw)(const Draw&, int64_t begin, int64_t end);
  void (*multinomial)(const Multinomial&, int64_t begin_row, int64_t end_row);
  void (*rows)(const Rows&, int64_t begin_row, int64_t end_row);
  void (*gamma_slopes)(const GammaSlopes&, int64_t begin, int64_t end);
  void (*fold_in)(const FoldIn&, int64_t begin, int64_t end);
  void (*split)(const Split&, int64_t begin, int64_t end);
  void (*cipher)(const Cipher&, int64_t begin, int64_t end);
  // One key's row. scratch has as many numbers as permutation_scratch says.
  int64_t (*permutation_scratch)(int64_t n);
  void (*permutation)(const Permutation&, int64_t key_number, uint64_t* scratch, ParallelTasks);
  // Positions are blocks of four words, and states.
  void (*tvm_draw)(const TvmDraw&, int64_t begin, int64_t end);
  void (*tvm_split)(const TvmSplit&, int64_t begin, int64_t end);
};

// The table for this machine: the best it can run, or the one that the environment variable
// TORCH_THREEFRY_CPU names (v2, v3 or v4 on x86-64, base elsewhere). Null if there is none, or if that one
// is unknown or cannot run here; *requested is what was asked for, or null.
const CpuKernels* find_cpu_kernels(const char** requested);

}  // namespace torch_threefry
