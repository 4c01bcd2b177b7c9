// The CPU kernels for the compiler's default target: all there is where the machine is not x86-64.
#include "kernels.inl"
