"""Derivatives: the gamma family's slopes to the bit; the others, which take torch's functions, nearly so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from on_device import Check
from samplers import PARAMETRIC
from torch import Tensor

from torch_threefry import Key, _ops, random

COUNT = 500


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gamma_slopes(dtype: torch.dtype, impl: str, check: Check) -> None:
    key = random.key(111, impl=impl)
    concentrations = torch.logspace(-4, 6, 20_001, dtype=torch.float64).to(dtype)
    log_draws = random.loggamma(key, concentrations, dtype=dtype)
    hard = torch.tensor([0.0, 1.0, float("inf"), float("nan"), -1.0], dtype=dtype)
    pairs = torch.cartesian_prod(hard, hard).t().contiguous()
    check(
        {
            "of draws": lambda on: _ops.loggamma_slope(on(concentrations), on(log_draws)),
            "hard": lambda on: _ops.loggamma_slope(on(pairs[0]), on(pairs[1])),
        }
    )


def parameters(name: str, device: torch.device) -> list[Tensor]:
    """An own set of parameters for each element."""
    scale = torch.linspace(0.8, 1.3, COUNT, dtype=torch.float64)
    return [(number * scale).to(device) for number in PARAMETRIC[name]]


def draw(name: str, key: Key, values: Any) -> Tensor:
    shape = () if name == "double_sided_maxwell" else (COUNT,)
    return getattr(random, name)(key, *values, shape=shape, dtype=torch.float64)


def assert_near(actual: Any, expected: Any, device: torch.device) -> None:
    for a, b in zip(actual, expected, strict=True):
        assert a.device == device
        torch.testing.assert_close(a.cpu(), b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PARAMETRIC)
def test_backward_and_forward(name: str, impl: str, device: torch.device, check: Check) -> None:
    key = random.key(112, impl=impl)

    def derivatives(device: torch.device) -> list[Tensor]:
        there = key.to(device)
        leaves = [p.requires_grad_() for p in parameters(name, device)]
        drawn = draw(name, there, leaves)
        gradients = torch.autograd.grad(drawn.sum(), leaves)
        values = parameters(name, device)
        tangents = [torch.full_like(p, 0.5) for p in values]
        _, pushed = torch.func.jvp(lambda *p: draw(name, there, p), (*values,), (*tangents,))
        return [drawn.detach(), *gradients, pushed]

    with check.on_cpu():
        expected = derivatives(torch.device("cpu"))
    actual = derivatives(device)
    check.same(actual[0], expected[0])
    assert_near(actual[1:], expected[1:], device)


def test_uniform_bounds_and_rows(impl: str, device: torch.device, check: Check) -> None:
    key = random.key(113, impl=impl)
    low = torch.linspace(-1, 1, COUNT, dtype=torch.float64)
    alpha = torch.linspace(0.3, 4, 12, dtype=torch.float64).view(3, 4)
    p = torch.tensor([0.7, 2.0, 5.0], dtype=torch.float64)
    weights = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)  # rows add up to 1, whose gradient is 0

    def gradients(device: torch.device) -> list[Tensor]:
        there = key.to(device)
        leaves = [x.detach().to(device, copy=True).requires_grad_() for x in (low, alpha, p)]
        uniform = random.uniform(there, (COUNT,), torch.float64, minval=leaves[0], maxval=leaves[0] + 2)
        dirichlet = random.dirichlet(there, leaves[1], dtype=torch.float64)
        ball = random.ball(there, 4, leaves[2], (3,), torch.float64)
        total = uniform.square().sum() + ((dirichlet + ball) * weights.to(device)).sum()
        return list(torch.autograd.grad(total, leaves))

    with check.on_cpu():
        expected = gradients(torch.device("cpu"))
    assert_near(gradients(device), expected, device)


def test_vmap(impl: str, device: torch.device, check: Check) -> None:
    """Gradients mapped over keys and parameters."""
    keys, a = random.key(114, impl=impl).split(7), torch.linspace(0.5, 5, 7, dtype=torch.float64)

    def gradients(device: torch.device) -> list[Tensor]:
        def loss(a: Tensor, key: Key) -> Tensor:
            return random.gamma(key, a, (9,), torch.float64).sum()

        return [torch.vmap(torch.func.grad(loss))(a.to(device), keys.to(device))]

    with check.on_cpu():
        expected = gradients(torch.device("cpu"))
    assert_near(gradients(device), expected, device)
