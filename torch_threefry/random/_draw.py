"""What the samplers share: the arguments of a draw, checked, as its operator takes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling

from .. import _autograd, _check, _ops
from .._check import Shape, Window
from ..key import IMPL_NUMBERS, Key, check_words, placed

CODES = _ops.DTYPE_CODES
INDEX_DTYPES = {torch.int32: 32, torch.int64: 64}

Arguments = _ops.Arguments


# ---- Key, shape, window ----


def checked_key(value: Any) -> Key:
    """TypeError unless it is a key."""
    if not isinstance(value, Key):
        raise TypeError(f"key must be a Key, such as random.key(0), got {_check.describe(value)}")
    return value


def prepare(key: Any, shape: Any, window: Window | None, words: float) -> Arguments:
    """Check a draw's arguments; an element takes ``words`` 32-bit words."""
    if not isinstance(key, Key):
        checked_key(key)
    size = _check.sizes("shape", shape)
    number = IMPL_NUMBERS[key.impl]
    if number:
        check_words(key, "shape", size, words)
    return key.data, number, size, None if window is None else _check.window(window, size)


def standard(
    op: _ops.Operator, key: Key, shape: Shape, dtype: torch.dtype | None, window: Window | None, words: int = 1
) -> Tensor:
    """A draw from a distribution without parameters, of one word an element, or several, of the draw's width."""
    dtype = _check.dtype(dtype, torch.float32, _check.FLOATS)
    return op(*prepare(key, shape, window, 2 * words if dtype == torch.float64 else words), CODES[dtype])


def children(key: Key) -> tuple[Key, Key]:
    """Both children of each key of a batch."""
    both = key.split()
    return both[..., 0], both[..., 1]


# ---- Parameters ----


def real(name: str, value: Any) -> float:
    """A number as a float."""
    if type(value) is float:
        return value
    try:
        # torch.compile takes no __float__ of an int that changes from call to call.
        return float(value) if isinstance(value, (int, torch.SymInt)) else float(value.__float__())
    except OverflowError:
        raise ValueError(
            f"{name} must be a number that a float holds, got an int of {len(str(value))} digits"
        ) from None
    except (AttributeError, TypeError, ValueError):
        raise TypeError(f"{name} must be a number or a tensor, got {_check.describe(value)}") from None


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """The type that a floating dtype is computed in: float64 for itself, float32 for the others."""
    return torch.float64 if dtype == torch.float64 else torch.float32


@dataclass(frozen=True)
class Domain:
    """The numbers that a parameter may be."""

    text: str
    contains: Callable[[float], bool]


FINITE = Domain("finite", lambda x: abs(x) < math.inf)
POSITIVE = Domain("above 0 and finite", lambda x: 0 < x < math.inf)
NOT_NEGATIVE = Domain("at least 0 and finite", lambda x: 0 <= x < math.inf)
NUMBER = Domain("a number", lambda x: not math.isnan(x))


def check_number(name: str, value: Any, domain: Domain, dtype: torch.dtype) -> float:
    """A number in a parameter's domain, which rounding to the dtype does not take out of it."""
    number = real(name, value)
    if not domain.contains(number):
        raise ValueError(f"{name} must be {domain.text}, got {value!r}")
    size, info = abs(number), torch.finfo(dtype)
    if size != 0 and size != math.inf and not info.smallest_normal <= size <= info.max:
        raise ValueError(
            f"{name} must be 0 or {info.smallest_normal} to {info.max} in size, which {dtype} holds, got {value!r}"
        )
    return number


def real_tensor(name: str, value: Tensor) -> Tensor:
    """TypeError unless the tensor holds real numbers."""
    if value.dtype not in _check.FLOATS and value.dtype not in _check.INTEGERS:
        raise TypeError(f"{name} must be a real tensor, got {_check.describe(value)}")
    return value


def number_tensor(value: float, dtype: torch.dtype, key: Key, on_device: bool = False) -> Tensor:
    """A number as a tensor without dimensions.

    It lies on the CPU, where a draw's operator reads it, whatever the key's device. With ``on_device`` it is filled in
    on the key's device, for operations beside tensors there; and in compiled code, which captures no CUDA graph with a
    CPU tensor in it. Copying it there, as torch.tensor does, would wait for the device and could not be captured.
    """
    return torch.full((), value, dtype=dtype, device=key.device if on_device or is_compiling() else _CPU)


_CPU = torch.device("cpu")


def windowed(name: str, value: Tensor, key: Key, size: Shape, window: _ops.Window, on_device: bool = False) -> Tensor:
    """A parameter of the whole draw, cut to the window. With ``on_device`` it lies on the key's device; otherwise one
    without dimensions may stay on the CPU, where the draw's operator reads it."""
    if value.device != key.device and (on_device or not _can_be_read_by_operator(value)):
        value = placed(name, value, key)
    _check.broadcasts(name, value, (*key.shape, *size))
    if window is not None:
        for axis in range(-1, -1 - min(value.dim(), len(size)), -1):
            start, stop = window[2 * axis], window[2 * axis + 1]
            if value.shape[axis] != 1:
                value = value.narrow(axis, start, stop - start)
    return value


def _can_be_read_by_operator(value: Tensor) -> bool:
    """Whether a draw's operator reads a parameter where it is: one number on the CPU. (Under vmap it may be many.)"""
    if value.dim() > 0 or value.device.type != "cpu" or is_compiling():
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(value)


def parameter_shape(parameters: dict[str, Any]) -> Shape:
    """What the parameters' shapes broadcast to; numbers have none."""
    shapes = [tuple(p.shape) for p in parameters.values() if isinstance(p, Tensor)]
    try:
        result: torch.Size = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    except RuntimeError:
        raise ValueError(f"{' and '.join(parameters)} must broadcast against each other, got shapes {shapes}") from None
    return tuple(result)


def parameter_tensors(
    parameters: dict[str, Any],
    domain: Domain | dict[str, Domain],
    dtype: torch.dtype,
    key: Key,
    arguments: Arguments,
    on_device: bool = False,
) -> list[Tensor]:
    """Parameters as tensors of the dtype that the draw is computed in, cut to its window; with ``on_device`` all of
    them on the key's device, otherwise single numbers on the CPU."""
    tensors = []
    for name, value in parameters.items():
        if isinstance(value, Tensor):
            tensor = windowed(name, real_tensor(name, value).to(dtype), key, arguments[2], arguments[3], on_device)
        else:
            own = domain if isinstance(domain, Domain) else domain[name]
            tensor = number_tensor(check_number(name, value, own, dtype), dtype, key, on_device)
        tensors.append(tensor)
    return tensors


def prepare_parametric(
    key: Key,
    parameters: dict[str, Any],
    domain: Domain | dict[str, Domain],
    shape: Shape | None,
    dtype: torch.dtype,
    window: Window | None,
    words: int,
    on_device: bool = False,
) -> tuple[Arguments, list[Tensor]]:
    """The arguments of a draw with parameters, and these as :func:`parameter_tensors`. The shape is that of the
    parameters where none is given."""
    size = parameter_shape(parameters) if shape is None else shape
    arguments = prepare(key, size, window, words)
    return arguments, parameter_tensors(parameters, domain, dtype, key, arguments, on_device)


def parametric(
    name: str,
    key: Key,
    parameters: dict[str, Any],
    domain: Domain | dict[str, Domain],
    shape: Shape | None,
    dtype: torch.dtype | None,
    window: Window | None,
    words: tuple[int, int] = (1, 2),
) -> Tensor:
    """A draw from a distribution with parameters, by the name of its operator; an element takes so many 32-bit
    ``words`` when computed in float32 and in float64."""
    dtype = _check.dtype(dtype, torch.float32, _check.FLOATS)
    given = [p for p in parameters.values() if isinstance(p, Tensor)]
    differentiable = len(given) > 0 and _autograd.derivatives_wanted(*given)
    element_words = words[1] if dtype == torch.float64 else words[0]
    arguments, tensors = prepare_parametric(
        key, parameters, domain, shape, computed_in(dtype), window, element_words, differentiable
    )
    if differentiable:
        return _autograd.draw(name, arguments, tensors, CODES[dtype])
    op: _ops.Operator = getattr(_ops, name)
    return op(*arguments, *tensors, CODES[dtype])


# Up to so many categories, Gumbel noise of one word has few ties at its maximum.
MOST_LOW_CATEGORIES = 2**16


def noise_mode(mode: Any, categories: int) -> str:
    """A mode of Gumbel noise over some categories; without one, "high" where "low" would often tie."""
    if mode is None:
        return "high" if categories > MOST_LOW_CATEGORIES else "low"
    return "high" if is_high(mode) else "low"


def is_high(mode: Any) -> bool:
    """Whether a mode is "high"; "low" is the default."""
    if mode is not None:
        _check.one_of("mode", mode, ("low", "high"))
    return bool(mode == "high")
