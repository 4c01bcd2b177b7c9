"""Counts: geometric, Poisson, binomial, multinomial."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _check, _ops
from .._check import Shape, Window
from ..key import Key, check_words
from ._draw import CODES, Domain, checked_key, computed_in, parameter_shape, prepare_parametric, real_tensor, windowed

_COUNTS = {**_check.SIGNED, **_check.FLOATS}

_PROBABILITY = Domain("in [0, 1]", lambda x: 0 <= x <= 1)
_SUCCESS = Domain("in (0, 1]", lambda x: 0 < x <= 1)
_RATE = Domain("at least 0", lambda x: x >= 0)
_TRIALS = Domain("in [0, 2^53]", lambda x: 0 <= x <= 2**53)


def geometric(
    key: Key,
    p: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Geometric, P(k) = (1 - p)^(k - 1) p for k >= 1, the number of trials up to the first success:
    floor(log(u) / log(1 - p)) + 1, u uniform; as in JAX, u = 0 counts as 1.

    Args:
        p: in (0, 1]. A float64 tensor takes float64 uniforms, all else float32 ones, of which there are 2^23: for p
            below some 1e-6 they are too coarse to reach every count.
        shape: p's by default.
        dtype: a signed integer or floating dtype; int32 by default.

    Returns:
        Counts from 1 to floor(15.9424 / -log(1 - p)) + 1 (36.0437 with float64 uniforms); larger ones than the dtype
        holds are its largest. Equal to JAX but where the quotient is within rounding of a whole number.

    Raises:
        ValueError: a number p outside of the domain; in a tensor it gives -1, or NaN in a floating dtype.
    """
    dtype = _check.dtype(dtype, torch.int32, _COUNTS)
    exact = computed_in(p.dtype) if isinstance(p, Tensor) else torch.float32
    words = 2 if exact == torch.float64 else 1
    arguments, (chance,) = prepare_parametric(key, {"p": p}, _SUCCESS, shape, exact, window, words)
    return _ops.geometric(*arguments, chance.detach(), CODES[dtype])


def poisson(
    key: Key,
    lam: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Poisson, P(k) = lam^k exp(-lam) / k!.

    Args:
        lam: the rate, at least 0. Infinity gives the largest count.
        shape: lam's by default.
        dtype: a signed integer or floating dtype; int32 by default. Counts are exact for rates up to 1e12 at least.

    Returns:
        Counts from 0; larger ones than the dtype holds are its largest. For rates below 10 they are JAX's: the uniforms
        whose product first falls below exp(-lam), in float32. From 10 on they are this library's own, as JAX's depend
        on the other elements of the draw: candidate t of element i is made of 64-bit words 2t and 2t + 1 of a key of
        its own, child i of ``fold_in(key, -1)`` in the partitionable layout, whatever the key's; the first that is
        accepted counts. (So do not fold -1 into a key that draws counts. threefry4x64's elements have keys that no
        function gives.) The probabilities are computed in float64, within some 1e-13 of the true ones.

    Raises:
        ValueError: a number lam outside of the domain; in a tensor it gives -1, or NaN in a floating dtype.

    Source: Knuth, "The Art of Computer Programming" 2, 3.4.1; Hörmann, "The transformed rejection method for
    generating Poisson random variables" (Insurance: Mathematics and Economics 12, 1993), PTRS; Loader, "Fast and
    accurate computation of binomial probabilities" (2000) for the probabilities.
    """
    dtype = _check.dtype(dtype, torch.int32, _COUNTS)
    arguments, (rate,) = prepare_parametric(key, {"lam": lam}, _RATE, shape, torch.float64, window, 1)
    return _ops.poisson(*arguments, rate.detach(), CODES[dtype])


def binomial(
    key: Key,
    n: float | Tensor,
    p: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Binomial, P(k) = C(n, k) p^k (1 - p)^(n - k): successes in n trials.

    Args:
        n: the number of trials, 0 to 2^53; a fraction is dropped.
        p: in [0, 1].
        shape: by default what n and p broadcast to.
        dtype: a floating or signed integer dtype; float32 by default, as in JAX, which holds whole numbers up to 2^24.

    Returns:
        0 <= k <= n; larger counts than an integer dtype holds are its largest. The draws are this library's own (JAX's
        depend on the other elements, and its acceptance test is off): float64 inside, words as in :func:`poisson`.
        Where n min(p, 1 - p) < 10 it is the inverse CDF of one uniform with 52 bits, else transformed rejection. For p
        > 1/2 failures are counted.

    Raises:
        ValueError: a number outside of the domain; in a tensor it gives NaN, or -1 in an integer dtype.

    Source: Hörmann, "The generation of binomial random variates" (Journal of Statistical Computation and Simulation
    46, 1993), BTRS; Loader (2000) for the probabilities.
    """
    dtype = _check.dtype(dtype, torch.float32, _COUNTS)
    parameters, domains = {"n": n, "p": p}, {"n": _TRIALS, "p": _PROBABILITY}
    arguments, (trials, chance) = prepare_parametric(key, parameters, domains, shape, torch.float64, window, 0)
    return _ops.binomial(*arguments, trials.detach(), chance.detach(), CODES[dtype])


def multinomial(
    key: Key,
    n: float | Tensor,
    p: Tensor,
    *,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    window: Window | None = None,
) -> Tensor:
    """Multinomial: how often each category comes in n trials, P(x) = n! / (x_1! ... x_k!) p_1^x_1 ... p_k^x_k.

    Args:
        n: the number of trials, 0 to 2^53, a number or a tensor that broadcasts over ``shape[:-1]``.
        p: a tensor ``(..., k)`` of weights, at least 0; they need not add up to 1.
        shape: the shape of the result, the categories last; by default what p and ``n[..., None]`` broadcast to.
        dtype: a floating or signed integer dtype; float32 by default.
        window: of ``shape[:-1]``.

    Returns:
        ``B + shape``: counts whose rows add up to n. (``shape`` is what JAX's code takes, not its documentation.)
        Category j is a :func:`binomial` draw of those left, with key ``split(key, k)[j]`` and j's share of the weights
        from j on.

    Raises:
        TypeError: p is no real tensor. ValueError: it has no dimension, shapes that do not broadcast, a number n
            outside of the domain. In tensors, n outside of the domain or weights that are negative, not finite or all 0
            make the row NaN, or -1.
    """
    dtype = _check.dtype(dtype, torch.float32, _COUNTS)
    if not isinstance(p, Tensor):
        raise TypeError(f"p must be a tensor, got {_check.describe(p)}")
    if p.dim() == 0:
        raise ValueError("p must have at least one dimension, got a tensor of shape ()")
    categories = p.shape[-1]
    if shape is None:
        rows: Any = parameter_shape({"n": n, "p": p[..., 0] if categories else p.new_empty(p.shape[:-1])})
    else:
        size = _check.sizes("shape", shape)
        if len(size) == 0 or size[-1] != categories:
            raise ValueError(f"shape must end with p's number of categories, {categories}, got {tuple(size)}")
        rows = size[:-1]
    check_words(checked_key(key), "p", (categories,), 2)  # the categories' keys
    arguments, (trials,) = prepare_parametric(key, {"n": n}, _TRIALS, rows, torch.float64, window, 0)
    weights = real_tensor("p", p).detach().double()
    whole = None if arguments[3] is None else [*arguments[3], 0, categories]
    weights = windowed("p", weights, key, (*arguments[2], categories), whole)
    return _ops.multinomial(*arguments, trials.detach(), _ops.shares(weights.contiguous()), CODES[dtype])
