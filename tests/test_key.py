"""Keys as values: containers, copies, files, other processes."""

from __future__ import annotations

import copy
import io
import json
import multiprocessing
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from torch_threefry import Key, random

PAIRS = pytest.mark.parametrize("impl", ["threefry2x32", "threefry2x32_original"])


@PAIRS
def test_seeds_are_64_bits_in_twos_complement(impl: str) -> None:
    words = {
        0: [0, 0],
        42: [0, 42],
        -1: [2**32 - 1, 2**32 - 1],
        2**64 - 1: [2**32 - 1, 2**32 - 1],
        2**40 + 17: [256, 17],
    }
    for seed, expected in words.items():
        assert random.key_data(random.key(seed, impl=impl)).tolist() == expected


def test_seeds_of_256_bits() -> None:
    for seed, expected in {
        0: [0, 0, 0, 0],
        42: [42, 0, 0, 0],
        2**64 + 5: [5, 1, 0, 0],
        2**256 - 1: [2**64 - 1] * 4,
        2**200 + 2**130: [0, 0, 4, 256],
    }.items():
        words = random.key_data(random.key(seed, impl="threefry4x64")).tolist()
        assert words == [*expected, 0, 0, 0, 0, 2**63, 0]
    for seed in (-1, 2**256):
        with pytest.raises(OverflowError, match=r"seed must fit into 256 bits.*0 <= seed < 2\^256, got"):
            random.key(seed, impl="threefry4x64")


def test_a_tensor_of_seeds_makes_a_batch(impl: str) -> None:
    seeds = torch.tensor([[0, 1, -1], [2**40, -(2**63), 2**63 - 1]])
    keys = random.key(seeds, impl=impl)
    assert keys.shape == (2, 3)
    same = [[seed % 2**64 for seed in row] for row in seeds.tolist()]  # as 64 bits
    assert all(keys[i, j].equal(random.key(same[i][j], impl=impl)) for i in range(2) for j in range(3))
    assert random.key(torch.tensor(2**64 - 1, dtype=torch.uint64)).equal(random.key(2**64 - 1))


def test_indexing_iterating_and_unpacking() -> None:
    keys = random.key(1).split((4, 3))
    assert keys.shape == (4, 3) and keys.ndim == 2 and len(keys) == 4
    assert keys[1].shape == (3,) and keys[1, 2].shape == () and keys[-1, ..., 0].shape == ()
    assert keys[1:3].shape == (2, 3) and keys[:, 1].shape == (4,) and keys[..., 1].shape == (4,)
    assert keys[None].shape == (1, 4, 3) and keys[torch.tensor([0, 2])].shape == (2, 3)
    assert keys[torch.tensor([True, False, True, False])].shape == (2, 3)
    assert keys[..., 1].equal(keys[:, 1])
    mask = np.zeros((4, 3), dtype=bool)
    mask[1, 2] = mask[3, 0] = True
    assert keys[mask].shape == keys[torch.from_numpy(mask)].shape == (2,) and keys[[0, 2]].shape == (2, 3)
    first, _ = random.key(1).split()
    assert [k.shape for k in keys] == [(3,)] * 4 and first.shape == ()
    assert keys.reshape(12).equal(keys.reshape((2, 6)).reshape(-1))
    with pytest.raises(TypeError, match="single key"):
        iter(first)
    with pytest.raises(TypeError, match="single key"):
        len(first)
    with pytest.raises(IndexError, match="index"):
        keys[0, 0, 0]
    with pytest.raises(IndexError):
        keys[4]


def test_equality() -> None:
    a, b = random.key(3), random.key(4)
    assert bool(a == random.key(3)) and not bool(a == b) and bool(a != b)
    keys = a.split(3)
    assert (keys == keys[1]).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="other"):
        _ = keys == a.split(2)
    assert keys.equal(a.split(3)) and not keys.equal(keys[:2])
    other = Key(a.data, "threefry2x32_original")
    assert not bool(a == other) and not a.equal(other)
    large = random.key(3, impl="threefry4x64")
    assert bool(large == random.key(3, impl="threefry4x64")) and bool(large != large.split()[0])
    assert not bool(a == large) and bool(large != a) and not a.equal(large)
    assert (large.split(3) == keys[0]).tolist() == [False, False, False]
    assert a != 3 and a is not None
    with pytest.raises(TypeError):
        hash(a)


def test_no_arithmetic() -> None:
    for operation in (lambda k: k + 1, lambda k: k ^ k, lambda k: -k, lambda k: k < random.key(1)):
        with pytest.raises(TypeError):
            operation(random.key(0))


def test_repr_shows_no_words() -> None:
    assert repr(random.key(123456789)) == "Key(impl='threefry2x32')"
    assert (
        repr(random.key(0, impl="threefry2x32_original").split((2, 3)))
        == "Key(impl='threefry2x32_original', shape=(2, 3))"
    )


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3), (500,)])
def test_copies_and_files_hold_the_same_keys(shape: tuple[int, ...], impl: str) -> None:
    key = random.key(5, impl=impl).split(shape)
    assert pickle.loads(pickle.dumps(key)).equal(key)
    assert copy.copy(key).equal(key) and copy.deepcopy(key).equal(key) and random.clone(key).equal(key)
    assert copy.deepcopy(key).data.data_ptr() != key.data.data_ptr() or key.data.numel() == 0
    assert Key.from_state(json.loads(json.dumps(key.get_state()))).equal(key)
    file = io.BytesIO()
    torch.save({"key": key, "step": 3}, file)
    file.seek(0)
    assert torch.load(file, weights_only=True)["key"].equal(key)
    assert random.wrap_key_data(random.key_data(key), impl=random.key_impl(key)).equal(key)


def test_one_key_of_a_batch_is_pickled_alone() -> None:
    keys = random.key(5).split(100_000)
    assert len(pickle.dumps(keys[3])) < 1000 and pickle.loads(pickle.dumps(keys[3])).equal(keys[3])


def test_state_must_be_a_state() -> None:
    good = random.key(5).get_state()
    for state in (
        {},
        {"impl": "threefry2x32"},
        [0, 1],
        {**good, "words": [2**32, 0]},
        {**good, "words": [1]},
        {**good, "shape": [2]},
        {**good, "impl": "threefry4x64"},
        {"impl": "threefry4x64", "shape": [], "words": [0] * 10},
    ):
        for device in (None, "meta"):
            with pytest.raises(ValueError, match="state|key data of threefry4x64"):
                Key.from_state(state, device)
    for words in ([1.5, 2], None, 3):
        with pytest.raises(TypeError, match="state's word"):
            Key.from_state({**good, "words": words})
    with pytest.raises(ValueError, match="impl"):
        Key.from_state({**good, "impl": "mt19937"})


def test_devices() -> None:
    key = random.key(6)
    assert key.device == torch.device("cpu") and key.to("cpu").equal(key) and key.cpu().equal(key)
    meta = random.key(6, device="meta")
    assert meta.device.type == "meta"
    assert random.normal(meta, (3, 4)).device.type == "meta" and meta.split(3).shape == (3,)
    assert "meta" in repr(meta)


def test_fold_in_takes_ints_and_tensors(impl: str) -> None:
    key = random.key(7, impl=impl)
    numbers = [0, 1, 2, 12345, 2**31, 2**32 - 1, 2**32, 2**63 - 1]
    folded = key.fold_in(torch.tensor(numbers))
    assert folded.shape == (8,)
    for i, number in enumerate(numbers):
        assert key.fold_in(number).equal(folded[i])
        assert key.fold_in(torch.tensor(number)).equal(folded[i])
    assert key.fold_in(-1).equal(key.fold_in(2**64 - 1))
    assert key.fold_in(torch.tensor(-1)).equal(key.fold_in(torch.tensor(2**64 - 1, dtype=torch.uint64)))
    assert key.fold_in(torch.tensor(200, dtype=torch.uint8)).equal(key.fold_in(200))
    assert key.fold_in(torch.tensor(-3, dtype=torch.int8)).equal(key.fold_in(-3))
    keys = key.split(4)
    grid = keys[:, None].fold_in(torch.arange(3))
    assert grid.shape == (4, 3) and all(grid[i, j].equal(keys[i].fold_in(j)) for i in range(4) for j in range(3))
    assert keys.fold_in(5).equal(keys.fold_in(torch.tensor([5])))


def test_children_are_distinct(impl: str) -> None:
    key = random.key(8, impl=impl)
    data = torch.cat([key.split(1000).data, key.fold_in(torch.arange(2**40, 2**40 + 1000)).data, key.data[None]])
    assert len({tuple(words) for words in data.tolist()}) == 2001


def test_partitionable_children_do_not_depend_on_their_number() -> None:
    key = random.key(9)
    assert key.split(1000)[:10].equal(key.split(10))
    assert key.split((10, 100)).reshape(-1).equal(key.split(1000))


def test_words_of_a_split_are_the_64_bit_words() -> None:
    key = random.key(10)
    words = key.split(100).data.to(torch.int64)
    bits = random.bits(key, (100,), torch.uint64).view(torch.int64)
    assert torch.equal(words[:, 0] << 32 | words[:, 1], bits)


def test_torchs_names() -> None:
    key = random.key(11)
    assert torch.equal(key.rand(2, 3), random.uniform(key, (2, 3)))
    assert torch.equal(key.rand((2, 3)), key.rand(2, 3)) and torch.equal(key.rand([2, 3]), key.rand(2, 3))
    assert key.rand().shape == () and key.rand(3, dtype=torch.float64).dtype == torch.float64
    assert torch.equal(key.rand(size=(2, 3)), key.rand(2, 3)) and key.randint(10, (3,), dtype=None).dtype == torch.int64
    with pytest.raises(TypeError, match="size"):
        key.rand(2, size=(3,))
    assert torch.equal(key.randn(5), random.normal(key, (5,)))
    assert torch.equal(key.randint(10, (5,)), random.randint(key, (5,), 0, 10, torch.int64))
    assert torch.equal(key.randint(3, 10, (5,)), random.randint(key, (5,), 3, 10, torch.int64))
    assert torch.equal(key.randint(low=3, high=10, size=(5,)), key.randint(3, 10, (5,)))
    assert torch.equal(key.randint(3, 10, size=(5,)), key.randint(3, 10, (5,)))
    assert key.randint(10, (5,), dtype=torch.uint8).dtype == torch.uint8
    assert key.randperm(10).dtype == torch.int64 and sorted(key.randperm(1000).tolist()) == list(range(1000))
    assert torch.equal(key.randperm(10), random.permutation(key, 10).long())
    assert key.randperm(10, dtype=torch.int16).dtype == torch.int16
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert key.rand(2).dtype == key.randn(2).dtype == torch.float64
        assert random.uniform(key, (2,)).dtype == torch.float32
    finally:
        torch.set_default_dtype(before)
    for wrong in (lambda: key.randint(5, 5, (2,)), lambda: key.randint(0, 300, (2,), dtype=torch.uint8)):
        with pytest.raises(ValueError, match="low and high"):
            wrong()
    with pytest.raises(TypeError, match="randint takes"):
        key.randint(1, 2, 3, 4)


class DrawingDataset(Dataset[torch.Tensor]):
    """Items are draws from a key that travels to the worker with the dataset."""

    def __init__(self, key: Key) -> None:
        self.key = key

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.key.fold_in(index).randn(3)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_keys_travel_to_dataloader_workers(context: str) -> None:
    dataset = DrawingDataset(random.key(12))
    loader = DataLoader(dataset, batch_size=4, num_workers=2, multiprocessing_context=context)
    assert torch.equal(torch.cat(list(loader)), torch.stack([dataset[i] for i in range(8)]))


def _child_words(key: Key) -> list[int]:
    return [int(w) for w in key.fold_in(1).data.tolist()]


def test_keys_travel_to_a_spawned_process() -> None:
    key = random.key(13)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_child_words, (key,)) == _child_words(key)
