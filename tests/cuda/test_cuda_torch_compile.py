"""torch.compile: fused or called, in a CUDA graph or not, compiled draws have the bits of eager ones."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch._dynamo.utils
from on_device import Check
from samplers import FLOATS
from torch import Tensor

from torch_threefry import Key, random

IMPLS = ("threefry2x32", "threefry2x32_original")
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)


@pytest.fixture(autouse=True)
def compiler(device: torch.device) -> Iterator[None]:
    """A compiler without memory of other tests."""
    if device.type == "cuda" and importlib.util.find_spec("triton") is None:
        pytest.skip("needs triton")
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def step(key: Key, x: Tensor) -> dict[str, Any]:
    """A bit of everything. (No sums: compiled code may fuse them with products, and round once.)"""
    mask_key, noise_key, next_key = key.split(3)
    return {
        "masked": x * random.bernoulli(mask_key, 0.9, x.shape),
        "uniform": random.uniform(noise_key, (x.shape[0],), minval=-1.0, maxval=x[:, 0]),
        "normal": random.normal(noise_key.fold_in(3), x.shape),
        "gamma": random.gamma(noise_key.fold_in(4), x.abs()),
        "order": noise_key.randperm(x.shape[0]),
        "next": next_key,
    }


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_step(mode: str, device: torch.device, check: Check) -> None:
    def steps(keys: list[Key], x: Tensor) -> list[Any]:
        return [step(key, x) for key in keys]

    x = torch.linspace(0.5, 2.0, 129 * 257).view(129, 257)
    run, there = torch.compile(steps, fullgraph=True, mode=mode), x.to(device)
    for seed in range(4):  # in a CUDA graph from the second or third on
        keys = [random.key(seed, impl=impl) for impl in IMPLS]
        with check.on_cpu():
            expected = steps(keys, x)
        torch.compiler.cudagraph_mark_step_begin()
        check.same(run([key.to(device) for key in keys], there), expected)
    if device.type == "cuda":
        assert torch._dynamo.utils.counters["inductor"]["cudagraph_skips"] == 0


def draws_of(key: Key, p: Tensor) -> dict[str, Tensor]:
    """What may be fused, of each dtype: from one key, and from a batch in windows."""
    ways: dict[str, Any] = {
        "odd": (key, {"shape": (31, 33)}),
        "batch": (key.split((2, 3)), {"shape": (50, 40), "window": ((3, 49), (1, 38))}),
    }
    draws: dict[str, Tensor] = {}
    for way, (k, where) in ways.items():
        draws |= {f"bits {d}, {way}": random.bits(k, dtype=d, **where) for d in UNSIGNED}
        draws |= {f"uniform {d}, {way}": random.uniform(k, dtype=d, minval=-1.0, maxval=3.0, **where) for d in FLOATS}
        draws |= {
            f"randint {d}, {way}": random.randint(k, minval=3, maxval=100, dtype=d, **where)
            for d in (*UNSIGNED, *SIGNED)
        }
        draws |= {f"bernoulli {m}, {way}": random.bernoulli(k, 0.3, mode=m, **where) for m in ("low", "high")}
    draws["all of int64"] = random.randint(key, (999,), -(2**63), 2**63, torch.int64)
    draws["most of int32"] = random.randint(key, (999,), -(2**31), 2**31 - 1)
    draws["bernoulli, tensor"] = random.bernoulli(key, p, (99, *p.shape))
    draws["bernoulli, float64"] = random.bernoulli(key, p.double(), (99, *p.shape), "high")
    draws["uniform, tensor"] = random.uniform(key, (99, *p.shape), maxval=p)
    return draws


def test_each_dtype(device: torch.device, check: Check) -> None:
    def draws(keys: list[Key], p: Tensor) -> list[Any]:
        return [draws_of(key, p) for key in keys]

    keys, p = [random.key(141, impl=impl) for impl in IMPLS], torch.linspace(0, 1, 11)
    with check.on_cpu():
        expected = draws(keys, p)
    run = torch.compile(draws, fullgraph=True)
    check.same(run([key.to(device) for key in keys], p.to(device)), expected)


def test_gradients(device: torch.device, check: Check) -> None:
    key, a = random.key(142), torch.linspace(0.5, 3.0, 77, dtype=torch.float64)

    def loss(key: Key, a: Tensor) -> Tensor:
        noise = random.gamma(key, a, dtype=torch.float64) + random.uniform(key, a.shape, torch.float64, maxval=a)
        return (noise * random.bernoulli(key, 0.5, a.shape)).sum()

    def gradient(run: Any, device: torch.device) -> Tensor:
        leaf = a.clone().to(device).requires_grad_()
        run(key.to(device), leaf).backward()
        assert leaf.grad is not None
        return leaf.grad.cpu()

    with check.on_cpu():
        expected = gradient(loss, torch.device("cpu"))
    compiled = gradient(torch.compile(loss, fullgraph=True), device)
    torch.testing.assert_close(compiled, expected, rtol=1e-9, atol=1e-9)
