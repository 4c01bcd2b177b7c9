// The Python module torch_threefry._C_cuda: the CUDA kernels, for torch_threefry._C to use. It needs neither torch nor a
// device to be imported.
#include <Python.h>

#include "../distributions/catalog.h"
#include "kernels.h"

namespace torch_threefry {

LaunchShape launch_shape;

namespace {

Error draw(const Draw& draw, void* stream) {
  switch (group_of(draw.distribution)) {
    case Group::words: return draw_words(draw, stream);
    case Group::continuous: return draw_continuous(draw, stream);
    case Group::gamma_family: return draw_gamma_family(draw, stream);
    default: return draw_counts(draw, stream);
  }
}

const CudaKernels kernels = {set_current_device, draw,       draw_multinomial, run_rows,
                             run_gamma_slopes,   run_fold_in, run_split,        run_cipher, run_permutation,
                             find_permutation_workspace, run_tvm_draw, run_tvm_split};

PyObject* set_launch_shape(PyObject*, PyObject* arguments) {
  LaunchShape shape;
  if (!PyArg_ParseTuple(arguments, "ii", &shape.blocks, &shape.threads)) return nullptr;
  const bool power_of_two = shape.threads >= 0 && shape.threads <= kThreads && (shape.threads & (shape.threads - 1)) == 0;
  if (shape.blocks < 0 || !power_of_two) {
    PyErr_Format(PyExc_ValueError,
                 "blocks must be at least 0, and threads 0 or a power of two of at most %d; got blocks=%d, threads=%d",
                 kThreads, shape.blocks, shape.threads);
    return nullptr;
  }
  launch_shape = shape;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"set_launch_shape", set_launch_shape, METH_VARARGS,
     "set_launch_shape(blocks, threads): the shape of all launches to come, 0 for what suits the work. For tests: no "
     "result depends on it."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C_cuda", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace torch_threefry

extern "C" PyMODINIT_FUNC PyInit__C_cuda() {
  using namespace torch_threefry;
  PyObject* const result = PyModule_Create(&module);
  PyObject* const capsule = PyCapsule_New(const_cast<CudaKernels*>(&kernels), kKernelsName, nullptr);
  if (result == nullptr || capsule == nullptr || PyModule_AddObject(result, "kernels", capsule) != 0) return nullptr;
  return result;
}
