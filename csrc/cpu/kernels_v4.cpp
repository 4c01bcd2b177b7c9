// The CPU kernels for x86-64-v4; the build compiles this file for that instruction set.
#define TTF_ISA v4
#include "kernels.inl"
