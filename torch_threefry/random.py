"""Keys and samplers under ``jax.random``'s names, with its arguments, defaults and streams.

Conventions of all samplers here:

* The result of a draw of ``shape`` from a key of batch shape ``B`` has shape ``B + shape``, one row a key,
  on the key's device. Tensor parameters broadcast over it.
* Element *i* depends on the key and on *i*, its row-major index in ``shape``, alone. ``window``, one
  ``(start, stop)`` for each dimension of ``shape``, draws only that part of the whole: it is equal to
  ``whole[start:stop, ...]``, and costs what its own size costs.
* ``dtype=None`` means the default. float16 and bfloat16 draws are the float32 draw rounded once, except
  for ``uniform``, which takes words of their own width as JAX does.
* A wrong argument raises TypeError, ValueError or OverflowError before anything is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import _check, _ops
from ._check import Shape, Window
from .key import (
    DEFAULT_IMPL,
    IMPL_NUMBERS,
    Key,
    as_int64,
    as_int64_tensor,
    check_impl,
    check_permutation_size,
    check_words,
)

__all__ = [
    "PRNGKey",
    "bernoulli",
    "bits",
    "categorical",
    "choice",
    "clone",
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "key_impl",
    "laplace",
    "logistic",
    "normal",
    "permutation",
    "rademacher",
    "randint",
    "shuffle",
    "split",
    "uniform",
    "wrap_key_data",
]

# How many 32-bit words a uniform draw takes.
_UNIFORM_WORDS = {torch.float16: 1 / 2, torch.bfloat16: 1 / 4, torch.float32: 1, torch.float64: 2}

# What every elementwise draw's operator begins with: key data, impl, size, window.
_Arguments = tuple[Tensor, int, Shape, list[int] | None]

_CODES = _ops.DTYPE_CODES
_INDEX_DTYPES = {torch.int32: 32, torch.int64: 64}

# ---- Keys ----


def key(seed: int | Tensor, *, impl: str | None = None, device: torch.device | str | None = None) -> Key:
    """Make a key from a seed.

    Args:
        seed: an int, -2^63 <= seed < 2^64, taken as 64 bits in two's complement; or an integer tensor, which
            makes a batch of keys of its shape.
        impl: ``"threefry2x32"`` (the default: JAX's partitionable streams) or ``"threefry2x32_original"`` (JAX's
            before 0.5).
        device: where the key and its draws lie; the CPU (or the seed tensor's device) by default.

    Returns:
        A key whose words are the seed's high and low 32 bits.

    Raises:
        TypeError: the seed is not an integer. OverflowError: it does not fit into 64 bits.
    """
    impl = DEFAULT_IMPL if impl is None else impl
    check_impl(impl)
    if isinstance(seed, Tensor):
        if seed.dtype not in _check.INTEGERS:
            raise TypeError(f"seed must be an int or an integer tensor, got {_check.describe(seed)}")
        halves = as_int64_tensor(seed.to(device) if device is not None else seed)
        words = torch.stack([halves >> 32 & 0xFFFFFFFF, halves & 0xFFFFFFFF], -1)
    else:
        value = _check.integer("seed", seed)
        if not -(2**63) <= value < 2**64:
            raise OverflowError(f"seed must fit into 64 bits, -2^63 <= seed < 2^64, got {seed}")
        words = torch.tensor(
            [value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF],
            dtype=torch.int64,
            device="cpu" if device is None else device,
        )
    return Key(words.to(torch.uint32), impl)


def PRNGKey(seed: int | Tensor, *, impl: str | None = None) -> Key:
    """The same as :func:`key`, under JAX's older name."""
    return key(seed, impl=impl)


def split(key: Key, num: int | Sequence[int] = 2) -> Key:
    """Derive ``num`` new keys.

    Args:
        key: a key, or a batch of them of shape ``B``.
        num: how many, or the shape of the batch to make.

    Returns:
        A batch of keys of shape ``B + (num,)``. It unpacks: ``k1, k2 = split(key)``. With ``threefry2x32`` child
        *i* does not depend on ``num``.
    """
    return _key(key).split(num)


def fold_in(key: Key, data: int | Tensor) -> Key:
    """Derive a new key for a number, such as a step, a rank or a layer's index.

    Args:
        key: a key or a batch of keys.
        data: an int, -2^63 <= data < 2^64, or an integer tensor, which broadcasts against the batch. It is taken
            as 64 bits in two's complement (JAX takes 32: equal for 0 <= data < 2^32).
    """
    return _key(key).fold_in(data)


def clone(key: Key) -> Key:
    """A copy of the key."""
    return _key(key).clone()


def key_data(key: Key) -> Tensor:
    """The words of a key: a uint32 tensor ``(*batch, 2)``."""
    return _key(key).data


def wrap_key_data(data: Tensor, *, impl: str | None = None) -> Key:
    """The key with these words: the inverse of :func:`key_data`.

    Raises:
        TypeError: data is no uint32 tensor. ValueError: its last dimension is not 2, or impl is unknown.
    """
    return Key(data, DEFAULT_IMPL if impl is None else impl)


def key_impl(key: Key) -> str:
    """The name of a key's implementation."""
    return _key(key).impl


def _key(value: Any) -> Key:
    if not isinstance(value, Key):
        raise TypeError(f"key must be a Key, such as random.key(0), got {_check.describe(value)}")
    return value


# ---- Bits and uniform numbers ----


def _prepare(key: Any, shape: Any, window: Window | None, words: float) -> _Arguments:
    """Check a draw's arguments; an element takes ``words`` 32-bit words."""
    if not isinstance(key, Key):
        _key(key)
    size = _check.sizes("shape", shape)
    number = IMPL_NUMBERS[key.impl]
    if number:
        check_words(key, "shape", size, words)
    return key.data, number, size, None if window is None else _check.window(window, size)


def bits(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Random bits.

    Args:
        dtype: uint8, uint16, uint32 (the default) or uint64.

    Returns:
        Every value of the dtype with the same probability. ``bits(key, (n,), torch.uint64)`` are the words of
        ``split(key, n)``: use a key for one of the two.
    """
    dtype = _check.dtype(dtype, torch.uint32, _check.UNSIGNED)
    return _ops.bits(*_prepare(key, shape, window, _check.UNSIGNED[dtype] / 32), _CODES[dtype])


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
    data, number, size, flat = arguments = _prepare(key, shape, window, _UNIFORM_WORDS[dtype])
    # The cheaper test first: short draws are called often.
    if (
        type(minval) is float
        and type(maxval) is float
        or not (isinstance(minval, Tensor) or isinstance(maxval, Tensor))
    ):
        low = minval if type(minval) is float else _real("minval", minval)
        high = maxval if type(maxval) is float else _real("maxval", maxval)
        if low != 0.0 or high != 1.0:
            _check_range(low, high, dtype)
        return _ops.uniform(data, number, size, flat, low, high, _CODES[dtype])
    low_tensor = _float_parameter("minval", minval, dtype, key, arguments)
    high_tensor = _float_parameter("maxval", maxval, dtype, key, arguments)
    return _ops.uniform_between(*arguments, low_tensor, high_tensor, _CODES[dtype])


def _real(name: str, value: Any) -> float:
    if type(value) is float:
        return value
    try:
        return float(value.__float__())
    except OverflowError:
        raise ValueError(
            f"{name} must be a number that a float holds, got an int of {len(str(value))} digits"
        ) from None
    except (AttributeError, TypeError, ValueError):
        raise TypeError(f"{name} must be a number or a tensor, got {_check.describe(value)}") from None


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


def _windowed(name: str, value: Tensor, key: Key, size: Shape, window: list[int] | None) -> Tensor:
    """A parameter of the whole draw, cut to the window."""
    if value.device != key.device:
        if value.dim() > 0:
            raise ValueError(f"{name} must lie on the key's device {key.device}, got {value.device}")
        value = value.to(key.device)
    _check.broadcasts(name, value, (*key.shape, *size))
    if window is not None:
        for axis in range(-1, -1 - min(value.dim(), len(size)), -1):
            start, stop = window[2 * axis], window[2 * axis + 1]
            if value.shape[axis] != 1:
                value = value.narrow(axis, start, stop - start)
    return value


def _computed_in(dtype: torch.dtype) -> torch.dtype:
    """The type that a floating dtype is computed in: float64 for itself, float32 for the others."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _float_parameter(name: str, value: Any, dtype: torch.dtype, key: Key, arguments: _Arguments) -> Tensor:
    """A parameter rounded to the draw's dtype, held in float64 for float64 and in float32 otherwise."""
    if not isinstance(value, Tensor):
        value = torch.tensor(_real(name, value), dtype=torch.float64, device=key.device)
    if value.dtype not in _check.FLOATS and value.dtype not in _check.INTEGERS:
        raise TypeError(f"{name} must be a real tensor, got {_check.describe(value)}")
    return _windowed(name, value.to(dtype).to(_computed_in(dtype)), key, arguments[2], arguments[3])


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
    arguments = _prepare(key, shape, window, 2 if _check.INTEGERS[dtype] == 64 else 1)
    if not isinstance(minval, Tensor) and not isinstance(maxval, Tensor):
        info = torch.iinfo(dtype)
        low = min(max(_integer_bound("minval", minval, dtype), info.min), info.max)
        span = max(min(_integer_bound("maxval", maxval, dtype), info.max + 1) - low, 1)
        # All 2^64 values are written as a span of 0.
        return _ops.randint(*arguments, as_int64(low), as_int64(span % 2**64), _CODES[dtype])
    low_tensor, span_tensor = _range(minval, maxval, dtype, key.device)
    size, flat = arguments[2], arguments[3]
    low_tensor = _windowed("minval", low_tensor, key, size, flat)
    span_tensor = _windowed("maxval", span_tensor, key, size, flat)
    return _ops.randint_tensor(*arguments, low_tensor, span_tensor, _CODES[dtype])


_INT64_MIN = -(2**63)


def _integer_bound(name: str, value: int, dtype: torch.dtype) -> int:
    """A number as a bound of randint."""
    number = _check.integer(name, value)
    info = torch.iinfo(dtype)
    if info.bits >= 32 and not info.min <= number <= info.max + 1:
        raise ValueError(f"{name} must lie in [{info.min}, {info.max + 1}] for {dtype}, got {number}")
    return number


def _range(
    minval: int | Tensor, maxval: int | Tensor, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """The lower bound and the number of values (all 2^64 written as 0), as the low 64 bits of each."""
    low, _ = _clip_bound("minval", minval, dtype, device)
    high, above = _clip_bound("maxval", maxval, dtype, device)
    span = torch.where(above | (high > low), high - low + above, 1)
    return low ^ (_INT64_MIN if dtype == torch.uint64 else 0), span


def _clip_bound(name: str, value: int | Tensor, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """A bound clipped to the dtype's range, and whether it was above it. Of uint64, the first bit is flipped:
    the order of the int64 is then that of the numbers."""
    info = torch.iinfo(dtype)
    flip = _INT64_MIN if dtype == torch.uint64 else 0
    if not isinstance(value, Tensor):
        number = _integer_bound(name, value, dtype)
        clipped = as_int64(min(max(number, info.min), info.max)) ^ flip
        return torch.tensor(clipped, device=device), torch.tensor(number > info.max, device=device)
    if value.dtype not in _check.INTEGERS:
        raise TypeError(f"{name} must be an int or an integer tensor, got {_check.describe(value)}")
    bits = as_int64_tensor(value)
    huge = bits < 0 if value.dtype == torch.uint64 else torch.zeros_like(bits, dtype=torch.bool)  # 2^63 or more
    if dtype == torch.uint64:
        return (bits if value.dtype == torch.uint64 else bits.clamp(min=0)) ^ flip, torch.zeros_like(huge)
    return bits.masked_fill(huge, info.max).clamp(info.min, info.max), huge | (bits > info.max)


# ---- Continuous distributions: location 0, scale 1 ----


def _standard(op: _ops.Operator, key: Key, shape: Shape, dtype: torch.dtype | None, window: Window | None) -> Tensor:
    dtype = _check.dtype(dtype, torch.float32, _check.FLOATS)
    return op(*_prepare(key, shape, window, 2 if dtype == torch.float64 else 1), _CODES[dtype])


def normal(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard normal: sqrt(2) erf_inv(v), v uniform on (-1, 1).

    Returns:
        Finite numbers, from -5.4201 to 5.2202 in float32 (there are 2^23 values of v) and from -8.2925 to 8.1608 in
        float64. float32 is equal to JAX's bit for bit, float64 within rounding.

    Source of erf_inv: Giles, "Approximating the erfinv function" (GPU Computing Gems, 2012).
    """
    return _standard(_ops.normal, key, shape, dtype, window)


def exponential(
    key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None
) -> Tensor:
    """Exponential with rate 1: -log(1 - u), u uniform on [0, 1).

    Returns:
        0 <= x <= 23 log 2 = 15.9424 in float32, 52 log 2 = 36.0437 in float64. float32 is equal to JAX's bit for bit.
    """
    return _standard(_ops.exponential, key, shape, dtype, window)


def gumbel(
    key: Key,
    shape: Shape = (),
    dtype: torch.dtype | None = None,
    mode: str | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Standard Gumbel (for maxima): -log(-log(u)), u uniform on (0, 1).

    Args:
        mode: ``"low"`` (the default) takes one word an element, and an argmax over it is biased against events
            rarer than about 1e-7 in float32. ``"high"`` takes two and goes to about 1e-14.

    Returns:
        Mode ``"low"``: from -4.4699 to 15.9424 in float32, from -6.5631 to 36.0437 in float64. Mode ``"high"``: up to
        31.885 and, once in 2^46, 87.34 in float32; up to 72.1 and, once in 2^104, 708.4 in float64. float32 is equal to
        JAX's bit for bit, in both modes.
    """
    dtype = _check.dtype(dtype, torch.float32, _check.FLOATS)
    high = _high(mode)
    words = (2 if dtype == torch.float64 else 1) * (2 if high else 1)
    return _ops.gumbel(*_prepare(key, shape, window, words), high, _CODES[dtype])


def _high(mode: Any) -> bool:
    if mode is not None:
        _check.one_of("mode", mode, ("low", "high"))
    return bool(mode == "high")


def laplace(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard Laplace: sign(v) log(1 - |v|), v uniform on (-1, 1).

    Returns:
        From -15.5370 to 24 log 2 = 16.6356 in float32, from -35.6382 to 53 log 2 = 36.7369 in float64. float32 is equal to
        JAX's bit for bit.
    """
    return _standard(_ops.laplace, key, shape, dtype, window)


def logistic(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard logistic: log(v / (1 - v)), v uniform on (0, 1).

    Returns:
        From log(2^-126) = -87.3366 (once in 2^23) to 15.9424 in float32, from -708.397 (once in 2^52) to 36.0437 in
        float64. float32 is equal to JAX's bit for bit.
    """
    return _standard(_ops.logistic, key, shape, dtype, window)


# ---- Two values ----


def bernoulli(
    key: Key,
    p: float | Tensor = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    window: Window | None = None,
) -> Tensor:
    """True with probability p.

    Args:
        p: a number in [0, 1], or a floating tensor that broadcasts over the result. float64 tensors are compared
            with float64 uniforms; all else with float32 ones. NaN is never True.
        shape: the shape of the draw; p's by default.
        mode: ``"low"`` takes p to the next multiple of 2^-23 (2^-52 in float64); ``"high"`` takes two words an
            element and is exact to 2^-46 (2^-104).

    Returns:
        A bool tensor: u < p, u uniform on [0, 1).

    Raises:
        ValueError: a Python number outside of [0, 1], an unknown mode, or shapes that do not broadcast.
    """
    _check.one_of("mode", mode, ("low", "high"))
    high = mode == "high"
    if not isinstance(p, Tensor):
        arguments = _prepare(key, () if shape is None else shape, window, 2 if high else 1)
        return _ops.bernoulli(*arguments, _check.probability("p", _real("p", p)), high)
    if p.dtype not in _check.FLOATS:
        raise TypeError(f"p must be a number or a floating tensor, got {_check.describe(p)}")
    wide = p.dtype == torch.float64
    arguments = _prepare(
        key, tuple(p.shape) if shape is None else shape, window, (2 if high else 1) * (2 if wide else 1)
    )
    p = _windowed("p", p.detach().to(_computed_in(p.dtype)), key, arguments[2], arguments[3])
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
    return _ops.rademacher(*_prepare(key, shape, window, 1), _CODES[dtype])


# ---- Orders and selections ----


def permutation(key: Key, x: int | Tensor, axis: int = 0, independent: bool = False) -> Tensor:
    """A random order of 0..x-1, or of a tensor's slices.

    Args:
        x: an int below 2^31 (for more, ``Key.randperm``), or a tensor with at least one dimension.
        axis: the dimension of x to shuffle along.
        independent: whether each vector along the axis gets an order of its own.

    Returns:
        int32 ``B + (x,)`` for an int, else x shuffled, ``B + x.shape``. Stable sorts by fresh 32-bit words, as
        many rounds as JAX makes, ceil(3 log(size) / log(2^32 - 1)).
    """
    key = _key(key)
    if not isinstance(x, Tensor):
        n = _check.integer("x", x)
        if not 0 <= n < 2**31:
            raise ValueError(f"x must satisfy 0 <= x < 2^31, got {n}; Key.randperm takes more")
        _check_axis(axis, 1)
        check_words(key, "x", (n,), 1)
        return _order(key, n, torch.int32)
    axis = _check_axis(axis, x.dim(), x)
    if independent and x.dim() > 1:
        return shuffle(key, x, axis)
    n = x.shape[axis]
    check_permutation_size(key, "x", n)
    return _take(x, _order(key, n, torch.int64), axis)


def shuffle(key: Key, x: Tensor, axis: int = 0) -> Tensor:
    """Shuffle every vector of x along an axis, each in an order of its own: JAX's older name of
    ``permutation(..., independent=True)``. The result has shape ``B + x.shape``."""
    key = _key(key)
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor, got {_check.describe(x)}")
    axis = _check_axis(axis, x.dim(), x) + key.ndim
    check_words(key, "x", x.shape, 1)
    x = x.expand(*key.shape, *x.shape)
    order = torch.arange(x.shape[axis], device=x.device).view(-1, *(1,) * (x.dim() - axis - 1)).expand(x.shape)
    size = math.prod(x.shape[key.ndim :])
    # JAX's number of rounds, ceil(3 log(size) / log(2^32 - 1)), by comparisons, which compiled code can guard on.
    rounds = sum(size > threshold for threshold in (1, 1625, 2642245, 2**32 - 1))
    for _ in range(rounds):
        children = key.split()
        key, subkey = children[..., 0], children[..., 1]
        # torch sorts signed numbers: flipping the first bit keeps the order.
        words = bits(subkey, tuple(x.shape[key.ndim :])).view(torch.int32) ^ torch.iinfo(torch.int32).min
        order = order.gather(axis, words.sort(dim=axis, stable=True).indices)
    if x.dtype in (torch.uint16, torch.uint32, torch.uint64):  # which torch cannot gather
        signed = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}[x.dtype]
        return x.view(signed).gather(axis, order).view(x.dtype)
    return x.gather(axis, order)


def _order(key: Key, n: int, dtype: torch.dtype) -> Tensor:
    """The key's order of 0..n-1."""
    return _ops.permutation(key.data, IMPL_NUMBERS[key.impl], n, _CODES[dtype])


def _check_axis(axis: Any, dims: int, x: Any = None) -> int:
    """The axis counted from the front."""
    if dims == 0:
        raise TypeError(f"x must be an int or have at least one dimension, got {_check.describe(x)}")
    number = _check.integer("axis", axis)
    if not -dims <= number < dims:
        raise ValueError(f"axis must lie in {-dims}..{dims - 1}, got {number}")
    return number % dims


def _take(x: Tensor, index: Tensor, axis: int, index_dims: int = 1) -> Tensor:
    """x's slices by index along an axis. The index's last ``index_dims`` dimensions take the axis's place, those
    before go first, as mapping over them would put them."""
    taken = x[(slice(None),) * axis + (index.long(),)]
    batch = index.dim() - index_dims
    return taken.movedim(tuple(range(axis, axis + batch)), tuple(range(batch)))


def choice(
    key: Key,
    a: int | Tensor,
    shape: Shape = (),
    replace: bool = True,
    p: Tensor | Sequence[float] | None = None,
    axis: int = 0,
    mode: str | None = None,
    *,
    index_dtype: torch.dtype | None = None,
) -> Tensor:
    """A random sample of 0..a-1, or of a tensor's slices along an axis.

    Args:
        a: an int above 0, or a tensor.
        shape: the shape of the sample.
        replace: whether the same one may come more than once.
        p: probabilities, one for each; uniform if None. They need not add up to 1. A tensor is not looked into: if it
            holds negative numbers or NaN, or too few positive ones for a sample without replacement, what is
            chosen is meaningless.
        mode: ``"low"`` or ``"high"``, as in :func:`gumbel`, for sampling by p without replacement.
        index_dtype: int32 (the default) or int64: the dtype of the indices, and the width of the words that
            choose them when there is no p: JAX with 64-bit types has int64.

    Returns:
        ``B + shape`` for an int; for a tensor its slices, the axis replaced by ``shape``.

    Raises:
        ValueError: nothing to choose from, more without replacement than there are, p of another length.
    """
    key = _key(key)
    index_dtype = _check.dtype(index_dtype, torch.int32, _INDEX_DTYPES, "index_dtype")
    size = tuple(_check.sizes("shape", shape))
    draws = math.prod(size)
    if isinstance(a, Tensor):
        axis = _check_axis(axis, a.dim(), a)
        n = a.shape[axis]
    else:
        n = _check.integer("a", a)
    if n > torch.iinfo(index_dtype).max:
        raise ValueError(f"a must be at most 2^31-1 for int32 indices, got {n}; ask for index_dtype=torch.int64")
    if n <= 0 and draws > 0:
        raise ValueError(f"a must have something to choose from, got {_check.describe(a)}")
    if not replace and draws > n:
        raise ValueError(f"shape must ask for at most {n} without replacement, got {size}")
    high = _high(mode)
    if p is None and replace:
        index = randint(key, size, 0, n, index_dtype)
    elif p is None:
        check_permutation_size(key, "a", n)
        index = _order(key, n, torch.int64)[..., :draws]
    else:
        weights = _weights(p, n, key, 1 if replace else draws)
        if replace:
            index = _choose_by_weight(key, size, weights)
        else:
            score = gumbel(key, (n,), weights.dtype, "high" if high else "low") + weights.double().log().to(
                weights.dtype
            )
            index = _largest(score, draws)
    index = index.reshape((*key.shape, *size))
    if isinstance(a, Tensor):
        return _take(a, index, axis, len(size))
    return index.to(index_dtype)


def _weights(p: Any, n: int, key: Key, needed: int) -> Tensor:
    """Probabilities as a float32 or float64 vector of length n on the key's device."""
    if not isinstance(p, Tensor):
        try:
            p = torch.tensor(p, dtype=torch.float32)
        except (TypeError, ValueError):
            raise TypeError(f"p must be a tensor or a sequence of numbers, got {_check.describe(p)}") from None
        if not bool((p >= 0).all()) or int((p > 0).sum()) < needed:
            raise ValueError(f"p must have no negative and at least {needed} positive probabilities, got {p.tolist()}")
    if p.dtype not in _check.FLOATS:
        raise TypeError(f"p must be a floating tensor, got {_check.describe(p)}")
    if p.shape != (n,):
        raise ValueError(f"p must have shape ({n},), one for each of a, got shape {tuple(p.shape)}")
    weights: Tensor = p.detach()
    return weights.to(key.device, _computed_in(p.dtype))


def _choose_by_weight(key: Key, size: Shape, weights: Tensor) -> Tensor:
    """The inverse CDF: the first index whose cumulative weight reaches a uniform part of the whole."""
    # Summed in float64, so that the order of summation, which a device chooses, hardly ever shows.
    cumulative = weights.double().cumsum(0).to(weights.dtype)
    parts = cumulative[-1] * (1 - uniform(key, size, weights.dtype))
    # A NaN among the weights would lead past the end.
    index: Tensor = torch.searchsorted(cumulative, parts.contiguous()).clamp(max=weights.shape[0] - 1)
    return index


def _largest(score: Tensor, k: int) -> Tensor:
    """Indices of the k largest along the last dimension, in falling order; of equal ones the first wins."""
    order: Tensor = score.sort(dim=-1, descending=True, stable=True).indices
    return order[..., :k]


def categorical(
    key: Key,
    logits: Tensor,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    index_dtype: torch.dtype | None = None,
) -> Tensor:
    """Indices with probabilities softmax(logits): the argmax of logits + Gumbel noise.

    Args:
        logits: a floating tensor of unnormalised log-probabilities. -inf is never drawn, unless without replacement
            too few others are left. Half precision is computed in float32.
        axis: the dimension that holds the categories.
        shape: the shape of the result: any prefix, then what ``logits`` without the axis broadcasts to (the
            default, without a prefix).
        replace: if False, the prefix's draws are of different categories (Gumbel top-k, Kool et al. 2019).
        mode: ``"low"`` or ``"high"``, as in :func:`gumbel`.
        index_dtype: int32 (the default) or int64.

    Returns:
        Indices of shape ``B + shape``.
    """
    key = _key(key)
    index_dtype = _check.dtype(index_dtype, torch.int32, _INDEX_DTYPES, "index_dtype")
    if not isinstance(logits, Tensor) or logits.dtype not in _check.FLOATS:
        raise TypeError(f"logits must be a floating tensor, got {_check.describe(logits)}")
    axis = _check_axis(axis, logits.dim(), logits)
    mode = "high" if _high(mode) else "low"
    logits = logits.detach().to(_computed_in(logits.dtype))
    logits = logits.movedim(axis, -1)
    rows, n = tuple(logits.shape[:-1]), logits.shape[-1]
    size = rows if shape is None else tuple(_check.sizes("shape", shape))
    prefix, tail = size[: len(size) - len(rows)], size[len(size) - len(rows) :]
    if len(size) < len(rows) or any(r not in (1, t) for r, t in zip(rows, tail)):
        raise ValueError(f"shape must end with what logits without its axis, {rows}, broadcasts to, got {size}")
    if n == 0 and math.prod(size) > 0:
        raise ValueError(f"logits must have at least one category, got shape {tuple(logits.shape)} with the axis last")
    # The noise is laid out as the logits are: the categories at their axis, counted from the back.
    at = axis - len(rows) - 1
    if replace:
        whole = [*prefix, *tail]
        whole.insert(len(whole) + at + 1, n)
        noise = gumbel(key, tuple(whole), logits.dtype, mode).movedim(at, -1)
        return (noise + logits).argmax(-1).to(index_dtype)
    k = math.prod(prefix)
    if k > n:
        raise ValueError(f"shape must ask for at most {n} categories without replacement, got {k}")
    if tail != rows:
        raise ValueError(f"shape must end with {rows} without replacement, got {size}")
    whole = list(rows)
    whole.insert(axis, n)
    noise = gumbel(key, tuple(whole), logits.dtype, mode).movedim(at, -1)
    best = _largest(noise + logits, k)  # B + rows + (k,)
    return best.movedim(-1, key.ndim).reshape((*key.shape, *size)).to(index_dtype)
