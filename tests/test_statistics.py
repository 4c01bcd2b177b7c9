"""Every sampler against its law, on fixed keys.

A right sampler misses the bound by luck with a chance of about 1e-4 a test; the keys are fixed,
so a test that passes once passes always, and one that fails has found something. A fit that is
too good fails too: numbers that fill their range evenly are not random.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from battery import monobit, normal_p
from scipy import stats

from torch_threefry import Key, random

LEAST = 1e-4
MANY = 2**18
IMPLS = ("threefry2x32", "threefry2x32_original", "threefry4x64")
UINTS = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
INTS = (torch.int8, torch.int16, torch.int32, torch.int64)
HALVES = (torch.float16, torch.bfloat16)
each_impl = pytest.mark.parametrize("impl", IMPLS)

LAWS = {
    "uniform": stats.uniform(),
    "normal": stats.norm(),
    "exponential": stats.expon(),
    "gumbel": stats.gumbel_r(),
    "laplace": stats.laplace(),
    "logistic": stats.logistic(),
}


def plausible(p_value: float) -> bool:
    return LEAST < p_value < 1 - LEAST


def chi_square(observed: np.ndarray, chances: np.ndarray | None = None) -> float:
    """The p-value of counts of disjoint events, equally likely unless their chances are given."""
    expected = None if chances is None else chances / chances.sum() * observed.sum()
    return float(stats.chisquare(observed, expected).pvalue)


def counts(values: torch.Tensor, n: int) -> np.ndarray:
    """How often each of 0..n-1 occurs, and nothing else does."""
    found = np.bincount(values.flatten().to(torch.int64).numpy(), minlength=n)
    assert len(found) == n
    return found


def binomial(hits: int, n: int, chance: float) -> float:
    return float(stats.binomtest(hits, n, chance).pvalue)


# --- these checks can say no


def test_wrong_draws_are_refused() -> None:
    good = torch.rand(MANY, generator=torch.Generator().manual_seed(1), dtype=torch.float64).numpy()
    assert plausible(stats.kstest(good, "uniform").pvalue)
    assert not plausible(stats.kstest(good**1.02, "uniform").pvalue)
    assert not plausible(stats.kstest(np.arange(MANY) / MANY, "uniform").pvalue)
    assert not plausible(chi_square(np.array([505_000, 495_000])))
    assert not plausible(chi_square(np.array([500_000, 500_000])))
    assert not plausible(chi_square(np.array([1000, 1000, 1000]), np.array([1, 1, 1.2])))
    assert binomial(5300, 10_000, 0.5) < LEAST < binomial(5100, 10_000, 0.5)
    assert normal_p(4.0) < LEAST < normal_p(3.0)


# --- bits


def bit_table(words: torch.Tensor) -> np.ndarray:
    """One row a word, one column a bit."""
    octets = words.contiguous().view(torch.uint8).numpy()
    return np.unpackbits(octets.reshape(len(words), -1), axis=1)


@each_impl
@pytest.mark.parametrize("dtype", UINTS)
def test_bit_positions(dtype: torch.dtype, impl: str) -> None:
    draw = random.bits(random.key(1, impl=impl), (2**16,), dtype)
    words = draw.numpy()
    assert monobit(words) > LEAST
    for lag in (1, 2, 3, 64, 2**15):
        assert monobit(words[lag:] ^ words[:-lag]) > LEAST, f"words {lag} apart agree too often or too rarely"
    signs = 2.0 * bit_table(draw) - 1
    products = signs.T @ signs / math.sqrt(len(signs))
    pairs = products[np.triu_indices(signs.shape[1], 1)]
    assert plausible(stats.chi2.sf((pairs**2).sum(), len(pairs))), "two bits of a word depend on each other"


@each_impl
@pytest.mark.parametrize("dtype", UINTS)
def test_octets(dtype: torch.dtype, impl: str) -> None:
    octets = random.bits(random.key(2, impl=impl), (MANY,), dtype).view(torch.uint8)
    assert plausible(chi_square(counts(octets, 256)))


def families(impl: str) -> dict[str, Key]:
    """Keys that lie close to each other in every way in which one gets keys."""
    key, n = random.key(3, impl=impl), 2**14
    return {
        "split": random.split(key, n),
        "fold_in": random.fold_in(key, torch.arange(n)),
        "fold_in, high half": random.fold_in(key, torch.arange(n) << 32),
        "seed": random.key(torch.arange(n), impl=impl),
    }


@each_impl
@pytest.mark.parametrize("family", families(IMPLS[0]))
def test_one_draw_of_many_keys(family: str, impl: str) -> None:
    keys = families(impl)[family]
    words = random.bits(keys, (3,))
    for i in range(3):
        column = words[:, i].contiguous().numpy()
        assert monobit(column) > LEAST
        assert monobit(column[1:] ^ column[:-1]) > LEAST, "neighbours' draws depend on each other"
    assert plausible(stats.kstest(random.normal(keys).numpy(), "norm").pvalue)


@each_impl
def test_parent_and_children_are_independent(impl: str) -> None:
    parent = random.key(4, impl=impl)
    left, right = random.split(parent)
    draws = [random.bits(key, (2**16,)).numpy() for key in (parent, left, right)]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert monobit(draws[a] ^ draws[b]) > LEAST


# --- uniform


@each_impl
@pytest.mark.parametrize(("dtype", "mantissa"), [(torch.float16, 10), (torch.bfloat16, 7)])
def test_uniform_of_half_precision(dtype: torch.dtype, mantissa: int, impl: str) -> None:
    draw = random.uniform(random.key(5, impl=impl), (MANY,), dtype)
    assert draw.dtype == dtype
    steps = draw.double() * 2**mantissa
    assert torch.equal(steps, steps.floor())
    assert plausible(chi_square(counts(steps, 2**mantissa)))


@each_impl
@pytest.mark.parametrize(("dtype", "mantissa"), [(torch.float32, 23), (torch.float64, 52)])
def test_uniform(dtype: torch.dtype, mantissa: int, impl: str) -> None:
    draw = random.uniform(random.key(6, impl=impl), (MANY,), dtype)
    assert 0 <= draw.min() and draw.max() < 1
    assert plausible(stats.kstest(draw.double().numpy(), "uniform").pvalue)
    last_bits = (draw.double() * 2**mantissa).to(torch.int64) % 256
    assert plausible(chi_square(counts(last_bits, 256)))


@each_impl
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_uniform_between_bounds(dtype: torch.dtype, impl: str) -> None:
    draw = random.uniform(random.key(7, impl=impl), (MANY,), dtype, -3.0, 7.0)
    assert -3 <= draw.min() and draw.max() < 7
    assert plausible(stats.kstest(draw.double().numpy(), stats.uniform(-3, 10).cdf).pvalue)


@each_impl
def test_points_in_the_cube(impl: str) -> None:
    cells = (random.uniform(random.key(9, impl=impl), (MANY, 3)) * 16).to(torch.int64)
    assert plausible(chi_square(counts(cells[:, 0] * 256 + cells[:, 1] * 16 + cells[:, 2], 4096)))


# --- the continuous samplers


CONTINUOUS = [
    pytest.param(name, modes, id="-".join([name, *modes.values()]))
    for name, modes in [
        ("normal", {}),
        ("exponential", {}),
        ("gumbel", {"mode": "low"}),
        ("gumbel", {"mode": "high"}),
        ("laplace", {}),
        ("logistic", {}),
    ]
]
TAILS = np.array([1e-4, 1e-3, 1e-2, 0.1, 0.3])
EDGES = np.concatenate([TAILS, [0.5], 1 - TAILS[::-1]])


@each_impl
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("name", "modes"), CONTINUOUS)
def test_continuous(name: str, modes: dict[str, str], dtype: torch.dtype, impl: str) -> None:
    law = LAWS[name]
    draw = getattr(random, name)(random.key(10, impl=impl), (MANY,), dtype, **modes)
    assert draw.dtype == dtype and bool(draw.isfinite().all())
    values = draw.double().numpy()
    assert plausible(stats.kstest(values, law.cdf).pvalue)

    # The tails, which Kolmogorov and Smirnov's distance hardly sees.
    bins = np.bincount(np.searchsorted(law.ppf(EDGES), values), minlength=len(EDGES) + 1)
    assert plausible(chi_square(bins, np.diff(EDGES, prepend=0.0, append=1.0)))

    mean, variance, excess = (float(m) for m in law.stats("mvk"))
    assert normal_p((values.mean() - mean) / math.sqrt(variance / MANY)) > LEAST
    spread = ((values - mean) ** 2).mean()
    assert normal_p((spread / variance - 1) / math.sqrt((excess + 2) / MANY)) > LEAST


@each_impl
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("name", "modes"), CONTINUOUS)
def test_half_precision_is_float32_rounded_once(
    name: str, modes: dict[str, str], dtype: torch.dtype, impl: str
) -> None:
    key, sampler = random.key(11, impl=impl), getattr(random, name)
    half = sampler(key, (10_001,), dtype, **modes)
    assert half.dtype == dtype
    assert torch.equal(half.view(torch.int16), sampler(key, (10_001,), **modes).to(dtype).view(torch.int16))


# --- coins


CHANCES = (0.0, 1e-9, 1e-6, 1e-3, 0.1, 1 / 3, 0.5, 0.9, 0.999999, 1.0)


@each_impl
@pytest.mark.parametrize("p", CHANCES)
def test_bernoulli_low(p: float, impl: str) -> None:
    """The first uniforms are multiples of 2**-23, so a chance is rounded up to one."""
    chance = math.ceil(np.float32(p) * 2.0**23) / 2**23
    draw = random.bernoulli(random.key(12, impl=impl), p, (2**22,))
    assert binomial(int(draw.sum()), draw.numel(), chance) > LEAST


@each_impl
@pytest.mark.parametrize("p", CHANCES)
def test_bernoulli_high(p: float, impl: str) -> None:
    draw = random.bernoulli(random.key(13, impl=impl), p, (2**22,), mode="high")
    assert binomial(int(draw.sum()), draw.numel(), p) > LEAST


def hits(p: float, mode: str) -> int:
    keys = random.split(random.key(14), 16)
    return sum(int(random.bernoulli(key, p, (2**22,), mode=mode).sum()) for key in keys)


def test_bernoulli_high_knows_chances_that_low_does_not() -> None:
    n, p = 2**26, 1e-8
    assert binomial(hits(p, "high"), n, p) > LEAST
    assert binomial(hits(p, "low"), n, 2.0**-23) > LEAST
    assert binomial(hits(p, "low"), n, p) < LEAST


@each_impl
@pytest.mark.parametrize("mode", ["low", "high"])
def test_bernoulli_of_a_tensor(mode: str, impl: str) -> None:
    p = torch.linspace(0.05, 0.95, 19)
    draw = random.bernoulli(random.key(15, impl=impl), p, (MANY // 4, 19), mode=mode)
    z = (draw.double().mean(0) - p) / (p * (1 - p) / (MANY // 4)).sqrt()
    assert plausible(stats.chi2.sf(float((z**2).sum()), 19))


@each_impl
@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.int64, torch.float32])
def test_rademacher(dtype: torch.dtype, impl: str) -> None:
    draw = random.rademacher(random.key(16, impl=impl), (MANY,), dtype)
    assert draw.dtype == dtype and bool((draw.abs() == 1).all())
    assert binomial(int((draw > 0).sum()), MANY, 0.5) > LEAST
    assert binomial(int((draw[1:] == draw[:-1]).sum()), MANY - 1, 0.5) > LEAST


# --- integers


@each_impl
@pytest.mark.parametrize("dtype", UINTS + INTS)
@pytest.mark.parametrize("span", [2, 3, 10, 64, 100, 127])
def test_randint(span: int, dtype: torch.dtype, impl: str) -> None:
    draw = random.randint(random.key(17, impl=impl), (MANY // 4,), 0, span, dtype)
    assert draw.dtype == dtype
    assert plausible(chi_square(counts(draw, span)))


@each_impl
@pytest.mark.parametrize("dtype", UINTS + INTS)
def test_randint_over_the_whole_type(dtype: torch.dtype, impl: str) -> None:
    info = torch.iinfo(dtype)
    draw = random.randint(random.key(18, impl=impl), (MANY // 4,), info.min, info.max + 1, dtype)
    assert monobit(draw.numpy()) > LEAST


@each_impl
@pytest.mark.parametrize(
    ("dtype", "minval", "third"),
    [
        (torch.int32, -(2**31), 2**30),
        (torch.uint32, 0, 2**30),
        (torch.int64, -(2**63), 2**62),
        (torch.uint64, 0, 2**62),
    ],
)
def test_randint_over_three_quarters_of_the_type(dtype: torch.dtype, minval: int, third: int, impl: str) -> None:
    """JAX drops the high word here, and its thirds come out with 50, 25 and 25 %."""
    draw = random.randint(random.key(19, impl=impl), (MANY,), minval, minval + 3 * third, dtype)
    offsets = np.array(draw.tolist(), object) - minval
    assert plausible(chi_square(np.bincount((offsets // third).astype(np.int64), minlength=3)))
    assert plausible(chi_square(np.bincount((offsets % 251).astype(np.int64), minlength=251)))


# --- orders and selections


def number_of(order: tuple[int, ...], base: int) -> int:
    """A sequence of digits as a number."""
    total = 0
    for digit in order:
        total = total * base + digit
    return total


def order_counts(rows: torch.Tensor, n: int) -> np.ndarray:
    """How often each ordered selection of row-length items out of n occurs, in lexical order."""
    size = rows.shape[1]
    weights = torch.tensor([n ** (size - 1 - j) for j in range(size)])
    numbers = counts((rows.to(torch.int64) * weights).sum(1), n**size)
    places = [number_of(order, n) for order in permutations(range(n), size)]
    assert numbers.sum() == numbers[places].sum(), "an item occurs twice"
    return numbers[places]


def successive_chances(p: np.ndarray) -> np.ndarray:
    """The chance of each ordered pair when items leave the urn, in lexical order."""
    return np.array([p[i] * p[j] / (1 - p[i]) for i, j in permutations(range(len(p)), 2)])


def many_keys(seed: int, impl: str) -> Key:
    return random.split(random.key(seed, impl=impl), 48_000)


P = np.array([0.1, 0.2, 0.3, 0.15, 0.25])


@each_impl
def test_permutation_has_no_favourite_order(impl: str) -> None:
    rows = random.permutation(many_keys(20, impl), 4)
    assert plausible(chi_square(order_counts(rows, 4)))


@each_impl
def test_independent_permutation_has_no_favourite_order(impl: str) -> None:
    x = torch.arange(4).expand(48_000, 4)
    key = random.key(21, impl=impl)
    assert plausible(chi_square(order_counts(random.permutation(key, x, axis=1, independent=True), 4)))
    assert plausible(chi_square(order_counts(random.shuffle(random.fold_in(key, 1), x, axis=1), 4)))


@each_impl
def test_long_permutation_puts_an_item_anywhere(impl: str) -> None:
    keys, n = random.split(random.key(22, impl=impl), 100), 2000
    rows = random.permutation(keys, n)
    assert torch.equal(rows.sort(1).values, torch.arange(n, dtype=rows.dtype).expand(100, n))
    where = rows.to(torch.int64).argsort(1)  # row: where each item went
    assert plausible(chi_square(counts(where[:, :50] // 100, 20)))
    fixed = int((rows == torch.arange(n)).sum())  # about Poisson with mean 1 a row
    assert 2 * min(stats.poisson.cdf(fixed, 100), stats.poisson.sf(fixed - 1, 100)) > LEAST
    ascents = int((rows[:, 1:] > rows[:, :-1]).sum())  # more of them where ties keep their order
    assert normal_p((ascents - 50 * (n - 1)) / math.sqrt(100 * (n + 1) / 12)) > LEAST


@each_impl
def test_choice_with_replacement(impl: str) -> None:
    draw = random.choice(random.key(23, impl=impl), 37, (MANY,))
    assert plausible(chi_square(counts(draw, 37)))


@each_impl
def test_choice_without_replacement(impl: str) -> None:
    rows = random.choice(many_keys(24, impl), 5, (2,), replace=False)
    assert plausible(chi_square(order_counts(rows, 5)))


@each_impl
def test_weighted_choice_with_replacement(impl: str) -> None:
    draw = random.choice(random.key(25, impl=impl), 5, (MANY,), p=torch.tensor(P, dtype=torch.float32))
    assert plausible(chi_square(counts(draw, 5), P))


@each_impl
@pytest.mark.parametrize("mode", ["low", "high"])
def test_weighted_choice_without_replacement(mode: str, impl: str) -> None:
    rows = random.choice(many_keys(26, impl), 5, (2,), replace=False, p=torch.tensor(P, dtype=torch.float32), mode=mode)
    assert plausible(chi_square(order_counts(rows, 5), successive_chances(P)))


@each_impl
@pytest.mark.parametrize("mode", ["low", "high"])
def test_categorical_with_replacement(mode: str, impl: str) -> None:
    chances = np.stack([P, P[::-1]])
    logits = torch.tensor(np.log(chances) + 3, dtype=torch.float32)
    draw = random.categorical(random.key(27, impl=impl), logits, shape=(MANY // 4, 2), mode=mode)
    for row in range(2):
        assert plausible(chi_square(counts(draw[:, row], 5), chances[row]))


@each_impl
@pytest.mark.parametrize("mode", ["low", "high"])
def test_categorical_without_replacement(mode: str, impl: str) -> None:
    logits = torch.tensor(np.log(P) - 2, dtype=torch.float32)
    rows = random.categorical(many_keys(28, impl), logits, shape=(2,), replace=False, mode=mode)
    assert plausible(chi_square(order_counts(rows, 5), successive_chances(P)))


@each_impl
def test_categorical_never_takes_what_is_impossible(impl: str) -> None:
    logits = torch.tensor([0.0, -math.inf, 1.0, -math.inf])
    draw = random.categorical(random.key(29, impl=impl), logits, shape=(MANY,))
    assert plausible(chi_square(counts(draw, 4)[[0, 2]], np.array([1, math.e])))
    assert counts(draw, 4)[[1, 3]].sum() == 0
