"""Checks of what a user passes in. Each raises an exception that names the argument, what came and what
is accepted, before anything is computed."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

Shape = Sequence[int]
Window = Sequence[Sequence[int]]

MAX_ELEMENTS = 2**63 - 1

UNSIGNED = {torch.uint8: 8, torch.uint16: 16, torch.uint32: 32, torch.uint64: 64}
SIGNED = {torch.int8: 8, torch.int16: 16, torch.int32: 32, torch.int64: 64}
INTEGERS = {**UNSIGNED, **SIGNED}
FLOATS = {torch.float16: 16, torch.bfloat16: 16, torch.float32: 32, torch.float64: 64}


def describe(value: Any) -> str:
    """A short name for a value in an error message: tensors by dtype and shape."""
    if isinstance(value, Tensor):
        return f"a {value.dtype} tensor of shape {tuple(value.shape)}"
    return f"{value!r} ({type(value).__name__})"


def integer(name: str, value: Any) -> int:
    """An int, or what stands for one (numpy's integers, a SymInt); not a bool, not a float."""
    if type(value) is int or isinstance(value, torch.SymInt):
        return value  # type: ignore[return-value]
    if not isinstance(value, (bool, Tensor)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{name} must be an int, got {describe(value)}")


def sizes(name: str, value: Any) -> Shape:
    """A sequence of non-negative ints whose product is an element count."""
    if type(value) is not tuple and not isinstance(value, (tuple, list)):
        raise TypeError(f"{name} must be a tuple of ints such as (2, 3), got {describe(value)}")
    count = 1
    plain = True
    for size in value:
        if type(size) is not int:
            plain = False
            size = integer(name, size)
        if size < 0:
            raise ValueError(f"{name} must not have negative sizes, got {tuple(value)}")
        count *= size
    # Compiled code would have to guard on the product; there the operators check it.
    if not is_compiling() and (count > MAX_ELEMENTS or (count == 0 and max(value) > MAX_ELEMENTS)):
        raise ValueError(f"{name} may have up to 2^63-1 elements, got {tuple(value)}")
    return value if plain else [integer(name, size) for size in value]


def one_of(name: str, value: Any, accepted: Collection[str]) -> None:
    """A name out of a few."""
    if not isinstance(value, str) or value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, accepted))}, got {value!r}")


def dtype(value: Any, default: torch.dtype, accepted: Collection[torch.dtype], name: str = "dtype") -> torch.dtype:
    """The dtype, or the default for None."""
    if value is None:
        return default
    if isinstance(value, torch.dtype) and value in accepted:
        return value
    raise TypeError(f"{name} must be one of {', '.join(map(str, accepted))}, got {value!r}")


def window(value: Window | None, size: Shape) -> list[int] | None:
    """A window as a flat list of starts and stops."""
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or len(value) != len(size):
        raise ValueError(
            f"window must have one (start, stop) for each of the {len(size)} dimensions of shape {tuple(size)}, "
            f"got {value!r}"
        )
    flat: list[int] = []
    for pair, length in zip(value, size):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"window must consist of (start, stop) pairs, got {pair!r}")
        start, stop = integer("window", pair[0]), integer("window", pair[1])
        if not 0 <= start <= stop <= length:
            raise ValueError(
                f"window must lie inside of shape {tuple(size)}, 0 <= start <= stop <= size, got {(start, stop)} "
                f"for a dimension of size {length}"
            )
        flat += (start, stop)
    return flat


def probability(name: str, value: float) -> float:
    """A Python number in [0, 1]."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    return float(value)


def common_shape(name: str, shape: Shape, other_name: str, other: Shape) -> torch.Size:
    """The shape that two shapes broadcast to."""
    try:
        result: torch.Size = torch.broadcast_shapes(shape, other)  # type: ignore[no-untyped-call]
    except RuntimeError:
        raise ValueError(
            f"{name} must broadcast against the {other_name}'s shape {tuple(other)}, got shape {tuple(shape)}"
        ) from None
    return result


def broadcasts(name: str, value: Tensor, shape: Shape) -> None:
    """A tensor that broadcasts to ``shape`` without widening it."""
    missing = len(shape) - value.dim()
    if missing < 0 or any(own not in (1, s) for own, s in zip(value.shape, shape[missing:])):
        raise ValueError(f"{name} must broadcast to the draw's shape {tuple(shape)}, got shape {tuple(value.shape)}")
