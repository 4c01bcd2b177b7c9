"""Every elementwise sampler with the arguments that matter, for tests that hold for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from torch_threefry import Key, random

Draw = Callable[..., Tensor]  # (key, shape, window=None)


def _named(name: str, draw: Draw) -> Any:
    return pytest.param(draw, id=name)


FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _continuous() -> list[Any]:
    functions = (
        random.normal,
        random.exponential,
        random.gumbel,
        random.laplace,
        random.logistic,
        random.uniform,
        random.cauchy,
        random.maxwell,
    )
    return [
        _named(f"{f.__name__}-{str(dtype)[6:]}", lambda key, shape, f=f, dtype=dtype, **kw: f(key, shape, dtype, **kw))
        for f in functions
        for dtype in FLOATS
    ]


# Continuous distributions with parameters: name and arguments.
PARAMETRIC: dict[str, tuple[float, ...]] = {
    "double_sided_maxwell": (1.0, 2.0),
    "pareto": (3.0,),
    "rayleigh": (2.0,),
    "weibull_min": (2.0, 1.5),
    "lognormal": (0.7,),
    "triangular": (-1.0, 0.25, 2.0),
    "wald": (2.0,),
    "truncated_normal": (-1.0, 2.0),
    "gamma": (2.5,),
    "loggamma": (0.3,),
    "beta": (0.7, 2.0),
    "chisquare": (3.0,),
    "f": (3.0, 5.0),
    "t": (4.0,),
    "generalized_normal": (3.0,),
}
# Counts: name, arguments, dtypes.
COUNTS: dict[str, tuple[float, ...]] = {
    "geometric": (0.2,),
    "poisson": (4.0,),
    "binomial": (30, 0.2),
}


def _with_arguments() -> list[Any]:
    def sampler(name: str, args: tuple[float, ...], dtype: torch.dtype | None = None) -> Draw:
        return lambda key, shape, **kw: getattr(random, name)(key, *args, shape=shape, dtype=dtype, **kw)

    draws = [
        _named(f"{name}-{str(dtype)[6:]}", sampler(name, args, dtype))
        for name, args in PARAMETRIC.items()
        for dtype in FLOATS
    ]
    draws += [
        _named(f"{name}-{str(dtype)[6:]}", sampler(name, args, dtype))
        for name, args in COUNTS.items()
        for dtype in (torch.int8, torch.int32, torch.bfloat16, torch.float64)
    ]
    # Those that take another way elsewhere in their domain.
    elsewhere = {
        "truncated_normal-tail": ("truncated_normal", (5.5, math.inf)),
        "poisson-large": ("poisson", (40.0,)),
        "binomial-large": ("binomial", (1000, 0.7)),
    }
    draws += [_named(label, sampler(name, args)) for label, (name, args) in elsewhere.items()]
    return draws


def _integers() -> list[Any]:
    unsigned = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
    signed = (torch.int8, torch.int16, torch.int32, torch.int64)
    draws = [
        _named(f"bits-{str(d)[6:]}", lambda key, shape, d=d, **kw: random.bits(key, shape, d, **kw)) for d in unsigned
    ]
    draws += [
        _named(f"randint-{str(d)[6:]}", lambda key, shape, d=d, **kw: random.randint(key, shape, 3, 100, d, **kw))
        for d in (*unsigned, *signed)
    ]
    return draws


def _others() -> list[Any]:
    def gumbel_high(key: Key, shape: Sequence[int], **kw: Any) -> Tensor:
        return random.gumbel(key, shape, mode="high", **kw)

    def gumbel_high64(key: Key, shape: Sequence[int], **kw: Any) -> Tensor:
        return random.gumbel(key, shape, torch.float64, "high", **kw)

    def bernoulli(key: Key, shape: Sequence[int], **kw: Any) -> Tensor:
        return random.bernoulli(key, 0.3, shape, **kw)

    def bernoulli_high(key: Key, shape: Sequence[int], **kw: Any) -> Tensor:
        return random.bernoulli(key, 0.3, shape, "high", **kw)

    def uniform_scaled(key: Key, shape: Sequence[int], **kw: Any) -> Tensor:
        return random.uniform(key, shape, minval=-3.0, maxval=torch.tensor(5.0), **kw)

    named = (gumbel_high, gumbel_high64, bernoulli, bernoulli_high, uniform_scaled, random.rademacher)
    return [_named(f.__name__, f) for f in named]


ALL = [*_continuous(), *_with_arguments(), *_integers(), *_others()]

# One of each kind, where all would take too long.
FEW = [
    p
    for p in ALL
    if p.id
    in (
        "normal-float32",
        "uniform-bfloat16",
        "gumbel_high64",
        "randint-int64",
        "bits-uint8",
        "bernoulli_high",
        "uniform_scaled",
        "gamma-float32",
        "beta-float64",
        "poisson-int32",
        "poisson-large",
        "binomial-int8",
        "truncated_normal-tail",
    )
]
