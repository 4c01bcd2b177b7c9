"""Orders and selections."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _check, _ops
from .._check import Shape
from ..key import IMPL_NUMBERS, Key, check_device, check_permutation_size, check_words, copied
from ._draw import CODES, INDEX_DTYPES, checked_key, children, computed_in, noise_mode
from .continuous import gumbel
from .words import bits, randint, uniform


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
    key = checked_key(key)
    if not isinstance(x, Tensor):
        n = _check.integer("x", x)
        if not 0 <= n < 2**31:
            raise ValueError(f"x must satisfy 0 <= x < 2^31, got {n}; Key.randperm takes more")
        _check_axis(axis, 1)
        check_words(key, "x", (n,), 1)
        return _order(key, n, torch.int32)
    axis = _check_axis(axis, x.dim(), x)
    check_device("x", x, key)
    if independent and x.dim() > 1:
        return shuffle(key, x, axis)
    n = x.shape[axis]
    check_permutation_size(key, "x", n)
    return _take(x, _order(key, n, torch.int64), axis)


def shuffle(key: Key, x: Tensor, axis: int = 0) -> Tensor:
    """Shuffle every vector of x along an axis, each in an order of its own: JAX's older name of
    ``permutation(..., independent=True)``. The result has shape ``B + x.shape``."""
    key = checked_key(key)
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor, got {_check.describe(x)}")
    axis = _check_axis(axis, x.dim(), x) + key.ndim
    check_device("x", x, key)
    check_words(key, "x", x.shape, 1)
    x = x.expand(*key.shape, *x.shape)
    order = torch.arange(x.shape[axis], device=x.device).view(-1, *(1,) * (x.dim() - axis - 1)).expand(x.shape)
    size = math.prod(x.shape[key.ndim :])
    # JAX's number of rounds, ceil(3 log(size) / log(2^32 - 1)), by comparisons, which compiled code can guard on.
    rounds = sum(size > threshold for threshold in (1, 1625, 2642245, 2**32 - 1))
    for _ in range(rounds):
        key, subkey = children(key)
        # torch sorts signed numbers: flipping the first bit keeps the order.
        words = bits(subkey, tuple(x.shape[key.ndim :])).view(torch.int32) ^ torch.iinfo(torch.int32).min
        order = order.gather(axis, words.sort(dim=axis, stable=True).indices)
    return _through_signed(x, lambda signed: signed.gather(axis, order))


_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def _through_signed(x: Tensor, gather: Callable[[Tensor], Tensor]) -> Tensor:
    """What a function gathers of x, by way of signed numbers where torch cannot gather unsigned ones."""
    return gather(x.view(_SIGNED[x.dtype])).view(x.dtype) if x.dtype in _SIGNED else gather(x)


def _order(key: Key, n: int, dtype: torch.dtype) -> Tensor:
    """The key's order of 0..n-1."""
    return _ops.permutation(key.data, IMPL_NUMBERS[key.impl], n, CODES[dtype])


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
    where = (slice(None),) * axis + (index.long(),)
    taken = _through_signed(x, lambda signed: signed[where])
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
        p: probabilities, one for each; uniform if None. They need not add up to 1. A tensor on another device than the
            CPU is not looked into: if it holds negative numbers or NaN, or too few positive ones for a sample without
            replacement, what is chosen is meaningless. A sequence, or a tensor on another device than the key's, is
            copied to the key's by each call.
        mode: ``"low"`` or ``"high"``, as in :func:`gumbel`, for sampling by p without replacement; by default as in
            :func:`categorical`.
        index_dtype: int32 (the default) or int64: the dtype of the indices, and the width of the words that
            choose them when there is no p: JAX with 64-bit types has int64.

    Returns:
        ``B + shape`` for an int; for a tensor its slices, the axis replaced by ``shape``.

    Raises:
        ValueError: nothing to choose from, more without replacement than there are, p of another length.
    """
    key = checked_key(key)
    index_dtype = _check.dtype(index_dtype, torch.int32, INDEX_DTYPES, "index_dtype")
    size = tuple(_check.sizes("shape", shape))
    draws = math.prod(size)
    if isinstance(a, Tensor):
        axis = _check_axis(axis, a.dim(), a)
        check_device("a", a, key)
        n = a.shape[axis]
    else:
        n = _check.integer("a", a)
    if n > torch.iinfo(index_dtype).max:
        raise ValueError(f"a must be at most 2^31-1 for int32 indices, got {n}; ask for index_dtype=torch.int64")
    if n <= 0 and draws > 0:
        raise ValueError(f"a must have something to choose from, got {_check.describe(a)}")
    if not replace and draws > n:
        raise ValueError(f"shape must ask for at most {n} without replacement, got {size}")
    noise = noise_mode(mode, n)
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
            score = gumbel(key, (n,), weights.dtype, noise) + weights.double().log().to(weights.dtype)
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
    if p.dtype not in _check.FLOATS:
        raise TypeError(f"p must be a floating tensor, got {_check.describe(p)}")
    if p.shape != (n,):
        raise ValueError(f"p must have shape ({n},), one for each of a, got shape {tuple(p.shape)}")
    if _can_be_read(p):
        positive = int((p > 0).sum())
        if positive < needed or not bool((p >= 0).all()):
            raise ValueError(
                f"p must have no negative and at least {needed} positive probabilities, got {positive} positive in "
                f"{p.tolist() if n <= 16 else _check.describe(p)}"
            )
    return copied(p.detach(), key.device, computed_in(p.dtype))


def _can_be_read(x: Tensor) -> bool:
    """Whether a look at the numbers costs no device's synchronisation and is no business of a transform's."""
    if torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(x):
        return False
    return x.device.type == "cpu"


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
        mode: ``"low"`` or ``"high"``, as in :func:`gumbel`; by default "low" up to 2^16 categories, as in JAX, and
            "high" beyond: with one word of noise each, two of so many often tie at the maximum, and the first would
            win.
        index_dtype: int32 (the default) or int64.

    Returns:
        Indices of shape ``B + shape``.
    """
    key = checked_key(key)
    index_dtype = _check.dtype(index_dtype, torch.int32, INDEX_DTYPES, "index_dtype")
    if not isinstance(logits, Tensor) or logits.dtype not in _check.FLOATS:
        raise TypeError(f"logits must be a floating tensor, got {_check.describe(logits)}")
    axis = _check_axis(axis, logits.dim(), logits)
    check_device("logits", logits, key)
    logits = logits.detach().to(computed_in(logits.dtype))
    logits = logits.movedim(axis, -1)
    rows, n = tuple(logits.shape[:-1]), logits.shape[-1]
    mode = noise_mode(mode, n)
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
