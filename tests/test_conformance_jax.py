"""The draws of jax.random, call by call.

tests/data/jax was made with JAX's 64-bit types on, tests/data/jax_default with JAX's defaults,
which are ours too. What differs between the two is only the default types: of an index, and of
the coin that rademacher throws, alone and as the sign of double_sided_maxwell, generalized_normal
and ball.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax_data
import numpy as np
import pytest
import torch
from jax_data import Case

from torch_threefry import Key, random

FUNCTIONS = (
    "bits",
    "uniform",
    "randint",
    "normal",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "bernoulli",
    "rademacher",
    "permutation",
    "choice",
    "categorical",
    "cauchy",
    "maxwell",
    "double_sided_maxwell",
    "truncated_normal",
    "gamma",
    "loggamma",
    "beta",
    "chisquare",
    "f",
    "t",
    "dirichlet",
    "pareto",
    "rayleigh",
    "wald",
    "weibull_min",
    "lognormal",
    "triangular",
    "generalized_normal",
    "ball",
    "multivariate_normal",
    "orthogonal",
    "geometric",
    "poisson",
)
KEY_FUNCTIONS = ("key", "PRNGKey", "split", "fold_in")
INDEX_FUNCTIONS = ("permutation", "choice", "categorical")


def cases(folder: str, functions: tuple[str, ...]) -> list[Any]:
    return [pytest.param(c, id=f"{c.fn}-{c.id}") for c in jax_data.load(folder) if c.fn in functions]


def arguments(case: Case) -> dict[str, Any]:
    """The case's keyword arguments as torch has them."""

    def convert(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return torch.from_numpy(value)
        return getattr(torch, value) if name == "dtype" else value

    return {name: convert(name, value) for name, value in case.kwargs.items()}


def key_of(case: Case) -> Key:
    assert case.seed is not None
    key = random.key(case.seed, impl=case.impl)
    return key if case.batch is None else random.split(key, case.batch)


def stored(draw: torch.Tensor) -> np.ndarray:
    """The draw as the reference data holds it: bfloat16 as its bits."""
    return (draw.view(torch.uint16) if draw.dtype == torch.bfloat16 else draw).numpy()


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def hits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which elements are within the tolerance that the data's own script states for "ulp"; integers are equal."""
    if b.dtype.kind in "iu":
        return a == b
    absolute, relative = (1e-6, 1e-5) if b.dtype == np.float32 else (1e-13, 1e-12)
    with np.errstate(invalid="ignore"):  # of infinities, the same one is equal
        return (a == b) | np.isfinite(b) & (np.abs(a - b) <= absolute + relative * np.abs(b))


def within_ulps(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and bool(np.all(hits(a, b)))


def nearly_all_within_ulps(a: np.ndarray, b: np.ndarray) -> bool:
    """Of 100 elements, one may be another draw: its accept/reject test fell on a rounding boundary."""
    return a.dtype == b.dtype and int(hits(a, b).sum()) >= 0.99 * b.size


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """A matrix factorisation stands in between."""
    return a.dtype == b.dtype and bool(np.all(np.isfinite(b) & (np.abs(a - b) <= 1e-4 * (1 + np.abs(b)))))


EQUAL = {"exact": same_bits, "ulp": within_ulps, "accept": nearly_all_within_ulps, "close": close}


def report(a: np.ndarray, b: np.ndarray) -> str:
    """What to read when a draw is not as JAX's."""
    if a.dtype != b.dtype:
        return f"{a.dtype} for {b.dtype}"
    off = ~hits(a, b)
    return f"{off.sum()} of {off.size} differ, such as {a[off][:4]} for {b[off][:4]} at {np.flatnonzero(off)[:4]}"


def assert_draw(draw: torch.Tensor, case: Case) -> None:
    assert draw.dtype == getattr(torch, case.dtype)
    assert tuple(draw.shape) == case.result.shape
    if not EQUAL[case.compare](stored(draw), case.result):
        pytest.fail(report(stored(draw), case.result), pytrace=False)


@pytest.mark.parametrize("case", cases("jax", KEY_FUNCTIONS) + cases("jax_default", KEY_FUNCTIONS))
def test_keys(case: Case) -> None:
    if case.seed is None:
        key = getattr(random, case.fn)(**case.kwargs, impl=case.impl)
    else:
        key = getattr(random, case.fn)(key_of(case), **case.kwargs)
    assert isinstance(key, Key)
    assert random.key_impl(key) == case.impl
    assert tuple(key.shape) == case.result.shape[:-1]
    assert_draw(random.key_data(key), case)


def wide_coin(key: Key, shape: tuple[int, ...]) -> torch.Tensor:
    """JAX's signs with its 64-bit types on: rademacher throws a float64 coin."""
    coin = random.bernoulli(key, torch.tensor(0.5, dtype=torch.float64), shape)
    return 2 * coin.double() - 1


def with_wide_signs(case: Case, draw: torch.Tensor, kwargs: dict[str, Any]) -> torch.Tensor:
    """Our float32 draw with the signs that JAX has when it takes them from 64-bit words: ours away, JAX's in."""
    first, second = random.split(key_of(case))
    key = random.split(first)[1] if case.fn == "ball" else second
    turn = random.rademacher(key, tuple(draw.shape), torch.float64) * wide_coin(key, tuple(draw.shape))
    assert 0 < int((turn < 0).sum()) < turn.numel()  # the two coins are independent
    loc = kwargs["loc"] if case.fn == "double_sided_maxwell" else 0
    return (turn * (draw.double() - loc) + loc).to(draw.dtype)


def without_cancellation(case: Case) -> np.ndarray:
    """JAX's wald, with its elements that are themselves out of tolerance put right.

    JAX's root, mean + mean^2 y / 2 - (mean / 2) sqrt(4 mean y + mean^2 y^2), cancels: in float32 one or two
    elements in a hundred are off at a mean of 7. The same root is computed here in float64, from the same normal and
    uniform numbers.
    """
    first, second = random.split(key_of(case))
    dtype, mean = getattr(torch, case.dtype), arguments(case)["mean"].double()
    v = random.normal(first, case.result.shape, dtype).double()
    u = random.uniform(second, case.result.shape, dtype).double()
    t = mean * v**2 / 2
    x = mean / (1 + t + (t * (2 + t)).sqrt())
    root = torch.where(u <= mean / (mean + x), x, mean**2 / x).to(dtype).numpy()
    off = ~hits(case.result, root)
    assert off.mean() <= 0.02
    return np.where(off, root, case.result)


def without_underflow(case: Case, draw: np.ndarray) -> np.ndarray:
    """JAX's t, which is infinite where its gamma draw underflows, with our draw there: that may be finite, but has to be
    at least as large as the smallest normal gamma draw would make it."""
    first, _ = random.split(key_of(case))
    x = random.normal(first, case.result.shape, getattr(torch, case.dtype)).numpy().astype(np.float64)
    tiny = np.finfo(case.result.dtype).tiny
    least = np.abs(x) * np.sqrt(np.asarray(case.kwargs["df"], np.float64) / 2) / np.sqrt(tiny)
    right = np.isinf(case.result) & (np.sign(draw) == np.sign(case.result)) & (np.abs(draw) >= least)
    return np.where(right, draw, case.result)


SIGNED = ("double_sided_maxwell", "generalized_normal", "ball")


def draw_with_wide_types(case: Case) -> torch.Tensor:
    """What our call has to be where JAX's 64-bit types change the stream itself, or a parameter."""
    key, kwargs = key_of(case), arguments(case)
    if case.fn == "rademacher":
        return wide_coin(key, kwargs["shape"]).to(kwargs["dtype"])
    if case.fn == "choice" and kwargs.get("p") is None and kwargs.get("replace", True):
        kwargs["index_dtype"] = torch.int64
    if case.fn == "weibull_min" and case.dtype == "float64":
        # JAX divides 1 / concentration in the concentration's type, which is float32 here.
        kwargs["concentration"] = 1 / (1 / kwargs["concentration"]).double()
    draw: torch.Tensor = getattr(random, case.fn)(key, **kwargs)
    return with_wide_signs(case, draw, kwargs) if case.fn in SIGNED and case.dtype == "float32" else draw


@pytest.mark.parametrize("case", cases("jax", FUNCTIONS))
def test_draws_with_wide_types(case: Case) -> None:
    draw = draw_with_wide_types(case)
    if case.fn in INDEX_FUNCTIONS and case.dtype == "int64":
        assert draw.dtype in (torch.int32, torch.int64)
        draw = draw.to(torch.int64)
    if case.fn in INDEX_FUNCTIONS and case.dtype == "int32":
        assert draw.dtype == torch.int32
    if case.fn == "wald":
        case = replace(case, result=without_cancellation(case))
    if case.fn == "t":
        case = replace(case, result=without_underflow(case, draw.numpy()))
    assert_draw(draw, case)


@pytest.mark.parametrize("case", cases("jax_default", FUNCTIONS))
def test_draws_with_default_types(case: Case) -> None:
    assert_draw(getattr(random, case.fn)(key_of(case), **arguments(case)), case)


@pytest.mark.parametrize("case", [p for p in cases("jax", ("randint",)) if p.values[0].dtype == "uint64"])
def test_uint64_bounds_as_python_integers(case: Case) -> None:
    bounds = {name: case.kwargs[name].item() for name in ("minval", "maxval")}
    draw = random.randint(key_of(case), case.kwargs["shape"], **bounds, dtype=torch.uint64)
    assert_draw(draw, case)


@pytest.mark.parametrize(
    ("impl", "words"),
    [
        ("threefry2x32", [1111271205, 2679469115, 974515252]),
        ("threefry2x32_original", [56197195, 4200222568, 961309823]),
    ],
)
def test_the_words_that_jax_publishes(impl: str, words: list[int]) -> None:
    assert random.bits(random.key(1701, impl=impl), (3,)).tolist() == words


@pytest.mark.parametrize("folder", ["jax", "jax_default"])
def test_no_case_is_forgotten(folder: str) -> None:
    """A rename in the data would switch tests off without a word; the cipher's array form has its own test."""
    names = {case.fn for case in jax_data.load(folder)} - {"threefry_2x32"}
    keys = {"jax": {"key", "split", "fold_in"}, "jax_default": {"PRNGKey", "split", "fold_in"}}[folder]
    assert names == set(FUNCTIONS) | keys


def test_the_comparisons_say_no() -> None:
    b = np.linspace(40, 50, 200, dtype=np.float32)
    for wrong, refused in (
        (b * np.float32(1 + 1e-7), {"exact"}),
        (b + np.float32(3e-3), {"exact", "ulp", "accept"}),
        (np.where(np.arange(200) < 2, 7, b).astype(np.float32), {"exact", "ulp", "close"}),
        (np.where(np.arange(200) < 3, 7, b).astype(np.float32), set(EQUAL)),
        (np.where(np.arange(200) < 3, np.nan, b).astype(np.float32), set(EQUAL)),
        (np.where(np.arange(200) < 3, np.inf, b).astype(np.float32), set(EQUAL)),
        (b.astype(np.float64), set(EQUAL)),
    ):
        assert {name for name, equal in EQUAL.items() if not equal(wrong, b)} == refused, wrong[:3]
    infinite = np.float32([np.inf, -np.inf, 1])
    assert within_ulps(infinite, infinite) and not within_ulps(-infinite, infinite)
    assert not within_ulps(infinite[[2, 2, 2]], infinite) and not within_ulps(infinite, infinite[[2, 2, 2]])
    counts = np.arange(200, dtype=np.int32)
    assert nearly_all_within_ulps(counts, counts) and not nearly_all_within_ulps(counts + (counts < 3), counts)
