// TVM's generator. Every thread finds the state that its draw starts from by itself, so that nobody has to know whether
// the counter had room.
#include "../tvm.h"

#include "kernels.h"

TTF_NAMESPACE_BEGIN

template <class Values>
TTF_KERNEL draw_tvm(TTF_ARGUMENT TvmDraw draw, TTF_ARGUMENT Values values) {
  const int64_t blocks = draw.blocks(), positions = draw.positions();
  for (int64_t position = thread_number(); position < positions; position += thread_count()) {
    const Division by = draw.state_count == 1 ? Division{0, position} : divide(position, blocks);
    const TvmState start = tvm_start(draw, by.quotient);
    draw_tvm_block(draw, values, start, by.quotient, by.remainder);
    if (by.remainder == 0) finish_tvm(draw, start, by.quotient);
  }
}

TTF_KERNEL split_tvm_states(TTF_ARGUMENT TvmSplit split) {
  for (int64_t number = thread_number(); number < split.state_count; number += thread_count()) {
    split_tvm(split, number);
  }
}

TTF_NAMESPACE_END

namespace torch_threefry {

struct LaunchTvmDraw {
  const TvmDraw& draw;
  void* stream;

  template <class Values>
  Error operator()(const Values& values) const {
    return launch_items(draw_tvm<Values>, draw.positions(), stream, draw, values);
  }
};

Error run_tvm_draw(const TvmDraw& draw, void* stream) { return visit_tvm_values(draw, LaunchTvmDraw{draw, stream}); }

Error run_tvm_split(const TvmSplit& split, void* stream) {
  return launch_items(split_tvm_states, split.state_count, stream, split);
}

}  // namespace torch_threefry
