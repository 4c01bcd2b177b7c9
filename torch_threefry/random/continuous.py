"""Continuous distributions by inversion of one word, or a few."""

from __future__ import annotations

import ctypes
import math
import struct

import torch
from torch import Tensor

from .. import _check, _ops
from .._check import Shape, Window
from ..key import Key
from ._draw import (
    CODES,
    FINITE,
    NOT_NEGATIVE,
    NUMBER,
    POSITIVE,
    is_high,
    parameter_shape,
    parametric,
    prepare,
    real,
    standard,
)


def normal(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard normal: sqrt(2) erf_inv(v), v uniform on (-1, 1).

    Returns:
        Finite numbers, from -5.4201 to 5.2202 in float32 (there are 2^23 values of v) and from -8.2925 to 8.1608 in
        float64. float32 is equal to JAX's bit for bit, float64 within rounding.

    Source of erf_inv: Giles, "Approximating the erfinv function" (GPU Computing Gems, 2012).
    """
    return standard(_ops.normal, key, shape, dtype, window)


def exponential(
    key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None
) -> Tensor:
    """Exponential with rate 1: -log(1 - u), u uniform on [0, 1).

    Returns:
        0 <= x <= 23 log 2 = 15.9424 in float32, 52 log 2 = 36.0437 in float64. float32 is equal to JAX's bit for bit.
    """
    return standard(_ops.exponential, key, shape, dtype, window)


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
    high = is_high(mode)
    words = (2 if dtype == torch.float64 else 1) * (2 if high else 1)
    return _ops.gumbel(*prepare(key, shape, window, words), high, CODES[dtype])


def laplace(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard Laplace: sign(v) log(1 - |v|), v uniform on (-1, 1).

    Returns:
        From -15.5370 to 24 log 2 = 16.6356 in float32, from -35.6382 to 53 log 2 = 36.7369 in float64. float32 is equal
        to JAX's bit for bit.
    """
    return standard(_ops.laplace, key, shape, dtype, window)


def logistic(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard logistic: log(v / (1 - v)), v uniform on (0, 1).

    Returns:
        From log(2^-126) = -87.3366 (once in 2^23) to 15.9424 in float32, from -708.397 (once in 2^52) to 36.0437 in
        float64. float32 is equal to JAX's bit for bit.
    """
    return standard(_ops.logistic, key, shape, dtype, window)


def cauchy(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard Cauchy, density 1 / (pi (1 + x^2)): tan(pi (u - 1/2)), u uniform on [2^-23, 1) (2^-52 in float64).

    Returns:
        Finite numbers, up to some 5e6 in size in float32 and 3e15 in float64. In float32 the angle is rounded before
        its tangent is taken, as in JAX, which makes numbers above 1e3 coarse. Equal to JAX up to rounding.
    """
    return standard(_ops.cauchy, key, shape, dtype, window)


def maxwell(key: Key, shape: Shape = (), dtype: torch.dtype | None = None, *, window: Window | None = None) -> Tensor:
    """Standard Maxwell, density sqrt(2 / pi) x^2 exp(-x^2 / 2): the norm of three standard normals, row *i* of
    ``normal(key, (*shape, 3))``.

    Returns:
        0 < x < 9.4 in float32, 14.4 in float64. Equal to JAX up to rounding.
    """
    return standard(_ops.maxwell, key, shape, dtype, window, words=3)


# ---- Continuous distributions with parameters ----


def double_sided_maxwell(
    key: Key,
    loc: float | Tensor,
    scale: float | Tensor,
    shape: Shape = (),
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Double-sided Maxwell, density proportional to z^2 exp(-z^2 / 2), z = (x - loc) / scale: a Maxwell draw from the
    key's first child, with a sign from its second.

    Args:
        loc, scale: finite numbers or tensors.
        shape: goes before the shape that loc and scale broadcast to, unlike that of the other samplers. (Where it is
            empty, JAX puts the parameters' shape twice.)

    Returns:
        ``B + shape + broadcast(loc, scale)``, equal to JAX up to rounding. Differentiable in loc and scale.

    Raises:
        ValueError: a number that is not finite. In a tensor such an element gives NaN or infinity.
    """
    parameters = {"loc": loc, "scale": scale}
    size = (*_check.sizes("shape", shape), *parameter_shape(parameters))
    return parametric("double_sided_maxwell", key, parameters, FINITE, size, dtype, window, (3, 6))


def pareto(
    key: Key,
    b: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Pareto, density b / x^(b + 1) for x >= 1: exp(e / b), e exponential.

    Args:
        b: the tail index, above 0.
        shape: b's by default.

    Returns:
        x >= 1; infinity where exp overflows, which in float32 needs b below 0.18. Equal to JAX up to rounding.
        Differentiable in b.

    Raises:
        ValueError: a number b outside of the domain; in a tensor it gives NaN.
    """
    return parametric("pareto", key, {"b": b}, POSITIVE, shape, dtype, window)


def rayleigh(
    key: Key,
    scale: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Rayleigh, density x / scale^2 exp(-x^2 / (2 scale^2)): scale sqrt(-2 log u), u uniform on (0, 1).

    Args:
        scale: at least 0.
        shape: scale's by default.

    Returns:
        Finite numbers, from 0.000488 to 5.77 times the scale in float32, from 2.1e-8 to 8.58 times in float64 (infinity
        where that overflows). Where u is 0, JAX returns infinity; here 0 stands for the middle of its cell, 2^-24
        (2^-53). Otherwise equal to JAX up to rounding. Differentiable in scale.

    Raises:
        ValueError: a number scale outside of the domain; in a tensor it gives NaN.
    """
    return parametric("rayleigh", key, {"scale": scale}, NOT_NEGATIVE, shape, dtype, window)


def weibull_min(
    key: Key,
    scale: float | Tensor,
    concentration: float | Tensor,
    shape: Shape = (),
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Weibull, density (c / s) z^(c - 1) exp(-z^c), z = x / s, with scale s and concentration c: s e^(1 / c), e
    exponential.

    Args:
        scale: at least 0.
        concentration: above 0.
        shape: by default what scale and concentration broadcast to, with a draw of its own for each element. (JAX then
            makes one draw for all.)

    Returns:
        x >= 0, infinity where the power overflows. Equal to JAX up to rounding. Differentiable in both parameters.

    Raises:
        ValueError: a number outside of the domain; in a tensor it gives NaN.
    """
    parameters = {"scale": scale, "concentration": concentration}
    domains = {"scale": NOT_NEGATIVE, "concentration": POSITIVE}
    size = None if isinstance(shape, (tuple, list)) and not shape else shape
    return parametric("weibull_min", key, parameters, domains, size, dtype, window)


def lognormal(
    key: Key,
    sigma: float | Tensor = 1.0,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Log-normal, density exp(-log(x)^2 / (2 sigma^2)) / (x sigma sqrt(2 pi)): exp(sigma x), x standard normal.

    Args:
        sigma: finite; its sign mirrors the normal.
        shape: sigma's by default.

    Returns:
        x > 0, or 0 and infinity where exp underflows and overflows, in float32 for sigma above 16. Equal to JAX up to
        rounding. Differentiable in sigma.

    Raises:
        ValueError: a number sigma that is not finite; in a tensor it gives NaN.
    """
    return parametric("lognormal", key, {"sigma": sigma}, FINITE, shape, dtype, window)


def triangular(
    key: Key,
    left: float | Tensor,
    mode: float | Tensor,
    right: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Triangular, density rising linearly from left to mode and falling to right, by inversion of the CDF.

    Args:
        left, mode, right: left <= mode <= right, left < right, all finite.
        shape: by default what they broadcast to.

    Returns:
        left <= x <= right, equal to JAX up to rounding. Differentiable in all three.

    Raises:
        ValueError: numbers outside of the domain; in tensors they give NaN.
    """
    parameters = {"left": left, "mode": mode, "right": right}
    if not any(isinstance(p, Tensor) for p in parameters.values()):
        low, middle, high = _in_type(dtype, *(real(name, value) for name, value in parameters.items()))
        if not (low <= middle <= high and low < high):
            raise ValueError(
                "left, mode and right must satisfy left <= mode <= right and left < right in the draw's type, "
                f"got {left!r}, {mode!r} and {right!r}"
            )
    return parametric("triangular", key, parameters, FINITE, shape, dtype, window)


def wald(
    key: Key,
    mean: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Wald (inverse Gaussian) with shape parameter 1, density (2 pi x^3)^(-1/2) exp(-(x - mean)^2 / (2 mean^2 x)).

    Args:
        mean: above 0.
        shape: mean's by default.

    Returns:
        x > 0. Equal to JAX up to rounding, and up to JAX's own cancellation, which grows with the mean: at 1e5 a third
        of its draws are negative. Differentiable in mean, at a fixed choice between the two roots.

    Raises:
        ValueError: a number mean outside of the domain; in a tensor it gives NaN.

    Source: Michael, Schucany & Haas, "Generating random variates using transformations with multiple roots" (The
    American Statistician 30, 1976), with the smaller root as mean^2 over the larger one.
    """
    return parametric("wald", key, {"mean": mean}, POSITIVE, shape, dtype, window)


def truncated_normal(
    key: Key,
    lower: float | Tensor,
    upper: float | Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    *,
    window: Window | None = None,
) -> Tensor:
    """Standard normal on the open interval (lower, upper).

    Args:
        lower, upper: lower < upper; infinite ones are allowed.
        shape: by default what lower and upper broadcast to.

    Returns:
        lower < x < upper, finite, in half precision too (NaN where that has no number between the bounds). Equal to JAX
        up to rounding where lower <= 1 and upper >= -1; there it is sqrt(2) erf_inv(u), u uniform between erf(lower /
        sqrt(2)) and erf(upper / sqrt(2)). Beyond, erf is too close to 1 for that (JAX gives 999999.94 for lower = 5.5,
        upper = 1e6); the draw is then the x with Q(x) = Q(lower) - u (Q(lower) - Q(upper)), Q the upper tail's
        probability, computed in ratios to Q(lower). Differentiable in both bounds.

    Raises:
        ValueError: numbers without lower < upper and a number between them; in tensors they give NaN.
    """
    if not isinstance(lower, Tensor) and not isinstance(upper, Tensor):
        low, high = _in_type(dtype, real("lower", lower), real("upper", upper))
        if not _next_above(low, dtype) < high:
            raise ValueError(
                "lower and upper must satisfy lower < upper, with a number of the type that the draw is computed in "
                f"between them, got {lower!r} and {upper!r}"
            )
    parameters = {"lower": lower, "upper": upper}
    return parametric("truncated_normal", key, parameters, NUMBER, shape, dtype, window)


def _in_type(dtype: torch.dtype | None, *numbers: float) -> list[float]:
    """Numbers as the type holds them that a draw is computed in. (Not in compiled code, which cannot look.)"""
    if torch.compiler.is_compiling() or dtype == torch.float64:
        return list(numbers)
    return [ctypes.c_float(x).value for x in numbers]


def _next_above(x: float, dtype: torch.dtype | None) -> float:
    """The next larger number of the type that a draw is computed in."""
    if torch.compiler.is_compiling() or x == math.inf:
        return x
    if dtype == torch.float64:
        return math.nextafter(x, math.inf)
    (bits,) = struct.unpack("<i", struct.pack("<f", x))
    following: float = struct.unpack("<f", struct.pack("<i", 1 if x == 0 else bits + (1 if x > 0 else -1)))[0]
    return following
