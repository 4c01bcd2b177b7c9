// The CPU kernels for x86-64-v2; the build compiles this file for that instruction set.
#define TTF_ISA v2
#include "kernels.inl"
