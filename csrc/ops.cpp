// The operators: their schemas, the checks of their arguments, and what they ask a device for.
//
// The Python modules check what a user writes and say so in Python's exceptions. The checks here
// keep a direct call of an operator from reading or writing outside its tensors.
#include <Python.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "arguments.h"
#include "device.h"
#include "draw.h"
#include "numerics.h"

namespace torch_threefry {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using Window = std::optional<Sizes>;  // a start and a stop for each dimension; nothing for all of them

// ---- Arguments ----

Impl impl_of(int64_t impl) {
  STD_TORCH_CHECK(impl >= int(Impl::threefry2x32) && impl <= int(Impl::threefry4x64), "impl: unknown number ", impl);
  return Impl(int(impl));
}

// What an implementation's keys are made of.
struct KeyForm {
  ScalarType dtype;
  int64_t words;
};
KeyForm form_of(Impl impl) {
  if (impl == Impl::threefry4x64) return {ScalarType::UInt64, Key4x64::kWords};
  return {ScalarType::UInt32, Key2x32::kWords};
}

Keys keys_of(const Tensor& key, Impl impl) {
  const KeyForm form = form_of(impl);
  return batch_of(key, form.dtype, form.words, "key");
}

Value value_of(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool: return Value::int8;
    case ScalarType::UInt16:
    case ScalarType::Short: return Value::int16;
    case ScalarType::UInt32:
    case ScalarType::Int: return Value::int32;
    case ScalarType::UInt64:
    case ScalarType::Long: return Value::int64;
    case ScalarType::Half: return Value::float16;
    case ScalarType::BFloat16: return Value::bfloat16;
    case ScalarType::Float: return Value::float32;
    case ScalarType::Double: return Value::float64;
    default: STD_TORCH_CHECK(false, "dtype: not one that can be drawn");
  }
}

// The type that a floating dtype is computed in.
ScalarType computed_in(ScalarType dtype) { return dtype == ScalarType::Double ? ScalarType::Double : ScalarType::Float; }

bool is_float(Value value) {
  return value == Value::float16 || value == Value::bfloat16 || value == Value::float32 || value == Value::float64;
}
bool is_signed(ScalarType dtype) {
  return dtype == ScalarType::Char || dtype == ScalarType::Short || dtype == ScalarType::Int || dtype == ScalarType::Long;
}
void require_float(ScalarType dtype) { STD_TORCH_CHECK(is_float(value_of(dtype)), "dtype: must be a floating type"); }
void require_signed_or_float(ScalarType dtype) {
  STD_TORCH_CHECK(is_float(value_of(dtype)) || is_signed(dtype), "dtype: must be a signed integer or floating type");
}
void require_integer(ScalarType dtype) {
  STD_TORCH_CHECK(!is_float(value_of(dtype)) && dtype != ScalarType::Bool, "dtype: must be an integer type");
}

// ---- Draws ----

// The work of a draw before its distribution is known: keys, shape, window and the result's memory.
struct Plan {
  Device device;
  Draw draw;
  Tensor result{nullptr};
  Sizes shape;  // of the result: the batch of keys, then the window

  // An element may be a row of numbers: the two words of a key, or a count for each of some categories.
  Plan(const Tensor& key, int64_t impl, const Sizes& size, const Window& window, ScalarType dtype,
       std::optional<int64_t> row = std::nullopt)
      : device(key) {
    draw.impl = impl_of(impl);
    const Keys keys = keys_of(key, draw.impl);
    draw.value = value_of(dtype);
    draw.keys = keys;
    draw.key_count = keys.count;
    shape.reserve(keys.batch.size() + size.size() + 1);
    shape = keys.batch;
    set_window(size, window);
    if (row) shape.push_back(*row);
    result = device.empty(shape, dtype);
    draw.out = result.mutable_data_ptr();
  }

  // A parameter that is a tensor: it broadcasts to the result's shape, less the last axes that are `inner` to a draw's
  // element. A single number may also lie on the CPU; it is read here.
  void broadcast(int index, const Tensor& tensor, ScalarType dtype, const char* name, int64_t inner = 0) {
    broadcast(draw.parameter[index], tensor, dtype, name, inner);
  }
  void broadcast(Parameter& parameter, const Tensor& tensor, ScalarType dtype, const char* name, int64_t inner = 0) {
    STD_TORCH_CHECK(tensor.scalar_type() == dtype, name, ": of another dtype than its operator takes");
    const int64_t axes = int64_t(shape.size()) - inner, missing = axes - tensor.dim();
    STD_TORCH_CHECK(missing >= 0, name, ": has more dimensions than the draw");
    if (tensor.numel() == 1 && tensor.is_cpu()) return read_number(parameter, tensor, dtype);
    STD_TORCH_CHECK(device.holds(tensor), name, ": on another device than the key");
    parameter.data = tensor.const_data_ptr();
    for (int64_t a = 0; a < axes; ++a) {
      const int64_t own = a < missing ? 1 : tensor.size(a - missing);
      STD_TORCH_CHECK(own == shape[a] || own == 1, name, ": does not broadcast over the draw");
      STD_TORCH_CHECK(parameter.walk.push(shape[a], own == 1 ? 0 : tensor.stride(a - missing)), name, ": too many dimensions");
    }
  }

  static void read_number(Parameter& parameter, const Tensor& tensor, ScalarType dtype) {
    const void* const data = tensor.const_data_ptr();
    switch (dtype) {
      case ScalarType::Double: parameter.real = *static_cast<const double*>(data); break;
      case ScalarType::Float: parameter.real = *static_cast<const float*>(data); break;
      default: parameter.integer = *static_cast<const int64_t*>(data);
    }
  }

  // A probability, whose type is that of the uniform it is compared with.
  void broadcast_probability(const Tensor& p) {
    draw.wide = p.scalar_type() == ScalarType::Double;
    broadcast(0, p, draw.wide ? ScalarType::Double : ScalarType::Float, "p");
  }

  Tensor run(Distribution distribution) {
    draw.distribution = distribution;
    check_words();
    device.draw(draw);
    return result;
  }

  void check_words() const {
    STD_TORCH_CHECK(draw.impl != Impl::threefry2x32_original || cpu_kernels().draw_words(draw) <= 4294967294.0,
                    "size: takes more than 2^32-2 words, which threefry2x32_original cannot address; use threefry2x32");
  }

 private:
  void set_window(const Sizes& size, const Window& window) {
    const size_t axes = size.size();
    STD_TORCH_CHECK(!window || window->size() == 2 * axes, "window: needs a start and a stop for each dimension of size");
    STD_TORCH_CHECK(axes <= size_t(kMaxDims), "size: more than ", kMaxDims, " dimensions");
    int64_t strides[kMaxDims];
    uint64_t total = 1;
    for (size_t a = axes; a-- > 0;) {
      STD_TORCH_CHECK(size[a] >= 0, "size: must not be negative");
      strides[a] = int64_t(total);
      STD_TORCH_CHECK(size[a] == 0 || total <= uint64_t(INT64_MAX) / uint64_t(size[a]), "size: more than 2^63-1 elements");
      total *= uint64_t(size[a]);
    }
    draw.total = total;
    draw.count = 1;
    for (size_t a = 0; a < axes; ++a) {
      const int64_t start = window ? (*window)[2 * a] : 0, stop = window ? (*window)[2 * a + 1] : size[a];
      STD_TORCH_CHECK(0 <= start && start <= stop && stop <= size[a], "window: lies outside of size");
      shape.push_back(stop - start);
      draw.count *= stop - start;
      draw.window.offset += start * strides[a];
      STD_TORCH_CHECK(draw.window.push(stop - start, strides[a]), "window: cuts too many dimensions");
    }
  }
};

Tensor bits(const Tensor& key, int64_t impl, Sizes size, Window window, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_integer(dtype);
  STD_TORCH_CHECK(!is_signed(dtype), "dtype: must be an unsigned type");
  return Plan(key, impl, size, window, dtype).run(Distribution::bits);
}

template <Distribution distribution>
Tensor standard(const Tensor& key, int64_t impl, Sizes size, Window window, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_float(dtype);
  return Plan(key, impl, size, window, dtype).run(distribution);
}

Tensor gumbel(const Tensor& key, int64_t impl, Sizes size, Window window, bool high, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_float(dtype);
  return Plan(key, impl, size, window, dtype).run(high ? Distribution::gumbel_high : Distribution::gumbel);
}

Tensor rademacher(const Tensor& key, int64_t impl, Sizes size, Window window, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_signed_or_float(dtype);
  return Plan(key, impl, size, window, dtype).run(Distribution::rademacher);
}

// A float that rounds to half precision as x does: where x is not a float, the neighbour with an odd last bit.
float round_to_odd(double x) {
  const float nearest = float(x);
  if (double(nearest) == x || nearest != nearest) return nearest;
  const uint32_t bits = numerics::to_bits(nearest) - (std::fabs(nearest) > std::fabs(x) ? 1 : 0);
  return numerics::float_from_bits(bits | 1);
}

// Half precision: the bounds are rounded to it first, as its draws are.
double rounded(double x, ScalarType dtype) {
  switch (value_of(dtype)) {
    case Value::float16: return numerics::from_float16_bits(numerics::to_float16_bits(round_to_odd(x)));
    case Value::bfloat16: return numerics::from_bfloat16_bits(numerics::to_bfloat16_bits(round_to_odd(x)));
    default: return x;
  }
}

Tensor uniform(const Tensor& key, int64_t impl, Sizes size, Window window, double low, double high, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_float(dtype);
  Plan plan(key, impl, size, window, dtype);
  plan.draw.parameter[0].real = rounded(low, dtype);
  plan.draw.parameter[1].real = rounded(high, dtype);
  return plan.run(Distribution::uniform);
}

// span is the number of values, as an unsigned number; 0 means all of the dtype's.
Tensor randint(const Tensor& key, int64_t impl, Sizes size, Window window, int64_t low, int64_t span, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_integer(dtype);
  Plan plan(key, impl, size, window, dtype);
  plan.draw.parameter[0].integer = low;
  plan.draw.parameter[1].integer = span;
  return plan.run(Distribution::randint);
}

Tensor randint_tensor(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& low, const Tensor& span,
                      int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_integer(dtype);
  Plan plan(key, impl, size, window, dtype);
  plan.broadcast(0, low, ScalarType::Long, "minval");
  plan.broadcast(1, span, ScalarType::Long, "span");
  return plan.run(Distribution::randint);
}

Tensor bernoulli(const Tensor& key, int64_t impl, Sizes size, Window window, double p, bool high) {
  Plan plan(key, impl, size, window, ScalarType::Bool);
  plan.draw.parameter[0].real = p;
  return plan.run(high ? Distribution::bernoulli_high : Distribution::bernoulli);
}

Tensor bernoulli_tensor(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& p, bool high) {
  Plan plan(key, impl, size, window, ScalarType::Bool);
  plan.broadcast_probability(p);
  return plan.run(high ? Distribution::bernoulli_high : Distribution::bernoulli);
}

struct NamedTensor {
  const Tensor* tensor;
  const char* name;
};

// Distributions with parameters of the type they are computed in: float32 where `dtype` is half precision.
Tensor parametric(Distribution distribution, const Tensor& key, int64_t impl, const Sizes& size, const Window& window,
                  std::initializer_list<NamedTensor> parameters, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_float(dtype);
  Plan plan(key, impl, size, window, dtype);
  int index = 0;
  for (const NamedTensor& parameter : parameters) {
    plan.broadcast(index++, *parameter.tensor, computed_in(dtype), parameter.name);
  }
  return plan.run(distribution);
}

Tensor uniform_tensor(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& low, const Tensor& high,
                      int64_t dtype) {
  return parametric(Distribution::uniform, key, impl, size, window, {{&low, "minval"}, {&high, "maxval"}}, dtype);
}

template <Distribution distribution>
Tensor with_one(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& first, int64_t dtype) {
  return parametric(distribution, key, impl, size, window, {{&first, "first parameter"}}, dtype);
}
template <Distribution distribution>
Tensor with_two(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& first, const Tensor& second,
                int64_t dtype) {
  return parametric(distribution, key, impl, size, window,
                    {{&first, "first parameter"}, {&second, "second parameter"}}, dtype);
}
template <Distribution distribution>
Tensor with_three(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& first, const Tensor& second,
                  const Tensor& third, int64_t dtype) {
  return parametric(distribution, key, impl, size, window,
                    {{&first, "first parameter"}, {&second, "second parameter"}, {&third, "third parameter"}}, dtype);
}

// ---- Counts ----

Plan count_plan(const Tensor& key, int64_t impl, const Sizes& size, const Window& window, int64_t dtype_code,
                std::optional<int64_t> categories = std::nullopt) {
  const ScalarType dtype = dtype_of(dtype_code);
  require_signed_or_float(dtype);
  return Plan(key, impl, size, window, dtype, categories);
}

Tensor geometric(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& p, int64_t dtype_code) {
  Plan plan = count_plan(key, impl, size, window, dtype_code);
  plan.broadcast_probability(p);
  return plan.run(Distribution::geometric);
}

Tensor poisson(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& rate, int64_t dtype_code) {
  Plan plan = count_plan(key, impl, size, window, dtype_code);
  plan.broadcast(0, rate, ScalarType::Double, "lam");
  return plan.run(Distribution::poisson);
}

Tensor binomial(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& n, const Tensor& p,
                int64_t dtype_code) {
  Plan plan = count_plan(key, impl, size, window, dtype_code);
  plan.broadcast(0, n, ScalarType::Double, "n");
  plan.broadcast(1, p, ScalarType::Double, "p");
  return plan.run(Distribution::binomial);
}

// n broadcasts over the rows; shares, which end with the axis of categories, over the rows and categories.
Tensor multinomial(const Tensor& key, int64_t impl, Sizes size, Window window, const Tensor& n, const Tensor& shares,
                   int64_t dtype_code) {
  STD_TORCH_CHECK(shares.dim() > 0, "shares: need an axis of categories");
  const int64_t categories = shares.size(shares.dim() - 1);
  Plan plan = count_plan(key, impl, size, window, dtype_code, categories);
  plan.draw.distribution = Distribution::binomial;
  plan.broadcast(0, n, ScalarType::Double, "n", 1);
  Multinomial work = {plan.draw, categories, {}};
  plan.broadcast(work.shares, shares, ScalarType::Double, "shares");
  STD_TORCH_CHECK(plan.device.holds(shares), "shares: on another device than the key");
  work.shares.data = shares.const_data_ptr();
  plan.device.multinomial(work);
  return plan.result;
}

// ---- Rows and slopes ----

Value row_value(const Tensor& tensor, const char* name) {
  const ScalarType dtype = tensor.scalar_type();
  STD_TORCH_CHECK(dtype == ScalarType::Float || dtype == ScalarType::Double, name, ": must be float32 or float64");
  STD_TORCH_CHECK(tensor.is_contiguous(), name, ": must be contiguous");
  return value_of(dtype);
}

void require_device(const Device& device, const Tensor& tensor, const char* name) {
  STD_TORCH_CHECK(device.holds(tensor), name, ": on another device than the first tensor");
}

Sizes sizes_of(const Tensor& tensor) {
  Sizes sizes;
  for (int64_t a = 0; a < tensor.dim(); ++a) sizes.push_back(tensor.size(a));
  return sizes;
}

Tensor run_rows(Rows rows, const Tensor& in) {
  STD_TORCH_CHECK(in.dim() > 0, "rows: need at least one axis");
  rows.length = in.size(in.dim() - 1);
  const Device device(in);
  Tensor result = device.empty(sizes_of(in), in.scalar_type());
  rows.in = in.const_data_ptr();
  rows.out = result.mutable_data_ptr();
  device.rows(rows, rows.length > 0 ? in.numel() / rows.length : 0);
  return result;
}

Tensor softmax(const Tensor& logits) {
  return run_rows({RowFunction::softmax, row_value(logits, "logits")}, logits);
}

Tensor shares(const Tensor& weights) {
  return run_rows({RowFunction::shares, row_value(weights, "weights")}, weights);
}

// words: int32 for float32, int64 for float64, of which the first bit is the sign; exponentials and p: one a row.
Tensor ball(const Tensor& log_gammas, const Tensor& words, const Tensor& exponentials, const Tensor& p) {
  const Value value = row_value(log_gammas, "log_gammas");
  STD_TORCH_CHECK(words.scalar_type() == (value == Value::float64 ? ScalarType::Long : ScalarType::Int),
                  "words: must be signed integers as wide as log_gammas");
  STD_TORCH_CHECK(words.is_contiguous() && sizes_of(words) == sizes_of(log_gammas),
                  "words: must be contiguous, of log_gammas' shape");
  const Device device(log_gammas);
  require_device(device, words, "words");
  Sizes rows = sizes_of(log_gammas);
  if (!rows.empty()) rows.pop_back();
  for (const auto& [tensor, name] : {std::pair(exponentials, "exponentials"), std::pair(p, "p")}) {
    STD_TORCH_CHECK(row_value(tensor, name) == value && sizes_of(tensor) == rows, name, ": must have one number a row");
    require_device(device, tensor, name);
  }
  return run_rows({RowFunction::ball, value, 0, nullptr, words.const_data_ptr(), exponentials.const_data_ptr(),
                   p.const_data_ptr(), nullptr},
                  log_gammas);
}

Tensor loggamma_slope(const Tensor& concentration, const Tensor& log_draw) {
  const Value value = row_value(concentration, "concentration");
  STD_TORCH_CHECK(row_value(log_draw, "log_draw") == value && sizes_of(log_draw) == sizes_of(concentration),
                  "log_draw: must have concentration's dtype and shape");
  const Device device(concentration);
  require_device(device, log_draw, "log_draw");
  Tensor result = device.empty(sizes_of(concentration), concentration.scalar_type());
  const GammaSlopes slopes = {value, concentration.const_data_ptr(), log_draw.const_data_ptr(), result.mutable_data_ptr()};
  device.gamma_slopes(slopes, concentration.numel());
  return result;
}

// ---- Keys ----

// Children 0..n-1: blocks of the partitionable layout, two 32-bit words in a row of the original; of threefry4x64, paths.
Tensor split(const Tensor& key, int64_t impl_number, Sizes shape) {
  const Impl impl = impl_of(impl_number);
  if (impl == Impl::threefry4x64) {
    Plan plan(key, impl_number, shape, std::nullopt, ScalarType::UInt64, Key4x64::kWords);
    plan.device.split({impl, plan.draw.keys, plan.draw.count, plan.draw.out}, plan.draw.key_count);
    return plan.result;
  }
  if (impl == Impl::threefry2x32) {
    return Plan(key, impl_number, shape, std::nullopt, ScalarType::UInt32, 2).run(Distribution::key_pair);
  }
  shape.push_back(2);
  return Plan(key, impl_number, shape, std::nullopt, ScalarType::UInt32).run(Distribution::bits);
}

int64_t broadcast_size(int64_t a, int64_t b) {
  STD_TORCH_CHECK(a == b || a == 1 || b == 1, "data: does not broadcast against the batch of keys");
  return a == 1 ? b : a;
}

// Allocates the result, the batch's keys, and fills it.
Tensor run_fold_in(const Device& device, FoldIn& fold, const Sizes& batch, int64_t count) {
  const KeyForm form = form_of(fold.impl);
  Sizes shape = batch;
  shape.push_back(form.words);
  Tensor result = device.empty(shape, form.dtype);
  fold.out = result.mutable_data_ptr();
  device.fold_in(fold, count);
  return result;
}

Tensor fold_in_tensor(const Tensor& key, int64_t impl, const Tensor& data) {
  STD_TORCH_CHECK(data.scalar_type() == ScalarType::Long, "data: must be int64");
  const Device device(key);
  STD_TORCH_CHECK(device.holds(data), "data: on another device than the key");
  FoldIn fold;
  fold.impl = impl_of(impl);
  const Keys keys = keys_of(key, fold.impl);
  const int64_t key_axes = int64_t(keys.batch.size()), axes = std::max(key_axes, data.dim());
  fold.keys = keys;
  fold.keys.walk = Walk();  // the keys' broadcast against the data
  fold.data = static_cast<const int64_t*>(data.const_data_ptr());
  Sizes batch;
  int64_t count = 1;
  for (int64_t a = 0; a < axes; ++a) {
    const int64_t k = a - (axes - key_axes), d = a - (axes - data.dim());
    const int64_t key_size = k < 0 ? 1 : keys.batch[k], data_size = d < 0 ? 1 : data.size(d);
    const int64_t length = broadcast_size(key_size, data_size);
    STD_TORCH_CHECK(fold.keys.walk.push(length, key_size == 1 ? 0 : key.stride(k)) &&
                        fold.data_walk.push(length, data_size == 1 ? 0 : data.stride(d)),
                    "data: too many dimensions");
    batch.push_back(length);
    count = product(count, length);
  }
  return run_fold_in(device, fold, batch, count);
}

// One number for all keys.
Tensor fold_in_int(const Tensor& key, int64_t impl, int64_t data) {
  FoldIn fold;
  fold.impl = impl_of(impl);
  const Keys keys = keys_of(key, fold.impl);
  fold.keys = keys;
  fold.number = data;
  return run_fold_in(Device(key), fold, keys.batch, keys.count);
}

// ---- The bare cipher ----

Tensor threefry_rows(const Tensor& counter, const Tensor& key, int64_t rounds) {
  const ScalarType dtype = counter.scalar_type();
  STD_TORCH_CHECK(dtype == ScalarType::UInt32 || dtype == ScalarType::UInt64, "counter: must be uint32 or uint64");
  const Device device(counter);
  STD_TORCH_CHECK(key.scalar_type() == dtype && device.holds(key), "key: must have the counter's dtype and device");
  STD_TORCH_CHECK(counter.is_contiguous() && key.is_contiguous(), "counter and key: must be contiguous");
  STD_TORCH_CHECK(counter.dim() > 0 && counter.dim() == key.dim(), "key: must have the counter's shape");
  Sizes shape;
  for (int64_t a = 0; a < counter.dim(); ++a) {
    STD_TORCH_CHECK(counter.size(a) == key.size(a), "key: must have the counter's shape");
    shape.push_back(counter.size(a));
  }
  const int64_t words = shape.back();
  STD_TORCH_CHECK(words == 2 || words == 4, "counter: the last dimension must be 2 or 4");
  STD_TORCH_CHECK(rounds >= 1 && rounds <= (words == 2 ? 32 : 72), "rounds: out of range");
  Tensor result = device.empty(shape, dtype);
  const Cipher cipher = {dtype == ScalarType::UInt32 ? 32 : 64, int(words), int(rounds), counter.const_data_ptr(),
                         key.const_data_ptr(), result.mutable_data_ptr()};
  device.cipher(cipher, counter.numel() / words);
  return result;
}

// ---- Permutations ----

// JAX's number of rounds, ceil(3 log(n) / log(2^32 - 1)): one sort by 32-bit keys is not quite uniform, as
// keys can be equal.
int shuffle_rounds(int64_t n) { return (n > 1) + (n > 1625) + (n > 2642245); }

Tensor permutation(const Tensor& key, int64_t impl_number, int64_t n, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  STD_TORCH_CHECK(dtype == ScalarType::Int || dtype == ScalarType::Long, "dtype: must be int32 or int64");
  STD_TORCH_CHECK(n >= 0 && n <= (dtype == ScalarType::Int ? int64_t(INT32_MAX) : int64_t(UINT32_MAX) - 1), "n: out of range");
  const Impl impl = impl_of(impl_number);
  const Keys keys = keys_of(key, impl);
  Sizes shape = keys.batch;
  shape.push_back(n);
  const Device device(key);
  Tensor result = device.empty(shape, dtype);
  device.permutation({impl, keys, n, shuffle_rounds(n), value_of(dtype), result.mutable_data_ptr()}, keys.count);
  return result;
}

}  // namespace
}  // namespace torch_threefry

using namespace torch_threefry;

STABLE_TORCH_LIBRARY(torch_threefry, m) {
  m.def("threefry(Tensor counter, Tensor key, int rounds) -> Tensor");
  m.def("split(Tensor key, int impl, SymInt[] shape) -> Tensor");
  m.def("fold_in(Tensor key, int impl, Tensor data) -> Tensor");
  m.def("fold_in.int(Tensor key, int impl, SymInt data) -> Tensor");
  m.def("bits(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("uniform(Tensor key, int impl, SymInt[] size, SymInt[]? window, float low, float high, int dtype) -> Tensor");
  m.def("uniform.tensor(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor low, Tensor high, int dtype) -> Tensor");
  m.def("randint(Tensor key, int impl, SymInt[] size, SymInt[]? window, SymInt low, SymInt span, int dtype) -> Tensor");
  m.def("randint.tensor(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor low, Tensor span, int dtype) -> Tensor");
  m.def("normal(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("exponential(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("gumbel(Tensor key, int impl, SymInt[] size, SymInt[]? window, bool high, int dtype) -> Tensor");
  m.def("laplace(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("logistic(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("bernoulli(Tensor key, int impl, SymInt[] size, SymInt[]? window, float p, bool high) -> Tensor");
  m.def("bernoulli.tensor(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor p, bool high) -> Tensor");
  m.def("rademacher(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("cauchy(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("maxwell(Tensor key, int impl, SymInt[] size, SymInt[]? window, int dtype) -> Tensor");
  m.def("pareto(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor b, int dtype) -> Tensor");
  m.def("rayleigh(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor scale, int dtype) -> Tensor");
  m.def("lognormal(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor sigma, int dtype) -> Tensor");
  m.def("wald(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor mean, int dtype) -> Tensor");
  m.def("gamma(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor a, int dtype) -> Tensor");
  m.def("loggamma(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor a, int dtype) -> Tensor");
  m.def("chisquare(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor df, int dtype) -> Tensor");
  m.def("t(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor df, int dtype) -> Tensor");
  m.def("generalized_normal(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor p, int dtype) -> Tensor");
  m.def("truncated_normal(Tensor key, int impl, SymInt[] size, SymInt[]? window, "
        "Tensor lower, Tensor upper, int dtype) -> Tensor");
  m.def("weibull_min(Tensor key, int impl, SymInt[] size, SymInt[]? window, "
        "Tensor scale, Tensor concentration, int dtype) -> Tensor");
  m.def("double_sided_maxwell(Tensor key, int impl, SymInt[] size, SymInt[]? window, "
        "Tensor loc, Tensor scale, int dtype) -> Tensor");
  m.def("beta(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor a, Tensor b, int dtype) -> Tensor");
  m.def("f(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor dfnum, Tensor dfden, int dtype) -> Tensor");
  m.def("triangular(Tensor key, int impl, SymInt[] size, SymInt[]? window, "
        "Tensor left, Tensor mode, Tensor right, int dtype) -> Tensor");
  m.def("geometric(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor p, int dtype) -> Tensor");
  m.def("poisson(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor lam, int dtype) -> Tensor");
  m.def("binomial(Tensor key, int impl, SymInt[] size, SymInt[]? window, Tensor n, Tensor p, int dtype) -> Tensor");
  m.def("multinomial(Tensor key, int impl, SymInt[] size, SymInt[]? window, "
        "Tensor n, Tensor shares, int dtype) -> Tensor");
  m.def("softmax(Tensor logits) -> Tensor");
  m.def("shares(Tensor weights) -> Tensor");
  m.def("ball(Tensor log_gammas, Tensor words, Tensor exponentials, Tensor p) -> Tensor");
  m.def("loggamma_slope(Tensor concentration, Tensor log_draw) -> Tensor");
  m.def("permutation(Tensor key, int impl, SymInt n, int dtype) -> Tensor");
}

namespace {

// The same for every kind of device: see device.h.
void implement(torch::stable::detail::StableLibrary& m) {
  m.impl("threefry", TORCH_BOX(&threefry_rows));
  m.impl("split", TORCH_BOX(&split));
  m.impl("fold_in", TORCH_BOX(&fold_in_tensor));
  m.impl("fold_in.int", TORCH_BOX(&fold_in_int));
  m.impl("bits", TORCH_BOX(&bits));
  m.impl("uniform", TORCH_BOX(&uniform));
  m.impl("uniform.tensor", TORCH_BOX(&uniform_tensor));
  m.impl("randint", TORCH_BOX(&randint));
  m.impl("randint.tensor", TORCH_BOX(&randint_tensor));
  m.impl("normal", TORCH_BOX(&standard<Distribution::normal>));
  m.impl("exponential", TORCH_BOX(&standard<Distribution::exponential>));
  m.impl("gumbel", TORCH_BOX(&gumbel));
  m.impl("laplace", TORCH_BOX(&standard<Distribution::laplace>));
  m.impl("logistic", TORCH_BOX(&standard<Distribution::logistic>));
  m.impl("bernoulli", TORCH_BOX(&bernoulli));
  m.impl("bernoulli.tensor", TORCH_BOX(&bernoulli_tensor));
  m.impl("rademacher", TORCH_BOX(&rademacher));
  m.impl("cauchy", TORCH_BOX(&standard<Distribution::cauchy>));
  m.impl("maxwell", TORCH_BOX(&standard<Distribution::maxwell>));
  m.impl("pareto", TORCH_BOX(&with_one<Distribution::pareto>));
  m.impl("rayleigh", TORCH_BOX(&with_one<Distribution::rayleigh>));
  m.impl("lognormal", TORCH_BOX(&with_one<Distribution::lognormal>));
  m.impl("wald", TORCH_BOX(&with_one<Distribution::wald>));
  m.impl("gamma", TORCH_BOX(&with_one<Distribution::gamma>));
  m.impl("loggamma", TORCH_BOX(&with_one<Distribution::loggamma>));
  m.impl("chisquare", TORCH_BOX(&with_one<Distribution::chisquare>));
  m.impl("t", TORCH_BOX(&with_one<Distribution::t>));
  m.impl("generalized_normal", TORCH_BOX(&with_one<Distribution::generalized_normal>));
  m.impl("truncated_normal", TORCH_BOX(&with_two<Distribution::truncated_normal>));
  m.impl("weibull_min", TORCH_BOX(&with_two<Distribution::weibull_min>));
  m.impl("double_sided_maxwell", TORCH_BOX(&with_two<Distribution::double_sided_maxwell>));
  m.impl("beta", TORCH_BOX(&with_two<Distribution::beta>));
  m.impl("f", TORCH_BOX(&with_two<Distribution::f>));
  m.impl("triangular", TORCH_BOX(&with_three<Distribution::triangular>));
  m.impl("geometric", TORCH_BOX(&geometric));
  m.impl("poisson", TORCH_BOX(&poisson));
  m.impl("binomial", TORCH_BOX(&binomial));
  m.impl("multinomial", TORCH_BOX(&multinomial));
  m.impl("softmax", TORCH_BOX(&softmax));
  m.impl("shares", TORCH_BOX(&shares));
  m.impl("ball", TORCH_BOX(&ball));
  m.impl("loggamma_slope", TORCH_BOX(&loggamma_slope));
  m.impl("permutation", TORCH_BOX(&permutation));
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(torch_threefry, CPU, m) { implement(m); }
STABLE_TORCH_LIBRARY_IMPL(torch_threefry, CUDA, m) { implement(m); }

// ---- The Python module: importing it registers the operators above ----

namespace {

PyObject* cpu_instruction_set(PyObject*, PyObject*) {
  const char* requested = nullptr;
  const CpuKernels* table = find_cpu_kernels(&requested);
  if (table == nullptr) {
    PyErr_Format(PyExc_RuntimeError, "TORCH_THREEFRY_CPU=%s: this processor has no such instruction set",
                 requested ? requested : "(unset)");
    return nullptr;
  }
  return PyUnicode_FromString(table->name);
}

// The table in a capsule; or nothing, for None.
PyObject* set_kernels(PyObject* capsule, bool on_cpu) {
  const CudaKernels* kernels = nullptr;
  if (capsule != Py_None) {
    kernels = static_cast<const CudaKernels*>(PyCapsule_GetPointer(capsule, kKernelsName));
    if (kernels == nullptr) return nullptr;
  }
  set_cuda_kernels(kernels, on_cpu);
  Py_RETURN_NONE;
}
PyObject* use_cuda_kernels(PyObject*, PyObject* capsule) { return set_kernels(capsule, false); }
PyObject* use_cuda_kernels_on_cpu(PyObject*, PyObject* capsule) { return set_kernels(capsule, true); }

PyMethodDef methods[] = {
    {"use_cuda_kernels", use_cuda_kernels, METH_O, "Takes the kernels of torch_threefry._C_cuda for keys on CUDA devices."},
    {"use_cuda_kernels_on_cpu", use_cuda_kernels_on_cpu, METH_O,
     "Takes CUDA kernels that were compiled as plain C++ for keys on the CPU; None ends that. For tests."},
    {"cpu_instruction_set", cpu_instruction_set, METH_NOARGS, "The instruction set of the CPU kernels in use: v2, v3, v4 or base."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

extern "C" PyMODINIT_FUNC PyInit__C() { return PyModule_Create(&module); }
