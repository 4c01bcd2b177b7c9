"""The gamma distribution, and those made of gamma draws."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _autograd, _check, _ops
from .._check import Shape, Window
from ..key import Key
from ._draw import (
    CODES,
    NOT_NEGATIVE,
    POSITIVE,
    Arguments,
    checked_key,
    children,
    computed_in,
    parameter_tensors,
    parametric,
    prepare,
)
from .continuous import exponential

# An element's own key takes two words of the stream.
_KEY_WORDS = 2


def gamma(
    key: Key,
    a: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Gamma with rate 1, density x^(a - 1) exp(-x) / Gamma(a).

    Args:
        a: the concentration, at least 0; 0 gives 0.
        shape: a's by default.

    Returns:
        x >= 0; for small a, numbers that underflow are 0: :func:`loggamma` gives their logarithms. In float32 a trial's
        rounding shows from a = 1e9 on, as in JAX; use float64 there. Element *i* is drawn with a key of
        its own, ``split(key, n)[i]``, n the draw's size; with threefry4x64 one that no function gives. Equal to JAX up
        to rounding, but where an acceptance falls on a rounding boundary (less than one element in a thousand).
        Differentiable in a, implicitly.

    Raises:
        ValueError: a number a outside of the domain; in a tensor it gives NaN.

    Source: Marsaglia & Tsang, "A simple method for generating gamma variables" (ACM TOMS 26, 2000).
    """
    return parametric("gamma", key, {"a": a}, NOT_NEGATIVE, shape, dtype, window, (_KEY_WORDS, _KEY_WORDS))


def loggamma(
    key: Key,
    a: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """The logarithm of a :func:`gamma` draw with the same key: accurate also where that would underflow.

    Args:
        a: the concentration, at least 0; 0 gives -inf.
        shape: a's by default.

    Returns:
        Finite numbers for a above 5e-38 in float32, 2e-307 in float64; below, -inf where they overflow, and NaN in what
        is made of two such draws. Equal to JAX as gamma is.
        Differentiable in a, implicitly.

    Raises:
        ValueError: a number a outside of the domain; in a tensor it gives NaN.
    """
    return parametric("loggamma", key, {"a": a}, NOT_NEGATIVE, shape, dtype, window, (_KEY_WORDS, _KEY_WORDS))


def beta(
    key: Key,
    a: float | Tensor,
    b: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Beta, density proportional to x^(a - 1) (1 - x)^(b - 1): x / (x + y) of gamma draws x and y, for a from the key's
    first child and for b from its second, in logarithms.

    Args:
        a, b: above 0.
        shape: by default what a and b broadcast to.

    Returns:
        0 <= x <= 1 (the ends by rounding). Equal to JAX as gamma is. Differentiable in a and b, implicitly.

    Raises:
        ValueError: a number outside of the domain; in a tensor it gives NaN.
    """
    return parametric("beta", key, {"a": a, "b": b}, POSITIVE, shape, dtype, window, (_KEY_WORDS, _KEY_WORDS))


def chisquare(
    key: Key,
    df: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Chi-square with df degrees of freedom, density proportional to x^(df / 2 - 1) exp(-x / 2): twice a gamma draw for
    df / 2.

    Args:
        df: above 0, not only whole numbers.
        shape: df's by default.

    Returns:
        x >= 0. Equal to JAX as gamma is. Differentiable in df, implicitly.

    Raises:
        ValueError: a number df outside of the domain; in a tensor it gives NaN.
    """
    return parametric("chisquare", key, {"df": df}, POSITIVE, shape, dtype, window, (_KEY_WORDS, _KEY_WORDS))


def f(
    key: Key,
    dfnum: float | Tensor,
    dfden: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Fisher's F: (x / dfnum) / (y / dfden), x and y chi-square with dfnum and dfden degrees of freedom, from the key's
    second and first child.

    Args:
        dfnum, dfden: above 0.
        shape: by default what they broadcast to.

    Returns:
        x >= 0, infinity where the ratio overflows. Equal to JAX as gamma is. Differentiable in both, implicitly.

    Raises:
        ValueError: a number outside of the domain; in a tensor it gives NaN.
    """
    return parametric(
        "f", key, {"dfnum": dfnum, "dfden": dfden}, POSITIVE, shape, dtype, window, (_KEY_WORDS, _KEY_WORDS)
    )


def t(
    key: Key,
    df: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Student's t, density proportional to (1 + x^2 / df)^(-(df + 1) / 2): a normal from the key's first child, times
    sqrt(df / 2 / g), g a gamma draw for df / 2 from its second.

    Args:
        df: the degrees of freedom, above 0.
        shape: df's by default.

    Returns:
        Equal to JAX as gamma is. (Where JAX's g underflows, its draw is infinite; here it is computed in logarithms,
        and infinite only where the draw itself overflows.)
        Differentiable in df, implicitly.

    Raises:
        ValueError: a number df outside of the domain; in a tensor it gives NaN.
    """
    return parametric("t", key, {"df": df}, POSITIVE, shape, dtype, window, (_KEY_WORDS, _KEY_WORDS))


def generalized_normal(
    key: Key,
    p: float | Tensor,
    shape: Shape | None = (),
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Generalised normal, density proportional to exp(-|x|^p): a gamma draw for 1 / p from the key's first child, to
    the power 1 / p, with a sign from a word of its second.

    Args:
        p: above 0; 2 makes a normal with variance 1/2, 1 a Laplace. A tensor broadcasts over the result.

    Returns:
        Equal to JAX as gamma is, except that JAX with 64-bit types on takes a float32 draw's signs from 64-bit words.
        Differentiable in p, implicitly.

    Raises:
        ValueError: a number p outside of the domain; in a tensor it gives NaN.
    """
    return parametric("generalized_normal", key, {"p": p}, POSITIVE, shape, dtype, window, (_KEY_WORDS, _KEY_WORDS))


# ---- Rows ----


def dirichlet(
    key: Key,
    alpha: Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Dirichlet, density proportional to the product of x_j^(alpha_j - 1) on the simplex: the softmax of
    :func:`loggamma` draws.

    Args:
        alpha: a tensor ``(..., k)`` of concentrations, at least 0 and not all 0.
        shape: the batch shape, which ``alpha.shape[:-1]`` broadcasts to; that by default.
        window: of ``shape``.

    Returns:
        ``B + shape + (k,)``: rows of numbers from 0 to 1 that add up to 1 within rounding. Equal to JAX as gamma is.
        Differentiable in alpha, implicitly.

    Raises:
        TypeError: alpha is no real tensor. ValueError: it has no dimension, or does not broadcast. Concentrations
            outside of the domain make the row NaN.
    """
    if not isinstance(alpha, Tensor):
        raise TypeError(f"alpha must be a tensor, got {_check.describe(alpha)}")
    if alpha.dim() == 0:
        raise ValueError("alpha must have at least one dimension, got a tensor of shape ()")
    dtype = _check.dtype(dtype, torch.float32, _check.FLOATS)
    exact = computed_in(dtype)
    arguments = _row_arguments(key, alpha.shape[:-1] if shape is None else shape, alpha.shape[-1], window)
    (concentrations,) = parameter_tensors({"alpha": alpha}, NOT_NEGATIVE, exact, key, arguments)
    log_draws = _autograd.draw("loggamma", arguments, [concentrations], CODES[exact])
    return _autograd.softmax(log_draws).to(dtype)


def ball(
    key: Key,
    d: int,
    p: float | Tensor = 2,
    shape: Shape = (),
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Uniform in the unit ball of the p-norm in d dimensions: g / (sum |g_j|^p + e)^(1 / p), g
    :func:`generalized_normal` draws from the key's first child and e exponential from its second.

    Args:
        d: the number of dimensions, at least 1.
        p: above 0; a tensor broadcasts over ``shape``.
        shape: of the batch of points.
        window: of ``shape``.

    Returns:
        ``B + shape + (d,)``, of p-norm at most 1 within rounding. Equal to JAX as generalized_normal is. Differentiable
        in p, implicitly.

    Raises:
        ValueError: d below 1, a number p outside of the domain; in a tensor it gives NaN.

    Source: Barthe, Guédon, Mendelson & Naor, "A probabilistic approach to the geometry of the l_p^n-ball" (Annals
    of Probability 33, 2005).
    """
    key = checked_key(key)
    d = _check.integer("d", d)
    if d < 1:
        raise ValueError(f"d must be at least 1, got {d}")
    dtype = _check.dtype(dtype, torch.float32, _check.FLOATS)
    exact = computed_in(dtype)
    size = _check.sizes("shape", shape)
    points = prepare(key, size, window, _KEY_WORDS)
    (norm,) = parameter_tensors({"p": p}, POSITIVE, exact, key, points, on_device=True)

    inner, outer = children(key)
    gammas, signs = children(inner)
    arguments = _row_arguments(gammas, size, d, window)
    norm = norm.expand((*key.shape, *_ops.extents(*points[2:])))
    log_gammas = _autograd.draw("loggamma", arguments, [1 / norm[..., None]], CODES[exact])
    unsigned, signed = (torch.uint64, torch.int64) if exact == torch.float64 else (torch.uint32, torch.int32)
    words = _ops.bits(signs.data, *arguments[1:], CODES[unsigned]).view(signed)
    e = exponential(outer, size, exact, window=window)
    return _autograd.ball(log_gammas, words, e, norm).to(dtype)


def _row_arguments(key: Key, shape: Any, row: int, window: Window | None) -> Arguments:
    """The arguments of a draw of whole rows, windowed over their shape."""
    _, _, size, flat = prepare(key, shape, window, 0)
    data, impl, whole, _ = prepare(key, (*size, row), None, _KEY_WORDS)
    return data, impl, whole, None if flat is None else [*flat, 0, row]
