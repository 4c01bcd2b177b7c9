"""Inputs that other libraries get wrong, from public bug reports against them: each must give the right answer.

The draws are as long as the reports', but in parts, so that no test holds more than some hundred megabytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
import torch
from scipy import stats
from test_headers import CXX, FLAGS, run
from test_statistics import HALVES, LEAST, binomial, chi_square, counts, normal_p, plausible
from torch import Tensor

from torch_threefry import Key, _ops, random

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INF, NAN = math.inf, math.nan


def key_of(first: int, second: int) -> Key:
    """The key with these words."""
    return random.wrap_key_data(torch.tensor([first, second]).to(torch.uint32))


def parts(size: int, count: int) -> Iterator[tuple[tuple[int, int]]]:
    """Windows that cover a draw of shape (size,)."""
    for start in range(0, size, size // count):
        yield ((start, min(start + size // count, size)),)


def moments_are(values: np.ndarray, mean: float, variance: float) -> bool:
    """Mean and variance of about normal values."""
    n = values.size
    z_mean = (values.mean() - mean) / math.sqrt(variance / n)
    z_variance = (((values - mean) ** 2).mean() / variance - 1) / math.sqrt(2 / n)
    return normal_p(z_mean) > LEAST and normal_p(z_variance) > LEAST


# --- integers


def test_randint_uint8_below_100(impl: str) -> None:
    draw = random.randint(random.key(1, impl=impl), (10**6,), 0, 100, torch.uint8)
    assert plausible(chi_square(counts(draw, 100)))


def test_randint_int32_over_three_quarters_of_the_type(impl: str) -> None:
    low = -1610612736
    draw = random.randint(random.key(2, impl=impl), (10**6,), low, -low, torch.int32).to(torch.int64) - low
    assert 0 <= int(draw.min()) and int(draw.max()) < -2 * low
    assert plausible(chi_square(counts(draw // 2**30, 3)))
    assert plausible(chi_square(counts(draw // (3 * 2**20), 1024)))
    assert plausible(chi_square(counts(draw % 999, 999)))


@pytest.mark.parametrize(("low", "high", "dtype"), [(0, 256, torch.uint8), (-128, 128, torch.int8)], ids=str)
def test_randint_reaches_the_maximum_of_narrow_types(low: int, high: int, dtype: torch.dtype, impl: str) -> None:
    draw = random.randint(random.key(3, impl=impl), (10**5,), low, high, dtype)
    assert plausible(chi_square(counts(draw.to(torch.int64) - low, 256)))


@pytest.mark.parametrize(
    ("high", "dtype", "where"),
    [(2**31, torch.int32, 1712105894), (2**32, torch.uint32, 1786361688)],
    ids=str,
)
def test_randint_reaches_the_maximum_of_wide_types(high: int, dtype: torch.dtype, where: int) -> None:
    """At the first place where this key's draw does, found by looking through it."""
    shape, name = (2**40,), str(dtype).removeprefix("torch.")
    draw = random.randint(random.key(2), shape, 0, high, dtype, window=((where, where + 1),))
    assert reference.randint(reference.key(2), where, 2**40, 0, high, name) == high - 1
    assert draw.tolist() == [high - 1]


@pytest.mark.parametrize("n", [0, 1, 2**16 - 1, 2**16, 2**16 + 1])
def test_permutation_is_a_bijection(n: int, impl: str) -> None:
    key = random.key(4, impl=impl)
    for order in (random.permutation(key, n), random.permutation(key, torch.arange(n)), key.randperm(n)):
        assert order.shape == (n,)
        assert torch.equal(order.sort().values, torch.arange(n, dtype=order.dtype))
        assert n < 2 or not torch.equal(order, torch.arange(n, dtype=order.dtype))


def test_permutation_of_empty_tensors(impl: str) -> None:
    key = random.key(4, impl=impl)
    for shape in ((0,), (0, 3), (3, 0), (0, 0)):
        for axis in range(len(shape)):
            for independent in (False, True):
                assert random.permutation(key, torch.zeros(shape), axis, independent).shape == shape


# --- coins and categories


def test_bernoulli_of_a_chance_that_float32_uniforms_do_not_know() -> None:
    """About 0.01 hits are expected; a float32 uniform below 1e-10 is 0, and has a chance of 2^-23."""
    n, key = 10**8, random.key(5)
    draws = (random.bernoulli(key, 1e-10, (n,), mode="high", window=window) for window in parts(n, 10))
    assert sum(int(draw.sum()) for draw in draws) <= 1


@pytest.mark.parametrize("p", [0.3, 1e-3])
def test_bernoulli_of_a_float16_chance(p: float, impl: str) -> None:
    chance, n = torch.tensor(p, dtype=torch.float16), 10**7
    draw = random.bernoulli(random.key(6, impl=impl), chance, (n,))
    assert binomial(int(draw.sum()), n, float(chance)) > LEAST


def test_categorical_of_1000_equal_bfloat16_logits(impl: str) -> None:
    keys, logits = random.split(random.key(7, impl=impl), 20), torch.zeros(1000, dtype=torch.bfloat16)
    draws = [random.categorical(key, logits, shape=(5000,)) for key in keys]
    assert plausible(chi_square(counts(torch.cat(draws), 1000)))


MANY_CATEGORIES = 2**24 + 1


def test_categorical_reaches_the_last_of_many_categories() -> None:
    logits = torch.full((MANY_CATEGORIES,), -20.0)
    logits[-3:] = 0
    draws = torch.stack([random.categorical(key, logits) for key in random.split(random.key(8), 14)])
    assert set((draws - MANY_CATEGORIES).tolist()) >= {-1, -2, -3}


def test_categorical_of_many_equal_logits() -> None:
    """With 2^24 + 1 categories a largest one-word Gumbel number would come about twice, and the first of them win."""
    logits = torch.zeros(MANY_CATEGORIES)
    keys = random.split(random.key(9), 12)
    draws = [int(random.categorical(key, logits)) for key in keys]
    assert 0 <= min(draws) and MANY_CATEGORIES * 3 // 4 < max(draws) < MANY_CATEGORIES
    assert plausible(stats.kstest(np.array(draws) / MANY_CATEGORIES, "uniform").pvalue)
    assert draws[0] == int(random.categorical(keys[0], logits, mode="high"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_choice_never_takes_from_a_tail_of_zeros(dtype: torch.dtype) -> None:
    p = torch.full((7_000_000,), 1 / 5_000_000, dtype=dtype)
    p[5_000_000:] = 0
    draw = random.choice(random.key(10), 7_000_000, (10**6,), p=p)
    assert plausible(chi_square(counts(draw // 5000, 1000)))  # counts() refuses the tail
    draw = random.choice(random.key(11), 7_000_000, (1000,), replace=False, p=p)
    assert int(draw.max()) < 5_000_000 and draw.unique().numel() == 1000


@pytest.mark.parametrize("make", [list, torch.tensor], ids=["list", "tensor"])
@pytest.mark.parametrize("p", [[0.5, 0, 0, 0.5, 0], [0, 0, 0, 1e-30, 1.0]], ids=str)
def test_choice_refuses_to_draw_more_than_there_are_positive_chances(make: Callable[..., Any], p: list[float]) -> None:
    with pytest.raises(ValueError, match=r"\bp\b.*\b4\b"):
        random.choice(random.key(12), 5, (4,), replace=False, p=make(p))
    drawn = random.choice(random.key(12), 5, (2,), replace=False, p=make(p))
    assert sorted(drawn.tolist()) == [i for i in range(5) if p[i] > 0]


# --- floats

REPORTED_TRUNCATED = (41787198, 1040924135)


@pytest.mark.parametrize(("low", "high"), [(5.5, 1e6), (5.0, INF), (-100.0, 100.0)], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_truncated_normal_in_the_tails(low: float, high: float, dtype: torch.dtype) -> None:
    draw = random.truncated_normal(key_of(*REPORTED_TRUNCATED), low, high, (10000, 32), dtype).double()
    assert bool(draw.isfinite().all())
    assert bool((low < draw).all() and (draw < high).all())
    if dtype not in HALVES:
        law = stats.truncnorm(low, high)
        assert plausible(stats.kstest(draw.flatten().numpy(), law.cdf).pvalue)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dirichlet_of_small_alpha(dtype: torch.dtype, impl: str) -> None:
    rows = random.dirichlet(random.key(13, impl=impl), 0.01 * torch.ones(3, dtype=dtype), (10**5,), dtype).double()
    assert float((rows.sum(1) - 1).abs().max()) < 1e-6
    # A quarter of the law is below the smallest float32 number, and half is so near 1 that it is 1.
    edges = np.array([1e-36, 1e-25, 1e-15, 1e-8, 1e-4, 0.01, 0.2, 0.5, 0.8, 0.99, 0.9999, 1 - 1e-6])
    chances = np.diff(stats.beta(0.01, 0.02).cdf(edges), prepend=0.0, append=1.0)
    for column in range(3):
        found = np.bincount(np.searchsorted(edges, rows[:, column].numpy()), minlength=len(edges) + 1)
        assert plausible(chi_square(found, chances))


REPORTED_LOGGAMMA = (1057748167, 1356978999)


@pytest.mark.parametrize("dtype", FLOATS)
def test_loggamma_of_0_is_minus_infinity(dtype: torch.dtype) -> None:
    key = key_of(*REPORTED_LOGGAMMA)
    alpha = torch.tensor([0.0, 1.0, 0.0], dtype=dtype)
    for draw in (random.loggamma(key, 0.0, (3,), dtype)[[0, 2]], random.loggamma(key, alpha, (5, 3), dtype)[:, [0, 2]]):
        assert draw.dtype == dtype and bool((draw == -INF).all())
    assert bool(random.loggamma(key, alpha, (5, 3), dtype)[:, 1].isfinite().all())
    assert bool((random.gamma(key, 0.0, (3,), dtype) == 0).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_of_dirichlet_at_a_tiny_alpha_is_finite(dtype: torch.dtype) -> None:
    for values in ([2.46e-37] * 3, [2.46e-37, 1.0, 3.0], [0.5, 2.46e-37]):
        alpha = torch.tensor(values, dtype=dtype, requires_grad=True)
        draw = random.dirichlet(random.key(14), alpha, (100,), dtype)
        assert bool(draw.isfinite().all())
        (draw * torch.arange(1.0, 1 + alpha.numel(), dtype=dtype)).sum().backward()
        assert alpha.grad is not None and bool(alpha.grad.isfinite().all())


REPORTED_LOGISTIC = (2308802225, 3876068305)


@pytest.mark.parametrize("dtype", FLOATS)
def test_logistic_is_finite(dtype: torch.dtype) -> None:
    assert bool(random.logistic(key_of(*REPORTED_LOGISTIC), (10000, 12), dtype).isfinite().all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_multivariate_normal_of_a_singular_covariance(dtype: torch.dtype) -> None:
    x = torch.linspace(0, 1, 100, dtype=dtype)
    cov = torch.exp(-((x[:, None] - x) ** 2) / (2 * 0.3**2))
    assert int(torch.linalg.cholesky_ex(cov).info) > 0  # numerically singular
    mean, key = torch.zeros(100, dtype=dtype), random.key(15)
    for method in ("svd", "eigh"):
        draw = random.multivariate_normal(key, mean, cov, (20000,), dtype, method=method).double()
        assert bool(draw.isfinite().all())
        found = (draw.T @ draw / 20000 - cov.double()) / ((1 + cov.double() ** 2) / 20000).sqrt()
        assert float(found.abs().max()) < 5
    for call in (
        lambda: random.multivariate_normal(key, mean, cov, (3,), dtype),
        lambda: random.multivariate_normal(key, mean, cov, (3,), dtype, method="cholesky"),
        lambda: random.multivariate_normal(key, mean, torch.stack([torch.eye(100, dtype=dtype), cov]), (2,), dtype),
    ):
        with pytest.raises((ValueError, torch.linalg.LinAlgError), match=r"\bcov\b.*positive.definite"):
            call()


def test_weibull_min_without_a_shape_draws_for_each_parameter(impl: str) -> None:
    key = random.key(16, impl=impl)
    draw = random.weibull_min(key, torch.ones(4), torch.ones(4))
    assert draw.shape == (4,) and draw.unique().numel() == 4
    assert torch.equal(draw, random.weibull_min(key, 1.0, 1.0, (4,)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rayleigh_is_finite(dtype: torch.dtype, impl: str) -> None:
    draw = random.rayleigh(random.key(17, impl=impl), 1.0, (10**6,), dtype)
    assert draw.dtype == dtype and bool(draw.isfinite().all()) and bool((draw >= 0).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wald_of_a_large_mean(dtype: torch.dtype, impl: str) -> None:
    mean, n = 1e5, 10**6
    draw = random.wald(random.key(18, impl=impl), mean, (n,), dtype)
    assert bool(draw.isfinite().all()) and bool((draw > 0).all())
    values = draw.double().numpy()
    # The mean of n draws is a draw with the same mean and n times the shape, which is 1: far from normal.
    assert plausible(stats.invgauss(mu=mean / n, scale=n).cdf(values.mean()))
    assert plausible(stats.kstest(values, stats.invgauss(mu=mean).cdf).pvalue)


WORDS_SOURCE = r"""
#include <stdio.h>
#include "distributions/cauchy.h"
#include "distributions/exponential.h"
#include "distributions/gumbel.h"
#include "distributions/laplace.h"
#include "distributions/logistic.h"
#include "distributions/normal.h"
#include "distributions/rayleigh.h"
using namespace torch_threefry;

template <class T, class Word>
void words(const char* type, Word ones) {
  const Word all[] = {0, 1, Word(ones - 1), ones, Word(ones >> 1), Word((ones >> 1) + 1)};
  for (Word w : all) {
    const unsigned long long shown = w;
    printf("[\"exponential\", \"%s\", %llu, \"%a\"],\n", type, shown, double(Exponential<T>::value(w)));
    printf("[\"gumbel\", \"%s\", %llu, \"%a\"],\n", type, shown, double(Gumbel<T>::value(w)));
    printf("[\"cauchy\", \"%s\", %llu, \"%a\"],\n", type, shown, double(Cauchy<T>::value(w)));
    printf("[\"laplace\", \"%s\", %llu, \"%a\"],\n", type, shown, double(Laplace<T>::value(w)));
    printf("[\"logistic\", \"%s\", %llu, \"%a\"],\n", type, shown, double(Logistic<T>::value(w)));
    printf("[\"normal\", \"%s\", %llu, \"%a\"],\n", type, shown, double(Normal<T>::value(w)));
    printf("[\"rayleigh\", \"%s\", %llu, \"%a\"],\n", type, shown, double(Rayleigh<T>::value(w, Rayleigh<T>::prepare(T(1)))));
    for (Word second : all)
      printf("[\"gumbel_high\", \"%s\", %llu, \"%a\"],\n", type, shown, double(GumbelHigh<T>::value(w, second)));
  }
}

int main() {
  printf("[\n");
  words<float, uint32_t>("float32", ~uint32_t(0));
  words<double, uint64_t>("float64", ~uint64_t(0));
  printf("null]\n");
}
"""


def test_extreme_words_make_finite_numbers(tmp_path: Path) -> None:
    """All bits 0 and all bits 1, and the words beside them and in the middle."""
    source, program = tmp_path / "words.cpp", tmp_path / "words"
    source.write_text(WORDS_SOURCE)
    run(*CXX, *FLAGS, source, "-lm", "-o", program)
    rows = json.loads(run(program))[:-1]
    assert len(rows) == 2 * 6 * (7 + 6)
    infinite = [row for row in rows if not math.isfinite(float.fromhex(row[3]))]
    assert not infinite
    # Nor are they rounded to the largest number, which float16 would make infinite.
    assert max(abs(float.fromhex(row[3])) for row in rows if row[0] != "cauchy") < 1000


def bounds_of(draws: list[Tensor]) -> list[tuple[float, float]]:
    return [(float(draw.min()), float(draw.max())) for draw in draws]


def uniforms_below_their_bounds(key: Key) -> list[Tensor]:
    halves = [random.uniform(key, (10**7,), dtype, 1000.0, 1001.0) for dtype in HALVES]
    return halves + [random.uniform(key, (10**7,), dtype) for dtype in FLOATS]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_uniform_never_is_its_upper_bound(compiled: bool, impl: str) -> None:
    """1001 is no bfloat16: there the range has one number."""
    draw = torch.compile(uniforms_below_their_bounds, fullgraph=True) if compiled else uniforms_below_their_bounds
    bounds = bounds_of(draw(random.key(19, impl=impl)))
    for low, high in bounds[:2]:
        assert low == 1000 and high < 1001
    for low, high in bounds[2:]:
        assert 0 <= low < 1e-2 and 0.99 < high < 1


# --- counts


def test_geometric_saturates(impl: str) -> None:
    for p in (1e-3, torch.tensor(1e-3)):
        draw = random.geometric(random.key(20, impl=impl), p, (10**5,), torch.int8)
        assert draw.dtype == torch.int8 and int(draw.min()) >= 1 and int(draw.max()) == 127
        assert binomial(int((draw == 127).sum()), 10**5, (1 - 1e-3) ** 126) > LEAST


INTEGER_DTYPES = (torch.int8, torch.int16, torch.int32, torch.int64)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES, ids=str)
def test_poisson_of_impossible_and_infinite_rates(dtype: torch.dtype, impl: str) -> None:
    key, most = random.key(21, impl=impl), torch.iinfo(dtype).max
    rates = torch.tensor([INF, NAN, -1.0, -INF, 0.0, -0.0, 1e30])
    draw = random.poisson(key, rates, (50, 7), dtype)
    assert draw.dtype == dtype
    assert bool((draw == torch.tensor([most, -1, -1, -1, 0, 0, most], dtype=dtype)).all())
    if dtype != torch.int64:
        assert bool((random.poisson(key, 1e12, (50,), dtype) == most).all())
    for rate in (NAN, -1.0, -INF):
        with pytest.raises(ValueError, match="lam"):
            random.poisson(key, rate, (3,), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_poisson_of_impossible_and_infinite_rates_in_floats(dtype: torch.dtype) -> None:
    draw = random.poisson(random.key(21), torch.tensor([INF, NAN, -1.0, 0.0]), (50, 4), dtype)
    assert draw.dtype == dtype
    assert bool(draw[:, 1:3].isnan().all()) and bool((draw[:, 3] == 0).all())
    assert bool((draw[:, 0] == draw[0, 0]).all()) and float(draw[0, 0]) >= torch.finfo(dtype).max


@pytest.mark.parametrize(("rate", "dtype"), [(1e8, torch.int32), (1e8, torch.int64), (1e12, torch.int64)], ids=str)
def test_poisson_of_large_rates(rate: float, dtype: torch.dtype, impl: str) -> None:
    for lam in (rate, torch.tensor(rate, dtype=torch.float64)):
        draw = random.poisson(random.key(22, impl=impl), lam, (10**6,), dtype)
        assert draw.dtype == dtype
        values = draw.numpy().astype(np.float64)
        assert moments_are(values, rate, rate)
        assert plausible(stats.kstest((values - rate) / math.sqrt(rate), "norm").pvalue)


def test_binomial_of_1e9(impl: str) -> None:
    for dtype in (torch.int32, torch.int64, torch.float64, torch.float32):
        draw = random.binomial(random.key(23, impl=impl), 1e9, 0.5, (10**6,), dtype)
        assert draw.dtype == dtype
        values = draw.double().numpy()
        assert moments_are(values, 5e8, 2.5e8)
        assert abs(values.std() - 15811) < 60
    draw = random.binomial(random.key(23, impl=impl), 1e9, 0.5, (1000,), torch.int16)
    assert bool((draw == torch.iinfo(torch.int16).max).all())


def counted(draw: Callable[[tuple[tuple[int, int]]], Tensor], size: int, most: int, count: int) -> np.ndarray:
    """How often each of 0..most comes in a long draw, and nothing else does."""
    found = np.zeros(most + 1, np.int64)
    for window in parts(size, count):
        part = draw(window)
        assert int(part.min()) >= 0
        found += torch.bincount(part, minlength=most + 1).numpy()
    assert found.sum() == size
    return found


def merged(found: np.ndarray, chances: np.ndarray, least: float = 10) -> tuple[np.ndarray, np.ndarray]:
    """Both ends' cells put together until they are expected often enough."""
    expected = chances * found.sum()
    low = int((expected.cumsum() < least).sum())
    high = len(expected) - int((expected[::-1].cumsum() < least).sum())
    ends = [0, *range(low + 1, high), len(found)]
    pairs = list(pairwise(ends))
    return np.array([found[a:b].sum() for a, b in pairs]), np.array([chances[a:b].sum() for a, b in pairs])


def test_binomial_of_100_in_4e7_draws() -> None:
    """JAX's error in Stirling's series shows at this many."""
    n, key = 4 * 10**7, random.key(24)

    def draw(window: Any) -> Tensor:
        return random.binomial(key, 100, 0.15, (n,), torch.int32, window=window)

    found = counted(draw, n, 100, 20)
    assert plausible(chi_square(*merged(found, stats.binom(100, 0.15).pmf(np.arange(101)))))


def test_binomial_of_1_in_1e8_draws() -> None:
    n, key = 10**8, random.key(25)

    def draw(window: Any) -> Tensor:
        return random.binomial(key, 1, 0.9, (n,), torch.int8, window=window)

    found = counted(draw, n, 1, 20)
    assert plausible(chi_square(found, np.array([0.1, 0.9])))


# ---- Found in review ----


def test_triangular_of_any_size() -> None:
    key = random.key(61)
    unit = random.triangular(key, -1.0, 0.25, 1.0, (10_000,))
    for size in (1e-25, 1e20, 2.0**100):
        scaled = random.triangular(key, -size, 0.25 * size, size, (10_000,))
        torch.testing.assert_close(scaled / size, unit, rtol=1e-5, atol=1e-6)
    ends = random.triangular(key, 1e-3, 1e-3, 1e3, (10**6,))
    assert 1e-3 * (1 - 1e-7) <= float(ends.min()) and float(ends.max()) <= 1e3


def test_weibull_with_scale_zero() -> None:
    assert bool((random.weibull_min(random.key(62), 0.0, 0.02, (10**5,)) == 0).all())


def test_wald_with_a_mean_that_overflows_its_square() -> None:
    draw = random.wald(random.key(63), 3e38, (10**5,))
    assert bool((draw > 0).all())
    # The limit is a Levy distribution.
    assert plausible(stats.kstest(draw.double().numpy(), stats.levy.cdf).pvalue)


def test_ball_where_all_gamma_draws_underflow() -> None:
    words = torch.tensor([[1, -1]], dtype=torch.int32)
    args = torch.tensor([[-200.0, -300.0]]), words, torch.tensor([0.0]), torch.tensor([100.0])
    assert _ops.ball(*args).tolist() == [pytest.approx([1.0, -math.exp(-1)])]


def test_truncated_normal_needs_a_number_between_its_bounds() -> None:
    for lower, upper, dtype in ((1.0, 1.0 + 1e-12, None), (1.0, 1.0000001, None), (1.0, 1.0 + 2**-52, torch.float64)):
        with pytest.raises(ValueError, match="lower and upper"):
            random.truncated_normal(random.key(0), lower, upper, dtype=dtype)
    assert 1.0 < float(random.truncated_normal(random.key(0), 1.0, 1.0000003)) < 1.0000003
    half = random.truncated_normal(random.key(0), torch.tensor(1.0001), torch.tensor(1.0002), dtype=torch.bfloat16)
    assert bool(half.isnan())


def test_numbers_as_parameters_do_not_need_a_device() -> None:
    key = random.key(0)
    with torch.device("meta"):
        assert random.truncated_normal(key, -1.0, 2.0, (3,)).device.type == "cpu"
        assert random.triangular(key, -1.0, 0.0, 2.0, (3,)).device.type == "cpu"


def test_limits_of_the_original_layout() -> None:
    key = random.key(64, impl="threefry2x32_original")
    assert random.binomial(key, 10, 0.5, (2**40,), window=((2**39, 2**39 + 5),)).shape == (5,)
    assert random.multinomial(key, 10, torch.ones(2), shape=(2**40, 2), window=((2**39, 2**39 + 5),)).shape == (5, 2)
    with pytest.raises(ValueError, match="use threefry2x32"):
        random.poisson(key, 10.0, (2**32,), window=((0, 5),))
    with pytest.raises(ValueError, match="use threefry2x32"):
        random.gamma(key, 10.0, (2**31,), window=((0, 5),))
