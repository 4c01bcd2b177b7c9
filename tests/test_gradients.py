"""Derivatives of draws in their parameters: against differences of the draw, against the CDF's, under torch's transforms.

Draws by inversion are smooth functions of their parameters at fixed words, and so their slopes are those of the draw
itself. Gamma draws are not, for a trial may be accepted at one concentration and rejected at the next; their slopes are those of
a quantile, which mpmath and scipy know.
"""

from __future__ import annotations

import functools
import math
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.checkpoint
from samplers import PARAMETRIC
from scipy import special, stats
from torch import Tensor

from torch_threefry import Key, random

KEY = random.key(2024)
F64 = torch.float64
INF = math.inf
# Of 30 digits, and independent of the package's: a function of alpha and log x.
REFERENCE = runpy.run_path(str(Path(__file__).with_name("data") / "make_gamma_slope.py"))

IMPLICIT = ("gamma", "loggamma", "beta", "chisquare", "f", "t", "generalized_normal")
PATHWISE = tuple(name for name in PARAMETRIC if name not in IMPLICIT)
PARAMETER_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def draw(name: str, key: Key, parameters: Sequence[Any], shape: Sequence[int], **kw: Any) -> Tensor:
    """A draw of that shape; double_sided_maxwell's goes before its parameters'."""
    dtype = kw.pop("dtype", F64)
    if name == "double_sided_maxwell":
        parameters = [p.expand(shape) if isinstance(p, Tensor) else p for p in parameters]
        shape = () if any(isinstance(p, Tensor) for p in parameters) else shape
    return getattr(random, name)(key, *parameters, shape=shape, dtype=dtype, **kw)


def full(shape: Sequence[int], *values: float, grad: bool = True, dtype: torch.dtype = F64) -> list[Tensor]:
    return [torch.full(tuple(shape), value, dtype=dtype, requires_grad=grad) for value in values]


def slopes(name: str, parameters: Sequence[float], n: int, key: Key = KEY) -> tuple[Tensor, tuple[Tensor, ...]]:
    """n draws and each one's derivative in each parameter."""
    tensors = full((n,), *parameters)
    x = draw(name, key, tensors, (n,))
    return x.detach(), torch.autograd.grad(x.sum(), tensors)


def weights(shape: Sequence[int]) -> Tensor:
    """A loss that is a weighted sum tells elements apart."""
    return torch.linspace(-1, 2, math.prod(shape), dtype=F64).reshape(tuple(shape))


# ---- Draws by inversion: differences of the draw ----

# Name, parameters, step of the differences.
INVERSIONS = [
    ("double_sided_maxwell", (1.0, 2.0), 1e-3),
    ("double_sided_maxwell", (-50.0, 0.01), 1e-5),
    ("pareto", (0.2,), 1e-4),
    ("pareto", (3.0,), 1e-3),
    ("pareto", (1000.0,), 1.0),
    ("rayleigh", (0.01,), 1e-5),
    ("rayleigh", (2.0,), 1e-3),
    ("weibull_min", (2.0, 1.5), 1e-3),
    ("weibull_min", (0.1, 0.3), 1e-4),
    ("weibull_min", (30.0, 40.0), 1e-2),
    ("lognormal", (0.7,), 1e-3),
    ("lognormal", (-2.0,), 1e-3),
    ("lognormal", (0.0,), 1e-3),
    ("triangular", (-1.0, 0.25, 2.0), 1e-4),
    ("triangular", (0.0, 0.01, 1.0), 1e-5),
    ("triangular", (-100.0, 99.0, 100.0), 1e-3),
    ("wald", (0.01,), 1e-5),
    ("wald", (2.0,), 1e-3),
    ("wald", (1e5,), 10.0),
    ("truncated_normal", (-1.0, 2.0), 1e-3),
    ("truncated_normal", (-INF, 0.5), 1e-3),
    ("truncated_normal", (-0.5, INF), 1e-3),
    ("truncated_normal", (-INF, INF), 1e-3),
    ("truncated_normal", (-100.0, 100.0), 1e-3),
    ("truncated_normal", (0.5, 0.501), 1e-6),
    ("truncated_normal", (1.5, 3.0), 1e-4),
    ("truncated_normal", (5.5, 1e6), 1e-4),
    ("truncated_normal", (5.5, INF), 1e-4),
    ("truncated_normal", (-INF, -8.0), 1e-4),
    ("truncated_normal", (-21.0, -20.0), 1e-4),
    ("truncated_normal", (30.0, 30.001), 1e-6),
]


def branch(name: str, x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Which formula a draw is from, where there are two: wald's roots, triangular's parabolas."""
    bound = {"wald": 0, "triangular": 1}.get(name)
    return torch.zeros_like(x, dtype=torch.bool) if bound is None else x <= parameters[bound]


@pytest.mark.parametrize(("name", "parameters", "step"), INVERSIONS)
def test_slopes_are_differences_of_the_draw(name: str, parameters: tuple[float, ...], step: float) -> None:
    """Differences of fourth order: with steps of 1e-3 of what the draw varies over, they are good to 1e-11."""
    n = 200
    x, found = slopes(name, parameters, n)
    at = full((n,), *parameters, grad=False)
    for i, value in enumerate(parameters):
        if math.isinf(value):
            assert torch.equal(found[i], torch.zeros(n, dtype=F64))
            continue
        moved = [[*at[:i], at[i] + j * step, *at[i + 1 :]] for j in (-2, -1, 1, 2)]
        y = [draw(name, KEY, p, (n,)) for p in moved]
        taken = branch(name, x, at)
        same = torch.stack([branch(name, z, p) == taken for z, p in zip(y, moved)]).all(0)
        assert same.sum() > 0.9 * n
        difference = (8 * (y[2] - y[1]) - (y[3] - y[0])) / (12 * step)
        atol = 1e-12 * float(x.abs().max()) / step
        torch.testing.assert_close(found[i][same], difference[same], rtol=1e-8, atol=min(atol, 1e-6))


@pytest.mark.parametrize("name", PATHWISE)
def test_gradcheck_in_both_modes(name: str, impl: str) -> None:
    key = random.key(21, impl=impl).split(2)
    parameters = full((4,), *PARAMETRIC[name])
    options = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    for window in (None, ((0, 2), (1, 4))):

        def f(*p: Tensor, window: Any = window) -> Tensor:
            return draw(name, key, p, (3, 4), window=window)

        assert torch.autograd.gradcheck(f, parameters, **options)


# ---- Gamma draws: the derivative at a fixed quantile ----


def reference_slope(alpha: Any, log_x: Tensor) -> Tensor:
    """d log x / d alpha of gamma draws."""
    a, x = np.broadcast_arrays(np.asarray(alpha, np.float64), log_x.numpy())
    flat = [float(REFERENCE["reference"](float(b), float(y))) for b, y in zip(a.ravel(), x.ravel())]
    return torch.tensor(flat, dtype=F64).reshape(x.shape)


ALPHAS = (1e-4, 1e-3, 0.03, 0.3, 0.99, 1.0, 2.5, 23.0, 25.0, 300.0, 1e4)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_slopes_of_gamma_draws(alpha: float) -> None:
    """The slope's own error is up to 5e-14, exp's argument's that of the logarithm."""
    n = 12
    log_x, (log_slope,) = slopes("loggamma", (alpha,), n)
    x, (slope,) = slopes("gamma", (alpha,), n)
    expected = reference_slope(alpha, log_x)
    torch.testing.assert_close(log_slope, expected, rtol=1e-13, atol=0)
    torch.testing.assert_close(slope, x * expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_slopes_of_float32_gamma_draws(alpha: float) -> None:
    """The slope of the float32 logarithm is right to float32's rounding."""
    eps = torch.finfo(torch.float32).eps
    (a,) = full((12,), alpha, dtype=torch.float32)
    log_x = random.loggamma(KEY, a)
    (log_slope,) = torch.autograd.grad(log_x.sum(), a)
    expected = reference_slope(float(a[0]), log_x.detach().double())
    torch.testing.assert_close(log_slope.double(), expected, rtol=2 * eps, atol=0)
    x = random.gamma(KEY, a)
    (slope,) = torch.autograd.grad(x.sum(), a)
    # exp turns its argument's absolute error into a relative one; below the smallest normal number digits are lost.
    rtol = 4 * eps * (1 + log_x.detach().abs().clamp(max=90).double())
    error = (slope.double() - x.detach().double() * expected).abs()
    assert (error <= rtol * x.detach().double() * expected + 1e-37 * expected).all()


LAWS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "gamma": (stats.gamma, (0.3, 2.5, 40.0)),
    "chisquare": (stats.chi2, (0.5, 3.0, 100.0)),
    "generalized_normal": (stats.gennorm, (0.4, 1.0, 2.0, 9.0)),
}


@pytest.mark.parametrize(("name", "value"), [(name, v) for name, (_, values) in LAWS.items() for v in values])
def test_slopes_are_those_of_scipys_distribution_function(name: str, value: float) -> None:
    """-(dF / dtheta) / (dF / dx). Differences of fourth order of a CDF with an error of 1e-15 are good to some 1e-11."""
    law = LAWS[name][0]
    x, (slope,) = slopes(name, (value,), 100)
    points = x.numpy()
    within = (law.cdf(points, value) > 0.01) & (law.cdf(points, value) < 0.99)
    h = 1e-3 * value
    f = [law.cdf(points, value + j * h) for j in (-2, -1, 1, 2)]
    in_theta = (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h)
    expected = -in_theta / law.pdf(points, value)
    np.testing.assert_allclose(slope.numpy()[within], expected[within], rtol=1e-8, atol=1e-10 * np.abs(points).max())
    assert within.sum() > 80


def parts(key: Key, *concentrations: float, n: int) -> list[tuple[Tensor, Tensor]]:
    """Log-gamma draws from a key's children and their slopes."""
    drawn = [random.loggamma(k, a, (n,), F64) for k, a in zip(key.split(), concentrations)]
    return [(x, reference_slope(a, x)) for x, a in zip(drawn, concentrations)]


def assert_slopes(name: str, parameters: Sequence[float], x: Tensor, expected: Sequence[Tensor]) -> None:
    """The rounding of logarithms as large as a hundred makes 1e-13 of their exp."""
    drawn, found = slopes(name, parameters, len(x))
    torch.testing.assert_close(drawn, x, rtol=1e-12, atol=1e-300)
    for slope, one in zip(found, expected):
        torch.testing.assert_close(slope, one, rtol=1e-11, atol=1e-13 * float(one.abs().max()))


@pytest.mark.parametrize(("a", "b"), [(0.7, 2.0), (0.05, 0.1), (100.0, 3.0), (1.0, 1.0)])
def test_slopes_of_beta_draws(a: float, b: float) -> None:
    (first, in_a), (second, in_b) = parts(KEY, a, b, n=20)
    x, rest = torch.sigmoid(first - second), torch.sigmoid(second - first)
    assert_slopes("beta", (a, b), x, (x * rest * in_a, -x * rest * in_b))


@pytest.mark.parametrize(("dfnum", "dfden"), [(3.0, 5.0), (0.4, 1.0), (200.0, 30.0)])
def test_slopes_of_f_draws(dfnum: float, dfden: float) -> None:
    (under, in_under), (over, in_over) = parts(KEY, dfden / 2, dfnum / 2, n=20)
    x = (over - under).exp() * dfden / dfnum
    assert_slopes("f", (dfnum, dfden), x, (x * (in_over / 2 - 1 / dfnum), x * (1 / dfden - in_under / 2)))


@pytest.mark.parametrize("df", [0.3, 1.0, 4.0, 150.0])
def test_slopes_of_t_draws(df: float) -> None:
    normal, (_, (log_gamma, slope)) = random.normal(KEY.split()[0], (20,), F64), parts(KEY, 1.0, df / 2, n=20)
    x = normal * (math.log(df / 2) - log_gamma).div(2).exp()
    assert_slopes("t", (df,), x, (x * (1 / df - slope / 2) / 2,))


@pytest.mark.parametrize("alpha", [(0.5, 1.0, 2.0), (0.01, 0.01, 0.02), (30.0, 0.1, 400.0)])
def test_slopes_of_dirichlet_rows(alpha: tuple[float, ...]) -> None:
    n, k = 5, len(alpha)
    concentrations = torch.tensor(alpha, dtype=F64)
    log_gammas = random.loggamma(KEY, concentrations, (n, k), F64)
    slope = reference_slope(alpha, log_gammas)
    x = torch.softmax(log_gammas, -1)
    jacobian = (torch.diag_embed(x) - x[..., :, None] * x[..., None, :]) * slope[..., None, :]
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        found = transform(lambda a: random.dirichlet(KEY, a, (n,), F64))(concentrations)
        torch.testing.assert_close(found, jacobian, rtol=1e-11, atol=1e-13 * float(jacobian.abs().max()))
        # Rows sum to 1 whatever the concentrations; 1 - x is rounded to 1e-16.
        assert (found.sum(-2).abs() <= 4e-16 * k * x * slope).all()


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 7.0])
def test_slopes_of_points_of_a_ball(p: float) -> None:
    n, d = 5, 3
    inner, outer = KEY.split()
    log_gammas = random.loggamma(inner.split()[0], 1 / p, (n, d), F64)
    log_slope = -reference_slope(1 / p, log_gammas) / p**2
    log_sum = (log_gammas.exp().sum(-1, keepdim=True) + random.exponential(outer, (n, 1), F64)).log()
    sum_slope = ((log_gammas - log_sum).exp() * log_slope).sum(-1, keepdim=True)
    found, slope = torch.func.jvp(
        lambda q: random.ball(KEY, d, q, (n,), F64), tuple(full((), p, grad=False)), (torch.ones((), dtype=F64),)
    )
    torch.testing.assert_close(found.abs(), ((log_gammas - log_sum) / p).exp(), rtol=1e-12, atol=0)
    expected = found * ((log_slope - sum_slope) / p - (log_gammas - log_sum) / p**2)
    torch.testing.assert_close(slope, expected, rtol=1e-11, atol=1e-13)
    norm = torch.full((), p, dtype=F64, requires_grad=True)
    (total,) = torch.autograd.grad((random.ball(KEY, d, norm, (n,), F64) * weights((n, d))).sum(), norm)
    torch.testing.assert_close(total, (expected * weights((n, d))).sum(), rtol=1e-11, atol=1e-13)


def _mean_logarithms() -> list[Any]:
    psi, psi1 = special.digamma, lambda x: special.polygamma(1, x)
    return [
        ("gamma", (0.4,), (psi1(0.4),)),
        ("chisquare", (5.0,), (psi1(2.5) / 2,)),
        ("beta", (0.7, 2.0), (psi1(0.7) - psi1(2.7), -psi1(2.7))),
        ("f", (3.0, 5.0), (psi1(1.5) / 2 - 1 / 3, 1 / 5 - psi1(2.5) / 2)),
        ("t", (4.0,), (1 / 8 - psi1(2.0) / 4,)),
        ("generalized_normal", (3.0,), (-psi(1 / 3) / 9 - psi1(1 / 3) / 27,)),
        ("pareto", (3.0,), (-1 / 9,)),
        ("rayleigh", (2.0,), (1 / 2,)),
        ("weibull_min", (2.0, 1.5), (1 / 2, -psi(1.0) / 1.5**2)),
        ("lognormal", (0.7,), (0.0,)),
    ]


@pytest.mark.parametrize(("name", "parameters", "expected"), _mean_logarithms())
def test_mean_slopes_are_slopes_of_the_mean(name: str, parameters: Any, expected: tuple[float, ...]) -> None:
    """Of log|x|, whose mean has a closed form; within 5 standard errors."""
    n = 20_000
    x, found = slopes(name, parameters, n)
    for slope, mean in zip(found, expected):
        log_slope = slope / x
        error = float(log_slope.std()) / math.sqrt(n)
        assert abs(float(log_slope.mean()) - mean) <= 5 * error + 1e-12


# ---- Multivariate normal ----


@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_gradcheck_of_multivariate_normal(method: str, impl: str) -> None:
    """In the mean and in a factor of the covariance, which is to be symmetric."""
    key = random.key(22, impl=impl).split(2)
    mean = weights((2, 3)).requires_grad_()
    root = (torch.diag(torch.tensor([1.0, 2.0, 3.0], dtype=F64)) + 0.1 * weights((3, 3))).requires_grad_()

    def f(m: Tensor, r: Tensor) -> Tensor:
        return random.multivariate_normal(key, m, r @ r.mT, (2,), method=method)

    assert torch.autograd.gradcheck(f, (mean, root), check_forward_ad=True)


@pytest.mark.parametrize("dtype", PARAMETER_DTYPES)
def test_multivariate_normal_of_independent_numbers(dtype: torch.dtype) -> None:
    """x = mean + sqrt(variance) z."""
    mean, variance = torch.ones(3, dtype=dtype, requires_grad=True), torch.tensor([1.0, 4.0, 0.25], dtype=dtype)
    variance.requires_grad_()
    x = random.multivariate_normal(KEY, mean, torch.diag(variance), (4,))
    in_mean, in_variance = torch.autograd.grad(x.sum(), (mean, variance))
    assert in_mean.dtype == in_variance.dtype == dtype and (in_mean == 4).all()
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    z = random.normal(KEY, (4, 3), exact)
    expected = (z.sum(0) / (2 * variance.detach().to(exact).sqrt())).to(dtype)
    torch.testing.assert_close(in_variance, expected)


# ---- Shapes ----


def _all() -> list[Any]:
    cases: list[tuple[str, Callable[..., Tensor], tuple[float, ...]]] = [
        (name, lambda key, *p, name=name, **kw: draw(name, key, p, (3, 4), **kw), values)
        for name, values in PARAMETRIC.items()
    ]
    cases.append(
        ("truncated_normal-tail", lambda k, *p, **kw: draw("truncated_normal", k, p, (3, 4), **kw), (5.5, 7.0))
    )

    def ball(key: Key, p: Tensor, dtype: torch.dtype = F64, **kw: Any) -> Tensor:
        return random.ball(key, 2, p, (3, 4), dtype, **kw)

    def dirichlet(key: Key, a: Tensor, b: Tensor, dtype: torch.dtype = F64, **kw: Any) -> Tensor:
        rows = torch.stack([p.expand(3, 4) for p in (a, b, torch.ones_like(a))], -1)
        return random.dirichlet(key, rows, (3, 4), dtype, **kw)

    cases += [("ball", ball, (2.5,)), ("dirichlet", dirichlet, (0.5, 2.0))]
    return [pytest.param(f, values, id=name) for name, f, values in cases]


ALL = _all()
Sampler = Callable[..., Tensor]


@pytest.mark.parametrize(("f", "values"), ALL)
def test_a_broadcast_parameters_gradient_is_a_sum(f: Sampler, values: tuple[float, ...], impl: str) -> None:
    keys = random.key(23, impl=impl).split(2)
    shapes = ((3, 1), (4,), ())
    small = [torch.linspace(v, v + 0.1, math.prod(s), dtype=F64).reshape(s) for v, s in zip(values, shapes)]
    for p in small:
        p.requires_grad_()
    wide = [p.detach().expand(3, 4).clone().requires_grad_() for p in small]
    x, y = f(keys, *small), f(keys, *wide)
    assert torch.equal(x, y) and x.shape[:3] == (2, 3, 4)
    found = torch.autograd.grad((x * weights(x.shape)).sum(), small)
    expected = torch.autograd.grad((y * weights(y.shape)).sum(), wide)
    for one, p, sums in zip(found, small, expected):
        torch.testing.assert_close(one, sums.sum_to_size(p.shape), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("f", "values"), ALL)
def test_a_windows_gradient_is_that_of_its_elements(f: Sampler, values: tuple[float, ...], impl: str) -> None:
    keys = random.key(24, impl=impl).split(2)
    parameters = full((3, 4), *values)
    whole = f(keys, *parameters)[:, 1:3, 0:3]
    part = f(keys, *parameters, window=((1, 3), (0, 3)))
    assert torch.equal(part, whole)
    expected = torch.autograd.grad((whole * weights(whole.shape)).sum(), parameters)
    found = torch.autograd.grad((part * weights(part.shape)).sum(), parameters)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)
        assert (a[0] == 0).all() and (a[:, 3] == 0).all()


# ---- Dtypes ----


@pytest.mark.parametrize(("f", "values"), ALL)
def test_a_gradient_has_its_parameters_dtype(f: Sampler, values: tuple[float, ...]) -> None:
    """It is the gradient in the type that the draw is computed in, rounded."""
    values = tuple(round(v * 8) / 8 for v in values)  # the same number in all dtypes
    for drawn in PARAMETER_DTYPES:
        exact = torch.float64 if drawn == torch.float64 else torch.float32
        wide = full((3, 4), *values, dtype=exact)
        expected = torch.autograd.grad(f(KEY, *wide, dtype=drawn).sum(), wide)
        for dtype in PARAMETER_DTYPES:
            parameters = full((3, 4), *values, dtype=dtype)
            x = f(KEY, *parameters, dtype=drawn)
            assert x.dtype == drawn
            found = torch.autograd.grad(x.sum(), parameters)
            for a, b in zip(found, expected):
                assert a.dtype == dtype and torch.equal(a, b.to(dtype)) and a.isfinite().all()


@pytest.mark.parametrize(("f", "values"), ALL)
def test_forward_mode_has_the_draws_dtype(f: Sampler, values: tuple[float, ...]) -> None:
    for dtype in PARAMETER_DTYPES:
        p = tuple(full((3, 4), *values, grad=False, dtype=dtype))
        x, tangent = torch.func.jvp(functools.partial(f, KEY, dtype=dtype), p, tuple(torch.ones_like(q) for q in p))
        assert x.dtype == tangent.dtype == dtype and tangent.isfinite().all()
        assert torch.equal(x, f(KEY, *p, dtype=dtype))


def test_integer_parameters_are_constants() -> None:
    a, b = torch.tensor([1, 2, 3]), torch.tensor([2.0, 2.0, 2.0], requires_grad=True)
    x = random.beta(KEY, a, b)
    (found,) = torch.autograd.grad(x.sum(), b)
    (expected,) = torch.autograd.grad(random.beta(KEY, a.float(), b).sum(), b)
    assert torch.equal(found, expected) and torch.equal(x.detach(), random.beta(KEY, a.float(), b.detach()))
    _, tangent = torch.func.jvp(lambda q: random.beta(KEY, a, q), (b.detach(),), (torch.ones(3),))
    torch.testing.assert_close(tangent, found)
    for name in (*PATHWISE, *IMPLICIT):
        values = (1, 2, 4) if name == "triangular" else (1, 2)
        integers = [torch.tensor(v) for v in values[: len(PARAMETRIC[name])]]
        numbers = [torch.tensor(float(v)) for v in integers]
        x = draw(name, KEY, integers, (5,), dtype=torch.float32)
        assert not x.requires_grad and torch.equal(x, draw(name, KEY, numbers, (5,), dtype=torch.float32))


# ---- At the ends of the domain ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dirichlet_gradient_at_a_tiny_concentration(dtype: torch.dtype, impl: str) -> None:
    for others in ((2.46e-37, 2.46e-37), (1.0, 2.0)):
        alpha = torch.tensor([2.46e-37, *others], dtype=dtype, requires_grad=True)
        x = random.dirichlet(random.key(0, impl=impl), alpha, (50,), dtype)
        (found,) = torch.autograd.grad((x * weights((50, 3)).to(dtype)).sum(), alpha)
        assert found.isfinite().all()
        torch.testing.assert_close(x.sum(-1), torch.ones(50, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_at_concentration_zero(dtype: torch.dtype) -> None:
    key = random.wrap_key_data(torch.tensor([1057748167, 1356978999], dtype=torch.int64).to(torch.uint32))
    zero = torch.zeros(4, dtype=dtype, requires_grad=True)
    x = random.loggamma(key, zero, dtype=dtype)
    (slope,) = torch.autograd.grad(x.sum(), zero)
    assert (x == -INF).all() and not slope.isnan().any() and (slope > 0).all()
    (slope,) = torch.autograd.grad(random.gamma(key, zero, dtype=dtype).sum(), zero)
    assert not slope.isnan().any()
    rows = torch.tensor([0.0, 1.0, 2.0], dtype=dtype, requires_grad=True)
    (slope,) = torch.autograd.grad((random.dirichlet(key, rows, dtype=dtype) * torch.arange(3)).sum(), rows)
    assert slope.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weibull_slopes_are_finite(dtype: torch.dtype) -> None:
    """An exponential draw may be 0, and with it the logarithm that the slope has is -inf."""
    scale, concentration = full((), 2.0, 1.5, dtype=dtype)
    x = random.weibull_min(KEY, scale, concentration, (1 << 20,), dtype)
    found = torch.autograd.grad(x.sum(), (scale, concentration))
    assert all(g.isfinite() for g in found)


# ---- Transforms ----


def loss(f: Sampler, key: Key, *parameters: Tensor) -> Tensor:
    x = f(key, *parameters)
    return (x.sin() * weights(x.shape)).sum()


@pytest.mark.parametrize(("f", "values"), ALL)
def test_functional_gradients_are_autograds(f: Sampler, values: tuple[float, ...]) -> None:
    parameters = full((3, 4), *values)
    numbers = tuple(range(len(values)))
    expected = torch.autograd.grad(loss(f, KEY, *parameters), parameters)
    fixed = [p.detach() for p in parameters]
    found = torch.func.grad(lambda *p: loss(f, KEY, *p), argnums=numbers)(*fixed)
    _, pulled = torch.func.vjp(lambda *p: loss(f, KEY, *p), *fixed)
    forward = torch.func.jacfwd(lambda *p: loss(f, KEY, *p), argnums=numbers)(*fixed)
    for a, b, c, d in zip(found, pulled(torch.ones((), dtype=F64)), forward, expected):
        assert torch.equal(a, d) and torch.equal(b, d)
        torch.testing.assert_close(c, d, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("f", "values"), ALL)
def test_mapped_gradients_are_a_loop(f: Sampler, values: tuple[float, ...], impl: str) -> None:
    keys = random.key(25, impl=impl).split(2)
    factors = torch.tensor([1.0, 1.05, 1.1], dtype=F64)
    parameters = [v * factors for v in values]
    numbers = tuple(range(1, 1 + len(values)))
    gradient = torch.func.grad(lambda k, *p: loss(f, k, *p), argnums=numbers)
    over_parameters = torch.vmap(gradient, in_dims=(None, *(0 for _ in values)))
    nested = torch.vmap(over_parameters, in_dims=(0, *(None for _ in values)))(keys, *parameters)
    paired = torch.vmap(gradient)(keys, *(p[:2] for p in parameters))
    swapped = torch.vmap(
        torch.vmap(gradient, in_dims=(0, *(None for _ in values))), in_dims=(None, *(0 for _ in values))
    )(keys, *parameters)
    for i in range(2):
        for j in range(3):
            for number, one in enumerate(gradient(keys[i], *(p[j] for p in parameters))):
                torch.testing.assert_close(nested[number][i, j], one, rtol=1e-12, atol=1e-12)
                torch.testing.assert_close(swapped[number][j, i], one, rtol=1e-12, atol=1e-12)
                if i == j:
                    torch.testing.assert_close(paired[number][i], one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("f", "values"), ALL)
def test_gradients_of_a_mapped_draw(f: Sampler, values: tuple[float, ...]) -> None:
    """The transforms in the other order: derivatives of a draw that vmap makes."""
    keys = KEY.split(2)
    parameters = tuple(v * torch.tensor([1.0, 1.05], dtype=F64) for v in values)
    direction = tuple(torch.ones_like(p) for p in parameters)
    mapped = torch.vmap(lambda k, *p: f(k, *p))

    def loop(*p: Tensor) -> Tensor:
        return torch.stack([f(keys[i], *(q[i] for q in p)) for i in range(2)])

    expected, pulled = torch.func.vjp(loop, *parameters)
    x, pull = torch.func.vjp(lambda *p: mapped(keys, *p), *parameters)
    assert torch.equal(x, expected)
    for a, b in zip(pull(weights(x.shape)), pulled(weights(x.shape))):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    _, tangent = torch.func.jvp(lambda *p: mapped(keys, *p), parameters, direction)
    _, expected = torch.func.jvp(loop, parameters, direction)
    torch.testing.assert_close(tangent, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["gamma", "wald", "beta"])
def test_gradients_under_checkpointing(name: str) -> None:
    def f(*p: Tensor) -> Tensor:
        return draw(name, KEY, p, (6,)).square().sum()

    parameters = full((6,), *PARAMETRIC[name])
    expected = torch.autograd.grad(f(*parameters), parameters)
    for reentrant in (True, False):
        for p in parameters:
            p.grad = None
        torch.utils.checkpoint.checkpoint(f, *parameters, use_reentrant=reentrant).backward()
        assert all(torch.equal(p.grad, one) for p, one in zip(parameters, expected))


# ---- torch.compile ----

# Without code generation, which takes tens of seconds for all samplers: their part is the tracing.
TRACED = "aot_eager"


def compiled(f: Any, backend: str = TRACED) -> Any:
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, backend=backend)


@pytest.mark.parametrize(
    ("names", "backend"),
    [
        pytest.param(PATHWISE, TRACED, id="pathwise"),
        pytest.param(IMPLICIT, TRACED, id="implicit"),
        pytest.param(("beta",), "inductor", id="inductor"),
    ],
)
def test_compiled_gradients_are_eager_ones(names: Sequence[str], backend: str) -> None:
    samplers = [(p.values[0], p.values[1]) for p in ALL if p.id in names]
    assert len(samplers) == len(names)
    parameters = [full((4,), *values) for _, values in samplers]
    flat = [p for ps in parameters for p in ps]

    def f(key: Key, parameters: list[list[Tensor]]) -> Tensor:
        return sum(loss(s, key, *p) for (s, _), p in zip(samplers, parameters))

    value, expected_value = compiled(f, backend)(KEY, parameters), f(KEY, parameters)
    torch.testing.assert_close(value, expected_value, rtol=1e-12, atol=0)
    for a, b in zip(torch.autograd.grad(value, flat), torch.autograd.grad(expected_value, flat)):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("transform", ["grad", "vmap of grad", "grad of vmap", "jacfwd"])
@pytest.mark.parametrize("names", [("pareto",), ("truncated_normal",), ("gamma",), ("ball", "t")], ids="-".join)
def test_compiled_transforms_are_eager_ones(transform: str, names: Sequence[str]) -> None:
    samplers = [(p.values[0], p.values[1]) for p in ALL if p.id in names]

    def value(key: Key, factor: Tensor) -> Tensor:
        return sum(loss(s, key, *(v * factor for v in values)) for s, values in samplers)

    def grad_of_vmap(keys: Key, factors: Tensor) -> Tensor:
        return torch.func.grad(lambda x: torch.vmap(value)(keys, x).sum())(factors)

    f, mapped = {
        "grad": (torch.func.grad(value, argnums=1), False),
        "vmap of grad": (torch.vmap(torch.func.grad(value, argnums=1)), True),
        "grad of vmap": (grad_of_vmap, True),
        "jacfwd": (torch.func.jacfwd(value, argnums=1), False),
    }[transform]
    key = KEY.split(2) if mapped else KEY
    factor = torch.full((2, 4) if mapped else (4,), 1.1, dtype=F64)
    expected = f(key, factor)
    assert expected.abs().min() > 0
    torch.testing.assert_close(compiled(lambda k, x: f(k, x))(key, factor), expected, rtol=1e-11, atol=1e-12)


# ---- Second derivatives ----


@pytest.mark.parametrize("name", PATHWISE)
def test_second_derivatives(name: str) -> None:
    parameters = full((4,), *PARAMETRIC[name])

    def f(*p: Tensor) -> Tensor:
        return draw(name, KEY, p, (3, 4)).sin()

    assert torch.autograd.gradgradcheck(f, parameters, check_fwd_over_rev=True)
    fixed = [p.detach() for p in parameters]
    numbers = tuple(range(len(fixed)))
    reverse = torch.func.jacrev(torch.func.jacrev(f, argnums=numbers), argnums=numbers)(*fixed)
    mixed = torch.func.jacrev(torch.func.jacfwd(f, argnums=numbers), argnums=numbers)(*fixed)
    hessian = torch.func.hessian(f, argnums=numbers)(*fixed)
    for rows in zip(reverse, mixed, hessian):
        for a, b, c in zip(*rows):
            torch.testing.assert_close(b, a, rtol=1e-11, atol=1e-12)
            torch.testing.assert_close(c, a, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "parameters", "step"),
    [
        ("pareto", (3.0,), 1e-3),
        ("lognormal", (0.7,), 1e-3),
        ("weibull_min", (2.0, 1.5), 1e-3),
        ("triangular", (-1.0, 0.25, 2.0), 1e-4),
        ("truncated_normal", (-1.0, 2.0), 1e-3),
        ("truncated_normal", (5.5, 7.0), 1e-4),
        ("wald", (2.0,), 1e-3),
    ],
)
def test_second_derivatives_are_differences_of_the_slopes(
    name: str, parameters: tuple[float, ...], step: float
) -> None:
    n = 100
    at = full((n,), *parameters)

    def first(p: list[Tensor]) -> tuple[Tensor, ...]:
        return torch.autograd.grad(draw(name, KEY, p, (n,)).sum(), p, create_graph=True)

    x = draw(name, KEY, at, (n,)).detach()
    for i in range(len(parameters)):
        moved = [[*at[:i], (at[i] + j * step).detach().requires_grad_(), *at[i + 1 :]] for j in (-2, -1, 1, 2)]
        y = [[s.detach() for s in first(p)] for p in moved]
        taken = [branch(name, draw(name, KEY, p, (n,)).detach(), p) == branch(name, x, at) for p in moved]
        same = torch.stack(taken).all(0)
        assert same.sum() > 0.9 * n
        for k, slope in enumerate(first(at)):
            (found,) = torch.autograd.grad(slope.sum(), at[i], retain_graph=True, allow_unused=True)
            found = torch.zeros(n, dtype=F64) if found is None else found
            difference = (8 * (y[2][k] - y[1][k]) - (y[3][k] - y[0][k])) / (12 * step)
            torch.testing.assert_close(found[same], difference[same], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("f", "values"), [p for p in ALL if p.id in (*IMPLICIT, "ball", "dirichlet")])
def test_gamma_draws_refuse_second_derivatives(f: Sampler, values: tuple[float, ...]) -> None:
    parameters = full((4,), *values)
    first = torch.autograd.grad(loss(f, KEY, *parameters), parameters, create_graph=True)
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        torch.autograd.grad(sum(g.sum() for g in first), parameters)
    fixed = [p.detach() for p in parameters]
    numbers = tuple(range(len(fixed)))
    with pytest.raises(NotImplementedError):
        torch.func.hessian(lambda *p: loss(f, KEY, *p), argnums=numbers)(*fixed)


@pytest.mark.parametrize("name", ["pareto", "gamma"])
def test_compiled_second_derivatives_are_refused(name: str) -> None:
    def size(p: Tensor) -> Tensor:
        """Of the gradient, as it is penalised in some losses."""
        return torch.func.grad(lambda q: draw(name, KEY, (q,), (4,)).sin().sum())(p).square().sum()

    with pytest.raises(Exception, match="first derivatives only"):  # torch wraps what is raised while it traces
        compiled(torch.func.grad(size))(torch.full((4,), 3.0, dtype=F64))


def test_compiled_second_derivatives_of_a_linear_draw() -> None:
    def slope(p: Tensor) -> Tensor:
        return torch.func.grad(lambda q: draw("rayleigh", KEY, (q,), (4,)).sin().sum())(p)

    p = torch.full((4,), 3.0, dtype=F64)
    second = torch.func.grad(lambda q: slope(q).square().sum())
    torch.testing.assert_close(compiled(lambda q: second(q))(p), second(p), rtol=1e-11, atol=1e-12)


def test_nested_forward_mode_is_refused() -> None:
    p = torch.full((4,), 3.0)
    inner = torch.func.jacfwd(lambda q: random.pareto(KEY, q))
    assert inner(p).shape == (4, 4)
    with pytest.raises(NotImplementedError, match="pareto .* nested forward-mode"):
        torch.func.jacfwd(inner)(p)
    torch.func.hessian(lambda q: random.pareto(KEY, q).sum())(p)
