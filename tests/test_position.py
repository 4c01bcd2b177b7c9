"""Element i depends on the key and on i alone: not on the draw's length, window, batch, strides, threads or
instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from samplers import ALL, COUNTS, FEW, PARAMETRIC, Draw

from torch_threefry import Key, cpu_instruction_set, random

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("draw", ALL)
def test_a_longer_draw_begins_with_the_shorter_one(draw: Draw) -> None:
    if "high" in draw.__name__:
        pytest.skip("takes the two rows of a (2, n) draw, so that n is part of the position")
    key = random.key(11)
    long = draw(key, (5000,))
    for n in (1, 2, 31, 32, 33, 1023, 1024, 1025, 4999):
        torch.testing.assert_close(draw(key, (n,)), long[:n], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("draw", ALL)
def test_shape_is_only_a_row_major_index(draw: Draw, impl: str) -> None:
    key = random.key(12, impl=impl)
    assert torch.equal(draw(key, (7, 11, 13)), draw(key, (1001,)).view(7, 11, 13))


WINDOWS = [
    ((7, 300, 13), ((0, 7), (0, 300), (0, 13))),
    ((7, 300, 13), ((3, 5), (0, 300), (0, 13))),
    ((7, 300, 13), ((0, 7), (10, 290), (0, 13))),
    ((7, 300, 13), ((1, 6), (7, 299), (12, 13))),
    ((7, 300, 13), ((2, 2), (0, 300), (0, 13))),
    ((4000,), ((1, 3999),)),
    ((40, 500), ((5, 39), (3, 203))),
    ((1, 3, 1, 1100), ((0, 1), (1, 3), (0, 1), (50, 1090))),
]


@pytest.mark.parametrize("draw", ALL)
def test_a_window_is_a_part_of_the_whole(draw: Draw, impl: str) -> None:
    key = random.key(13, impl=impl)
    for shape, window in WINDOWS:
        whole = draw(key, shape)
        part = whole[tuple(slice(*w) for w in window)]
        assert torch.equal(draw(key, shape, window=window), part), (shape, window)


def test_a_window_of_a_draw_too_large_to_make() -> None:
    key = random.key(14)
    shape = (2**40, 4096)
    a = random.normal(key, shape, window=((2**39, 2**39 + 4), (0, 4096)))
    b = random.normal(key, shape, window=((2**39 + 1, 2**39 + 2), (100, 110)))
    assert torch.equal(a[1:2, 100:110], b)


@pytest.mark.parametrize("draw", ALL)
def test_a_batch_of_keys_is_a_loop_over_them(draw: Draw, impl: str) -> None:
    keys = random.key(15, impl=impl).split((3, 5))
    for shape in ((), (1,), (7,), (2, 150), (1100,)):
        batch = draw(keys, shape)
        assert batch.shape == (3, 5, *shape)
        loop = torch.stack([draw(keys[i, j], shape) for i in range(3) for j in range(5)]).view(batch.shape)
        assert torch.equal(batch, loop)


@pytest.mark.parametrize("draw", FEW)
def test_a_batch_with_a_window(draw: Draw, impl: str) -> None:
    keys = random.key(16, impl=impl).split(6)
    whole = draw(keys, (20, 90))
    assert torch.equal(draw(keys, (20, 90), window=((3, 19), (5, 85))), whole[:, 3:19, 5:85])


@pytest.mark.parametrize("draw", FEW)
def test_strides_of_the_keys_do_not_matter(draw: Draw, impl: str) -> None:
    keys = random.key(17, impl=impl).split((4, 6))
    transposed = Key(keys.data.transpose(0, 1), impl)
    words_apart = Key(keys.data.permute(2, 0, 1).contiguous().permute(1, 2, 0), impl)
    expanded = Key(keys[0, 0].data.expand(3, -1), impl)
    assert torch.equal(draw(transposed, (70,)), draw(keys, (70,)).transpose(0, 1))
    assert torch.equal(draw(words_apart, (70,)), draw(keys, (70,)))
    assert torch.equal(draw(expanded, (70,)), draw(keys[0, 0], (70,)).expand(3, 70))


def test_parameters_broadcast_whatever_their_strides(impl: str) -> None:
    keys = random.key(18, impl=impl).split(3)
    high = torch.rand(200, 5, generator=torch.Generator().manual_seed(0)).t() + 1
    for bound in (high, high.contiguous(), high[:, :1], high[0], high[:1].expand(5, 200), high.expand(3, 5, 200)):
        whole = random.uniform(keys, (5, 200), maxval=bound)
        unit = random.uniform(keys, (5, 200))
        assert torch.equal(whole, unit * bound)  # no rounding but the product's: minval is 0
        window = ((1, 4), (30, 170))
        assert torch.equal(random.uniform(keys, (5, 200), maxval=bound, window=window), whole[:, 1:4, 30:170])


@pytest.mark.parametrize("name", [*PARAMETRIC, *COUNTS])
def test_each_element_has_its_own_parameters(name: str, impl: str) -> None:
    """A draw with tensors as parameters is, element by element, the draw with those numbers."""
    arguments = {**PARAMETRIC, **COUNTS}[name]
    key, draw = random.key(41, impl=impl), getattr(random, name)
    tensors = [a * torch.tensor([0.5, 1.0, 1.4]) for a in arguments]
    columns = [draw(key, *(t[j].item() for t in tensors), shape=(400, 3))[:, j] for j in range(3)]
    shape = (400,) if name == "double_sided_maxwell" else (400, 3)  # whose parameters' shape is added
    assert torch.equal(draw(key, *tensors, shape=shape), torch.stack(columns, 1))


def test_whole_rows_in_windows_and_batches(impl: str) -> None:
    keys = random.key(42, impl=impl).split(2)
    alpha = torch.tensor([[0.2, 1.0, 5.0], [2.0, 2.0, 2.0]])
    trials = torch.tensor([40, 0])
    draws = (
        lambda k, **kw: random.dirichlet(k, alpha, (50, 2), **kw),
        lambda k, **kw: random.ball(k, 3, 2.5, (50, 2), **kw),
        lambda k, **kw: random.multinomial(k, trials, alpha, shape=(50, 2, 3), **kw),
    )
    for draw in draws:
        whole = draw(keys)
        assert whole.shape == (2, 50, 2, 3)
        assert torch.equal(torch.stack([draw(keys[0]), draw(keys[1])]), whole)
        assert torch.equal(draw(keys, window=((7, 33), (1, 2))), whole[:, 7:33, 1:2])
        assert torch.equal(draw(keys, window=((7, 7), (0, 2))), whole[:, 7:7])


def test_tensor_bounds_of_randint_equal_number_bounds(impl: str) -> None:
    key = random.key(19, impl=impl)
    for dtype in (
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.uint16,
        torch.int32,
        torch.uint32,
        torch.int64,
        torch.uint64,
    ):
        info = torch.iinfo(dtype)
        for low, high in ((0, 10), (info.min, info.max), (info.max - 3, info.max), (5, 5), (9, 2), (0, 100)):
            bounds = torch.tensor([low], dtype=dtype), torch.tensor([high], dtype=dtype)
            expected = random.randint(key, (300,), low, high, dtype)
            assert torch.equal(random.randint(key, (300,), *bounds, dtype), expected)
            assert torch.equal(random.randint(key, (300,), low, bounds[1], dtype), expected)
        full = random.randint(key, (300,), info.min, info.max + 1, dtype)
        assert torch.equal(
            random.randint(key, (300,), torch.tensor([info.min], dtype=dtype), info.max + 1, dtype), full
        )


@pytest.mark.parametrize("draw", FEW)
def test_the_number_of_threads_does_not_matter(draw: Draw, impl: str) -> None:
    keys = random.key(20, impl=impl).split(3)
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(
                (draw(keys, (70_001,)), keys.split(50_001).data, keys.randperm(200_003), keys[0].randperm(70_001))
            )
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other))


DIGEST = """
import hashlib, sys
import torch
from torch_threefry import cpu_instruction_set, random, tvm
sys.path.insert(0, {tests!r})
from samplers import ALL
digest = hashlib.sha256()
def add(x):
    digest.update(x.contiguous().view(torch.uint8).numpy().tobytes())
for impl in ("threefry2x32", "threefry2x32_original"):
    key = random.key(21, impl=impl)
    for p in ALL:
        add(p.values[0](key, (3001,)))
        add(p.values[0](key.split(40), (7,)))
    add(key.split(1001).data)
    add(key.fold_in(torch.arange(1001)).data)
    add(key.randperm(5001))
for x in (*tvm.generate(tvm.key(21), (3001,)), *tvm.uniform(tvm.key(21), (3001,), -1, 2)):
    add(x)
add(tvm.uniform(tvm.key(21), (3001,), -1, 2, torch.float64)[1])
add(tvm.uniform(tvm.key(21), (3001,), -1, 2, rule="first")[1])
print(cpu_instruction_set(), digest.hexdigest())
"""


def _digest(instruction_set: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", DIGEST.format(tests=str(ROOT / "tests"))],
        env={**os.environ, "TORCH_THREEFRY_CPU": instruction_set},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.mark.skipif(cpu_instruction_set() == "base", reason="only x86-64 has several")
def test_the_instruction_set_does_not_matter() -> None:
    sets = ["v2", "v3", "v4"]
    runnable = sets[: sets.index(cpu_instruction_set()) + 1]
    digests = [_digest(name) for name in runnable]
    assert [d[0] for d in digests] == runnable
    assert len({d[1] for d in digests}) == 1


def test_an_unknown_instruction_set_is_an_error() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from torch_threefry import random; random.normal(random.key(0), (3,))"],
        env={**os.environ, "TORCH_THREEFRY_CPU": "v9"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "TORCH_THREEFRY_CPU=v9" in run.stderr
