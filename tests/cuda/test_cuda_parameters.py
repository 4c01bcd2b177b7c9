"""Tensors as parameters: contiguous, broadcast, strided, of half precision, and outside of their domain."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from on_device import Check, On
from samplers import COUNTS, FLOATS, PARAMETRIC
from torch import Tensor

from torch_threefry import random

INTEGERS = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64, torch.int64)
ROWS, COLUMNS = 61, 50

# What a sampler's first parameter is scaled with, laid out in some way, on the device where it is drawn.
LAYOUTS: dict[str, Any] = {
    "contiguous": lambda on, t: on(t),
    "a row": lambda on, t: on(t)[0],
    "a column": lambda on, t: on(t)[:, :1],
    "transposed": lambda on, t: on(t.t().contiguous()).t(),
    "every other": lambda on, t: on(torch.stack([t, -t], -1))[..., 0],
    "expanded": lambda on, t: on(t)[:1].expand(ROWS, COLUMNS),
    "one number": lambda on, t: on(t)[0, 0],
    "one number of the host": lambda on, t: t[0, 0].clone(),
}


def scales(dtype: torch.dtype) -> Tensor:
    """A matrix of numbers around 1."""
    return torch.linspace(0.5, 1.4, ROWS * COLUMNS, dtype=torch.float64).view(ROWS, COLUMNS).to(dtype)


def draw(name: str, key: Any, parameters: list[Any], dtype: torch.dtype | None, **kw: Any) -> Tensor:
    """A draw of ROWS x COLUMNS elements. (The shape of double_sided_maxwell goes before that of its parameters.)"""
    taken = max(p.dim() for p in parameters) if name == "double_sided_maxwell" else 0
    return getattr(random, name)(key, *parameters, shape=(ROWS, COLUMNS)[: 2 - taken], dtype=dtype, **kw)


@pytest.mark.parametrize("name", [*PARAMETRIC, *COUNTS])
def test_layouts(name: str, impl: str, check: Check) -> None:
    numbers = {**PARAMETRIC, **COUNTS}[name]
    key = random.key(73, impl=impl)
    floats = (torch.float32, torch.float64, torch.bfloat16)
    dtypes = floats if name in PARAMETRIC else (torch.int32, torch.float64, torch.int8)

    def case(layout: Any, dtype: torch.dtype, parameter_dtype: torch.dtype) -> Any:
        def f(on: On) -> Tensor:
            parameters = [layout(on, number * scales(parameter_dtype)) for number in numbers]
            return draw(name, on(key), parameters, dtype)

        return f

    check(
        {
            f"{dtype}, {layout} {parameter_dtype}": case(LAYOUTS[layout], dtype, parameter_dtype)
            for layout in LAYOUTS
            for dtype in dtypes
            for parameter_dtype in (torch.float32, torch.float64, torch.float16)
        }
    )


@pytest.mark.parametrize("name", [*PARAMETRIC, *COUNTS])
def test_mixed_layouts_in_batches_and_windows(name: str, impl: str, check: Check) -> None:
    numbers = {**PARAMETRIC, **COUNTS}[name]
    keys = random.key(74, impl=impl).split(3)
    window = {} if name == "double_sided_maxwell" else {"window": ((7, 60), (3, 41))}

    def f(on: On) -> Tensor:
        layouts = (LAYOUTS["a row"], LAYOUTS["a column"], LAYOUTS["transposed"])
        tensors = [layout(on, number * scales(torch.float64)) for number, layout in zip(numbers, layouts)]
        return draw(name, on(keys), tensors, None, **window)

    def a_row_a_key(on: On) -> Tensor:
        first = on(torch.stack([numbers[0] * scales(torch.float32)] * 3) * torch.tensor([0.9, 1.0, 1.1]).view(3, 1, 1))
        others = [on(number * scales(torch.float32)) for number in numbers[1:]]
        if name == "double_sided_maxwell":  # whose parameters have no more dimensions than one key's draw
            first = first[0]
        return draw(name, on(keys), [first, *others], None, **window)

    check({"mixed": f, "a row a key": a_row_a_key})


@pytest.mark.parametrize("name", [*PARAMETRIC, *COUNTS])
def test_outside_of_the_domain(name: str, impl: str, check: Check) -> None:
    """Numbers that give NaN or -1, and those at the ends of the domain: they hang nothing and are as on the CPU."""
    numbers = {**PARAMETRIC, **COUNTS}[name]
    key = random.key(75, impl=impl)
    hard = torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, 2.0**53, math.inf, -math.inf, math.nan, 5e-324, 1e-5])
    hard = torch.cat([hard, *(torch.tensor([float(n)]) for n in numbers)]).double()

    def case(i: int, dtype: torch.dtype) -> Any:
        def f(on: On) -> Tensor:
            parameters = [on(torch.full((), float(n), dtype=torch.float64)) for n in numbers]
            parameters[i] = on(hard)
            shape = (40,) if name == "double_sided_maxwell" else (40, len(hard))
            return getattr(random, name)(on(key), *parameters, shape=shape, dtype=dtype)

        return f

    dtypes = (torch.float32, torch.float64) if name in PARAMETRIC else (torch.int32, torch.int64, torch.float64)
    check({f"parameter {i}, {dtype}": case(i, dtype) for i in range(len(numbers)) for dtype in dtypes})


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype: torch.dtype, impl: str, check: Check) -> None:
    key = random.key(76, impl=impl)
    low, high = torch.linspace(-5, 3, COLUMNS), torch.linspace(-6, 7, ROWS)[:, None]

    def case(low: Any, high: Any, **kw: Any) -> Any:
        def f(on: On) -> Tensor:
            bounds = [on(b) if isinstance(b, Tensor) and b.dim() else b for b in (low, high)]
            return random.uniform(on(key), (ROWS, COLUMNS), dtype, *bounds, **kw)

        return f

    check(
        {
            "tensors": case(low, high),
            "a number and a tensor": case(-1.0, high),
            "a tensor and a number": case(low, 4),
            "a number of the host": case(torch.tensor(-7.0), high),
            "numbers": case(1.0, 1.0 + 2**-7),
            "window": case(low, high, window=((3, 60), (0, 49))),
            "hard": case(torch.tensor([math.inf, math.nan, 0.0, -3e38] * 12 + [0.0, 0.0]), torch.tensor(3e38)),
        }
    )


@pytest.mark.parametrize("dtype", INTEGERS)
def test_randint(dtype: torch.dtype, impl: str, check: Check) -> None:
    key, info = random.key(77, impl=impl), torch.iinfo(dtype)
    numbers = [(0, 10), (info.min, info.max), (info.max - 3, info.max), (5, 5), (9, 2), (info.min, info.max + 1)]
    values = [0, 1, 7, 100, info.max // 3, info.max - 1]
    ends, falling = torch.tensor(values, dtype=dtype), torch.tensor(values[::-1], dtype=dtype)

    def case(low: Any, high: Any) -> Any:
        def f(on: On) -> Tensor:
            bounds = [on(b) if isinstance(b, Tensor) else b for b in (low, high)]
            return random.randint(on(key), (201, len(ends)), *bounds, dtype)

        return f

    cases = {f"{low}, {high}": case(low, high) for low, high in numbers}
    cases |= {f"{low}, tensor": case(low, ends) for low in (0, info.min)}
    cases |= {f"tensor, {high}": case(ends, high) for high in (50, info.max)}
    check({**cases, "tensors": case(ends, falling)})


@pytest.mark.parametrize("mode", ["low", "high"])
def test_bernoulli(mode: str, impl: str, check: Check) -> None:
    keys = random.key(78, impl=impl).split(2)
    p = torch.tensor([0.0, 1e-9, 0.1, 0.5, 0.99999999, 1.0, -1.0, 2.0, math.nan], dtype=torch.float64)

    def case(dtype: torch.dtype, **kw: Any) -> Any:
        return lambda on: random.bernoulli(on(keys), on(p.to(dtype)), mode=mode, **kw)

    check(
        {
            f"{dtype} {name}": case(dtype, **kw)
            for dtype in FLOATS
            for name, kw in {
                "own shape": {},
                "wide": {"shape": (500, len(p))},
                "window": {"shape": (500, len(p)), "window": ((3, 400), (1, 9))},
            }.items()
        }
    )
