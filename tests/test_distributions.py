"""The samplers with parameters against their laws, over the whole range of the parameters, on fixed keys.

The p-values are judged as in test_statistics.py. A float32 draw cannot resolve all of a law: where much of it lies
beyond the type's range, or in steps that show, the parameter comes with the least chance that is still resolved.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from scipy import special, stats
from test_headers import CXX, FLAGS, run
from test_statistics import HALVES, IMPLS, LEAST, binomial, chi_square, counts, each_impl, normal_p, plausible
from torch import Tensor

from torch_threefry import random

MANY = {torch.float32: 10**6, torch.float64: 2**18}
INF = math.inf
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
each_float = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


# --- laws that scipy has not, or not fast enough


@dataclass(frozen=True)
class Truncated:
    """The standard normal between two bounds, by the tail that is nearer."""

    low: float
    high: float

    def cdf(self, x: np.ndarray) -> np.ndarray:
        if self.low > 0:
            return (special.ndtr(-self.low) - special.ndtr(-x)) / (special.ndtr(-self.low) - special.ndtr(-self.high))
        return (special.ndtr(x) - special.ndtr(self.low)) / (special.ndtr(self.high) - special.ndtr(self.low))

    def stats(self, moments: str) -> Any:
        return stats.truncnorm(self.low, self.high).stats(moments)


@dataclass(frozen=True)
class DoubleSidedMaxwell:
    loc: float
    scale: float

    def cdf(self, x: np.ndarray) -> np.ndarray:
        z = (x - self.loc) / self.scale
        return 0.5 + 0.5 * np.sign(z) * stats.maxwell.cdf(np.abs(z))

    def stats(self, moments: str) -> Any:
        assert moments == "mvk"
        return self.loc, 3 * self.scale**2, 15 / 9 - 3


@dataclass(frozen=True)
class Flat:
    """What a uniform draw is, as values in [0, 1] for which scipy is not needed."""

    def cdf(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, 0, 1)

    def stats(self, moments: str) -> Any:
        assert moments == "mvk"
        return 0.5, 1 / 12, -1.2


# --- continuous


def edges_above(least: float) -> np.ndarray:
    """Chances whose cells tell the tails from the least on."""
    tails = np.array([t for t in (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3) if t >= least])
    return np.concatenate([tails, [0.5], 1 - tails[::-1]])


RANKS = 2**16


def kolmogorov_smirnov(ordered: np.ndarray, law: Any) -> float:
    """The p-value of the distance, taken at up to 2^16 of the order statistics."""
    n = ordered.size
    at = np.unique(np.linspace(0, n - 1, min(n, RANKS)).astype(np.int64))
    cdf = law.cdf(ordered[at].astype(np.float64))
    distance = max(((at + 1) / n - cdf).max(), (cdf - at / n).max())
    if n < 10_000:
        return float(stats.kstwo.sf(distance, n))
    return float(special.kolmogorov((math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance))  # Stephens


def cell_counts(ordered: np.ndarray, law: Any, edges: np.ndarray) -> np.ndarray:
    """How many values lie between the law's quantiles, found by bisection of the CDF over the order statistics."""
    low, high = np.zeros(len(edges), np.int64), np.full(len(edges), ordered.size)
    while (low < high).any():
        middle = (low + high) // 2
        above = law.cdf(ordered[np.minimum(middle, ordered.size - 1)].astype(np.float64)) > edges
        done = low >= high
        low, high = np.where(done | above, low, middle + 1), np.where(done | ~above, high, middle)
    return np.diff(low, prepend=0, append=ordered.size)


def assert_law(values: np.ndarray, law: Any, reach: float = 1e-5) -> None:
    """Kolmogorov and Smirnov's distance; the tails, which it hardly sees; mean and variance."""
    assert not np.isnan(values).any()
    ordered = np.sort(values)
    edges = edges_above(max(reach, 20 / values.size))
    cells = cell_counts(ordered, law, edges)
    p = chi_square(cells, np.diff(edges, prepend=0.0, append=1.0))
    if not plausible(p):
        pytest.fail(f"tails: {cells} for {np.diff(edges, prepend=0.0, append=1.0) * values.size}, p = {p}")
    if reach > 1e-3:
        return
    p = kolmogorov_smirnov(ordered, law)
    assert plausible(p), f"Kolmogorov and Smirnov: p = {p}"
    if np.isfinite(ordered[[0, -1]]).all():
        assert_moments(values.astype(np.float64), *(float(m) for m in law.stats("mvk")))


def assert_moments(values: np.ndarray, mean: float, variance: float, excess: float) -> None:
    """Where the law's tails are light enough for the sample's moments to be about normal."""
    if not (math.isfinite(excess) and excess < 50):
        return
    p = normal_p((values.mean() - mean) / math.sqrt(variance / values.size))
    assert p > LEAST, f"mean {values.mean()} for {mean}, p = {p}"
    spread = ((values - mean) ** 2).mean()
    p = normal_p((spread / variance - 1) / math.sqrt((excess + 2) / values.size))
    assert p > LEAST, f"variance {spread} for {variance}, p = {p}"


@dataclass(frozen=True)
class Continuous:
    name: str
    arguments: tuple[float, ...]
    law: Any
    reach: float = 1e-4  # in float32


def triangle(left: float, mode: float, right: float) -> Continuous:
    law = stats.triang((mode - left) / (right - left), loc=left, scale=right - left)
    return Continuous("triangular", (left, mode, right), law)


CONTINUOUS = [
    Continuous("cauchy", (), stats.cauchy(), 1e-5),
    Continuous("maxwell", (), stats.maxwell(), 1e-5),
    Continuous("double_sided_maxwell", (0.0, 1.0), DoubleSidedMaxwell(0, 1), 1e-5),
    Continuous("double_sided_maxwell", (-3.0, 20.0), DoubleSidedMaxwell(-3, 20), 1e-5),
    *[Continuous("truncated_normal", (a, b), Truncated(a, b)) for a, b in ((-1.0, 1.0), (-2.0, 2.0), (-0.5, 3.0))],
    *[Continuous("truncated_normal", (a, b), Truncated(a, b)) for a, b in ((0.9, 1.1), (-1.1, -0.9), (-INF, 0.3))],
    *[Continuous("truncated_normal", (a, b), Truncated(a, b)) for a, b in ((-INF, INF), (0.999, 6.0), (1.001, 6.0))],
    *[Continuous("truncated_normal", (a, b), Truncated(a, b)) for a, b in ((2.0, INF), (5.5, INF), (1.5, 1.6))],
    Continuous("truncated_normal", (30.0, 31.0), Truncated(30, 31), 1e-2),
    Continuous("truncated_normal", (-INF, -6.0), Truncated(-INF, -6)),
    *[Continuous("gamma", (a,), stats.gamma(a)) for a in (2.5, 0.2, 0.5, 0.99, 1.0, 7.0, 30.0, 1000.0, 1e4)],
    Continuous("gamma", (0.05,), stats.gamma(0.05), 0.03),
    *[Continuous("loggamma", (a,), stats.loggamma(a)) for a in (0.3, 1e-3, 1e-2, 0.1, 1.0, 2.5, 100.0, 1e4)],
    *[Continuous("beta", (a, b), stats.beta(a, b)) for a, b in ((2.0, 3.0), (1.0, 1.0), (5.0, 1.0), (100.0, 300.0))],
    *[Continuous("beta", (a, b), stats.beta(a, b)) for a, b in ((0.4, 7.0), (1e4, 1e4))],
    Continuous("beta", (0.5, 0.5), stats.beta(0.5, 0.5), 1e-2),
    Continuous("beta", (0.2, 0.3), stats.beta(0.2, 0.3), 1e-1),
    *[Continuous("chisquare", (df,), stats.chi2(df)) for df in (3.0, 0.4, 1.0, 2.0, 30.0, 2e4)],
    *[Continuous("f", df, stats.f(*df)) for df in ((5.0, 2.0), (1.0, 1.0), (3.0, 7.0), (1.0, 40.0), (100.0, 1000.0))],
    *[Continuous("t", (df,), stats.t(df)) for df in (3.0, 0.3, 0.5, 1.0, 2.0, 10.0, 30.0, 1000.0)],
    Continuous("t", (0.1,), stats.t(0.1), 1e-2),
    *[Continuous("pareto", (b,), stats.pareto(b)) for b in (3.0, 0.2, 1.0, 100.0)],
    *[Continuous("rayleigh", (s,), stats.rayleigh(scale=s)) for s in (1.0, 0.01, 1000.0)],
    *[Continuous("wald", (m,), stats.invgauss(m)) for m in (1.0, 0.01, 0.3, 10.0, 1000.0, 1e5)],
    *[
        Continuous("weibull_min", (s, c), stats.weibull_min(c, scale=s))
        for s, c in ((2.0, 1.5), (1.0, 0.3), (5.0, 20.0))
    ],
    *[Continuous("lognormal", (s,), stats.lognorm(s)) for s in (1.0, 0.01, 0.3, 5.0)],
    triangle(-1.0, 0.25, 2.0),
    triangle(0.0, 0.0, 1.0),
    triangle(-5.0, 3.0, 3.0),
    triangle(100.0, 101.0, 110.0),
    *[Continuous("generalized_normal", (p,), stats.gennorm(p)) for p in (3.0, 0.3, 0.5, 1.0, 2.0, 10.0)],
]


def named(case: Any) -> str:
    return "-".join([case.name, *map(str, case.arguments)])


@each_float
@pytest.mark.parametrize("case", CONTINUOUS, ids=named)
def test_continuous(case: Continuous, dtype: torch.dtype) -> None:
    draw = getattr(random, case.name)(random.key(40), *case.arguments, (MANY[dtype],), dtype)
    assert draw.dtype == dtype and draw.shape == (MANY[dtype],)
    reach = case.reach if dtype == torch.float32 else 1e-5
    assert reach > 1e-3 or bool(draw.isfinite().all())
    assert_law(draw.numpy(), case.law, reach)


FIRST = list({case.name: case for case in reversed(CONTINUOUS)}.values())
FIRST_NAMES = pytest.mark.parametrize("case", FIRST, ids=named)


@FIRST_NAMES
def test_continuous_in_the_original_layout(case: Continuous) -> None:
    key = random.key(41, impl=IMPLS[1])
    draw = getattr(random, case.name)(key, *case.arguments, (2**18,))
    assert draw.dtype == torch.float32
    assert_law(draw.numpy(), case.law, case.reach)


@FIRST_NAMES
def test_one_continuous_draw_of_many_keys(case: Continuous) -> None:
    keys = random.split(random.key(42), 2**16)
    draw = getattr(random, case.name)(keys, *case.arguments, (2,))
    assert draw.shape == (2**16, 2)
    for column in range(2):
        assert_law(draw[:, column].double().numpy(), case.law, max(case.reach, 1e-3))


@each_impl
@FIRST_NAMES
def test_neighbouring_draws_are_independent(case: Continuous, impl: str) -> None:
    draw = getattr(random, case.name)(random.key(43, impl=impl), *case.arguments, (2**16,))
    u = case.law.cdf(draw.double().numpy())
    for lag in (1, 2, 7, 2**15):
        r = np.corrcoef(u[lag:], u[:-lag])[0, 1]
        assert normal_p(r * math.sqrt(len(u) - lag)) > LEAST
    cells = (np.minimum(u[: 2**16 - 1].reshape(-1, 3), 1 - 1e-9) * 6).astype(np.int64)
    assert plausible(chi_square(counts(torch.tensor(cells @ [36, 6, 1]), 216)))


@each_impl
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("case", CONTINUOUS, ids=named)
def test_half_precision_is_float32_rounded_once(case: Continuous, dtype: torch.dtype, impl: str) -> None:
    """The parameters stay float32. A truncated normal does not leave its interval by being rounded."""
    key, sampler = random.key(44, impl=impl), getattr(random, case.name)
    # Half precision does not hold these.
    arguments: list[Any] = [torch.tensor(a * 1.001, dtype=torch.float32) for a in case.arguments]
    if case.name == "generalized_normal":
        arguments = [float(arguments[0])]
    half, single = sampler(key, *arguments, (10_001,), dtype), sampler(key, *arguments, (10_001,), torch.float32)
    assert half.dtype == dtype
    rounded = single.to(dtype)
    if case.name == "truncated_normal":
        assert bool((arguments[0] < half.float()).all() and (half.float() < arguments[1]).all())
        inside = (arguments[0] < rounded.float()) & (rounded.float() < arguments[1])
        assert bool(inside.any())
        half, rounded = half[inside], rounded[inside]
    assert torch.equal(half.view(torch.int16), rounded.view(torch.int16))


@pytest.mark.parametrize("case", [c for c in FIRST if c.arguments and c.name != "generalized_normal"], ids=named)
def test_numbers_and_tensors_are_the_same_parameters(case: Continuous, impl: str) -> None:
    key, sampler = random.key(45, impl=impl), getattr(random, case.name)
    for dtype in MANY:
        whole = sampler(key, *case.arguments, (1000,), dtype)
        tensors = [torch.tensor(a, dtype=dtype) for a in case.arguments]
        assert torch.equal(sampler(key, *tensors, (1000,), dtype), whole)
        if case.name != "double_sided_maxwell":  # whose shape comes before the parameters'
            assert torch.equal(sampler(key, tensors[0].expand(1000), *case.arguments[1:], (1000,), dtype), whole)


PARAMETERS = {
    "truncated_normal": ([-3.0, 1.5, -0.2], [-2.0, 2.5, 0.9]),
    "gamma": ([0.3, 1.0, 40.0],),
    "loggamma": ([0.003, 1.0, 40.0],),
    "beta": ([0.5, 3.0, 9.0], [2.0, 0.7, 30.0]),
    "chisquare": ([0.6, 5.0, 40.0],),
    "f": ([1.0, 3.0, 40.0], [9.0, 3.0, 1.0]),
    "t": ([0.5, 3.0, 40.0],),
    "pareto": ([0.5, 3.0, 40.0],),
    "rayleigh": ([0.5, 3.0, 40.0],),
    "wald": ([0.5, 3.0, 40.0],),
    "weibull_min": ([0.5, 3.0, 40.0], [2.0, 0.7, 30.0]),
    "lognormal": ([0.5, 0.1, 2.0],),
    "triangular": ([-1.0, 0.0, 5.0], [0.0, 0.0, 6.0], [0.5, 3.0, 6.0]),
}
LAWS: dict[str, Callable[..., Any]] = {
    "truncated_normal": Truncated,
    "gamma": stats.gamma,
    "loggamma": stats.loggamma,
    "beta": stats.beta,
    "chisquare": stats.chi2,
    "f": stats.f,
    "t": stats.t,
    "pareto": stats.pareto,
    "rayleigh": lambda scale: stats.rayleigh(scale=scale),
    "wald": stats.invgauss,
    "weibull_min": lambda scale, concentration: stats.weibull_min(concentration, scale=scale),
    "lognormal": stats.lognorm,
    "triangular": lambda left, mode, right: triangle(left, mode, right).law,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_each_column_has_its_own_parameters(name: str, impl: str) -> None:
    arguments = [torch.tensor(values) for values in PARAMETERS[name]]
    draw = getattr(random, name)(random.key(46, impl=impl), *arguments, (2**16, 3))
    for column in range(3):
        law = LAWS[name](*(values[column] for values in PARAMETERS[name]))
        assert_law(draw[:, column].double().numpy(), law, 1e-3)


# --- counts


def merged(found: np.ndarray, chances: np.ndarray, least: float = 10) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring cells put together until each is expected often enough."""
    total, ends, expected = found.sum(), [0], 0.0
    for i, chance in enumerate(chances):
        expected += chance * total
        if expected >= least:
            ends.append(i + 1)
            expected = 0.0
    ends[-1] = len(chances)
    assert len(ends) > 2, "all in one cell"
    return np.add.reduceat(found, ends[:-1]), np.add.reduceat(chances, ends[:-1])


GRID = np.concatenate([[1e-5, 1e-4, 1e-3], np.linspace(0.002, 0.998, 499), [0.999, 0.9999, 0.99999]])


def quantiles(law: Any, mean: float, deviation: float) -> np.ndarray:
    """Counts at which to cut the law; near the law's own quantiles where these are too large for scipy."""
    if deviation < 1e4:
        return np.unique(law.ppf(GRID))
    return np.floor(mean + deviation * special.ndtri(GRID))


def assert_counts(draw: Tensor, law: Any, deviant: Any = None) -> None:
    """All cells between quantiles, mean and variance. `deviant` makes the opposite counts, for a mirrored law."""
    values = draw.numpy().astype(np.int64) if deviant is None else deviant - draw.numpy().astype(np.int64)
    mean, variance, excess = (float(m) for m in law.stats("mvk"))
    edges = quantiles(law, mean, math.sqrt(variance))
    # Integers up to 2^53, so that the comparison is exact.
    cells = np.bincount(np.searchsorted(edges.astype(np.int64), values), minlength=len(edges) + 1)
    chances = np.diff(law.cdf(edges), prepend=0.0, append=1.0)
    if chances.max() > 1 - 1e-4:  # hardly ever anything else
        assert binomial(int(cells[chances.argmax()]), cells.sum(), chances.max()) > LEAST
        return
    p = chi_square(*merged(cells, chances))
    assert plausible(p), f"chi-square: p = {p}"
    if variance * values.size > 100:
        assert_moments(values.astype(np.float64) - round(mean), mean - round(mean), variance, excess)
    if variance > 1e6:  # no favoured digits
        assert plausible(chi_square(np.bincount(values % 2)))
        assert plausible(chi_square(np.bincount(values % 256)))


RATES = (0.01, 0.1, 1.0, 5.0, 9.99, 10.0, 10.01, 12.0, 20.0, 30.0, 100.5, 1e3, 1e5, 1e8)


@pytest.mark.parametrize("rate", RATES)
def test_poisson(rate: float) -> None:
    draw = random.poisson(random.key(50), rate, (10**6,))
    assert draw.dtype == torch.int32
    assert_counts(draw, stats.poisson(rate))


@pytest.mark.parametrize("rate", [1e8 + 0.5, 3e9, 1e12, 1e15])
def test_poisson_of_large_rates(rate: float) -> None:
    draw = random.poisson(random.key(51), rate, (2**18,), torch.int64)
    assert_counts(draw, stats.poisson(rate))
    as_float = random.poisson(random.key(51), rate, (2**18,), torch.float64)
    assert torch.equal(as_float.to(torch.int64), draw)


@pytest.mark.parametrize("rate", [0.5, 10.0, 1e4])
def test_poisson_in_the_original_layout(rate: float) -> None:
    assert_counts(random.poisson(random.key(52, impl=IMPLS[1]), rate, (2**18,)), stats.poisson(rate))


@each_impl
def test_poisson_of_many_keys_and_rates(impl: str) -> None:
    keys = random.split(random.key(53, impl=impl), 2**16)
    for lam in (torch.tensor([0.3, 9.5, 11.0, 500.0]), torch.tensor([0.3, 9.5, 11.0, 500.0], dtype=torch.float64)):
        draw = random.poisson(keys, lam, (4,))
        for column in range(4):
            assert_counts(draw[:, column], stats.poisson(float(lam[column])))


BINOMIALS = [
    (1, 0.9),
    (1, 1e-3),
    (2, 0.5),
    (10, 0.5),
    (20, 0.499),
    (20, 0.5),
    (20, 0.51),
    (100, 0.099),
    (100, 0.1),
    (100, 0.101),
    (100, 0.3),
    (100, 0.95),
    (1000, 0.01),
    (1000, 0.999),
    (10**6, 1e-7),
    (10**6, 1e-5),
    (10**6, 0.2),
    (10**9, 1e-8),
    (10**9, 0.3),
    (10**9, 0.5),
    (10**9, 1 - 1e-9),
    (10**9, 1 - 3e-8),
    (2**53, 1e-15),
    (2**53, 1e-9),
    (2**53, 0.3),
    (2**53, 0.5),
    (2**53, 0.9),
    (2**53 - 1, 1 - 2**-53),
]


def assert_binomial(draw: Tensor, n: int, p: float) -> None:
    """By the rarer outcome, whose chance is exact in float64."""
    if p > 0.5:
        assert_counts(draw, stats.binom(n, 1 - p), n)
    else:
        assert_counts(draw, stats.binom(n, p))


@pytest.mark.parametrize(("n", "p"), BINOMIALS, ids=str)
def test_binomial(n: int, p: float) -> None:
    draw = random.binomial(random.key(54), n, p, (10**6 if n < 10**6 else 2**18,), torch.int64)
    assert draw.dtype == torch.int64 and 0 <= int(draw.min()) and int(draw.max()) <= n
    assert_binomial(draw, n, p)


@pytest.mark.parametrize(("n", "p"), [(7, 0.4), (100, 0.3), (10**9, 0.7)], ids=str)
def test_binomial_in_the_original_layout(n: int, p: float) -> None:
    assert_binomial(random.binomial(random.key(155, impl=IMPLS[1]), n, p, (2**18,), torch.int64), n, p)


@each_impl
def test_binomial_of_many_keys_and_parameters(impl: str) -> None:
    keys = random.split(random.key(56, impl=impl), 2**16)
    n, p = torch.tensor([3, 60, 1000, 5000]), torch.tensor([0.25, 0.125, 0.75, 0.5])
    for draw in (
        random.binomial(keys, n, p, (4,), torch.int32),
        random.binomial(keys, n.float(), p.double(), (4,), torch.int32),
    ):
        for column in range(4):
            assert_binomial(draw[:, column], int(n[column]), float(p[column]))


def test_binomial_of_sure_things() -> None:
    key = random.key(57)
    for n, p, expected in ((0, 0.3, 0), (12, 0.0, 0), (12, 1.0, 12), (2**53, 1.0, 2**53), (0, 1.0, 0)):
        assert bool((random.binomial(key, n, p, (999,), torch.int64) == expected).all())
        tensors = torch.tensor(n), torch.tensor(p)
        assert bool((random.binomial(key, *tensors, (999,), torch.int64) == expected).all())


CHANCES = (1e-6, 1e-4, 1e-3, 0.01, 0.3, 0.5, 0.9, 0.9999, 0.999999)


@pytest.mark.parametrize("p", CHANCES)
def test_geometric(p: float) -> None:
    draw = random.geometric(random.key(58), p, (10**6,))
    assert draw.dtype == torch.int32 and int(draw.min()) >= 1
    assert_counts(draw, stats.geom(p))


@pytest.mark.parametrize("p", [1e-12, 1e-6, 0.3, 0.999])
def test_geometric_of_a_float64_chance(p: float) -> None:
    draw = random.geometric(random.key(59), torch.tensor(p, dtype=torch.float64), (2**18,), torch.int64)
    assert_counts(draw, stats.geom(p))


@pytest.mark.parametrize("p", [1e-3, 0.3])
def test_geometric_in_the_original_layout(p: float) -> None:
    assert_counts(random.geometric(random.key(60, impl=IMPLS[1]), p, (2**18,)), stats.geom(p))


def test_geometric_of_a_sure_thing(impl: str) -> None:
    key = random.key(61, impl=impl)
    assert bool((random.geometric(key, 1.0, (10**5,)) == 1).all())
    assert bool((random.geometric(key, torch.ones(3, dtype=torch.float64), (10**5, 3)) == 1).all())


Counting = Callable[..., Tensor]
COUNTING: dict[str, Counting] = {
    "poisson, small rate": lambda key, shape, dtype: random.poisson(key, 7.5, shape, dtype),
    "poisson, large rate": lambda key, shape, dtype: random.poisson(key, 120.0, shape, dtype),
    "poisson, larger rate": lambda key, shape, dtype: random.poisson(key, 32000.0, shape, dtype),
    "poisson, mixed rates": lambda key, shape, dtype: random.poisson(key, 10 ** torch.linspace(-2, 6, 9), shape, dtype),
    "binomial, small": lambda key, shape, dtype: random.binomial(key, 10, 0.3, shape, dtype),
    "binomial, large": lambda key, shape, dtype: random.binomial(key, 300, 0.4, shape, dtype),
    "binomial, larger": lambda key, shape, dtype: random.binomial(key, 10**10, 0.4, shape, dtype),
    "geometric": lambda key, shape, dtype: random.geometric(key, 0.01, shape, dtype),
    "geometric, rare": lambda key, shape, dtype: random.geometric(key, 1e-5, shape, dtype),
}


@pytest.mark.parametrize("name", COUNTING)
def test_counts_saturate(name: str, impl: str) -> None:
    """The count does not depend on the type that holds it."""
    key, shape = random.key(62, impl=impl), (500, 9)
    whole = COUNTING[name](key, shape, torch.int64)
    for dtype in SIGNED:
        draw = COUNTING[name](key, shape, dtype)
        assert draw.dtype == dtype
        assert torch.equal(draw, whole.clamp(max=torch.iinfo(dtype).max).to(dtype))


@pytest.mark.parametrize("name", COUNTING)
def test_counts_in_floats(name: str, impl: str) -> None:
    key, shape = random.key(62, impl=impl), (500, 9)
    whole = COUNTING[name](key, shape, torch.int64)
    for dtype in (torch.float32, torch.float64, *HALVES):
        draw = COUNTING[name](key, shape, dtype)
        assert draw.dtype == dtype
        assert torch.equal(draw, whole.double().float().to(dtype) if dtype in HALVES else whole.to(dtype))


@pytest.mark.parametrize("name", COUNTING)
def test_neighbouring_counts_are_independent(name: str, impl: str) -> None:
    draw = COUNTING[name](random.key(63, impl=impl), (2**15, 9), torch.float64).numpy()
    ranks = np.argsort(np.argsort(draw + np.random.RandomState(0).random_sample(draw.shape), axis=0), axis=0)
    for lag in (1, 2, 7, 2**14):
        for i, j in ((0, 0), (0, 1), (5, 5), (7, 8)):
            r = np.corrcoef(ranks[lag:, i], ranks[:-lag, j])[0, 1]
            assert normal_p(r * math.sqrt(2**15 - lag)) > LEAST
    for i, j in ((0, 1), (3, 4), (7, 8)):
        assert normal_p(np.corrcoef(ranks[:, i], ranks[:, j])[0, 1] * math.sqrt(2**15)) > LEAST


# --- counts by exact probabilities: where the count is a monotone function of one word, the word at which it changes
# is found by bisection, and there are no samples


EXACT_SOURCE = r"""
#include <stdio.h>
#include "distributions/counts.h"
#include "distributions/geometric.h"
using namespace torch_threefry;

double geometric(double p, double u) {
  return Geometric<double>::value(uint64_t(u * 0x1p64), Geometric<double>::prepare(p));
}
double geometric_float(double p, double u) {
  return Geometric<float>::value(uint32_t(u * 0x1p32), Geometric<float>::prepare(float(p)));
}
double binomial(double n, double p, double u) {
  BinomialSearch search = BinomialSearch::begin(u, n, p);
  while (!search.is_over() && search.count < BinomialSearch::kMost) search.advance();
  return search.count;
}

// The first of 0, 1, ..., 2^bits - 1, as a part of 2^bits, that the test holds for.
template <class Test>
double first(int bits, uint64_t from, Test test) {
  uint64_t low = from, high = uint64_t(1) << bits;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (test(double(middle) / double(uint64_t(1) << bits))) high = middle; else low = middle + 1;
  }
  return double(low);
}

int main() {
  const double chances[] = {1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999};
  const double more[] = {1, 2, 3, 5, 10, 30, 100, 1000, 30000, 1000000, 10000000};
  printf("[\n");
  for (double p : chances)
    for (double k : more) {
      // From the word 1 on, the count falls; at the word 0 it is 1.
      printf("[\"geometric\", 52, \"%a\", \"%a\", %.0f],\n", p, k,
             first(52, 1, [&](double u) { return geometric(p, u) <= k; }));
      printf("[\"geometric\", 23, \"%a\", \"%a\", %.0f],\n", double(float(p)), k,
             first(23, 1, [&](double u) { return geometric_float(p, u) <= k; }));
    }
  const double counts[][2] = {{1, 0.1}, {1, 0.5}, {2, 0.3}, {10, 0.3}, {15, 0.49}, {19, 0.5}, {100, 0.09}, {1e6, 9.9e-6},
                              {1e9, 1e-9}, {0x1p53, 1e-15}};
  for (const double* np : counts)
    for (int k = 0; k < 40 && k < np[0]; ++k)
      printf("[\"binomial\", 52, \"%a\", \"%a\", %d, %.0f],\n", np[0], np[1], k,
             first(52, 0, [&](double u) { return binomial(np[0], np[1], u) > k; }));
  printf("null]\n");
}
"""


@pytest.fixture(scope="module")
def exact_rows(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    folder = tmp_path_factory.mktemp("exact")
    source, program = folder / "exact.cpp", folder / "exact"
    source.write_text(EXACT_SOURCE)
    run(*CXX, *FLAGS, source, "-lm", "-o", program)
    rows: list[list[Any]] = json.loads(run(program))[:-1]
    return rows


def test_geometric_has_exact_probabilities(exact_rows: list[list[Any]]) -> None:
    """P(count > k) = (1 - p)^k, to a few steps of the uniform number."""
    rows = [row for row in exact_rows if row[0] == "geometric"]
    assert len(rows) == 2 * 8 * 11
    for _, bits, p, k, first in rows:
        p, k, scale = float.fromhex(p), float.fromhex(k), 2.0**bits
        with mpmath.workprec(100):
            expected = (1 - mpmath.mpf(p)) ** int(k)
        # The words 1, ..., first - 1 give more than k.
        off = abs((first - 1) - float(expected * scale))
        # The logarithm is off by about an ulp, and so is the number's own logarithm there: relatively.
        slack = 2 + 4 * float(-mpmath.log(expected)) * float(expected) * scale * 2.0 ** -(bits + 1)
        assert off <= slack, (bits, p, k, first, float(expected * scale))


def test_binomial_inversion_has_exact_probabilities(exact_rows: list[list[Any]]) -> None:
    rows = [row for row in exact_rows if row[0] == "binomial"]
    assert len(rows) > 150
    for _, bits, n, p, k, first in rows:
        n, p = int(float.fromhex(n)), float.fromhex(p)
        with mpmath.workprec(200):
            q = 1 - mpmath.mpf(p)
            expected = mpmath.fsum(mpmath.binomial(n, i) * mpmath.mpf(p) ** i * q ** (n - i) for i in range(k + 1))
        assert abs(first / 2.0**bits - float(expected)) < 1e-14, (n, p, k)


# --- rows


@each_impl
@each_float
@pytest.mark.parametrize("alpha", [(2.0, 3.0, 5.0), (0.4, 1.0, 7.0, 1.5), (100.0, 1.0), (0.6, 0.6, 0.6)], ids=str)
def test_dirichlet(alpha: tuple[float, ...], dtype: torch.dtype, impl: str) -> None:
    n, total = 2**17, sum(alpha)
    rows = random.dirichlet(random.key(70, impl=impl), torch.tensor(alpha, dtype=dtype), (n,), dtype)
    assert rows.shape == (n, len(alpha)) and rows.dtype == dtype
    values = rows.double().numpy()
    assert np.abs(values.sum(1) - 1).max() < (1e-6 if dtype == torch.float32 else 1e-14)
    for column, a in enumerate(alpha):
        assert_law(values[:, column], stats.beta(a, total - a), 1e-3)
    a = np.array(alpha) / total
    found, expected = np.cov(values.T), (np.diag(a) - np.outer(a, a)) / (total + 1)
    sizes = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / n)
    assert np.abs((found - expected) / sizes).max() < 7  # the squares' tails are heavier than the normal's


def test_dirichlet_of_a_batch() -> None:
    alpha = torch.tensor([[1.0, 2.0], [30.0, 0.5]])
    rows = random.dirichlet(random.split(random.key(71), 2**15), alpha)
    assert rows.shape == (2**15, 2, 2)
    for i in range(2):
        a, b = alpha[i].tolist()
        assert_law(rows[:, i, 1].double().numpy(), stats.beta(b, a), 1e-3)
    assert torch.equal(
        random.dirichlet(random.key(71), alpha[0], (5,))[2:4],
        random.dirichlet(random.key(71), alpha[0], (5,), window=((2, 4),)),
    )


@each_impl
def test_multinomial_marginals_sums_and_covariance(impl: str) -> None:
    p, n, size = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64), 100, 2**17
    for dtype in (None, torch.int32):
        rows = random.multinomial(random.key(72, impl=impl), n, p, shape=(size, 4), dtype=dtype)
        assert rows.dtype == (dtype or torch.float32) and rows.shape == (size, 4)
        assert bool((rows.sum(1) == n).all()) and bool((rows >= 0).all())
        for column in range(4):
            assert_counts(rows[:, column].to(torch.int64), stats.binom(n, float(p[column])))
    values, chances = rows.double().numpy(), p.numpy()
    found, expected = np.cov(values.T), n * (np.diag(chances) - np.outer(chances, chances))
    sizes = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / size)
    assert np.abs((found - expected) / sizes).max() < 4.5


@each_impl
def test_multinomial_of_few_has_the_joint_law(impl: str) -> None:
    p = np.array([0.2, 0.5, 0.3])
    rows = random.multinomial(random.key(73, impl=impl), 3, torch.tensor(p), shape=(2**17, 3), dtype=torch.int64)
    found = counts(rows @ torch.tensor([16, 4, 1]), 64)
    outcomes = [(a, b, 3 - a - b) for a in range(4) for b in range(4 - a)]
    places = [16 * a + 4 * b + c for a, b, c in outcomes]
    assert found.sum() == found[places].sum()
    assert plausible(chi_square(found[places], stats.multinomial(3, p).pmf(outcomes)))


def test_multinomial_of_large_counts() -> None:
    """Float32 shares would move the mean by a part of the standard deviation that shows."""
    n, p = 10**9, np.array([0.3, 1e-8, 0.1, 0.6 - 1e-8])
    rows = random.multinomial(random.key(74), n, torch.tensor(p), shape=(2**17, 4), dtype=torch.int64)
    assert bool((rows.sum(1) == n).all())
    for column in range(4):
        assert_counts(rows[:, column], stats.binom(n, p[column]))


def test_multinomial_with_zeros_batches_and_windows() -> None:
    key, p = random.key(75), torch.tensor([[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 1.0]])
    n = torch.tensor([10, 20, 1000])
    rows = random.multinomial(key, n, p, shape=(500, 3, 4), dtype=torch.int32)
    assert torch.equal(rows.sum(-1), n.expand(500, 3))
    assert bool((rows[:, p == 0] == 0).all()) and bool((rows[:, 1, 0] == 20).all())
    assert_counts(rows[:, 0, 1], stats.binom(10, 0.5))
    assert_counts(rows[:, 2, 3], stats.binom(1000, 0.25))  # weights are taken in proportion
    part = random.multinomial(key, n, p, shape=(500, 3, 4), dtype=torch.int32, window=((7, 20), (1, 3)))
    assert torch.equal(part, rows[7:20, 1:])
    alone = random.multinomial(key, 10, p[0])
    assert alone.shape == (4,) and alone.dtype == torch.float32 and float(alone.sum()) == 10
    assert random.multinomial(random.split(key, 6), n, p).shape == (6, 3, 4)


# --- directions


@each_impl
@each_float
@pytest.mark.parametrize(("d", "p"), [(3, 2.0), (1, 2.0), (2, 1.0), (5, 0.5), (2, 3.0), (4, 2.0)], ids=str)
def test_ball(d: int, p: float, dtype: torch.dtype, impl: str) -> None:
    n = 2**17
    points = random.ball(random.key(76, impl=impl), d, p, (n,), dtype)
    assert points.shape == (n, d) and points.dtype == dtype
    values = points.double().numpy()
    volume = (np.abs(values) ** p).sum(1) ** (d / p)
    assert volume.max() < 1 + 1e-5
    assert_law(volume, Flat(), 1e-4)
    signs = (values < 0) @ (2 ** np.arange(d))
    assert plausible(chi_square(np.bincount(signs, minlength=2**d)))
    if d > 1:  # |x_i|^p over the sum is a ratio of gamma draws of shape 1/p
        share = np.abs(values[:, 0]) ** p / (np.abs(values) ** p).sum(1)
        assert_law(share, stats.beta(1 / p, (d - 1) / p), 1e-3)
        assert normal_p(np.corrcoef(volume, share)[0, 1] * math.sqrt(n)) > LEAST
    if (d, p) == (3, 2.0):
        for column in range(3):  # Archimedes
            assert plausible(stats.kstest(values[:, column] / volume ** (1 / 3), stats.uniform(-1, 2).cdf).pvalue)


@each_impl
@each_float
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_orthogonal_is_haar(n: int, dtype: torch.dtype, impl: str) -> None:
    size = 20_000
    q = random.orthogonal(random.key(77, impl=impl), n, (size,), dtype)
    assert q.shape == (size, n, n) and q.dtype == dtype
    q = q.double()
    exact = 1e-5 if dtype == torch.float32 else 1e-13
    assert float((q @ q.mT - torch.eye(n, dtype=torch.float64)).abs().max()) < exact
    assert binomial(int((torch.linalg.det(q) > 0).sum()), size, 0.5) > LEAST
    if n == 1:
        return
    # Rows and columns are uniform on the sphere, whose coordinates x have (1 + x) / 2 of a beta law.
    law = stats.beta((n - 1) / 2, (n - 1) / 2)
    for i, j in ((0, 0), (0, n - 1), (n - 1, 0), (n - 1, n - 1)):
        assert plausible(stats.kstest((1 + q[:, i, j].numpy()) / 2, law.cdf).pvalue)
    square, fourth = (q**2).mean(0), (q**4).mean(0)
    moment_2, moment_4 = 1 / n, 3 / (n * (n + 2))
    moment_8 = 105 / (n * (n + 2) * (n + 4) * (n + 6))
    assert float((square - moment_2).abs().max()) < 4.5 * math.sqrt((moment_4 - moment_2**2) / size)
    assert float((fourth - moment_4).abs().max()) < 4.5 * math.sqrt((moment_8 - moment_4**2) / size)
    trace = q.diagonal(dim1=1, dim2=2).sum(1).numpy()
    assert normal_p(trace.mean() * math.sqrt(size)) > LEAST
    assert normal_p(((trace**2).mean() - 1) / ((trace**2).std() / math.sqrt(size))) > LEAST
    for turned in (q @ q[0], q[0] @ q):  # the law is that of any rotation of it
        trace = turned[1:].diagonal(dim1=1, dim2=2).sum(1).numpy()
        assert normal_p(((trace**2).mean() - 1) / ((trace**2).std() / math.sqrt(size))) > LEAST


@pytest.mark.parametrize(("n", "m"), [(3, 5), (5, 3), (1, 4), (4, 1)])
def test_orthogonal_of_a_part(n: int, m: int, impl: str) -> None:
    q = random.orthogonal(random.key(78, impl=impl), n, (2**14,), torch.float64, m)
    assert q.shape == (2**14, n, m)
    gram = q @ q.mT if n <= m else q.mT @ q
    assert float((gram - torch.eye(min(n, m), dtype=torch.float64)).abs().max()) < 1e-13
    half = (max(n, m) - 1) / 2
    for i, j in ((0, 0), (n - 1, m - 1)):
        assert plausible(stats.kstest((1 + q[:, i, j].numpy()) / 2, stats.beta(half, half).cdf).pvalue)


@each_impl
@each_float
@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_multivariate_normal(method: str, dtype: torch.dtype, impl: str) -> None:
    size = 2**17
    mean = torch.tensor([1.0, -2.0, 30.0], dtype=dtype)
    cov = torch.tensor([[2.0, 0.3, -0.9], [0.3, 0.5, 0.1], [-0.9, 0.1, 4.0]], dtype=dtype)
    draw = random.multivariate_normal(random.key(79, impl=impl), mean, cov, (size,), dtype, method=method)
    assert draw.shape == (size, 3) and draw.dtype == dtype
    centred = (draw.double() - mean.double()).numpy()
    expected = cov.double().numpy()
    found = centred.T @ centred / size
    sizes = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / size)
    assert np.abs((found - expected) / sizes).max() < 4.5
    white = np.linalg.solve(np.linalg.cholesky(expected), centred.T)
    for row in white:
        assert_law(row, stats.norm(), 1e-4)
    assert_law((white**2).sum(0), stats.chi2(3), 1e-4)


@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_multivariate_normal_of_a_batch(method: str) -> None:
    """JAX's shape: the batch, which mean and cov broadcast to."""
    mean = torch.tensor([[0.0, 5.0], [100.0, -3.0]], dtype=torch.float64)
    cov = torch.tensor([[[1.0, 0.5], [0.5, 2.0]], [[9.0, -1.0], [-1.0, 0.25]]], dtype=torch.float64)
    key, n = random.key(80), 2**14
    assert random.multivariate_normal(key, mean, cov, dtype=torch.float64, method=method).shape == (2, 2)
    assert random.multivariate_normal(key, mean[0], cov, method=method).shape == (2, 2)
    draw = random.multivariate_normal(key, mean, cov, (n, 2), torch.float64, method=method).numpy()
    many = random.multivariate_normal(random.split(key, n), mean, cov, dtype=torch.float64, method=method).numpy()
    assert draw.shape == many.shape == (n, 2, 2)
    for values in (draw, many):
        for i in range(2):
            for j in range(2):
                law = stats.norm(float(mean[i, j]), math.sqrt(cov[i, j, j]))
                assert_law(values[:, i, j], law, 1e-3)
            expected = cov[i].numpy()
            sizes = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / n)
            assert np.abs((np.cov(values[:, i].T) - expected) / sizes).max() < 4.5


@pytest.mark.parametrize("method", ["svd", "eigh"])
def test_multivariate_normal_on_a_line(method: str) -> None:
    """A covariance of rank 1: the draws lie on its line."""
    direction = torch.tensor([3.0, -4.0, 12.0], dtype=torch.float64) / 13
    cov = 25 * torch.outer(direction, direction)
    draw = random.multivariate_normal(random.key(81), torch.zeros(3), cov, (2**14,), torch.float64, method=method)
    along = draw @ direction
    assert float((draw - along[:, None] * direction).abs().max()) < 1e-6
    assert_law(along.numpy(), stats.norm(0, 5), 1e-3)


ROWS: dict[str, Callable[..., Tensor]] = {
    "dirichlet": lambda key, dtype: random.dirichlet(key, torch.tensor([0.3, 1.0, 4.0]), (500,), dtype),
    "ball": lambda key, dtype: random.ball(key, 3, 1.5, (500,), dtype),
    "orthogonal": lambda key, dtype: random.orthogonal(key, 3, (200,), dtype),
    "multivariate_normal": lambda key, dtype: random.multivariate_normal(
        key, torch.tensor([1.001, 2.003]), torch.tensor([[2.001, 0.3], [0.3, 0.5]]), (500,), dtype
    ),
    "multinomial": lambda key, dtype: random.multinomial(
        key, 5000, torch.tensor([0.3, 0.5, 0.2]), shape=(500, 3), dtype=dtype
    ),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ROWS)
def test_rows_in_half_precision_are_float32_rounded_once(name: str, dtype: torch.dtype, impl: str) -> None:
    key = random.key(82, impl=impl)
    half, single = ROWS[name](key, dtype), ROWS[name](key, torch.float32)
    assert half.dtype == dtype
    assert torch.equal(half.view(torch.int16), single.to(dtype).view(torch.int16))


# --- these checks can say no


def refused(check: Callable[[], None]) -> bool:
    try:
        check()
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


def test_distance_and_cells_are_those_of_all_values() -> None:
    law = stats.norm()
    x = np.random.RandomState(1).standard_normal(50_000)
    for n, error in ((9000, 1e-9), (50_000, 1e-2)):
        assert kolmogorov_smirnov(np.sort(x[:n]), law) == pytest.approx(stats.kstest(x[:n], law.cdf).pvalue, rel=error)
    edges = edges_above(1e-3)
    expected = np.bincount(np.searchsorted(edges, law.cdf(x)), minlength=len(edges) + 1)
    assert cell_counts(np.sort(x), law, edges).tolist() == expected.tolist()
    assert cell_counts(np.full(5, 99.0), law, edges).tolist() == [0] * len(edges) + [5]
    assert cell_counts(np.full(5, -99.0), law, edges).tolist() == [5] + [0] * len(edges)


def test_wrong_laws_are_refused() -> None:
    generator = np.random.RandomState(1)
    x = generator.standard_gamma(2.5, 10**6)
    assert_law(x, stats.gamma(2.5))
    assert refused(lambda: assert_law(x, stats.gamma(2.51)))
    assert refused(lambda: assert_law(x * 1.005, stats.gamma(2.5)))
    assert refused(lambda: assert_law(np.minimum(x, stats.gamma(2.5).ppf(1 - 1e-4)), stats.gamma(2.5)))
    assert refused(lambda: assert_law(np.where(np.arange(10**6) == 7, np.nan, x), stats.gamma(2.5)))
    k = torch.tensor(generator.poisson(12.0, 10**6))
    assert_counts(k, stats.poisson(12.0))
    assert refused(lambda: assert_counts(k, stats.poisson(12.03)))
    assert refused(lambda: assert_counts(k + (k > 25), stats.poisson(12.0)))
    big = torch.tensor(generator.poisson(1e9, 10**5))
    assert_counts(big, stats.poisson(1e9))
    assert refused(lambda: assert_counts(big // 2 * 2, stats.poisson(1e9)))
    n = torch.tensor(generator.binomial(100, 0.25, 10**6))
    assert_binomial(n, 100, 0.25)
    assert_binomial(100 - n, 100, 0.75)
    assert refused(lambda: assert_binomial(100 - n, 100, 0.751))


def test_merged_cells() -> None:
    found, chances = merged(np.array([1, 2, 30, 4, 50, 3, 1]), np.array([0.01, 0.02, 0.3, 0.05, 0.6, 0.015, 0.005]), 10)
    assert found.tolist() == [33, 58]
    assert np.allclose(chances, [0.33, 0.67])


def test_every_law_is_one() -> None:
    """A law written here has its own mean and variance."""
    for law, low, high in ((DoubleSidedMaxwell(-3, 20), -200.0, 200.0), (Truncated(-0.5, 3), -0.5, 3.0)):
        x = np.linspace(low, high, 200_001)
        middle, mass = (x[1:] + x[:-1]) / 2, np.diff(law.cdf(x))
        mean = (middle * mass).sum()
        variance = ((middle - mean) ** 2 * mass).sum()
        excess = ((middle - mean) ** 4 * mass).sum() / variance**2 - 3
        assert np.allclose([mass.sum(), mean, variance, excess], [1, *map(float, law.stats("mvk"))], atol=1e-4)
    for low, high in ((5.5, 7.0), (-0.5, 3.0), (-3.0, -2.0)):
        x = np.linspace(low, high, 7)
        assert np.allclose(Truncated(low, high).cdf(x), stats.truncnorm(low, high).cdf(x), rtol=1e-9)
