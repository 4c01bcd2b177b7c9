"""Draws that go through a matrix factorisation, which is torch's: here bits may differ between devices, numbers of
threads and releases of torch, and with the shape."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .. import _check
from .._check import Shape
from ..key import Key, check_device
from ._draw import checked_key, computed_in, real_tensor
from .continuous import normal


def multivariate_normal(
    key: Key,
    mean: Tensor,
    cov: Tensor,
    shape: Shape | None = None,
    dtype: torch.dtype | None = None,
    method: str = "cholesky",
) -> Tensor:
    """Multivariate normal, density proportional to exp(-(x - mean)^T cov^-1 (x - mean) / 2): mean + F z, F F^T = cov, z
    standard normal.

    Args:
        mean: ``(..., n)``.
        cov: ``(..., n, n)``, symmetric and positive definite; semidefinite with ``"svd"`` and ``"eigh"``.
        shape: the batch shape, which ``mean.shape[:-1]`` and ``cov.shape[:-2]`` broadcast to; by default what they
            broadcast to.
        dtype: by default what mean's and cov's dtypes promote to.
        method: how cov is factorised: ``"cholesky"``, ``"svd"`` or ``"eigh"``.

    Returns:
        ``B + shape + (n,)``, equal to JAX within the error of the factorisation. Differentiable in mean and cov.

    Raises:
        TypeError: no real tensors. ValueError: shapes that do not fit, an unknown method; with ``"cholesky"`` a cov
            that is not positive definite (numerically), with ``"svd"`` one that is not finite. ``"svd"`` and ``"eigh"``
            do not notice negative eigenvalues: ``"eigh"`` counts them as 0.

    On other devices than the CPU, ``"cholesky"`` does not look at its result: a cov that is not positive definite makes
    the draw NaN. ``"svd"`` and ``"eigh"`` do wait for the device there, inside of torch, and cannot be captured in a
    CUDA graph.
    """
    key = checked_key(key)
    _check.one_of("method", method, ("cholesky", "svd", "eigh"))
    for name, value, least in (("mean", mean, 1), ("cov", cov, 2)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a tensor, got {_check.describe(value)}")
        if value.dim() < least:
            raise ValueError(f"{name} must have at least {least} dimensions, got shape {tuple(value.shape)}")
        real_tensor(name, value)
        check_device(name, value, key)
    n = mean.shape[-1]
    if tuple(cov.shape[-2:]) != (n, n):
        raise ValueError(f"cov must end with ({n}, {n}), as mean ends with {n}, got shape {tuple(cov.shape)}")
    promoted = torch.promote_types(mean.dtype, cov.dtype)
    promoted = promoted if promoted in _check.FLOATS else torch.float32
    dtype = _check.dtype(dtype, promoted, _check.FLOATS)
    exact = torch.promote_types(computed_in(dtype), computed_in(promoted))
    batch = _check.common_shape("mean without its last axis", mean.shape[:-1], "covariances", cov.shape[:-2])
    size = tuple(batch) if shape is None else tuple(_check.sizes("shape", shape))
    _check.broadcasts("mean without its last axis", mean[..., 0] if n else mean.sum(-1), (*key.shape, *size))
    _check.broadcasts("cov without its last axes", cov[..., 0, 0] if n else cov.sum((-1, -2)), (*key.shape, *size))
    factor = _factor(cov.to(exact), method)
    z = normal(key, (*size, n), computed_in(dtype)).to(exact)
    return (mean.to(exact) + (factor @ z[..., None])[..., 0]).to(dtype)


def _factor(cov: Tensor, method: str) -> Tensor:
    """F with F F^T = cov."""
    lower: Tensor
    if method == "cholesky" and cov.device.type != "cpu":
        # A look at where it failed would make the device wait.
        lower, failed_at = torch.linalg.cholesky_ex(cov)
        return torch.where(failed_at[..., None, None] == 0, lower, math.nan)
    try:
        if method == "cholesky":
            lower = torch.linalg.cholesky(cov)
            return lower
        if method == "svd":
            vectors, values, _ = torch.linalg.svd(cov)
        else:
            values, vectors = torch.linalg.eigh(cov)
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        accepted = 'positive definite ("svd" and "eigh" take a singular one)' if method == "cholesky" else "finite"
        raise ValueError(f"cov must be {accepted} for method={method!r}: {error}") from None
    # A zero eigenvalue may come out slightly negative.
    factor: Tensor = vectors * values.clamp(min=0).sqrt()[..., None, :]
    return factor


def orthogonal(
    key: Key,
    n: int,
    shape: Shape = (),
    dtype: torch.dtype | None = None,
    m: int | None = None,
) -> Tensor:
    """Orthogonal matrices, uniformly distributed (Haar measure): Q of the QR factorisation of normal matrices, its
    columns' signs those of R's diagonal.

    Args:
        n: the number of rows.
        m: the number of columns; n by default.
        shape: of the batch of matrices.

    Returns:
        ``B + shape + (n, m)`` with orthonormal columns if n >= m, else orthonormal rows. Equal to JAX within the error
        of the factorisation. Half precision is computed in float32 and rounded.

    Raises:
        ValueError: a negative n or m.

    Source: Mezzadri, "How to generate random matrices from the classical compact groups" (Notices of the AMS 54,
    2007).
    """
    key = checked_key(key)
    rows = _check.integer("n", n)
    columns = rows if m is None else _check.integer("m", m)
    for name, value in (("n", rows), ("m", columns)):
        if value < 0:
            raise ValueError(f"{name} must not be negative, got {value}")
    dtype = _check.dtype(dtype, torch.float32, _check.FLOATS)
    size = _check.sizes("shape", shape)
    z = normal(key, (*size, max(rows, columns), min(rows, columns)), computed_in(dtype))
    q, r = torch.linalg.qr(z)
    q = torch.where(r.diagonal(dim1=-2, dim2=-1)[..., None, :] < 0, -q, q)
    return (q.mT if rows < columns else q).to(dtype)
