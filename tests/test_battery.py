"""The battery on every impl's streams, and on ciphers of few rounds, which it has to refuse.

Keys are fixed, and were not chosen by what comes out of them. A right stream gives a p-value below
LEAST with a chance of one in a million; there are about 260 p-values of the package here, so that all pass
with a chance of at least 0.9997 (Bonferroni), and what passes once passes always. What has to be refused has a p-value
below DECISIVE, which is a million times less likely still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import battery
import numpy as np
import pytest
import torch
from battery import Words
from scipy import stats

from torch_threefry import Key, random, threefry
from torch_threefry.key import IMPL_NUMBERS

LEAST = 1e-6
DECISIVE = 1e-12

each_impl = pytest.mark.parametrize("impl", IMPL_NUMBERS)
each_dtype = pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
each_torch_dtype = pytest.mark.parametrize("dtype", [torch.uint32, torch.uint64], ids=str)

MANY = 2**20
# What a statistic is given of the first words of a stream: eliminations cost more than the others.
STATISTICS: dict[str, tuple[Callable[[Words], float], int]] = {
    "monobit": (battery.monobit, MANY),
    "serial correlation": (battery.serial_correlation, MANY),
    "birthday spacings": (battery.birthday_spacings, MANY),
    "Hamming-weight dependency": (battery.hamming_weight_dependency, MANY),
    "binary rank": (battery.binary_rank, MANY // 8),
    "binary rank by position": (battery.binary_rank_by_position, MANY // 8),
}

# How sharp the statistics are: the most rounds (of 20) of which one refuses the stream of key 42, in words of 32 and of
# 64 bits. With a round more the p-value is above DECISIVE. The keys 0 and 1 give the same numbers, or one or two off.
CAUGHT_ROUNDS = {
    "threefry2x32": {
        "monobit": (3, 4),
        "serial correlation": (7, 7),
        "birthday spacings": (5, 5),
        "Hamming-weight dependency": (6, 6),
        "binary rank": (4, 4),
        "binary rank by position": (6, 5),
    },
    "threefry2x32_original": {
        "monobit": (4, 5),
        "serial correlation": (6, 6),
        "birthday spacings": (4, 4),
        "Hamming-weight dependency": (6, 6),
        "binary rank": (5, 5),
        "binary rank by position": (6, 5),
    },
    "threefry4x64": {
        "monobit": (5, 5),
        "serial correlation": (7, 7),
        "birthday spacings": (5, 5),
        "Hamming-weight dependency": (6, 6),
        "binary rank": (5, 5),
        "binary rank by position": (6, 7),
    },
}


class Width(NamedTuple):
    """A cipher, how many samples its avalanche is given for each bit, and the most rounds that are refused with them, for
    bits of the key and of the counter: with a round more nothing is seen."""

    words: int
    dtype: Any
    samples: int
    caught_rounds: dict[str, int]


WIDTHS = {
    "2x32": Width(2, np.uint32, 2**14, {"key": 9, "counter": 9}),
    "4x32": Width(4, np.uint32, 2**12, {"key": 8, "counter": 8}),
    "2x64": Width(2, np.uint64, 2**16, {"key": 10, "counter": 10}),
    "4x64": Width(4, np.uint64, 2**12, {"key": 9, "counter": 9}),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """The calls are short, so that on cores in use threads would do little but wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# --- the statistics on a generator that has nothing to do with this one


@each_dtype
@pytest.mark.parametrize("name", STATISTICS)
def test_p_values_of_another_generator_are_uniform(name: str, dtype: Any) -> None:
    statistic, _ = STATISTICS[name]
    top = np.iinfo(dtype).max
    runs = [np.random.Generator(np.random.PCG64(seed)).integers(0, top, 2**15, dtype, True) for seed in range(50)]
    assert stats.kstest([statistic(words) for words in runs], "uniform").pvalue > 1e-4


def test_p_values_of_another_generator_are_uniform_in_the_avalanche() -> None:
    top = np.iinfo(np.uint64).max
    runs = [np.random.Generator(np.random.PCG64(seed)) for seed in range(50)]
    p = [battery.avalanche(run.integers(0, top, (4, 2**12, 2), np.uint64, True)) for run in runs]
    assert stats.kstest(p, "uniform").pvalue > 1e-4


def test_bits_are_counted_at_their_positions() -> None:
    words = np.random.Generator(np.random.PCG64(1)).integers(0, 2**64, (3, 777), np.uint64)
    for bit in (0, 1, 7, 8, 63):
        set_bits = (words >> np.uint64(bit)) & np.uint64(1)
        assert np.array_equal(battery.ones_by_position(words)[:, bit], set_bits.sum(1))
        packed = battery.transposed(words[0, :768])[bit]
        assert [int(word) >> 5 & 1 for word in packed] == set_bits[0, 5:768:64].tolist()


def test_ranks() -> None:
    rows = np.array([[1, 2, 4, 8], [1, 2, 3, 0], [6, 6, 6, 6], [0, 0, 0, 0], [5, 3, 6, 8]], np.uint32)
    assert battery.ranks(rows).tolist() == [4, 2, 1, 0, 3]
    # Two by two: 6 of the 16 matrices are regular, 9 have rank one.
    assert np.allclose(battery.rank_chances(2), [6 / 16, 9 / 16, 1 / 16, 0])


# --- the streams


def counter(key: Key, n: int, dtype: torch.dtype) -> torch.Tensor:
    """The words of one key."""
    return random.bits(key, (n,), dtype)


def split(key: Key, n: int, dtype: torch.dtype) -> torch.Tensor:
    """The first words of the children."""
    return random.bits(random.split(key, n), (), dtype)


def fold_in(key: Key, n: int, dtype: torch.dtype) -> torch.Tensor:
    """The first words of the keys for successive numbers."""
    return random.bits(random.fold_in(key, torch.arange(n)), (), dtype)


def interleaved(key: Key, n: int, dtype: torch.dtype) -> torch.Tensor:
    """The streams of 256 children, a word of each in turn."""
    return random.bits(random.split(key, 256), (n // 256,), dtype).view(_signed(dtype)).T.reshape(-1).view(dtype)


def _signed(dtype: torch.dtype) -> torch.dtype:
    return {torch.uint32: torch.int32, torch.uint64: torch.int64}[dtype]


STREAMS = [
    (counter, 0, torch.uint32),
    (counter, 1, torch.uint64),
    *((counter, 42, dtype) for dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64)),
    *((source, 42, dtype) for source in (split, fold_in, interleaved) for dtype in (torch.uint32, torch.uint64)),
]


@lru_cache(maxsize=1)  # the tests come in the streams' order
def stream(impl: str, source: Callable[..., torch.Tensor], seed: int, dtype: torch.dtype) -> Words:
    """A stream in words of 32 or 64 bits; narrower ones are eight or four to a word."""
    narrow = 8 // dtype.itemsize if dtype.itemsize < 4 else 1
    words: Words = source(random.key(seed, impl=impl), MANY * narrow, dtype).numpy()
    return words if narrow == 1 else words.view(np.uint64)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize(
    ("source", "seed", "dtype"),
    STREAMS,
    ids=lambda value: getattr(value, "__name__", str(value).removeprefix("torch.")),
)
@each_impl
def test_stream(impl: str, source: Callable[..., torch.Tensor], seed: int, dtype: torch.dtype, name: str) -> None:
    statistic, n = STATISTICS[name]
    assert statistic(stream(impl, source, seed, dtype)[:n]) > LEAST


# --- the same streams with fewer rounds


def partitionable(seed: int, n: int, dtype: Any, rounds: int) -> Words:
    """Block i is that of the counter i as 64 bits."""
    counters = np.stack([np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32)], 1)
    first, second = encrypted(counters, np.array([0, seed], np.uint32), rounds).T
    return first ^ second if dtype == np.uint32 else joined(first, second)


def original(seed: int, n: int, dtype: Any, rounds: int) -> Words:
    """The counters 0, 1, 2... in two halves, one for each word of the blocks."""
    length = n * np.dtype(dtype).itemsize // 4
    counters = np.arange(length, dtype=np.uint32).reshape(2, -1).T
    words = encrypted(counters, np.array([0, seed], np.uint32), rounds).T.reshape(-1)
    return words if dtype == np.uint32 else joined(words[:n], words[n:])


def splittable(seed: int, n: int, dtype: Any, rounds: int) -> Words:
    """The blocks' second halves count; their first halves are an empty path's marker."""
    blocks = n * np.dtype(dtype).itemsize // 32
    counters = np.zeros((blocks, 4), np.uint64)
    counters[:, 0] = 1 << 63
    counters[:, 3] = np.arange(blocks)
    return encrypted(counters, np.array([seed, 0, 0, 0], np.uint64), rounds).reshape(-1).view(dtype)


def encrypted(counters: Words, keys: Words, rounds: int) -> Words:
    return threefry(torch.from_numpy(counters), torch.from_numpy(keys), rounds).numpy()


def joined(first: Words, second: Words) -> Words:
    return first.astype(np.uint64) << np.uint64(32) | second


LAYOUTS = {
    "threefry2x32": partitionable,
    "threefry2x32_original": original,
    "threefry4x64": splittable,
}


@each_dtype
@each_impl
def test_layouts_are_the_package_s(impl: str, dtype: Any) -> None:
    """With all rounds these are the streams that pass."""
    words = counter(random.key(42, impl=impl), 1000, getattr(torch, np.dtype(dtype).name))
    assert np.array_equal(LAYOUTS[impl](42, 1000, dtype, 20), words.numpy())


@each_dtype
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_few_rounds_are_refused(layout: str, name: str, dtype: Any) -> None:
    statistic, n = STATISTICS[name]
    rounds = CAUGHT_ROUNDS[layout][name][dtype == np.uint64]
    assert statistic(LAYOUTS[layout](42, MANY, dtype, rounds)[:n]) < DECISIVE


# --- avalanche of the cipher


def flips(cipher: str, flipped: str, rounds: int) -> Iterator[Words]:
    """What flipping each bit of a cipher's key changes in the blocks 0, 1, 2..., or each bit of the counter under
    the keys 0, 1, 2... Simple inputs, as they are used, are harder on a weak cipher than random ones."""
    words, dtype, samples, _ = WIDTHS[cipher]
    many = np.zeros((samples, words), dtype)
    many[:, -1] = np.arange(samples)
    one = np.zeros(words, dtype)
    one[-1] = 42

    def blocks(one: Words) -> Words:
        return encrypted(many, one, rounds) if flipped == "key" else encrypted(one, many, rounds)

    before = blocks(one)
    for word in range(words):
        for bit in range(8 * one.itemsize):
            other = one.copy()
            other[word] ^= dtype(1) << dtype(bit)
            yield before ^ blocks(other)


@pytest.mark.parametrize("flipped", ["key", "counter"])
@pytest.mark.parametrize("cipher", WIDTHS)
def test_avalanche(cipher: str, flipped: str) -> None:
    assert battery.avalanche(flips(cipher, flipped, 20)) > LEAST
    assert battery.avalanche(flips(cipher, flipped, WIDTHS[cipher].caught_rounds[flipped])) < DECISIVE


# --- avalanche of keys, through what a user writes


def accepts(call: Callable[[], Any]) -> bool:
    try:
        call()
    except (OverflowError, ValueError):
        return False
    return True


def seeds(impl: str) -> list[Key]:
    """Seeds that differ from the first in one bit: all that there are, 64 or 256."""
    bits = 256 if accepts(lambda: random.key(2**256 - 1, impl=impl)) else 64
    return [random.key(seed, impl=impl) for seed in (42, *(42 ^ 1 << bit for bit in range(bits)))]


def numbers(impl: str) -> list[Key]:
    """Numbers folded in that differ from the first in one bit."""
    return [random.key(42, impl=impl).fold_in(number) for number in (0, *(1 << bit for bit in range(64)))]


def children(impl: str) -> list[Key]:
    """Children of one split whose indices differ from the first's in one bit."""
    keys = random.split(random.key(42, impl=impl), 2**16 + 1)
    return [keys[index] for index in (0, *(1 << bit for bit in range(17)))]


def paths(impl: str) -> list[Key]:
    """Descendants after 130 splits, all to the left but one: more than the path of a threefry4x64 holds."""
    depth = 130
    spine = [random.key(42, impl=impl)]
    for _ in range(depth):
        spine.append(spine[-1].split()[0])
    turned = []
    for level in range(depth):
        key = spine[level].split()[1]
        for _ in range(depth - level - 1):
            key = key.split()[0]
        turned.append(key)
    return [spine[-1], *turned]


def ancestors(impl: str) -> list[Key]:
    """A key, its left child, its left child..., of which only the place of the path's end differs."""
    keys = [random.key(42, impl=impl)]
    for _ in range(130):
        keys.append(keys[-1].split()[0])
    return keys


@each_torch_dtype
@pytest.mark.parametrize("relatives", [seeds, numbers, children, paths, ancestors])
@each_impl
def test_avalanche_of_keys(impl: str, relatives: Callable[[str], list[Key]], dtype: torch.dtype) -> None:
    first, *others = (random.bits(key, (2**13, 1), dtype).numpy() for key in relatives(impl))
    assert battery.avalanche(first ^ other for other in others) > LEAST


@each_torch_dtype
@each_impl
def test_avalanche_of_element_indices(impl: str, dtype: torch.dtype) -> None:
    """The first element against those whose indices are powers of two, in a draw of nearly the greatest length."""
    keys = random.split(random.key(42, impl=impl), 2**13)

    def element(index: int, bits: int) -> torch.Tensor:
        return random.bits(keys, (2**bits,), dtype, window=((index, index + 1),))

    bits = 62 if accepts(lambda: element(0, 62)) else 30  # the original layout has 2^32 words
    first, *others = (element(index, bits).numpy() for index in (0, *(1 << bit for bit in range(bits))))
    assert battery.avalanche(first ^ other for other in others) > LEAST
