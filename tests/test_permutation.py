"""Permutations against a plain stable sort, at the sizes where the kernel changes its way."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from torch_threefry import Key, random

SIZES = (0, 1, 2, 3, 7, 8, 9, 1023, 1024, 1025, 1624, 1625, 2047, 2048, 2049, 2**15 - 1, 2**15, 2**15 + 1)
SIZES += (2**17 + 3, 2**18 - 1, 2**18, 2**20 + 7, 2**21 + 2**20)


def stable_sorts(key: Key, n: int) -> Tensor:
    """JAX's definition, with torch's sort of the words as int64."""
    order = torch.arange(n)
    for _ in range(math.ceil(3 * math.log(max(1, n)) / math.log(2**32 - 1))):
        key, subkey = key.split()
        words = random.bits(subkey, (n,)).to(torch.int64)
        order = order[words.sort(stable=True).indices]
    return order


@pytest.mark.parametrize("n", SIZES)
def test_equals_stable_sorts_by_the_words(n: int, impl: str) -> None:
    key = random.key(n, impl=impl)
    expected = stable_sorts(key, n)
    assert torch.equal(key.randperm(n), expected)
    assert torch.equal(random.permutation(key, n), expected.int())


@pytest.mark.parametrize("n", [1, 5, 100, 3000, 40_000])
def test_a_batch_is_a_loop(n: int, impl: str) -> None:
    keys = random.key(1, impl=impl).split((2, 3))
    batch = keys.randperm(n)
    assert all(torch.equal(batch[i, j], stable_sorts(keys[i, j], n)) for i in range(2) for j in range(3))


def test_no_keys_give_no_rows(impl: str) -> None:
    keys = random.key(2, impl=impl).split(0)
    assert keys.randperm(5).shape == (0, 5)


def test_tensors_are_permuted_as_their_indices(impl: str) -> None:
    key = random.key(3, impl=impl)
    x = torch.arange(60).view(3, 20)
    for axis in (0, 1, -1):
        order = key.randperm(x.shape[axis])
        assert torch.equal(random.permutation(key, x, axis), x.index_select(axis, order))
    for dtype in (torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.float64, torch.bfloat16):
        y = x.to(dtype)
        assert torch.equal(random.permutation(key, y, 1), random.permutation(key, x, 1).to(dtype))
        assert torch.equal(random.shuffle(key, y, 1), random.shuffle(key, x, 1).to(dtype))
    independent = random.permutation(key, x, 1, independent=True)
    assert torch.equal(independent.sort(1).values, x)
    assert not torch.equal(independent % 20, (independent % 20)[:1].expand(3, 20))
