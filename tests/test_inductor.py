"""Draws that torch.compile fuses: the operators' bits, in one kernel with what is around them.

On the CPU compiled code calls the operators, so that fusing is forced here. Where there is a GPU, its code is compared
too, with the CPU's numbers.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch._dynamo.testing
import torch._inductor.lowering
from torch import Tensor
from torch._inductor.graph import GraphLowering
from torch._inductor.ir import FallbackKernel
from torch._inductor.utils import run_and_get_code
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from torch_threefry import Key, _inductor, _ops, random

LAYOUTS = ("threefry2x32", "threefry2x32_original")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)

# Keys, or batches of them, by their layouts.
Keys = dict[str, Key]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device type on which draws are fused."""
    device: str = request.param
    before = set(_inductor.FUSED_ON)
    _inductor.FUSED_ON.add(device)
    yield device
    _inductor.FUSED_ON.clear()
    _inductor.FUSED_ON.update(before)


def run_compiled(f: Any, *args: Any, **kw: Any) -> tuple[Any, str]:
    """What a compiled function returns, and the code that Inductor made of it."""
    torch._dynamo.reset()
    result, code = run_and_get_code(torch.compile(f, fullgraph=True, **kw), *args)
    return result, "\n".join(code)


def called(code: str) -> set[str]:
    """The operators of this library that generated code calls."""
    return set(re.findall(r"torch_threefry\.(\w+)\.\w+\(", code))


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Equal, down to the signs of zeros; one NaN is like another."""
    a, b = a.cpu(), b.cpu()
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.is_floating_point():
        if not torch.equal(a.isnan(), b.isnan()):
            return False
        a, b = a.nan_to_num(0, math.inf, -math.inf), b.nan_to_num(0, math.inf, -math.inf)
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.dtype.itemsize]
    return torch.equal(a.view(integer), b.view(integer))


def assert_fused(draws: Callable[[Keys], dict[str, Tensor]], keys: Keys, device: str) -> None:
    """Draws, compiled in one function, are the eager ones, without a call of an operator."""
    # Let draws that share no more than a key become one loop: with equal words they share the cipher, which saves time.
    with torch._inductor.config.patch(score_fusion_memory_threshold=1):
        compiled, code = run_compiled(draws, {name: key.to(device) for name, key in keys.items()})
    wrong = [name for name, expected in draws(keys).items() if not same_bits(compiled[name], expected)]
    assert wrong == [] and called(code) == set()


def both(seed: int) -> Keys:
    """Keys of both layouts."""
    return {impl: random.key(seed, impl=impl) for impl in LAYOUTS}


# ---- Bits for bits ----


def test_bits(device: str) -> None:
    def draws(keys: Keys) -> dict[str, Tensor]:
        result = {}
        for impl, k in keys.items():
            result[f"{impl} scalar"] = random.bits(k[1, 2])
            result[f"{impl} empty"] = random.bits(k, (3, 0))
            far = ((29_990, 30_000), (29_999, 30_001))
            result[f"{impl} far"] = random.bits(k[0, 0], (30_000, 30_001), window=far)
            for dtype in UNSIGNED:
                window = ((1, 4), (2, 7), (0, 2))
                result[f"{impl} {dtype}"] = random.bits(k[0, 0], (5, 7, 3), dtype, window=window)
                # Keys that do not lie side by side.
                batch = random.bits(k[..., 1], (4, 3), dtype, window=((1, 3), (0, 2)))
                result[f"{impl} {dtype} batch"] = batch
        return result

    assert_fused(draws, {impl: key.split((2, 3)) for impl, key in both(41).items()}, device)


BOUNDS = [
    (0.0, 1.0),
    (0.1, 0.7),
    (1.0, 1.0 + 2**-7),  # where rounding gives the upper bound
    (1e-45, 3e-40),
    (-math.inf, 1.0),
    (-3.0, 5.0),
    (-1.0, 1.0),
    (2.0, 1.0),
]


def test_uniform(device: str) -> None:
    def draws(keys: Keys) -> dict[str, Tensor]:
        # The operator, since the function takes no infinite bounds.
        return {
            f"{dtype} {low} {high}": _ops.uniform(
                keys["threefry2x32"].data, 0, (31, 33), None, low, high, _ops.DTYPE_CODES[dtype]
            )
            for dtype in FLOATS
            for low, high in (BOUNDS if dtype == torch.float32 else BOUNDS[:5])
        }

    # The layouts differ in nothing but the words.
    assert_fused(draws, {"threefry2x32": random.key(42)}, device)


def test_bernoulli(device: str) -> None:
    p = torch.tensor([0.0, 1e-9, 0.1, 0.5, 0.99999999, 1.0, math.nan], dtype=torch.float64)
    # Numbers between the first word of some element and the next larger one, so that the second word decides.
    near = {}
    for impl, key in both(44).items():
        first, second = random.uniform(key, (2, 15, 15))
        near[impl] = float(first[(first < 0.5) & (second >= 0.5)][0]) + 2**-24

    def draws(keys: Keys) -> dict[str, Tensor]:
        result = {}
        window = ((0, 9), (3, 30), (0, 7))
        for impl, k in keys.items():
            for mode in ("low", "high"):
                result[f"{impl} {mode}"] = random.bernoulli(k, near[impl], (15, 15), mode)
            for dtype in FLOATS[2:]:
                result[f"{impl} {dtype}"] = random.bernoulli(k, p.to(k.device, dtype), (9, 33, 7), window=window)
        return result

    assert_fused(draws, both(44), device)


RANGES = [
    (torch.uint32, 0, 3 * 2**30),
    (torch.int64, 5, 2**32),
    (torch.int16, -5, 5),
    (torch.uint64, 2**63, 2**63 + 1000),
    (torch.int64, -(2**63), 2**63),
]


def test_randint(device: str) -> None:
    def draws(keys: Keys) -> dict[str, Tensor]:
        return {
            f"{impl} {dtype} {low} {high}": random.randint(k, (3, 21), low, high, dtype)
            for impl, k in keys.items()
            for dtype, low, high in (RANGES if impl == "threefry2x32" else RANGES[:2])
        }

    assert_fused(draws, both(45), device)


def test_dynamic_shapes(device: str) -> None:
    def f(keys: Key, others: Key, x: Tensor, start: int) -> tuple[Tensor, ...]:
        n, m = x.shape
        return (
            x + random.uniform(keys[1], x.shape, minval=-1.0),
            random.randint(keys, (n, m + 3), 0, 5, torch.int64, window=((n - 1, n), (start, m))),
            x * random.bernoulli(others[0], 0.9, x.shape, "high"),
            random.bits(others, (m, n), torch.uint8),
        )

    def arguments(n: int, m: int, count: int, device: str = "cpu") -> tuple[Any, ...]:
        keys, others = (random.key(47, impl=impl).split(count).to(device) for impl in LAYOUTS)
        return keys, others, torch.linspace(-1, 1, n * m).view(n, m).to(device), m // 2

    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    run = torch.compile(f, fullgraph=True, dynamic=True, backend=counter)
    sizes = ((7, 9, 3), (12, 30, 5), (101, 103, 2))
    first, code = run_and_get_code(run, *arguments(*sizes[0], device))
    compilations = counter.frame_count
    for size, result in zip(sizes, [first, *(run(*arguments(*size, device)) for size in sizes[1:])]):
        assert all(same_bits(a, b) for a, b in zip(result, f(*arguments(*size)))), size
    assert called("\n".join(code)) == set() and counter.frame_count == compilations


# ---- In one kernel ----


def test_draws_fuse_with_their_users(device: str) -> None:
    def f(keys: Key, x: Tensor) -> tuple[Tensor, Tensor]:
        masked = x * random.bernoulli(keys[0], 0.9, x.shape)
        return masked, masked + random.uniform(keys[1], x.shape, minval=0.1, maxval=0.7)

    keys, x = random.key(48).split(2), torch.ones(64, 64)
    result, code = run_compiled(f, keys.to(device), x.to(device))
    assert all(same_bits(a, b) for a, b in zip(result, f(keys, x)))
    assert called(code) == set() and code.count("@triton.jit") + code.count('extern "C"') == 1
    # Memory is allocated for the two results alone.
    assert len(re.findall(r"= empty_strided_\w+\(", code)) == 2


def test_gradients_and_vmap(device: str) -> None:
    def loss(keys: Key, x: Tensor) -> Tensor:
        noise = torch.vmap(lambda k: random.uniform(k, (5,), maxval=2.0))(keys)
        return (x * random.bernoulli(keys[0], 0.5, x.shape) + noise).square().sum()

    keys, x = random.key(49).split(3), torch.arange(5.0)
    leaves = x.clone().requires_grad_(), x.clone().to(device).requires_grad_()
    loss(keys, leaves[0]).backward()
    torch._dynamo.reset()
    result, code = run_and_get_code(torch.compile(loss, fullgraph=True), keys.to(device), leaves[1])
    result.backward()
    torch.testing.assert_close(leaves[1].grad.cpu(), leaves[0].grad)
    assert called("\n".join(code)) == set()


# ---- Calls that stay ----


def test_what_is_not_fused_is_called(device: str) -> None:
    def f(key: Key, x: Tensor) -> tuple[Tensor, ...]:
        return (
            random.randint(key, (9,), 0, 10**12, torch.int64),
            random.bits(key, (2**15, 2**15), window=((2**15 - 3, 2**15), (5, 9))),
            random.uniform(key, (9,), minval=x),
            random.bernoulli(key, x, mode="high"),
        )

    key, x = random.key(50), torch.linspace(0, 0.9, 9)
    result, code = run_compiled(f, key.to(device), x.to(device))
    assert all(same_bits(a, b) for a, b in zip(result, f(key, x)))
    assert called(code) == {"randint", "bits", "uniform", "bernoulli"}


def test_large_keys_are_not_fused(device: str) -> None:
    def f(key: Key, x: Tensor) -> Tensor:
        return x * random.bernoulli(key, 0.5, x.shape) + random.uniform(key, x.shape)

    key, x = random.key(51, impl="threefry4x64"), torch.ones(5, 7)
    result, code = run_compiled(f, key.to(device), x.to(device))
    assert same_bits(result, f(key, x)) and called(code) == {"bernoulli", "uniform"}


@pytest.mark.parametrize(("device_type", "calls"), [("cuda", set()), ("cpu", {"bernoulli", "uniform"})])
def test_cuda_alone_fuses(device_type: str, calls: set[str]) -> None:
    def f(data: Tensor, x: Tensor) -> Tensor:
        key = random.wrap_key_data(data)
        return x * random.bernoulli(key, 0.9, x.shape) + random.uniform(key, x.shape)

    # As far as the choice is made, which needs no GPU.
    with FakeTensorMode() as mode:
        data, x = torch.empty(2, dtype=torch.uint32, device=device_type), torch.empty(5, 6, device=device_type)
        graph = GraphLowering(make_fx(f)(data, x))
        with V.set_graph_handler(graph), V.set_fake_mode(mode):
            graph.run(data, x)
    made = [node.op_overload.name() for node in graph.operations if isinstance(node, FallbackKernel)]
    assert {name.split("::")[1].split(".")[0] for name in made} == calls


# ---- Registration ----

FUSED = (_ops.bits, _ops.uniform, _ops.bernoulli, _ops.bernoulli_tensor, _ops.randint)


def test_importing_the_library_does_not_import_inductor() -> None:
    script = """
import sys
import torch_threefry
assert "torch._dynamo" not in sys.modules
assert not {"torch._inductor." + name for name in ("lowering", "ir", "decomposition", "compile_fx")} & set(sys.modules)
import torch._inductor.lowering
assert torch_threefry._ops.uniform in torch._inductor.lowering.lowerings
assert not any("torch_threefry" in type(finder).__module__ for finder in sys.meta_path)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_inductor_may_be_imported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in FUSED:
        monkeypatch.delitem(torch._inductor.lowering.lowerings, op)
    _inductor.register_lowerings()
    assert all(op in torch._inductor.lowering.lowerings for op in FUSED)
