// Draws of words, or of little more: bits, integers, uniform numbers, two values.
#include "kernels.h"
#include "values.h"

namespace torch_threefry {

Error draw_words(const Draw& draw, void* stream) { return visit_words(draw, LaunchValues{draw, stream}); }

}  // namespace torch_threefry
