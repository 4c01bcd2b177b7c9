"""The oracle itself against published answers: Random123's rows and JAX's own draws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import jax_data
import numpy as np
import pytest
import reference
from jax_data import Case

FAST_ENOUGH = 300  # elements of a case that are checked one by one


def random123_rows() -> list[list[str]]:
    folder = jax_data.DATA / "random123"
    return [
        line.split()
        for name in ("kat_vectors.txt", "old_kat_vectors.txt")
        for line in (folder / name).open()
        if line.strip()
    ]


def test_cipher_gives_random123s_answers() -> None:
    rows = random123_rows()
    for name, rounds, *hexes in rows:
        words = [int(h, 16) for h in hexes]
        size, width = map(int, name.removeprefix("threefry").split("x"))
        counter, key, expected = (tuple(words[k * size : (k + 1) * size]) for k in range(3))
        cipher = getattr(reference, f"threefry_{size}x{width}")
        assert cipher(counter, key, int(rounds)) == expected, (name, rounds, hexes)
    assert len(rows) == 628


def check_key(case: Case) -> list[Any]:
    made = reference.key(case.kwargs["seed"], case.impl)
    return [made.first, made.second]


def check_split(case: Case, key: reference.Key) -> list[Any]:
    num = case.kwargs["num"]
    n = math.prod(num) if isinstance(num, tuple) else num
    return [w for i in range(n) for w in reference.split(key, i, n).words]


def check_fold_in(case: Case, key: reference.Key) -> list[Any]:
    return reference.fold_in(key, case.kwargs["data"]).words


def elements(case: Case) -> range:
    """The indices to check: all, or a fixed stride through a long draw that ends with its last one."""
    n = case.result.size
    step = -(-n // FAST_ENOUGH) or 1
    return range((n - 1) % step if n else 0, n, step)


def check_bits(case: Case, key: reference.Key) -> list[Any]:
    width = case.result.dtype.itemsize * 8
    return [reference.word(key, i, case.result.size, width) for i in elements(case)]


def check_uniform(case: Case, key: reference.Key) -> list[Any]:
    low, high = case.kwargs.get("minval", 0.0), case.kwargs.get("maxval", 1.0)
    values = (reference.uniform(key, i, case.result.size, case.dtype, low, high) for i in elements(case))
    return [reference.encode(value, case.dtype) for value in values]


def check_randint(case: Case, key: reference.Key) -> list[Any]:
    low = np.broadcast_to(case.kwargs["minval"], case.result.shape).ravel().tolist()
    high = np.broadcast_to(case.kwargs["maxval"], case.result.shape).ravel().tolist()
    n = case.result.size
    return [reference.randint(key, i, n, low[i], high[i], case.dtype) for i in elements(case)]


def check_bernoulli(case: Case, key: reference.Key) -> list[Any]:
    p = np.broadcast_to(case.kwargs["p"], case.result.shape).ravel().tolist()
    mode, n = case.kwargs.get("mode", "low"), case.result.size
    return [reference.bernoulli(key, i, n, p[i], "float32", mode) for i in elements(case)]


def check_rademacher(case: Case, key: reference.Key) -> list[Any]:
    # These draws were made with 64-bit types on, so the coin is a float64.
    return [reference.rademacher(key, i, case.result.size, "float64") for i in elements(case)]


def check_permutation(case: Case, key: reference.Key) -> list[Any]:
    x, axis = case.kwargs["x"], case.kwargs.get("axis", 0)
    if isinstance(x, int):
        return reference.permutation(key, x)
    if case.kwargs.get("independent"):
        return list(x.ravel()[reference.shuffled(key, x.shape, axis % x.ndim)])
    return list(np.take(x, reference.permutation(key, x.shape[axis]), axis).ravel())


CHECKS = {
    "split": check_split,
    "fold_in": check_fold_in,
    "bits": check_bits,
    "uniform": check_uniform,
    "randint": check_randint,
    "bernoulli": check_bernoulli,
    "rademacher": check_rademacher,
    "permutation": check_permutation,
}


@pytest.mark.parametrize(
    "case",
    [c for c in jax_data.load("jax") if c.fn in CHECKS or c.fn == "key"],
    ids=lambda c: f"{c.fn}-{c.id}",
)
def test_oracle_gives_jaxs_draws(case: Case) -> None:
    if case.fn == "key":
        values = check_key(case)
    else:
        assert case.seed is not None
        values = CHECKS[case.fn](case, reference.key(case.seed, case.impl))
    stored = case.result.ravel()
    if case.fn == "uniform":
        stored = stored.view(f"uint{stored.itemsize * 8}")
    expected = stored.tolist()
    if len(values) != len(expected):
        expected = [expected[i] for i in elements(case)]
    assert values == expected


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_encode_and_rounded_agree_with_numpy(dtype: str) -> None:
    """Every kind of float: subnormals, the border to normals, ties in both directions."""
    kind = np.dtype(dtype)
    uint = f"uint{kind.itemsize * 8}"
    tiny, one = float(np.finfo(kind).tiny), kind.type(1)
    values = [
        0.0,
        tiny / 2,
        tiny,
        -tiny,
        1.0,
        -1.5,
        0.1,
        1 / 3,
        1000.0,
        float(np.nextafter(one, kind.type(2))),
    ]
    for value in values:
        assert reference.encode(reference.rounded(value, dtype), dtype) == int(np.array(value, kind).view(uint))
    step = Fraction(1, 2 ** reference.FORMATS[dtype].mantissa)
    assert reference.rounded(1 + step / 2, dtype) == 1
    assert reference.rounded(1 + 3 * step / 2, dtype) == 1 + 2 * step
    assert reference.rounded(1 + step / 2 + step / 2**40, dtype) == 1 + step


def test_seed_range() -> None:
    assert reference.key(-(2**63)).words == [2**31, 0]
    assert reference.key(2**64 - 1).words == [2**32 - 1, 2**32 - 1]
    for seed in (-(2**63) - 1, 2**64):
        with pytest.raises(OverflowError, match=str(seed)):
            reference.key(seed)
