"""Words, and what is nearly a word: uniform numbers, integers, coins."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _autograd, _check, _ops
from .._check import Shape, Window
from ..key import Key, as_int64, as_int64_tensor, placed
from ._draw import CODES, Arguments, computed_in, number_tensor, prepare, real, real_tensor, windowed

# How many 32-bit words a uniform draw takes.
_UNIFORM_WORDS = {torch.float16: 1 / 2, torch.bfloat16: 1 / 4, torch.float32: 1, torch.float64: 2}

# ---- Bits and uniform numbers ----


def bits(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Random bits.

    Args:
        dtype: uint8, uint16, uint32 (the default) or uint64.

    Returns:
        Every value of the dtype with the same probability. With threefry2x32 ``bits(key, (n,), torch.uint64)`` are the
        words of ``split(key, n)``: use a key for one of the two. With threefry4x64 the draws of all dtypes are the
        same bytes, little-endian.
    """
    dtype = _check.dtype(dtype, torch.uint32, _check.UNSIGNED)
    return _ops.bits(*prepare(key, shape, window, _check.UNSIGNED[dtype] / 32), CODES[dtype])


def uniform(
    key: Key,
    shape: Shape = (),
    dtype: torch.dtype | None = None,
    minval: float | Tensor = 0.0,
    maxval: float | Tensor = 1.0,
    *,
    window: Window | None = None,
) -> Tensor:
    """Uniform on [minval, maxval).

    Args:
        dtype: float16, bfloat16, float32 (the default) or float64.
        minval, maxval: numbers, or tensors that broadcast over the result; draws are differentiable in them.

    Returns:
        ``u * (maxval - minval) + minval`` with u a multiple of 2^-m, 0 <= u <= 1 - 2^-m, m = 10, 7, 23, 52 the
        dtype's mantissa bits; in float32 and float64 with one rounding (a fused multiply-add) after that of
        ``maxval - minval``, in half precision with one an operation. Never maxval: where rounding gives it,
        the number below is drawn (JAX returns maxval). An empty range gives minval.

    Raises:
        ValueError: numbers as bounds that are not finite, or too far apart for the dtype. Where tensors are, the
            draw is NaN.
    """
    dtype = torch.float32 if dtype is None else _check.dtype(dtype, torch.float32, _check.FLOATS)
    data, number, size, flat = arguments = prepare(key, shape, window, _UNIFORM_WORDS[dtype])
    # The cheaper test first: short draws are called often.
    if (
        type(minval) is float
        and type(maxval) is float
        or not (isinstance(minval, Tensor) or isinstance(maxval, Tensor))
    ):
        low = minval if type(minval) is float else real("minval", minval)
        high = maxval if type(maxval) is float else real("maxval", maxval)
        if low != 0.0 or high != 1.0:
            _check_range(low, high, dtype)
        return _ops.uniform(data, number, size, flat, low, high, CODES[dtype])
    differentiable = _autograd.derivatives_wanted(*(b for b in (minval, maxval) if isinstance(b, Tensor)))
    bounds = [
        _rounded_bound("minval", minval, dtype, key, arguments, differentiable),
        _rounded_bound("maxval", maxval, dtype, key, arguments, differentiable),
    ]
    if differentiable:
        return _autograd.draw("uniform", arguments, bounds, CODES[dtype])
    return _ops.uniform_tensor(*arguments, *bounds, CODES[dtype])


def _rounded_bound(
    name: str, value: Any, dtype: torch.dtype, key: Key, arguments: Arguments, on_device: bool
) -> Tensor:
    """A bound rounded to the draw's dtype, in the type that it is computed in."""
    if not isinstance(value, Tensor):
        value = number_tensor(real(name, value), torch.float64, key, on_device)
    rounded = real_tensor(name, value).to(dtype).to(computed_in(dtype))
    return windowed(name, rounded, key, arguments[2], arguments[3], on_device)


def _check_range(low: float, high: float, dtype: torch.dtype) -> None:
    """Numbers as bounds must be finite and their difference representable."""
    info = torch.finfo(dtype)
    # Rounding the bounds to the dtype may take them further apart.
    widest = info.max * (1 - 2 * info.eps)
    for name, value, largest in (
        ("minval", low, info.max),
        ("maxval", high, info.max),
        ("maxval - minval", high - low, widest),
    ):
        if not abs(value) <= largest:
            raise ValueError(f"{name} must be finite and at most {largest} in size for {dtype}, got {value!r}")


# ---- Integers ----


def randint(
    key: Key,
    shape: Shape,
    minval: int | Tensor,
    maxval: int | Tensor,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Uniform integers from [minval, maxval).

    Args:
        minval, maxval: ints, or integer tensors that broadcast over the result. ``maxval`` may be one above the
            dtype's largest number: 256 asks for all of uint8. Bounds beyond are clipped to that; but numbers
            beyond a 32- or 64-bit dtype are a ValueError.
        dtype: any of the eight integer dtypes; int32 by default.

    Returns:
        ``minval + (h * 2^w + l) mod span``, h and l words of w = 32 bits (64 for 64-bit dtypes) from the key's
        two children: off from uniform by less than span / 2^(2w). Empty ranges give minval. Equal to JAX
        for spans up to 2^(w/2) and powers of two; beyond, JAX drops h and is biased.
    """
    dtype = _check.dtype(dtype, torch.int32, _check.INTEGERS)
    arguments = prepare(key, shape, window, 2 if _check.INTEGERS[dtype] == 64 else 1)
    if not isinstance(minval, Tensor) and not isinstance(maxval, Tensor):
        info = torch.iinfo(dtype)
        low = min(max(_integer_bound("minval", minval, dtype), info.min), info.max)
        span = max(min(_integer_bound("maxval", maxval, dtype), info.max + 1) - low, 1)
        # All 2^64 values are written as a span of 0.
        return _ops.randint(*arguments, as_int64(low), as_int64(span % 2**64), CODES[dtype])
    low_tensor, span_tensor = _range(minval, maxval, dtype, key)
    size, flat = arguments[2], arguments[3]
    low_tensor = windowed("minval", low_tensor, key, size, flat)
    span_tensor = windowed("maxval", span_tensor, key, size, flat)
    return _ops.randint_tensor(*arguments, low_tensor, span_tensor, CODES[dtype])


_INT64_MIN = -(2**63)


def _integer_bound(name: str, value: int, dtype: torch.dtype) -> int:
    """A number as a bound of randint."""
    number = _check.integer(name, value)
    info = torch.iinfo(dtype)
    if info.bits >= 32 and not info.min <= number <= info.max + 1:
        raise ValueError(f"{name} must lie in [{info.min}, {info.max + 1}] for {dtype}, got {number}")
    return number


def _range(minval: int | Tensor, maxval: int | Tensor, dtype: torch.dtype, key: Key) -> tuple[Tensor, Tensor]:
    """The lower bound and the number of values (all 2^64 written as 0), as the low 64 bits of each."""
    low, _ = _clip_bound("minval", minval, dtype, key)
    high, above = _clip_bound("maxval", maxval, dtype, key)
    span = torch.where(above | (high > low), high - low + above, 1)
    return low ^ (_INT64_MIN if dtype == torch.uint64 else 0), span


def _clip_bound(name: str, value: int | Tensor, dtype: torch.dtype, key: Key) -> tuple[Tensor, Tensor]:
    """A bound clipped to the dtype's range, and whether it was above it, on the key's device. Of uint64, the first bit
    is flipped: the order of the int64 is then that of the numbers."""
    info = torch.iinfo(dtype)
    flip = _INT64_MIN if dtype == torch.uint64 else 0
    if not isinstance(value, Tensor):
        number = _integer_bound(name, value, dtype)
        clipped = as_int64(min(max(number, info.min), info.max)) ^ flip
        above = number > info.max
        return number_tensor(clipped, torch.int64, key, True), number_tensor(above, torch.bool, key, True)
    if value.dtype not in _check.INTEGERS:
        raise TypeError(f"{name} must be an int or an integer tensor, got {_check.describe(value)}")
    bits = placed(name, as_int64_tensor(value), key)
    huge = bits < 0 if value.dtype == torch.uint64 else torch.zeros_like(bits, dtype=torch.bool)  # 2^63 or more
    if dtype == torch.uint64:
        return (bits if value.dtype == torch.uint64 else bits.clamp(min=0)) ^ flip, torch.zeros_like(huge)
    return bits.masked_fill(huge, info.max).clamp(info.min, info.max), huge | (bits > info.max)


# ---- Two values ----


def bernoulli(
    key: Key,
    p: float | Tensor = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    window: Window | None = None,
    mean: float | Tensor | None = None,
) -> Tensor:
    """True with probability p.

    Args:
        p: a number in [0, 1], or a floating tensor that broadcasts over the result. float64 tensors are compared
            with float64 uniforms; all else with float32 ones. NaN is never True.
        shape: the shape of the draw; p's by default.
        mode: ``"low"`` takes p to the next multiple of 2^-23 (2^-52 in float64); ``"high"`` takes two words an
            element and is exact to 2^-46 (2^-104).
        mean: JAX's older name of p; not to be given with it.

    Returns:
        A bool tensor: u < p, u uniform on [0, 1).

    Raises:
        ValueError: a Python number outside of [0, 1], an unknown mode, or shapes that do not broadcast.
    """
    if mean is not None:
        if not (isinstance(p, float) and p == 0.5):
            raise TypeError(f"mean is p's older name; give one of them, got p={p!r} and mean={mean!r}")
        p = mean
    _check.one_of("mode", mode, ("low", "high"))
    high = mode == "high"
    if not isinstance(p, Tensor):
        arguments = prepare(key, () if shape is None else shape, window, 2 if high else 1)
        return _ops.bernoulli(*arguments, _check.probability("p", real("p", p)), high)
    if p.dtype not in _check.FLOATS:
        raise TypeError(f"p must be a number or a floating tensor, got {_check.describe(p)}")
    wide = p.dtype == torch.float64
    arguments = prepare(
        key, tuple(p.shape) if shape is None else shape, window, (2 if high else 1) * (2 if wide else 1)
    )
    p = windowed("p", p.detach().to(computed_in(p.dtype)), key, arguments[2], arguments[3])
    return _ops.bernoulli_tensor(*arguments, p, high)


_SIGNED_OR_FLOAT = {**_check.SIGNED, **_check.FLOATS}


def rademacher(
    key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None
) -> Tensor:
    """-1 or 1 with the same probability, ``2 * bernoulli(key, 0.5, shape) - 1``.

    Args:
        dtype: a signed integer or floating dtype; int32 by default.
    """
    dtype = _check.dtype(dtype, torch.int32, _SIGNED_OR_FLOAT)
    return _ops.rademacher(*prepare(key, shape, window, 1), CODES[dtype])
