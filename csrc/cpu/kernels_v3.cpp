// The CPU kernels for x86-64-v3; the build compiles this file for that instruction set.
#define TTF_ISA v3
#include "kernels.inl"
