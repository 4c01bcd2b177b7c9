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

Keys states_of(const Tensor& gen) { return batch_of(gen, ScalarType::UInt64, kTvmWords, "gen"); }

// Uninitialised states of a batch.
Tensor empty_states(const Device& device, const Keys& states) {
  Sizes shape = states.batch;
  shape.push_back(kTvmWords);
  return device.empty(shape, ScalarType::UInt64);
}

uint64_t* words_of(const Tensor& states) { return static_cast<uint64_t*>(states.mutable_data_ptr()); }

// The states after the draw, and the draw, whose rule, value and bounds are set.
TwoTensors run(TvmDraw draw, const Tensor& gen, const Sizes& size, ScalarType dtype) {
  const Keys states = states_of(gen);
  Sizes shape = states.batch;
  for (const int64_t length : size) {
    STD_TORCH_CHECK(length >= 0, "size: must not be negative");
    draw.count = product(draw.count, length);
    shape.push_back(length);
  }
  const Device device(gen);
  Tensor next = empty_states(device, states), result = device.empty(shape, dtype);
  draw.states = states;
  draw.state_count = states.count;
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
  const Keys states = states_of(gen);
  const Device device(gen);
  Tensor left = empty_states(device, states), right = empty_states(device, states);
  device.tvm_split({states, states.count, words_of(left), words_of(right)});
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
