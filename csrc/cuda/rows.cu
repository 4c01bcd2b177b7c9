// Functions of rows, and slopes of gamma draws.
#include "../distributions/rows.h"
#include "../gamma_slope.h"
#include "kernels.h"

TTF_NAMESPACE_BEGIN

// A thread a row: its sums are taken in order.
template <class T>
TTF_KERNEL map_rows(TTF_ARGUMENT Rows rows, int64_t count) {
  for (int64_t row = thread_number(); row < count; row += thread_count()) map_row<T>(rows, row);
}

template <class T>
TTF_KERNEL gamma_slopes(TTF_ARGUMENT GammaSlopes slopes, int64_t count) {
  for (int64_t i = thread_number(); i < count; i += thread_count()) set_gamma_slope<T>(slopes, i);
}

TTF_NAMESPACE_END

namespace torch_threefry {

Error run_rows(const Rows& rows, int64_t count, void* stream) {
  if (rows.value == Value::float64) return launch_items(map_rows<double>, count, stream, rows, count);
  return launch_items(map_rows<float>, count, stream, rows, count);
}

Error run_gamma_slopes(const GammaSlopes& slopes, int64_t count, void* stream) {
  if (slopes.value == Value::float64) return launch_items(gamma_slopes<double>, count, stream, slopes, count);
  return launch_items(gamma_slopes<float>, count, stream, slopes, count);
}

}  // namespace torch_threefry
