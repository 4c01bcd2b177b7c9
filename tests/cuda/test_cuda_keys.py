"""Keys on a device, and the bare cipher."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from on_device import Check, On

from torch_threefry import Key, random, threefry, threefry_2x32, tvm

SEEDS = (0, 1, -1, 42, 2**32, 2**63, -(2**63), 2**64 - 1)


def test_seeds(impl: str, device: torch.device, check: Check) -> None:
    for seed in SEEDS:
        key = random.key(seed, impl=impl, device=device)
        check.same(key, random.key(seed, impl=impl))
    check({"a tensor of seeds": lambda on: random.key(on(torch.arange(-3, 30)), impl=impl)})


def test_split(impl: str, check: Check) -> None:
    key = random.key(81, impl=impl)
    keys = key.split((4, 3))
    shapes = (0, 1, 2, 3, (2, 3), (5, 0), 1001, 2**20 + 1)
    cases: dict[str, Any] = {f"{shape}": lambda on, shape=shape: on(key).split(shape) for shape in shapes}
    cases |= {f"batch, {shape}": lambda on, shape=shape: on(keys).split(shape) for shape in shapes[:-1]}
    check({**cases, "strided": lambda on: Key(on(keys).data.transpose(0, 1), impl).split(5)})


def test_fold_in(impl: str, check: Check) -> None:
    key = random.key(82, impl=impl)
    keys = key.split((4, 3))
    signed = torch.tensor([0, 1, -1, 2**32, 2**62, -(2**63), 2**63 - 1])
    cases: dict[str, Any] = {f"{i}": lambda on, i=i: on(keys).fold_in(i) for i in (0, 1, -1, 2**32, 2**64 - 1)}
    for dtype in (torch.int64, torch.uint64, torch.int32, torch.uint32, torch.uint8):
        cases[f"{dtype}"] = lambda on, dtype=dtype: on(key).fold_in(on(signed.to(dtype)))
    check(
        {
            **cases,
            "one number": lambda on: on(keys).fold_in(on(torch.tensor(7))),
            "one number of the host": lambda on: on(keys).fold_in(torch.tensor(7)),
            "broadcast": lambda on: on(keys).fold_in(on(torch.arange(20).view(5, 4, 1))),
            "strided": lambda on: on(keys).fold_in(on(torch.arange(24).view(3, 8)).t()[:4]),
            "many": lambda on: on(key).fold_in(on(torch.arange(2**20 + 1))),
        }
    )


def test_indexing(impl: str, check: Check) -> None:
    keys = random.key(83, impl=impl).split((4, 3))
    indices: dict[str, Any] = {
        "int": 2,
        "ints": (1, -1),
        "slice": slice(1, None, 2),
        "ellipsis": (..., 1),
        "new axis": (None, 2),
        "list": [3, 0, 0],
        "lists": ([0, 1], [2, 0]),
    }
    cases: dict[str, Any] = {name: lambda on, index=index: on(keys)[index] for name, index in indices.items()}
    check(
        {
            **cases,
            "tensor": lambda on: on(keys)[on(torch.tensor([[0, 3], [2, 2]]))],
            "mask": lambda on: on(keys)[on(torch.arange(12).view(4, 3) % 2 == 0)],
            "iteration": lambda on: [list(row) for row in on(keys)],
            "reshape": lambda on: on(keys).reshape(2, -1),
            "clone": lambda on: on(keys).clone(),
        }
    )


def test_comparison(impl: str, device: torch.device, check: Check) -> None:
    keys = random.key(84, impl=impl).split((4, 3))
    other = keys[[0, 2, 1, 3]]
    check({"keys": lambda on: on(keys) == on(other), "a key": lambda on: on(keys) == on(keys[1, 1])})
    there = keys.to(device)
    assert there.equal(keys.to(device)) and not there.equal(other.to(device)) and not there.equal(there[0])


def test_copies(impl: str, device: torch.device, check: Check) -> None:
    for keys in (random.key(85, impl=impl), random.key(86, impl=impl).split((20, 30))):  # few words, and many
        there = keys.to(device)
        file = io.BytesIO()
        torch.save(there, file)
        file.seek(0)
        for copied in (
            pickle.loads(pickle.dumps(there)),
            copy.deepcopy(there),
            torch.load(file, weights_only=True),
            Key.from_state(there.get_state(), device=device),
        ):
            check.same(copied, keys)
        assert there.cpu().equal(keys) and there.get_state() == keys.get_state()


def test_torch_names(impl: str, check: Check) -> None:
    key = random.key(87, impl=impl)
    check(
        {
            "rand": lambda on: on(key).rand(3, 40),
            "randn": lambda on: on(key).randn(3, 40, dtype=torch.float64),
            "randint": lambda on: on(key).randint(-5, 10**12, (3, 40)),
            "randperm": lambda on: on(key).randperm(100, dtype=torch.uint8),
        }
    )


@pytest.mark.parametrize("words", [2, 4])
@pytest.mark.parametrize("dtype", [torch.uint32, torch.uint64])
def test_cipher(dtype: torch.dtype, words: int, check: Check) -> None:
    def case(rounds: int, count: int) -> Any:
        signed = torch.int32 if dtype == torch.uint32 else torch.int64
        info = torch.iinfo(signed)
        generator = torch.Generator().manual_seed(rounds)
        shape = (2, count, words)
        counter, key = torch.randint(info.min, info.max, shape, generator=generator, dtype=signed).view(dtype)

        def f(on: On) -> Any:
            return [
                threefry(on(counter), on(key), rounds),
                threefry(on(counter), on(key)[:1], rounds),
                threefry(on(counter.t().contiguous()).t(), on(key), rounds),
            ]

        return f

    most = 32 if words == 2 else 72
    check({f"{rounds} of {count}": case(rounds, count) for rounds in (1, 7, 20, most) for count in (1, 1001)})


def test_counts_hashed_as_jax_does(check: Check) -> None:
    key = random.key(88)
    for n in (1, 2, 1001):
        count = torch.arange(n, dtype=torch.int32).view(torch.uint32)
        check({f"{n}": lambda on, count=count: threefry_2x32(on(key).data, on(count))})


def test_tvm(device: torch.device, check: Check) -> None:
    check.same(tvm.key(2**255 + 7, device=device), tvm.key(2**255 + 7))
    words = [[1, 2, 3, 4, 5, 6, 0, counter, position, 0] for counter in (0, 7, -3) for position in (1, -(2**63), 0)]
    states = torch.tensor(words).view(torch.uint64)
    cases: dict[str, Any] = {"split": lambda on: tvm.split(on(states))}
    for shape in ((), (3,), (64,), (5, 129), (0, 3), (2**18 + 3,)):
        for rule in ("first", "release"):
            cases |= {
                f"words, {shape}, {rule}": lambda on, s=shape, r=rule: tvm.generate(on(states), s, r),
                f"float64, {shape}, {rule}": lambda on, s=shape, r=rule: tvm.uniform(
                    on(states), s, -1, 2, torch.float64, r
                ),
            }
        cases[f"float32, {shape}"] = lambda on, s=shape: tvm.uniform(on(states), s, -1, 2)
    check({**cases, "strided": lambda on: tvm.generate(on(states.t().contiguous()).t(), (5,))})
