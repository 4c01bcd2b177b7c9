"""The package against the oracle, where JAX's draws do not reach: far positions, all bounds, all 64 bits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import reference
import torch

from torch_threefry import Key, random

IMPLS = reference.IMPLS
WIDTHS = {torch.uint8: 8, torch.uint16: 16, torch.uint32: 32, torch.uint64: 64}
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SEEDS = (0, 1, 2**40 + 3, 2**64 - 1, 0x9E3779B97F4A7C15)
each_impl = pytest.mark.parametrize("impl", IMPLS)


def both(seed: int, impl: str) -> tuple[Key, reference.Key]:
    return random.key(seed, impl=impl), reference.key(seed, impl)


def words_of(key: Key) -> Any:
    """A key's words, or a row of them for each key of a batch."""
    return random.key_data(key).tolist()


def pattern(draw: torch.Tensor) -> list[int]:
    """The bits of floats as unsigned integers."""
    return list(draw.view({2: torch.uint16, 4: torch.uint32, 8: torch.uint64}[draw.itemsize]).tolist())


# --- keys


@pytest.mark.parametrize(
    ("impl", "seed"),
    [(impl, seed) for impl in IMPLS for seed in SEEDS]
    + [(impl, seed) for impl in (reference.PARTITIONABLE, reference.ORIGINAL) for seed in (-1, -(2**63))]
    + [(reference.PATHS, seed) for seed in (2**64, 2**200 + 5, 2**256 - 1)],
)
def test_keys(impl: str, seed: int) -> None:
    key, model = both(seed, impl)
    assert words_of(key) == model.words
    for n in (1, 2, 5, 2**16):
        keys = random.split(key, n)
        for i in {0, n // 2, n - 1}:
            assert words_of(keys[i]) == reference.split(model, i, n).words


DATA = (0, 1, -1, 2**31, -(2**31), 2**32, 2**32 + 1, 2**63 - 1, -(2**63), 2**64 - 1)


@each_impl
def test_fold_in(impl: str) -> None:
    key, model = both(77, impl)
    expected = [reference.fold_in(model, d).words for d in DATA]
    assert [words_of(random.fold_in(key, d)) for d in DATA] == expected
    assert words_of(random.fold_in(key, torch.tensor(DATA[:-1]))) == expected[:-1]
    assert words_of(random.fold_in(key, torch.tensor(DATA[-1], dtype=torch.uint64))) == expected[-1]


@each_impl
@pytest.mark.parametrize("dtype", INTEGERS)
def test_fold_in_of_a_tensor_for_each_key(dtype: str, impl: str) -> None:
    key, model = both(78, impl)
    least, greatest = reference.int_range(dtype)
    data = torch.from_numpy(np.array([least, 3, greatest], dtype))
    folded = random.fold_in(random.split(key, (2, 1)), data)
    assert folded.shape == (2, 3)
    for i in range(2):
        child = reference.split(model, i, 2)
        assert words_of(folded[i]) == [reference.fold_in(child, d).words for d in (least, 3, greatest)]


# --- words

FAR = {
    reference.PARTITIONABLE: (2**63 - 1, (0, 2**31 - 2, 2**32 - 2, 2**40, 2**63 - 5)),
    reference.ORIGINAL: (2**31 - 1, (0, 2**30 - 3, 2**31 - 5)),
    reference.PATHS: (2**63 - 1, (0, 1, 2**32 - 2, 2**40 + 3, 2**63 - 5)),
}


@each_impl
@pytest.mark.parametrize("dtype", WIDTHS, ids=str)
def test_words_anywhere(dtype: torch.dtype, impl: str) -> None:
    key, model = both(79, impl)
    n, starts = FAR[impl]
    for start in starts:
        words = random.bits(key, (n,), dtype, window=[(start, start + 4)])
        assert words.tolist() == [reference.word(model, start + j, n, WIDTHS[dtype]) for j in range(4)]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16], ids=str)
def test_narrow_words_of_the_longest_original_draws(dtype: torch.dtype) -> None:
    key, model = both(79, reference.ORIGINAL)
    width = WIDTHS[dtype]
    n = (2**32 - 2) * (32 // width)
    for start in (0, 2**31 - 2, 2**32 - 2, 2**32 + 7, n // 2 - 2, n - 4):
        words = random.bits(key, (n,), dtype, window=[(start, start + 4)])
        assert words.tolist() == [reference.word(model, start + j, n, width) for j in range(4)]


@each_impl
@pytest.mark.parametrize("dtype", WIDTHS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 64, 67])
def test_all_words_of_short_draws(n: int, dtype: torch.dtype, impl: str) -> None:
    key, model = both(80, impl)
    assert random.bits(key, (n,), dtype).tolist() == reference.bits(model, n, WIDTHS[dtype])


@each_impl
@pytest.mark.parametrize("dtype", WIDTHS, ids=str)
def test_words_of_a_box(dtype: torch.dtype, impl: str) -> None:
    key, model = both(81, impl)
    shape = (5, 1000, 300)
    words = random.bits(key, shape, dtype, window=[(1, 5), (998, 1000), (7, 10)])
    expected = [
        reference.word(model, (a * 1000 + b) * 300 + c, math.prod(shape), WIDTHS[dtype])
        for a in range(1, 5)
        for b in range(998, 1000)
        for c in range(7, 10)
    ]
    assert words.shape == (4, 2, 3)
    assert words.flatten().tolist() == expected


# --- values

BOUNDS = [
    (0.0, 1.0),
    (-3.3, 7.7),
    (0.1, 0.1),
    (5.0, 1.0),
    (-1e-3, 0.0),
    (-2.0, -1.0),
    (1e-7, 3e-7),
    (-200.0, 3e4),
]


@each_impl
@pytest.mark.parametrize("dtype", reference.FORMATS)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_uniform(bounds: tuple[float, float], dtype: str, impl: str) -> None:
    key, model = both(82, impl)
    draw = random.uniform(key, (60,), getattr(torch, dtype), *bounds)
    assert pattern(draw) == [reference.uniform_bits(model, i, 60, dtype, *bounds) for i in range(60)]


@each_impl
@pytest.mark.parametrize(
    ("dtype", "minval", "maxval"),
    [
        ("float16", 2000.0, 2002.0),
        ("bfloat16", 256.0, 260.0),
        ("float32", 1e6, 1e6 + 1),
        ("float64", 1e15, 1e15 + 1),
        ("float32", -(1e6 + 1), -1e6),
        ("float32", -1e-45, 0.0),
    ],
)
def test_uniform_never_is_its_upper_bound(dtype: str, minval: float, maxval: float, impl: str) -> None:
    """Where rounding to nearest reaches the bound, as it does in JAX."""
    key, model = both(83, impl)
    draw = random.uniform(key, (200,), getattr(torch, dtype), minval, maxval)
    top = reference.rounded(maxval, dtype)
    assert any(reference.uniform(model, i, 200, dtype, minval, maxval) == top for i in range(200))
    assert bool((draw.double() < float(top)).all())
    assert pattern(draw) == [reference.uniform_bits(model, i, 200, dtype, minval, maxval) for i in range(200)]


def spans(dtype: str) -> list[tuple[int, int]]:
    """Ranges at the ends of a type, and such as JAX gets wrong."""
    least, greatest = reference.int_range(dtype)
    width = greatest - least
    return [
        (least, greatest + 1),
        (least, greatest),
        (least, least + 3 * (width // 4)),
        (greatest - 1, greatest + 1),
        (greatest, greatest + 1),
        (least, least),
        (greatest, least),
        (0, greatest),
        (0, width // 3),
        (least + 1, least + 2 + width // 5),
    ]


@each_impl
@pytest.mark.parametrize("dtype", INTEGERS)
def test_randint(dtype: str, impl: str) -> None:
    key, model = both(84, impl)
    for low, high in spans(dtype):
        draw = random.randint(key, (12,), low, high, getattr(torch, dtype))
        assert draw.tolist() == [reference.randint(model, i, 12, low, high, dtype) for i in range(12)], (
            low,
            high,
        )


@each_impl
@pytest.mark.parametrize("dtype", INTEGERS)
def test_randint_with_bounds_in_tensors(dtype: str, impl: str) -> None:
    key, model = both(85, impl)
    ranges = [(low, high) for low, high in spans(dtype) if high <= reference.int_range(dtype)[1]]
    lows, highs = (torch.from_numpy(np.array(bounds, dtype)) for bounds in zip(*ranges, strict=True))
    draw = random.randint(key, (2, len(ranges)), lows, highs, getattr(torch, dtype))
    n = draw.numel()
    assert draw.flatten().tolist() == [
        reference.randint(model, i, n, *ranges[i % len(ranges)], dtype) for i in range(n)
    ]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_randint_far_away(dtype: str) -> None:
    key, model = both(86, reference.PARTITIONABLE)
    n, start = 2**63 - 1, 2**62 + 5
    draw = random.randint(key, (n,), -5, 10**6, getattr(torch, dtype), window=[(start, start + 8)])
    assert draw.tolist() == [reference.randint(model, start + j, n, -5, 10**6, dtype) for j in range(8)]


@each_impl
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bernoulli_low_is_a_strict_comparison(dtype: str, impl: str) -> None:
    """Each element against its own uniform as the probability, and against the next larger one."""
    key, model = both(87, impl)
    u = torch.tensor([float(reference.unit(model, i, 50, dtype)) for i in range(50)], dtype=getattr(torch, dtype))
    assert not random.bernoulli(key, u, (50,)).any()
    assert random.bernoulli(key, u.nextafter(torch.ones_like(u)), (50,)).all()


@each_impl
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bernoulli_high_is_exact(dtype: str, impl: str) -> None:
    """Probabilities at, just below and just above the first uniform, where the second one decides."""
    key, model = both(88, impl)
    n, form = 90, reference.FORMATS[dtype]
    p = []
    for i in range(n):
        second = reference.unit(model, n + i, 2 * n, dtype) / 2**form.mantissa
        exact = reference.unit(model, i, 2 * n, dtype) + second
        p.append(float(exact + Fraction(i % 3 - 1, 2 ** (form.mantissa + 3))))
    draw = random.bernoulli(key, torch.tensor(p, dtype=getattr(torch, dtype)), (n,), mode="high")
    expected = [reference.bernoulli(model, i, n, p[i], dtype, "high") for i in range(n)]
    assert draw.tolist() == expected
    assert 0 < sum(expected) < n


@each_impl
@pytest.mark.parametrize("mode", ["low", "high"])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.3, 0.5, 0.9999999, 1.0])
def test_bernoulli_of_a_number(p: float, mode: str, impl: str) -> None:
    key, model = both(89, impl)
    draw = random.bernoulli(key, p, (100,), mode=mode)
    assert draw.tolist() == [reference.bernoulli(model, i, 100, p, "float32", mode) for i in range(100)]


@each_impl
def test_rademacher(impl: str) -> None:
    key, model = both(90, impl)
    assert random.rademacher(key, (101,)).tolist() == [reference.rademacher(model, i, 101) for i in range(101)]


@each_impl
@pytest.mark.parametrize("n", [0, 1, 2, 3, 40, 1626])
def test_permutation(n: int, impl: str) -> None:
    key, model = both(91, impl)
    assert random.permutation(key, n).tolist() == reference.permutation(model, n)


@each_impl
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_shuffle_along_an_axis(axis: int, impl: str) -> None:
    key, model = both(92, impl)
    x = torch.arange(4 * 5 * 6).reshape(4, 5, 6)
    expected = reference.shuffled(model, x.shape, axis)
    assert random.shuffle(key, x, axis).flatten().tolist() == expected
    assert random.permutation(key, x, axis, independent=True).flatten().tolist() == expected


# --- samplers with parameters


def somewhere(impl: str) -> list[tuple[int, int]]:
    """Sizes of draws, and where to look at them: at the beginning and far away."""
    n, starts = FAR[impl]
    if impl == reference.ORIGINAL:
        n //= 2
        starts = (0, n // 2 - 3, n - 4)
    return [(30, 0), (n, starts[-1]), (n, starts[1])]


@each_impl
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 0.999, 1.0, 1.7, 25.0, 1e4])
def test_loggamma(alpha: float, impl: str) -> None:
    key, model = both(93, impl)
    for n, start in somewhere(impl):
        window = [(start, start + 4 if start else 30)]
        indices = range(*window[0])
        exact = [float(reference.loggamma(model, i, n, alpha)) for i in indices]
        draw = random.loggamma(key, alpha, (n,), torch.float64, window=window)
        assert draw.tolist() == pytest.approx(exact, rel=1e-12, abs=1e-12)
        if alpha >= 0.3:
            gamma = random.gamma(key, alpha, (n,), torch.float64, window=window)
            assert gamma.tolist() == pytest.approx(np.exp(exact), rel=1e-11)
        short = float(torch.tensor(alpha))
        exact = [float(reference.loggamma(model, i, n, short, "float32")) for i in indices]
        draw = random.loggamma(key, alpha, (n,), window=window)
        assert draw.tolist() == pytest.approx(exact, rel=3e-6, abs=3e-6)


@each_impl
def test_loggamma_of_rejected_candidates(impl: str) -> None:
    """All of a draw whose candidates are rejected often, at either of the two tests."""
    key, model = both(94, impl)
    exact = [float(reference.loggamma(model, i, 700, 1.0)) for i in range(700)]
    assert random.loggamma(key, 1.0, (700,), torch.float64).tolist() == pytest.approx(exact, rel=1e-12, abs=1e-12)


@each_impl
@pytest.mark.parametrize("mean", [1e-3, 1.0, 1e3, 1e5, 1e8])
def test_wald(mean: float, impl: str) -> None:
    key, model = both(95, impl)
    draw = random.wald(key, mean, (50,), torch.float64)
    assert draw.tolist() == pytest.approx([float(reference.wald(model, i, 50, mean)) for i in range(50)], rel=1e-12)


@each_impl
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (5.5, 1e6),
        (5.5, math.inf),
        (30.0, 31.0),
        (1.5, 1.6),
        (1.01, 8.0),
        (-math.inf, -6.0),
        (-40.0, -3.0),
        (-31.0, -30.0),
    ],
    ids=str,
)
def test_truncated_normal_in_the_tails(lower: float, upper: float, impl: str) -> None:
    key, model = both(96, impl)
    draw = random.truncated_normal(key, lower, upper, (50,), torch.float64).tolist()
    errors = [float(reference.truncated_normal_error(model, i, 50, lower, upper, x)) for i, x in enumerate(draw)]
    assert max(error / abs(x) for error, x in zip(errors, draw)) < 1e-14


@each_impl
@pytest.mark.parametrize(("lower", "upper"), [(-1.0, 1.0), (-2.0, 0.5), (0.9, 1.1), (0.99, 3.0)], ids=str)
def test_truncated_normal_in_the_middle(lower: float, upper: float, impl: str) -> None:
    key, model = both(97, impl)
    draw = random.truncated_normal(key, lower, upper, (50,), torch.float64).tolist()
    errors = [float(reference.truncated_normal_error(model, i, 50, lower, upper, x)) for i, x in enumerate(draw)]
    assert max(errors) < 1e-13


@each_impl
@pytest.mark.parametrize("p", [1e-7, 1e-3, 0.3, 0.5, 0.9, 1.0])
def test_geometric(p: float, impl: str) -> None:
    key, model = both(98, impl)
    for n, start in somewhere(impl):
        window = [(start, start + 4 if start else 30)]
        if p > 1e-6:  # float32 holds the counts
            short = float(torch.tensor(p))
            draw = random.geometric(key, p, (n,), torch.int64, window=window)
            assert draw.tolist() == [reference.geometric(model, i, n, short) for i in range(*window[0])]
        wide = torch.tensor(p, dtype=torch.float64)
        draw = random.geometric(key, wide, (n,), torch.int64, window=window)
        assert draw.tolist() == [reference.geometric(model, i, n, p, "float64") for i in range(*window[0])]


@each_impl
@pytest.mark.parametrize("rate", [0.01, 1.0, 4.5, 9.99])
def test_poisson_of_a_small_rate(rate: float, impl: str) -> None:
    key, model = both(99, impl)
    short = float(torch.tensor(rate))
    for n, start in somewhere(impl):
        window = [(start, start + 4 if start else 30)]
        draw = random.poisson(key, rate, (n,), window=window)
        assert draw.tolist() == [reference.poisson_of_small_rate(model, i, n, short) for i in range(*window[0])]


@each_impl
@pytest.mark.parametrize("rate", [10.0, 11.5, 30.0, 1e3, 1e6, 1e12])
def test_poisson_of_a_large_rate(rate: float, impl: str) -> None:
    key, model = both(100, impl)
    for n, start in [*somewhere(impl), (700, 513)]:
        window = [(start, start + 4 if start else min(n, 30))]
        draw = random.poisson(key, rate, (n,), torch.int64, window=window)
        assert draw.tolist() == [reference.poisson_of_large_rate(model, i, rate) for i in range(*window[0])]


@each_impl
def test_poisson_of_rates_of_both_kinds(impl: str) -> None:
    key, model = both(101, impl)
    rates = [0.5, 20.0, 1e5, 9.0, 0.0]
    draw = random.poisson(key, torch.tensor(rates), (120, 5), torch.int64)
    for i, count in enumerate(draw.flatten().tolist()):
        rate = rates[i % 5]
        if rate >= 10:
            assert count == reference.poisson_of_large_rate(model, i, rate)
        elif i < 200:
            assert count == (reference.poisson_of_small_rate(model, i, 600, rate) if rate else 0)


@each_impl
@pytest.mark.parametrize(
    ("trials", "p"),
    [(1, 0.3), (9, 0.5), (30, 0.33), (100, 0.95), (10**9, 5e-9), (2**53, 1e-15), (20, 0.5), (100, 0.3), (100, 0.85)]
    + [(10**6, 0.1), (10**9, 0.5), (10**15, 0.4), (2**53, 0.5)],
    ids=str,
)
def test_binomial(trials: int, p: float, impl: str) -> None:
    key, model = both(102, impl)
    for n, start in [*somewhere(impl), (700, 513)]:
        window = [(start, start + 4 if start else min(n, 30))]
        draw = random.binomial(key, trials, p, (n,), torch.int64, window=window)
        assert draw.tolist() == [reference.binomial(model, i, trials, p) for i in range(*window[0])]


@each_impl
def test_binomial_of_parameters_of_both_kinds(impl: str) -> None:
    key, model = both(103, impl)
    n, p = [3, 40, 1000, 10**6, 0], [0.25, 0.5, 0.001, 0.75, 0.5]
    draw = random.binomial(key, torch.tensor(n), torch.tensor(p, dtype=torch.float64), (120, 5), torch.int64)
    assert draw.flatten().tolist() == [reference.binomial(model, i, n[i % 5], p[i % 5]) for i in range(600)]


@each_impl
@pytest.mark.parametrize("weights", [(0.2, 0.5, 0.3), (5.0, 0.0, 1.0, 4.0), (1e-9, 1.0)], ids=str)
def test_multinomial(weights: tuple[float, ...], impl: str) -> None:
    key, model = both(104, impl)
    for trials in (7, 300, 10**10):
        draw = random.multinomial(
            key, trials, torch.tensor(weights, dtype=torch.float64), shape=(40, len(weights)), dtype=torch.int64
        )
        assert draw.tolist() == [reference.multinomial(model, i, trials, weights) for i in range(40)]
