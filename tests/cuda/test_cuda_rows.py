"""Whole rows, orders and selections."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from on_device import Check, skip_unless_free
from samplers import FLOATS

from torch_threefry import random

SIZES = (0, 1, 2, 3, 1025, 2**15 - 1, 2**15, 2**15 + 1, 2**20)

# Their sums are exact in any order, so that no device's order of summation shows.
WEIGHTS = torch.tensor([0.25, 3.0, 0.0, 1.0, 0.5, 2.0, 8.0])


def test_dirichlet(impl: str, check: Check) -> None:
    keys = random.key(91, impl=impl).split(2)
    alpha = torch.tensor([[0.2, 1.0, 5.0], [2.0, 2.0, 2.0], [1e-3, 1e-4, 0.0], [-1.0, 1.0, 1.0]])
    cases: dict[str, Any] = {}
    for dtype in FLOATS:
        cases |= {
            f"{dtype}": lambda on, dtype=dtype: random.dirichlet(on(keys), on(alpha), (300, 4), dtype),
            f"{dtype}, window": lambda on, dtype=dtype: random.dirichlet(
                on(keys), on(alpha), (300, 4), dtype, window=((7, 290), (1, 3))
            ),
        }
    wide = torch.linspace(0.1, 3.0, 1001)
    check({**cases, "wide": lambda on: random.dirichlet(on(keys), on(wide), (20,))})


def test_ball(impl: str, check: Check) -> None:
    keys = random.key(92, impl=impl).split(2)
    p = torch.tensor([0.5, 1.0, 2.0, 7.0, -1.0])
    cases: dict[str, Any] = {}
    for dtype in FLOATS:
        cases |= {
            f"{dtype}": lambda on, dtype=dtype: random.ball(on(keys), 3, 2.5, (200, 5), dtype),
            f"{dtype}, tensor": lambda on, dtype=dtype: random.ball(on(keys), 4, on(p), (200, 5), dtype),
        }
    check({**cases, "window": lambda on: random.ball(on(keys), 3, on(p), (200, 5), window=((7, 190), (1, 5)))})


def test_multinomial(impl: str, check: Check) -> None:
    keys = random.key(93, impl=impl).split(2)
    weights = torch.tensor([[0.2, 0.3, 0.5], [5.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 1.0, 1.0]])
    trials = torch.tensor([40.0, 10_000.0, 3.0, 2.0])
    cases: dict[str, Any] = {}
    for dtype in (torch.float32, torch.int32, torch.float64, torch.bfloat16):
        cases |= {
            f"{dtype}": lambda on, dtype=dtype: random.multinomial(
                on(keys), 100, on(weights), shape=(300, 4, 3), dtype=dtype
            ),
            f"{dtype}, tensors": lambda on, dtype=dtype: random.multinomial(
                on(keys), on(trials), on(weights), shape=(300, 4, 3), dtype=dtype, window=((7, 290), (0, 3))
            ),
        }
    wide = torch.linspace(0.0, 3.0, 501)
    check({**cases, "wide": lambda on: random.multinomial(on(keys), 1000, on(wide), shape=(9, 501))})


def test_choice(impl: str, check: Check) -> None:
    keys = random.key(94, impl=impl).split(2)
    x = torch.arange(7 * 300).view(300, 7)
    unsigned = x.to(torch.uint32)
    check(
        {
            "of an int": lambda on: random.choice(on(keys), 1000, (70, 3)),
            "int64": lambda on: random.choice(on(keys), 1000, (70,), index_dtype=torch.int64),
            "without replacement": lambda on: random.choice(on(keys), 1000, (70,), replace=False),
            "of slices": lambda on: random.choice(on(keys), on(x), (70,), axis=1),
            "of unsigned slices": lambda on: random.choice(on(keys), on(unsigned), (70,)),
            "by weight": lambda on: random.choice(on(keys), 7, (5000,), p=on(WEIGHTS)),
            "by weight, float64": lambda on: random.choice(on(keys), 7, (5000,), p=on(WEIGHTS.double())),
            "by weight, numbers": lambda on: random.choice(on(keys), 7, (50,), p=WEIGHTS.tolist()),
            "by weight, without replacement": lambda on: random.choice(on(keys), 7, (5,), False, on(WEIGHTS)),
            "slices by weight": lambda on: random.choice(on(keys), on(x), (3, 4), p=on(WEIGHTS), axis=1),
        }
    )


def test_categorical(impl: str, check: Check) -> None:
    keys = random.key(95, impl=impl).split(2)
    logits = torch.linspace(-4, 4, 300).view(3, 100)
    cases: dict[str, Any] = {}
    for dtype in FLOATS:
        for mode in ("low", "high"):
            cases[f"{dtype}, {mode}"] = lambda on, dtype=dtype, mode=mode: random.categorical(
                on(keys), on(logits.to(dtype)), shape=(500, 3), mode=mode
            )
    check(
        {
            **cases,
            "another axis": lambda on: random.categorical(on(keys), on(logits), 0, (20, 100)),
            "without replacement": lambda on: random.categorical(on(keys), on(logits), shape=(50, 3), replace=False),
        }
    )


def test_factorised_draws_are_close(impl: str, device: torch.device) -> None:
    """Those that go through torch's factorisations. The one of ``svd`` and ``eigh`` is not unique."""
    key = random.key(96, impl=impl)
    root = random.normal(key, (4, 5, 5), torch.float64)
    mean, cov = root[..., 0], root @ root.mT + torch.eye(5, dtype=torch.float64)
    for method in ("cholesky", "svd", "eigh"):
        x = random.multivariate_normal(key.to(device), mean.to(device), cov.to(device), (100, 4), method=method)
        expected = random.multivariate_normal(key, mean, cov, (100, 4), method=method)
        assert x.device == device and x.shape == expected.shape and bool(x.isfinite().all())
        if method == "cholesky":
            torch.testing.assert_close(x.cpu(), expected, rtol=1e-9, atol=1e-9)
    x = random.orthogonal(key.to(device), 5, (9,), torch.float64, m=3)
    assert x.device == device
    torch.testing.assert_close(x.cpu(), random.orthogonal(key, 5, (9,), torch.float64, m=3), rtol=1e-9, atol=1e-9)


# ---- Permutations ----


def test_permutations(impl: str, check: Check) -> None:
    key = random.key(97, impl=impl)
    check(
        {
            f"{n}": lambda on, n=n: [
                on(key).randperm(n),
                random.permutation(on(key), n),
                on(key).fold_in(n).randperm(n),
            ]
            for n in SIZES
        }
    )


@pytest.mark.parametrize(("keys", "n"), [(6, 1), (6, 5), (0, 5), (5000, 33), (7, 3000), (3, 2**15 + 1)])
def test_permutations_of_many_keys(keys: int, n: int, impl: str, check: Check) -> None:
    batch = random.key(98, impl=impl).split(keys)
    check({"int64": lambda on: on(batch).randperm(n), "int32": lambda on: random.permutation(on(batch), n)})


def test_more_permutations_than_are_made_at_once(impl: str, check: Check) -> None:
    keys = random.key(102, impl=impl).split(5)
    check({"4 and 1": lambda on: on(keys).randperm(2**22)})


def test_strided_keys_of_permutations(impl: str, check: Check) -> None:
    keys = random.key(99, impl=impl).split((4, 3))
    check(
        {"every other": lambda on: on(keys)[::2, 1:].randperm(77), "children": lambda on: on(keys)[..., 0].randperm(9)}
    )


def test_tensors_are_permuted(impl: str, check: Check) -> None:
    keys = random.key(100, impl=impl).split(2)
    x = torch.arange(60 * 50).view(60, 50)
    cases: dict[str, Any] = {}
    for dtype in (torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.float64, torch.bfloat16):
        y = x.to(dtype)
        cases |= {
            f"{dtype}": lambda on, y=y: [random.permutation(on(keys), on(y), axis) for axis in (0, 1)],
            f"{dtype}, independent": lambda on, y=y: [random.shuffle(on(keys), on(y), axis) for axis in (0, 1)],
        }
    check(cases)


def test_a_long_permutation_has_every_number_once(impl: str, device: torch.device) -> None:
    skip_unless_free(device, 8)
    n = 2**27
    for dtype in (torch.int32, torch.int64):
        order = random.key(101, impl=impl).to(device).randperm(n, dtype=dtype)
        assert order.shape == (n,) and order.dtype == dtype
        assert int(order.min()) == 0 and int(order.max()) == n - 1
        seen = torch.zeros(n, dtype=torch.bool, device=device)
        seen[order.long()] = True
        assert bool(seen.all())
        assert int((order[1:] - order[:-1] == 1).sum()) < 100  # nor do many still follow one another: one, on average
