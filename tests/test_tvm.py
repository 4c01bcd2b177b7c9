"""TVM's generator: what TVM itself computed, an oracle beyond that, and what TVM's own tests ask of it."""

from __future__ import annotations

import doctest
import hashlib
import itertools
import json
import math
import random as python_random
from collections.abc import Iterator
from typing import Any

import jax_data
import pytest
import torch
import tvm_reference as reference
from torch import Tensor

from torch_threefry import tvm

CASES: dict[str, list[dict[str, Any]]] = json.loads((jax_data.DATA / "tvm/cases.json").read_text())
RULES = ("first", "release")
TOP = 2**64 - 1


def words(hexadecimal: list[str]) -> list[int]:
    return [int(word, 16) for word in hexadecimal]


def floats(hexadecimal: list[str]) -> list[float]:
    return [float.fromhex(number) for number in hexadecimal]


def tensor(state: list[int]) -> Tensor:
    return torch.tensor([word - 2**64 if word >= 2**63 else word for word in state]).view(torch.uint64)


def state(case: dict[str, Any], name: str = "state_in") -> Tensor:
    return tensor(words(case[name]))


def cases(*groups: str) -> pytest.MarkDecorator:
    params = [pytest.param(case, id=f"{group}-{i}") for group in groups for i, case in enumerate(CASES[group])]
    return pytest.mark.parametrize("case", params)


# ---- TVM's numbers ----


def test_all_cases_are_there() -> None:
    assert {group: len(entries) for group, entries in CASES.items()} == {
        "key": 14,
        "block": 6,
        "generate": 109,
        "generate_arbitrary_state": 8,
        "generate_overflow": 41,
        "generate_release_tail": 30,
        "split": 28,
        "split_chain": 3,
        "program": 2,
        "uniform_seed": 34,
        "uniform_release": 52,
        "tvm_test_literals": 2,
    }


@cases("key")
def test_key(case: dict[str, Any]) -> None:
    key = tvm.key(int(case["seed"]))
    assert key.dtype == torch.uint64 and key.tolist() == words(case["state"])


@cases("block")
def test_block_function(case: dict[str, Any]) -> None:
    """It makes the key of a split whose path is full."""
    full = tensor([*words(case["key"]), *words(case["block"]), 0, 0])
    for child in tvm.split(full):
        assert child[:4].tolist() == words(case["out"])
    assert reference.block(words(case["key"]), words(case["block"])) == words(case["out"])


def check_words(case: dict[str, Any], after: Tensor, drawn: Tensor) -> None:
    assert drawn.dtype == after.dtype == torch.uint64
    assert drawn.shape == tuple(case["shape"])
    assert drawn.flatten().tolist() == words(case["out"])
    assert after.tolist() == words(case["state_out"])


@cases("generate", "generate_arbitrary_state", "generate_overflow")
def test_generate(case: dict[str, Any]) -> None:
    check_words(case, *tvm.generate(state(case), case["shape"]))
    if math.prod(case["shape"]) % 4 == 0:
        check_words(case, *tvm.generate(state(case), case["shape"], "release"))


@cases("generate_release_tail")
def test_generate_as_the_releases_do(case: dict[str, Any]) -> None:
    check_words(case, *tvm.generate(state(case), case["shape"], rule="release"))


def test_rules_differ_in_blocks_that_are_not_whole() -> None:
    """But for the first one, which is the same block in both."""
    different = [
        math.prod(case["shape"])
        for case in CASES["generate_release_tail"]
        if tvm.generate(state(case), case["shape"])[1].flatten().tolist() != words(case["out"])
    ]
    assert sorted(set(different)) == [5, 7, 10] and len(different) == 15


@cases("split")
def test_split(case: dict[str, Any]) -> None:
    left, right = tvm.split(state(case))
    assert left.tolist() == words(case["left"])
    assert right.tolist() == words(case["right"])


@cases("split_chain")
def test_chain_of_splits(case: dict[str, Any]) -> None:
    gen = state(case, "start")
    keys, digest = [gen[:4]], hashlib.sha256()
    for move, expected in zip(case["moves"], case["followed"], strict=True):
        left, right = tvm.split(gen)
        digest.update(torch.cat([left, right]).numpy().tobytes())
        gen = left if move == "L" else right
        assert gen.tolist() == words(expected)
        keys.append(gen[:4])
    assert digest.hexdigest() == case["sha256_all_left_right_le64"]
    changes = [i + 1 for i, (before, after) in enumerate(itertools.pairwise(keys)) if not torch.equal(before, after)]
    assert changes == case["rekey_at_steps"]
    check_words({**case["final_generate8"], "shape": [8]}, *tvm.generate(gen, (8,)))


@cases("program")
def test_program(case: dict[str, Any]) -> None:
    gen = tvm.key(int(case["seed"]))
    assert gen.tolist() == words(case["start"])
    for step in case["steps"]:
        operation, argument = step["op"].split()
        if operation == "generate":
            gen, drawn = tvm.generate(gen, (int(argument),))
            check_words({**step, "shape": [int(argument)]}, gen, drawn)
        else:
            left, right = tvm.split(gen)
            assert left.tolist() == words(step["left"]) and right.tolist() == words(step["right"])
            gen = left if argument == "L" else right


def check_uniform(case: dict[str, Any], after: Tensor, drawn: Tensor, dtype: torch.dtype) -> None:
    assert drawn.dtype == dtype
    assert drawn.shape == tuple(case["shape"])
    assert drawn.flatten().tolist() == floats(case["out"])
    assert after.tolist() == words(case["state_out"])


@cases("uniform_release")
def test_uniform(case: dict[str, Any]) -> None:
    dtype = getattr(torch, case["dtype"])
    low, high = floats([case["low"], case["high"]])
    check_uniform(case, *tvm.uniform(state(case), case["shape"], low, high, dtype), dtype)


@cases("uniform_seed")
def test_uniform_of_the_first_version(case: dict[str, Any]) -> None:
    low, high = floats([case["minval"], case["maxval"]])
    after, drawn = tvm.uniform(state(case), case["shape"], low, high, rule="first")
    check_uniform(case, after, drawn, torch.float64)
    assert tvm.generate(state(case), case["shape"])[1].flatten().tolist() == words(case["bits"])


@pytest.mark.parametrize(("group", "least"), [("uniform_release", 25), ("uniform_seed", 10)])
def test_data_tells_fused_operations_apart(group: str, least: int) -> None:
    fused = [case for case in CASES[group] if case.get("out_if_multiply_add_fused", case["out"]) != case["out"]]
    assert len(fused) >= least


def test_numbers_in_tvms_own_tests() -> None:
    literals = {entry["matches"]: floats_of_text(entry["values"]) for entry in CASES["tvm_test_literals"]}
    drawn = tvm.uniform(tvm.key(5), (10,))[1]
    torch.testing.assert_close(drawn, literals.pop("uniform_release, profile tvm"), rtol=1e-5, atol=1e-6)
    # Those of a test before a repair of TVM's, which nobody can have from a release.
    assert list(literals) == ["uniform_release rule, profile tvm_signed"]


def floats_of_text(values: list[str]) -> Tensor:
    return torch.tensor([float(value) for value in values])


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(tvm) == (0, 3)


# ---- The oracle's, where TVM's are not at hand ----


def random_states(count: int) -> Iterator[list[int]]:
    """States of all kinds: any key and path, the position anywhere or past the end, counters with and without room."""
    source = python_random.Random(0)
    for _ in range(count):
        position = source.choice([0, 1 << source.randrange(128), 1 << 63, 1 << 64, 1])
        counter = source.choice([0, source.getrandbits(64), TOP - source.randrange(60)])
        high = source.choice([0, source.getrandbits(64), TOP])
        yield [*(source.getrandbits(64) for _ in range(6)), high, counter, position >> 64, position & TOP]


LENGTHS = (0, 1, 2, 3, 4, 5, 15, 16, 27, 31, 32, 33, 36, 47, 64, 70, 131)


@pytest.mark.parametrize("rule", RULES)
def test_draws_from_any_state(rule: str) -> None:
    for i, start in enumerate(random_states(120)):
        n = LENGTHS[i % len(LENGTHS)]
        after, drawn = tvm.generate(tensor(start), (n,), rule)
        assert (after.tolist(), drawn.tolist()) == reference.generate(start, n, rule), (start, n)


def test_splits_of_any_state() -> None:
    for start in random_states(60):
        left, right = tvm.split(tensor(start))
        assert (left.tolist(), right.tolist()) == reference.split(start), start


@pytest.mark.parametrize("rule", RULES)
def test_room_at_the_end_of_the_counter(rule: str) -> None:
    """To the word, for lengths with and without a block that is not whole."""
    for n in (1, 4, 5, 8):
        for counter in range(TOP - 16, TOP + 1):
            start = [1, 2, 3, 4, 5, 0, 0, counter, 1, 0]
            after, drawn = tvm.generate(tensor(start), (n,), rule)
            assert (after.tolist(), drawn.tolist()) == reference.generate(start, n, rule), (n, counter)


# ---- What TVM's own tests ask ----


def test_many_splits() -> None:
    left, right = tvm.split(tvm.key(0))
    for _ in range(129):
        left, right = tvm.split(left)
    assert torch.equal(left[:4], right[:4])
    assert all(word != 0 for word in left[:4].tolist())
    assert (tvm.generate(left, (100,))[1] != tvm.generate(right, (100,))[1]).all()


def test_draws_of_siblings_differ_everywhere() -> None:
    left, right = tvm.split(tvm.key(0))
    assert (tvm.generate(left, (100,))[1] != tvm.generate(right, (100,))[1]).all()


def test_a_full_counter_takes_a_bit_of_the_path() -> None:
    start = [0, 0, 0, 0, 0, 0, 0, 2**64 - 2, 1 << 63, 0]
    after, drawn = tvm.generate(tensor(start), (2048,))
    assert after.tolist() == [0, 0, 0, 0, 1 << 63, 0, 0, 2048, 1 << 62, 0]
    assert torch.equal(drawn, tvm.generate(tensor([0, 0, 0, 0, 1 << 63, 0, 0, 0, 1 << 62, 0]), (2048,))[1])


def test_a_full_path_makes_a_new_key() -> None:
    start = [0, 0, 0, 0, 0, 0, 0, 2**64 - 2, 0, 0]
    after, drawn = tvm.generate(tensor(start), (2048,))
    assert after.tolist() == [*reference.block(start[:4], start[4:8]), 0, 0, 0, 2048, 1 << 63, 0]
    # The key is the one that a split makes; its left child is at the beginning of its own path.
    left, _ = tvm.split(tensor(start))
    assert torch.equal(after[:4], left[:4]) and torch.equal(drawn, tvm.generate(left, (2048,))[1])


def test_sums_wrap() -> None:
    """Block 1 of path and counter 2^64-1 is that of zeros."""
    key = [TOP, TOP, TOP, TOP]
    drawn = tvm.generate(tensor([*key, TOP, TOP, TOP, 0, 1, 0]), (8,))[1][4:]
    assert torch.equal(drawn, tvm.generate(tensor([*key, 0, 0, 0, 1, 1, 0]), (4,))[1])
    # One that releases make alone counts on from the words before it, to the end of the counter and beyond.
    start = [*key, 0, 0, 0, TOP - 6, 1, 0]
    assert tvm.generate(tensor(start), (5,), rule="release")[0].tolist() == [*key, 0, 0, 0, 1, 1, 0]


# ---- Batches, shapes, layouts ----


def batch() -> Tensor:
    """Of shape (3, 4, 10), with and without room."""
    return torch.stack([tensor(start) for start in random_states(12)]).view(3, 4, 10)


DRAWS = {
    "words": lambda gen, shape: tvm.generate(gen, shape),
    "words-release": lambda gen, shape: tvm.generate(gen, shape, "release"),
    "float32": lambda gen, shape: tvm.uniform(gen, shape, -3.5, 10.0),
    "float64": lambda gen, shape: tvm.uniform(gen, shape, -3.5, 10.0, torch.float64),
    "float64-first": lambda gen, shape: tvm.uniform(gen, shape, -3.5, 10.0, rule="first"),
}
each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@each_draw
@pytest.mark.parametrize("shape", [(), (1,), (5,), (8,), (0,), (3, 0), (3, 37)])
def test_a_batch_is_its_states_one_by_one(draw: Any, shape: tuple[int, ...]) -> None:
    gens = batch()
    after, drawn = draw(gens, shape)
    assert after.shape == (3, 4, 10) and drawn.shape == (3, 4, *shape)
    for i in range(3):
        for j in range(4):
            own_after, own = draw(gens[i, j], shape)
            assert torch.equal(after[i, j], own_after) and torch.equal(drawn[i, j], own)


@each_draw
def test_strided_states(draw: Any) -> None:
    gens = batch()
    wide = torch.zeros(4, 20, 3, dtype=torch.int64).view(torch.uint64)
    strided = wide[:, ::2].permute(2, 0, 1)
    strided.copy_(gens)
    assert not strided.is_contiguous()
    for a, b in zip((*draw(strided, (5,)), *tvm.split(strided)), (*draw(gens, (5,)), *tvm.split(gens)), strict=True):
        assert torch.equal(a, b)


@each_draw
def test_no_states(draw: Any) -> None:
    after, drawn = draw(batch()[:0], (5,))
    assert after.shape == (0, 4, 10) and drawn.shape == (0, 4, 5)


@each_draw
def test_shape_is_a_row_major_index(draw: Any) -> None:
    for a, b in zip(draw(tvm.key(3), (7, 11, 3)), draw(tvm.key(3), (231,)), strict=True):
        assert torch.equal(a.flatten(), b)


@each_draw
def test_a_longer_draw_begins_with_the_whole_blocks_of_a_shorter_one(draw: Any) -> None:
    whole = draw(tvm.key(3), (1003,))[1]
    for n in (4, 8, 28, 32, 36, 63, 1000, 1002):
        assert torch.equal(draw(tvm.key(3), (n,))[1][: n // 4 * 4], whole[: n // 4 * 4])


@each_draw
def test_threads_do_not_matter(draw: Any) -> None:
    gens, before = batch()[:, 0], torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(
                (*draw(gens, (70_001,)), *draw(gens.repeat(5000, 1), (3,)), *tvm.split(gens.repeat(5000, 1)))
            )
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_arguments_stay_as_they_are() -> None:
    gens = batch()
    before = gens.clone()
    tvm.generate(gens, (100,))
    tvm.uniform(gens, (100,))
    tvm.split(gens)
    assert torch.equal(gens, before)


# ---- Uniform numbers ----


def test_defaults() -> None:
    gen = tvm.key(9)
    words_as_released = tvm.generate(gen, (1002,), "release")[1].tolist()
    assert tvm.uniform(gen, (1002,))[1].tolist() == [(word & 2**32 - 1) // 2**9 / 2**23 for word in words_as_released]
    wide = tvm.uniform(gen, (1002,), dtype=torch.float64)[1].tolist()
    assert wide == [word // 2**12 / 2**52 for word in words_as_released]
    first = tvm.uniform(gen, (1002,), rule="first")[1]
    assert first.dtype == torch.float64
    assert first.tolist() == [word % 2**52 / 2**52 for word in tvm.generate(gen, (1002,))[1].tolist()]


@pytest.mark.parametrize(("rule", "dtype"), [("first", None), ("release", torch.float32), ("release", torch.float64)])
def test_bounds(rule: str, dtype: torch.dtype | None) -> None:
    gen = tvm.key(10)
    assert (tvm.uniform(gen, (50,), 2.5, 2.5, dtype, rule)[1] == 2.5).all()
    x = tvm.uniform(gen, (5000,), 3, -1, dtype, rule)[1]
    assert -1 < x.min() < -0.98 and 2.98 < x.max() <= 3
    info = torch.finfo(dtype or torch.float64)
    largest = info.max / (4 if rule == "first" else 1) * (1 - 4 * info.eps)
    for low, high in ((0.0, largest), (-largest / 2, largest / 2), (largest, 0.0)):
        x = tvm.uniform(gen, (500,), low, high, dtype, rule)[1]
        assert x.isfinite().all() and (x / largest).std() > 0.2
