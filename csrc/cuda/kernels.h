// The CUDA kernels as a table of functions, which the library with the kernels hands to the one with the operators.
#pragma once

#include <stdint.h>

#include "../draw.h"
#include "../tvm.h"
#include "launch.h"

namespace torch_threefry {

constexpr char kKernelsName[] = "torch_threefry.CudaKernels.3";  // of the capsule with the table: new with every change of it

// Each function puts its work on a stream of the current device and returns at once. There is something to do: no count
// is 0.
struct CudaKernels {
  Error (*set_device)(int index);  // which device is the current one
  Error (*draw)(const Draw&, void* stream);
  Error (*multinomial)(const Multinomial&, void* stream);
  Error (*rows)(const Rows&, int64_t count, void* stream);
  Error (*gamma_slopes)(const GammaSlopes&, int64_t count, void* stream);
  Error (*fold_in)(const FoldIn&, int64_t count, void* stream);
  Error (*split)(const Split&, int64_t count, void* stream);
  Error (*cipher)(const Cipher&, int64_t rows, void* stream);
  Error (*permutation)(const Permutation&, int64_t keys, void* workspace, void* stream);
  // How many bytes of workspace a permutation needs.
  Error (*permutation_workspace)(const Permutation&, int64_t keys, int64_t* bytes);
  Error (*tvm_draw)(const TvmDraw&, void* stream);
  Error (*tvm_split)(const TvmSplit&, void* stream);
};

// Draws by their group in the catalog, each in the file of that name.
Error draw_words(const Draw&, void* stream);
Error draw_continuous(const Draw&, void* stream);
Error draw_gamma_family(const Draw&, void* stream);
Error draw_counts(const Draw&, void* stream);

Error draw_multinomial(const Multinomial&, void* stream);
Error run_rows(const Rows&, int64_t count, void* stream);
Error run_gamma_slopes(const GammaSlopes&, int64_t count, void* stream);
Error run_fold_in(const FoldIn&, int64_t count, void* stream);
Error run_split(const Split&, int64_t count, void* stream);
Error run_cipher(const Cipher&, int64_t rows, void* stream);
Error run_permutation(const Permutation&, int64_t keys, void* workspace, void* stream);
Error find_permutation_workspace(const Permutation&, int64_t keys, int64_t* bytes);
Error run_tvm_draw(const TvmDraw&, void* stream);
Error run_tvm_split(const TvmSplit&, void* stream);

}  // namespace torch_threefry
