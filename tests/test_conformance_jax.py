"""The draws of jax.random, call by call.

tests/data/jax was made with JAX's 64-bit types on, tests/data/jax_default with JAX's defaults,
which are ours too. What differs between the two is only the default types: of an index, and of
the coin that rademacher throws.
"""

from __future__ import annotations

from typing import Any

import jax_data
import numpy as np
import pytest
import torch
from jax_data import Case

from torch_threefry import Key, random

# A function of the manifest that is not here is not yet in the package.
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


def within_ulps(a: np.ndarray, b: np.ndarray) -> bool:
    """The tolerance that the data's own script states."""
    absolute, relative = (1e-6, 1e-5) if b.dtype == np.float32 else (1e-13, 1e-12)
    return a.dtype == b.dtype and bool(np.all(np.abs(a - b) <= absolute + relative * np.abs(b)))


def assert_draw(draw: torch.Tensor, case: Case) -> None:
    assert draw.dtype == getattr(torch, case.dtype)
    assert tuple(draw.shape) == case.result.shape
    equal = {"exact": same_bits, "ulp": within_ulps}[case.compare]
    assert equal(stored(draw), case.result)


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


def draw_with_wide_types(case: Case) -> torch.Tensor:
    """What our call has to be where JAX's 64-bit types change the stream itself."""
    key, kwargs = key_of(case), arguments(case)
    if case.fn == "rademacher":
        coin = random.bernoulli(key, torch.tensor(0.5, dtype=torch.float64), kwargs["shape"])
        return (2 * coin - 1).to(kwargs["dtype"])
    if case.fn == "choice" and kwargs.get("p") is None and kwargs.get("replace", True):
        kwargs["index_dtype"] = torch.int64
    draw: torch.Tensor = getattr(random, case.fn)(key, **kwargs)
    return draw


@pytest.mark.parametrize("case", cases("jax", FUNCTIONS))
def test_draws_with_wide_types(case: Case) -> None:
    draw = draw_with_wide_types(case)
    if case.fn in INDEX_FUNCTIONS and case.dtype == "int64":
        assert draw.dtype in (torch.int32, torch.int64)
        draw = draw.to(torch.int64)
    if case.fn in INDEX_FUNCTIONS and case.dtype == "int32":
        assert draw.dtype == torch.int32
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


def test_no_case_is_forgotten() -> None:
    """A rename in the data would switch tests off without a word."""
    names = {case.fn for case in jax_data.load("jax")}
    assert names >= set(FUNCTIONS) | {"key", "split", "fold_in"}
