// The operators of TVM's generator.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <tuple>

#include "arguments.h"
#include "device.h"
#include "tvm.h"

namespace torch_threefry {
namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using TwoTensors = std::tuple<Tensor, Tensor>;

struct Generators : TvmStates {
  Sizes batch;

  explicit Generators(const Tensor& gen) {
    STD_TORCH_CHECK(gen.scalar_type() == ScalarType::UInt64, "gen: must be uint64");
    const int64_t axes = gen.dim() - 1;
    STD_TORCH_CHECK(axes >= 0 && gen.size(axes) == kTvmWords, "gen: the last dimension must be ", kTvmWords);
    words = static_cast<const uint64_t*>(gen.const_data_ptr());
    word_stride = gen.stride(axes);
    for (int64_t a = 0; a < axes; ++a) {
      batch.push_back(gen.size(a));
      count = product(count, gen.size(a));
      STD_TORCH_CHECK(walk.push(gen.size(a), gen.stride(a)), "gen: too many dimensions");
    }
  }

  // Uninitialised states of the same batch.
  Tensor empty_like(const Device& device) const {
    Sizes shape = batch;
    shape.push_back(kTvmWords);
    return device.empty(shape, ScalarType::UInt64);
  }
};

uint64_t* words_of(const Tensor& states) { return static_cast<uint64_t*>(states.mutable_data_ptr()); }

// The states after the draw, and the draw, whose rule, value and bounds are set.
TwoTensors run(TvmDraw draw, const Tensor& gen, const Sizes& size, ScalarType dtype) {
  const Generators generators(gen);
  Sizes shape = generators.batch;
  for (const int64_t length : size) {
    STD_TORCH_CHECK(length >= 0, "size: must not be negative");
    draw.count = product(draw.count, length);
    shape.push_back(length);
  }
  const Device device(gen);
  Tensor next = generators.empty_like(device), result = device.empty(shape, dtype);
  draw.states = generators;
  draw.out = result.mutable_data_ptr();
  draw.next = words_of(next);
  device.tvm_draw(draw);
  return {next, result};
}

TvmRule rule_of(bool release) { return release ? TvmRule::release : TvmRule::first; }

TwoTensors tvm_generate(const Tensor& gen, Sizes size, bool release) {
  TvmDraw draw = {};
  draw.rule = rule_of(release);
  draw.value = Value::int64;
  return run(draw, gen, size, ScalarType::UInt64);
}

TwoTensors tvm_uniform(const Tensor& gen, Sizes size, double low, double high, bool release, int64_t dtype_code) {
  const ScalarType dtype = dtype_of(dtype_code);
  STD_TORCH_CHECK(dtype == ScalarType::Double || (dtype == ScalarType::Float && release),
                  "dtype: must be float64, or float32 with the releases' rule");
  TvmDraw draw = {};
  draw.rule = rule_of(release);
  draw.value = dtype == ScalarType::Double ? Value::float64 : Value::float32;
  draw.low = low;
  draw.high = high;
  return run(draw, gen, size, dtype);
}

TwoTensors tvm_split(const Tensor& gen) {
  const Generators generators(gen);
  const Device device(gen);
  Tensor left = generators.empty_like(device), right = generators.empty_like(device);
  device.tvm_split({generators, words_of(left), words_of(right)});
  return {left, right};
}

}  // namespace
}  // namespace torch_threefry

using namespace torch_threefry;

STABLE_TORCH_LIBRARY_FRAGMENT(torch_threefry, m) {
  m.def("tvm_generate(Tensor gen, SymInt[] size, bool release) -> (Tensor, Tensor)");
  m.def("tvm_split(Tensor gen) -> (Tensor, Tensor)");
  m.def("tvm_uniform(Tensor gen, SymInt[] size, float low, float high, bool release, int dtype) -> (Tensor, Tensor)");
}

namespace {

// The same for every kind of device: see device.h.
void implement(torch::stable::detail::StableLibrary& m) {
  m.impl("tvm_generate", TORCH_BOX(&tvm_generate));
  m.impl("tvm_split", TORCH_BOX(&tvm_split));
  m.impl("tvm_uniform", TORCH_BOX(&tvm_uniform));
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(torch_threefry, CPU, m) { implement(m); }
STABLE_TORCH_LIBRARY_IMPL(torch_threefry, CUDA, m) { implement(m); }
