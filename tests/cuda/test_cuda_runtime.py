"""Launches, streams, CUDA graphs and devices: no result depends on them, and nothing waits for the device."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from on_device import Check
from samplers import ALL, COUNTS, PARAMETRIC
from torch import Tensor
from torch.utils._pytree import tree_leaves

from torch_threefry import _C, Key, _ops, random, threefry, tvm


def draws_of(key: Key) -> dict[str, Any]:
    """A bit of everything that a key gives, without a tensor from elsewhere."""
    keys = key.split((2, 3))
    draws: dict[str, Any] = {p.id: p.values[0](key, (1001,)) for p in ALL}
    draws |= {f"{p.id}, batch": p.values[0](keys, (35,)) for p in ALL}
    draws |= {f"{p.id}, window": p.values[0](key, (9, 70), window=((2, 8), (3, 69))) for p in ALL}
    draws |= {
        "split": keys,
        "many children": key.split(777),
        "fold_in": keys.fold_in(3),
        "randperm": key.randperm(777),
        "batch of randperms": keys.randperm(77),
        "permutation": random.permutation(key, 70_000),
        "choice": random.choice(key, 1000, (77,)),
        "without replacement": random.choice(key, 1000, (77,), replace=False),
        "ball": random.ball(key, 3, 2.5, (77,)),
        "cipher": threefry(keys.data, key.data),
    }
    states = random.bits(keys, (10,), torch.uint64)
    draws["tvm"] = [*tvm.generate(states, (77,)), *tvm.uniform(states, (77,), -1, 2), *tvm.split(states)]
    return draws


def rows_of(key: Key, alpha: Tensor, numbers: Tensor) -> dict[str, Any]:
    """The same with tensors, that lie on the key's device: positive ones, and integers."""
    n = numbers.shape[0]
    return {
        "dirichlet": random.dirichlet(key, alpha, (77,)),
        "multinomial": random.multinomial(key, 30, alpha, shape=(77, alpha.shape[0])),
        "categorical": random.categorical(key, alpha, shape=(77,)),
        "by weight": random.choice(key, alpha.shape[0], (77,), p=alpha),
        "gamma": random.gamma(key, alpha, (77, alpha.shape[0])),
        "poisson": random.poisson(key, alpha, (77, alpha.shape[0])),
        "uniform": random.uniform(key, (77, alpha.shape[0]), maxval=alpha),
        "randint": random.randint(key, (77, n), 0, numbers),
        "bernoulli": random.bernoulli(key, 1 / (1 + alpha), (77, alpha.shape[0])),
        "fold_in": key.fold_in(numbers),
        "children": key.split(n)[numbers % n],
        "shuffle": random.shuffle(key, numbers),
        "slope": _ops.loggamma_slope(alpha, alpha),
    }


# Sums of these are exact in any order.
ALPHA, NUMBERS = torch.tensor([0.25, 1.0, 2.5, 8.0]), torch.arange(1, 30)


def both_of(key: Key) -> dict[str, Any]:
    """All of the above, on the key's device."""
    return {"numbers": draws_of(key), "tensors": rows_of(key, ALPHA.to(key.device), NUMBERS.to(key.device))}


# ---- Launches ----


@pytest.mark.parametrize("shape", [(1, 1), (1, 32), (2, 1), (3, 64), (5, 256), (257, 128), (2048, 256)])
def test_the_shape_of_a_launch_does_not_matter(
    shape: tuple[int, int], impl: str, check: Check, set_launch_shape: Callable[[int, int], None]
) -> None:
    key = random.key(121, impl=impl)
    with check.on_cpu():
        expected = both_of(key)
    set_launch_shape(*shape)
    check.same(both_of(key.to(check.device)), expected)


def test_impossible_launches(set_launch_shape: Callable[[int, int], None]) -> None:
    for shape in ((-1, 32), (1, 33), (1, 512), (1, -1)):
        with pytest.raises(ValueError, match="blocks"):
            set_launch_shape(*shape)


# ---- Waiting ----


@contextmanager
def no_waiting() -> Iterator[None]:
    """What waits for the device, as far as torch notices, is an error."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_no_draw_waits_for_the_device(impl: str, cuda: torch.device, check: Check) -> None:
    key = random.key(122, impl=impl)
    there, alpha, numbers = key.to(cuda), ALPHA.to(cuda), NUMBERS.to(cuda)
    with no_waiting(), pytest.raises(RuntimeError, match="synchroniz"):
        alpha.sum().item()
    with no_waiting():
        results = {"numbers": draws_of(there), "tensors": rows_of(there, alpha, numbers)}
    check.same(results, both_of(key))


# ---- Streams ----


def test_draws_are_ordered_with_their_stream(impl: str, cuda: torch.device, check: Check) -> None:
    """The key is overwritten by its stream, late: a draw on another stream would be of the old one."""
    old, new = random.key(123, impl=impl), random.key(124, impl=impl)
    key, other, alpha, numbers = old.to(cuda), new.to(cuda), ALPHA.to(cuda), NUMBERS.to(cuda)
    rows_of(key, alpha, numbers), draws_of(key)  # kernels are loaded at their first use, which may wait
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # cycles
        key.data.copy_(other.data)
        results = {"numbers": draws_of(key), "tensors": rows_of(key, alpha, numbers)}
    stream.synchronize()
    check.same(results, both_of(new))


# ---- CUDA graphs ----


def captured(f: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, Any]:
    """f's work as a graph, and its results, which each replay writes."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # kernels are loaded, and memory is allocated
        f()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = f()
    return graph, results


def test_graphs_draw_again_from_what_the_key_then_is(impl: str, cuda: torch.device, check: Check) -> None:
    keys = [random.key(seed, impl=impl) for seed in (125, 126, 127)]
    key, alpha, numbers = keys[0].to(cuda), ALPHA.to(cuda), NUMBERS.to(cuda)
    graph, results = captured(lambda: {"numbers": draws_of(key), "tensors": rows_of(key, alpha, numbers)})
    for other in keys:
        key.data.copy_(other.data)
        for x in tree_leaves(results):
            x.view(torch.uint8).zero_()
        graph.replay()
        torch.cuda.synchronize()
        check.same(results, both_of(other))


def test_graphs_of_long_draws(impl: str, cuda: torch.device, check: Check) -> None:
    first, second = random.key(128, impl=impl), random.key(129, impl=impl)

    def draws(key: Key) -> list[Tensor]:
        a, b = key.split()
        return [random.normal(a, (2**21 + 1,)), b.randperm(2**20 + 1), random.gamma(b, 2.5, (2**20,))]

    key = first.to(cuda)
    graph, results = captured(lambda: draws(key))
    key.data.copy_(second.data)
    graph.replay()
    check.same(results, draws(second))


# ---- Devices ----


def test_another_device_than_the_current_one(impl: str, cuda: torch.device, check: Check) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    key, there = random.key(130, impl=impl), torch.device("cuda", 1 - (cuda.index or 0))
    results = both_of(key.to(there))
    assert torch.cuda.current_device() == cuda.index
    Check(there, check.on_cpu).same(results, both_of(key))


def elsewhere(device: torch.device) -> torch.device:
    """Another device, on which a tensor can be made."""
    return torch.device("cpu" if device.type == "cuda" else "meta")


@pytest.mark.parametrize("name", [*PARAMETRIC, *COUNTS])
def test_parameters_on_another_device(name: str, device: torch.device) -> None:
    key, numbers = random.key(131).to(device), {**PARAMETRIC, **COUNTS}[name]
    for i in range(len(numbers)):
        parameters: list[Any] = [torch.full((5,), float(n), device=device) for n in numbers]
        parameters[i] = parameters[i].to(elsewhere(device))
        with pytest.raises(ValueError, match="device"):
            getattr(random, name)(key, *parameters)


def test_other_tensors_on_another_device(device: torch.device) -> None:
    key, there = random.key(132).to(device), elsewhere(device)
    x, numbers = torch.ones(5, device=there), torch.ones(5, dtype=torch.int64, device=there)
    for draw in (
        lambda: random.uniform(key, (5,), maxval=x),
        lambda: random.randint(key, (5,), 0, numbers),
        lambda: random.bernoulli(key, x),
        lambda: random.dirichlet(key, x),
        lambda: random.multinomial(key, 3, x),
        lambda: random.ball(key, 3, x, (5,)),
        lambda: random.categorical(key, x),
        lambda: random.permutation(key, x),
        lambda: random.shuffle(key, x),
        lambda: random.choice(key, x, (3,)),
        lambda: random.multivariate_normal(key, x, torch.eye(5, device=device)),
        lambda: key.fold_in(numbers),
        lambda: key == Key(key.data.to(there)),
        lambda: threefry(key.data.to(there), key.data),
    ):
        with pytest.raises(ValueError, match="device"):
            draw()


def test_without_kernels_an_error_says_how_to_get_them(cuda: torch.device) -> None:
    key = random.key(133, device=cuda)
    _C.use_cuda_kernels(None)
    try:
        with pytest.raises(RuntimeError, match="TORCH_THREEFRY_CUDA=1"):
            random.normal(key, (3,))
    finally:
        _C.use_cuda_kernels(importlib.import_module("torch_threefry._C_cuda").kernels)
    assert random.normal(key, (3,)).device == cuda
