"""Stateless, splittable, counter-based random numbers for PyTorch: Threefry with JAX's streams."""

from . import _inductor, random, tvm
from ._ops import cpu_instruction_set
from .cipher import threefry, threefry_2x32
from .key import Key

__all__ = ["Key", "cpu_instruction_set", "random", "threefry", "threefry_2x32", "tvm"]

_inductor.register_lowerings()
