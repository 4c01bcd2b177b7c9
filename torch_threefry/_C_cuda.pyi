"""The CUDA kernels, compiled; there where they were built."""

kernels: object

def set_launch_shape(blocks: int, threads: int) -> None: ...
