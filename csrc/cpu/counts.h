// Counts, computed in float64, into the result's type.
#pragma once

#include <stdint.h>

#include "../distributions/distribution.h"
#include "../draw.h"

TTF_NAMESPACE_BEGIN

// -1 where there is no count; the type's largest number where the count is larger.
template <class Integer>
TTF_HD Integer saturate(double count) {
  constexpr uint64_t largest = (uint64_t(1) << (8 * sizeof(Integer) - 1)) - 1;
  if (!(count >= 0)) return Integer(-1);
  return count < double(largest) ? Integer(count) : Integer(largest);
}

// The result's elements position, position + step...
struct Destination {
  void* out;
  int64_t position, step;
};

template <class Out, class Convert>
void convert_counts(const double* counts, int n, const Destination& destination, Convert convert) {
  Out* const out = static_cast<Out*>(destination.out) + destination.position;
  for (int i = 0; i < n; ++i) out[i * destination.step] = convert(counts[i]);
}

inline void store_counts(Value value, const double* counts, int n, void* out, int64_t position, int64_t step = 1) {
  const Destination to = {out, position, step};
  switch (value) {
    case Value::int8: return convert_counts<int8_t>(counts, n, to, saturate<int8_t>);
    case Value::int16: return convert_counts<int16_t>(counts, n, to, saturate<int16_t>);
    case Value::int32: return convert_counts<int32_t>(counts, n, to, saturate<int32_t>);
    case Value::int64: return convert_counts<int64_t>(counts, n, to, saturate<int64_t>);
    case Value::float16:
      return convert_counts<uint16_t>(counts, n, to, [](double x) { return Float16::narrow(float(x)); });
    case Value::bfloat16:
      return convert_counts<uint16_t>(counts, n, to, [](double x) { return BFloat16::narrow(float(x)); });
    case Value::float32: return convert_counts<float>(counts, n, to, [](double x) { return float(x); });
    case Value::float64: return convert_counts<double>(counts, n, to, [](double x) { return x; });
  }
}

TTF_NAMESPACE_END
