// Counts, computed in float64, into the result's type and memory.
#pragma once

#include <stdint.h>

#include "distributions/distribution.h"
#include "draw.h"

TTF_NAMESPACE_BEGIN

// -1 where there is no count; the type's largest number where the count is larger.
template <class Integer>
struct IntegerOfCount {
  using Out = Integer;
  TTF_HD static Integer of(double count) {
    constexpr uint64_t largest = (uint64_t(1) << (8 * sizeof(Integer) - 1)) - 1;
    if (!(count >= 0)) return Integer(-1);
    return count < double(largest) ? Integer(count) : Integer(largest);
  }
};
template <class T>
struct FloatOfCount {
  using Out = T;
  TTF_HD static T of(double count) { return T(count); }
};
template <class Half>
struct HalfOfCount {
  using Out = uint16_t;
  TTF_HD static uint16_t of(double count) { return Half::narrow(float(count)); }
};

// As the result's elements position, position + step...
template <class Convert>
TTF_HD void store_converted(const double* counts, int n, void* out, int64_t position, int64_t step) {
  auto* const to = static_cast<typename Convert::Out*>(out) + position;
  for (int i = 0; i < n; ++i) to[i * step] = Convert::of(counts[i]);
}

TTF_HD void store_counts(Value value, const double* counts, int n, void* out, int64_t position, int64_t step = 1) {
  switch (value) {
    case Value::int8: return store_converted<IntegerOfCount<int8_t>>(counts, n, out, position, step);
    case Value::int16: return store_converted<IntegerOfCount<int16_t>>(counts, n, out, position, step);
    case Value::int32: return store_converted<IntegerOfCount<int32_t>>(counts, n, out, position, step);
    case Value::int64: return store_converted<IntegerOfCount<int64_t>>(counts, n, out, position, step);
    case Value::float16: return store_converted<HalfOfCount<Float16>>(counts, n, out, position, step);
    case Value::bfloat16: return store_converted<HalfOfCount<BFloat16>>(counts, n, out, position, step);
    case Value::float32: return store_converted<FloatOfCount<float>>(counts, n, out, position, step);
    case Value::float64: return store_converted<FloatOfCount<double>>(counts, n, out, position, step);
  }
}

TTF_NAMESPACE_END
