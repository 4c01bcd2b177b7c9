"""Keys derived from keys, in every implementation: children differ from each other, from their parents and from what
these draw, however deep; and draws go on where a counter's words end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import reference
import torch

from torch_threefry import Key, random

SEEDS = (0, 1, 42, 2**64 - 1)
NUMBERS = (*range(1000), -1, 2**32, 2**63 - 1, -(2**63))


def words_of(key: Key) -> tuple[int, ...]:
    return tuple(key.data.tolist())


def rows_of(keys: Key) -> list[tuple[int, ...]]:
    """The words of each key of a batch."""
    return [tuple(row) for row in keys.data.reshape(-1, keys.data.shape[-1]).tolist()]


def draws_of(keys: Key) -> list[int]:
    """Some 64-bit words of each key's stream: enough to tell streams apart, too few to coincide by chance."""
    words: list[int] = random.bits(keys, (8,), torch.uint64).flatten().tolist()
    return words


def assert_distinct(*groups: list[tuple[int, ...]] | list[int]) -> None:
    every = list(itertools.chain(*groups))
    assert len(set(every)) == len(every)


# ---- Children ----


@pytest.mark.parametrize("seed", SEEDS)
def test_children_and_their_parent_are_distinct(seed: int, impl: str) -> None:
    key = random.key(seed, impl=impl)
    split, folded = key.split(1000), key.fold_in(torch.tensor(NUMBERS))
    assert_distinct(rows_of(split), [words_of(key)])
    assert_distinct(rows_of(folded), [words_of(key)])
    if impl == "threefry2x32":  # JAX's: a child is the block of its number, however it is asked for
        assert rows_of(folded)[:1000] == rows_of(split)
    else:
        assert_distinct(rows_of(split), rows_of(folded), [words_of(key)])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_streams_of_children_and_parent_are_distinct(seed: int, impl: str) -> None:
    key = random.key(seed, impl=impl)
    left_and_right, folded = key.split(), key.fold_in(torch.arange(2, 1000))
    own: list[int] = random.bits(key, (1000,), torch.uint64).tolist()
    assert_distinct(own, draws_of(left_and_right), draws_of(folded))


def test_children_are_no_draws(impl: str) -> None:
    """A key's words are not its parent's draws: in JAX's partitionable layout they are, and a key is for one of the two."""
    key = random.key(5, impl=impl)
    drawn = set(random.bits(key, (4000,), torch.uint64).tolist()) | set(random.bits(key, (8000,)).tolist())
    made = key.split(1000), key.fold_in(torch.tensor(NUMBERS))
    if impl == "threefry2x32":
        assert [(a << 32) | b for a, b in rows_of(made[0])] == random.bits(key, (1000,), torch.uint64).tolist()
        return
    for keys in made:
        pairs = [(a << 32) | b for a, b in rows_of(keys)] if impl == "threefry2x32_original" else []
        words = pairs or [word for row in rows_of(keys) for word in row[:4] if row[:4] != words_of(key)[:4]]
        assert not drawn & set(words)


def test_the_own_keys_of_elements_are_no_other_keys() -> None:
    """Draws by rejection give each element a key, which no split and no number leads to."""
    model = reference.key(6, reference.PATHS)
    key = random.key(6, impl=reference.PATHS)
    own = [tuple(reference.element_key(model, i, 1000).words) for i in range(200)]
    assert_distinct(own, rows_of(key.split(1000)), rows_of(key.fold_in(torch.tensor(NUMBERS))), [words_of(key)])


# ---- Deep trees ----

LEVELS = 1000


def choices(name: str) -> Iterator[int]:
    return itertools.cycle({"left": [0], "right": [1], "alternating": [0, 1]}[name])


@pytest.mark.parametrize("name", ["left", "right", "alternating"])
def test_a_thousand_levels(name: str, impl: str) -> None:
    key, model = random.key(7, impl=impl), reference.key(7, impl)
    keys, siblings, draws = [words_of(key)], [], draws_of(key)
    for choice in itertools.islice(choices(name), LEVELS):
        both = key.split()
        key, sibling = both[choice], both[1 - choice]
        model = reference.split(model, choice, 2)
        assert list(words_of(key)) == model.words
        keys.append(words_of(key))
        siblings.append(words_of(sibling))
        draws += draws_of(both)
    assert_distinct(keys, siblings)
    assert_distinct(draws)


def test_a_thousand_levels_of_numbers(impl: str) -> None:
    key, model = random.key(8, impl=impl), reference.key(8, impl)
    keys, draws = [words_of(key)], draws_of(key)
    for level in range(LEVELS):
        key, model = key.fold_in(level % 3), reference.fold_in(model, level % 3)
        assert list(words_of(key)) == model.words
        keys.append(words_of(key))
        draws += draws_of(key)
    assert_distinct(keys)
    assert_distinct(draws)


def test_all_nodes_of_a_tree(impl: str) -> None:
    """Ten levels of both children: no two nodes and no two streams are the same."""
    level = random.key(9, impl=impl).reshape(1)
    keys, draws = rows_of(level), draws_of(level)
    for _ in range(10):
        level = level.split().reshape(-1)
        keys += rows_of(level)
        draws += draws_of(level)
    assert_distinct(keys)
    assert_distinct(draws)


# ---- threefry4x64's paths ----


def path_key(path: str, seed: int = 11) -> tuple[Key, reference.PathKey]:
    """A key with a path of some bits, made from its words."""
    model = reference.key(seed, reference.PATHS)
    assert isinstance(model, reference.PathKey)
    model = model._replace(path=path)
    return random.wrap_key_data(torch.tensor(model.words, dtype=torch.uint64), impl=reference.PATHS), model


LENGTHS = (0, 1, 62, 63, 64, 65, 120, 123, 124, 125, 126)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 100])
def test_children_have_the_bits_of_their_numbers(n: int, length: int) -> None:
    """Also where the path becomes full on the way."""
    key, model = path_key(("0110" * 32)[:length])
    assert rows_of(key.split(n)) == [tuple(reference.split(model, i, n).words) for i in range(n)]
    batch = random.wrap_key_data(key.data.expand(3, 10), impl=reference.PATHS)
    assert rows_of(batch.split(n)) == rows_of(key.split(n)) * 3


@pytest.mark.parametrize("length", LENGTHS)
def test_splitting_at_once_is_splitting_twice(length: int) -> None:
    key, _ = path_key(("10" * 64)[:length])
    assert key.split(4).equal(key.split().split().reshape(4))
    assert key.split((2, 4)).equal(key.split().split(4))
    assert key.split(7).equal(key.split(8)[:7])
    assert key.split(1).equal(key.split()[:1])


@pytest.mark.parametrize("length", LENGTHS)
def test_draws_along_a_path(length: int) -> None:
    """Samplers that take keys apart, in steps, at places where the path has room for some of them only."""
    key, model = path_key(("1001" * 32)[:length])
    keys = random.wrap_key_data(key.data.expand(2, 10).contiguous(), impl=reference.PATHS)
    assert random.bits(key, (9,), torch.uint64).tolist() == reference.bits(model, 9, 64)
    assert random.fold_in(key, 3).data.tolist() == reference.fold_in(model, 3).words
    integers = random.randint(key, (20,), 0, 1000, torch.int64)
    assert integers.tolist() == [reference.randint(model, i, 20, 0, 1000, "int64") for i in range(20)]
    exact = [float(reference.REALS.exp(reference.loggamma(model, i, 20, 0.6))) for i in range(20)]
    gammas = random.gamma(key, 0.6, (20,), torch.float64)
    torch.testing.assert_close(gammas, torch.tensor(exact, dtype=torch.float64), rtol=1e-13, atol=0)
    counts = random.poisson(key, 6.0, (20,))
    assert counts.tolist() == [reference.poisson_of_small_rate(model, i, 20, 6.0) for i in range(20)]
    for draw, expected in (
        (random.randint(keys, (20,), 0, 1000, torch.int64), integers),
        (random.gamma(keys, 0.6, (20,), torch.float64), gammas),
        (random.poisson(keys, 6.0, (20,)), counts),
    ):
        assert torch.equal(draw, expected.expand(2, 20))


def test_all_widths_are_the_same_bytes() -> None:
    key, _ = path_key("0101")
    stream = random.bits(key, (256,), torch.uint64)
    for dtype in (torch.uint8, torch.uint16, torch.uint32):
        assert torch.equal(random.bits(key, (2048 // dtype.itemsize,), dtype), stream.view(dtype))


# ---- Counters ----

COUNTERS = (1, 2**64 - 2, 2**64 - 1, 2**64, 3 * 2**64 - 40, 2**127 - 1, 2**128 - 2)


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint32, torch.uint64], ids=str)
def test_counters_across_the_ends_of_their_words(dtype: torch.dtype, counter: int) -> None:
    """The sum is one of 128 bits; the path and the children do not change."""
    key, model = path_key("1")
    model = model._replace(counter=counter)
    moved = random.wrap_key_data(torch.tensor(model.words, dtype=torch.uint64), impl=reference.PATHS)
    width, n = 8 * dtype.itemsize, 300
    assert random.bits(moved, (n,), dtype).tolist() == reference.bits(model, n, width)
    # One by one, a row a key.
    assert random.bits(moved.reshape(1), (n, 2), dtype, window=((0, n), (1, 2))).flatten().tolist() == [
        reference.word(model, 2 * i + 1, 2 * n, width) for i in range(n)
    ]
    assert moved.split(3).equal(key.split(3)) and moved.fold_in(3).equal(key.fold_in(3))


@pytest.mark.parametrize("start", [2**64 - 8, 2**64 - 3])
def test_a_draw_begins_where_its_counter_is(start: int) -> None:
    _, model = path_key("01")
    at = [
        random.wrap_key_data(torch.tensor(model._replace(counter=c).words, dtype=torch.uint64), impl=reference.PATHS)
        for c in (start, start + 5)
    ]
    words = random.bits(at[0], (60,), torch.uint64)
    assert torch.equal(words[20:], random.bits(at[1], (40,), torch.uint64))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64], ids=str)
def test_long_draws_go_on_across_words_of_the_counter(dtype: torch.dtype, impl: str) -> None:
    """At 2^32 blocks, and 2^32 elements."""
    key, model = random.key(12, impl=impl), reference.key(12, impl)
    width = 8 * dtype.itemsize
    in_block = 256 // width if impl == "threefry4x64" else 1
    n = 2**31 - 2 if impl == "threefry2x32_original" else 2**62
    for end in (2**31 - 2,) if impl == "threefry2x32_original" else (2**32, in_block * 2**32, 2**62):
        window = (end - 70, min(end + 70, n))
        drawn = random.bits(key, (n,), dtype, window=[window])
        assert drawn.tolist() == [reference.word(model, i, n, width) for i in range(*window)]


# ---- What is no state ----

GOOD = [1, 2, 3, 4, 0, 0, 0, 0, 1 << 63, 0]
BAD_STATES = {
    "no next bit": {8: 0},
    "two next bits": {8: 3 << 62},
    "a next bit in both words": {9: 4},
    "the last bit, which tells purposes apart": {8: 0, 9: 1},
    "a path that has the next bit": {4: 1 << 63},
    "a path that goes on after the next bit": {4: 1},
    "a path that goes on in its second word": {5: 1 << 63},
    "a path that goes on after a next bit in the second word": {8: 0, 9: 1 << 40, 5: 1 << 39},
}


@pytest.mark.parametrize("name", BAD_STATES)
def test_words_that_are_no_state(name: str) -> None:
    words = [BAD_STATES[name].get(i, word) for i, word in enumerate(GOOD)]
    for rows in ([words], [GOOD, words]):
        with pytest.raises(ValueError, match=r"key data of threefry4x64 must be .*next path bit.*got"):
            random.wrap_key_data(torch.tensor(rows, dtype=torch.uint64), impl="threefry4x64")
    with pytest.raises(ValueError, match="key data of threefry4x64"):
        Key.from_state({"impl": "threefry4x64", "shape": [], "words": words})


def test_words_that_are_states() -> None:
    for changes in (
        {},
        {8: 0, 9: 1 << 63, 4: 2**64 - 1},
        {8: 1, 4: 2},
        {8: 0, 9: 2, 4: 2**64 - 1, 5: 2**64 - 4},
        {6: 7},
    ):
        words = [changes.get(i, word) for i, word in enumerate(GOOD)]
        key = random.wrap_key_data(torch.tensor(words, dtype=torch.uint64), impl="threefry4x64")
        assert list(words_of(key)) == words
        assert len(random.bits(key, (3,)).unique()) == 3
