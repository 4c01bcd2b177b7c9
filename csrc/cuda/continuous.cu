// Draws from continuous distributions, and geometric counts: transforms of words.
#include "kernels.h"
#include "values.h"

namespace torch_threefry {

Error draw_continuous(const Draw& draw, void* stream) { return visit_continuous(draw, LaunchValues{draw, stream}); }

}  // namespace torch_threefry
