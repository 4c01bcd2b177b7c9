"""The bare cipher: Random123's known answers, the shapes it takes, and the seeds' array form."""

from __future__ import annotations

import json
from collections import defaultdict

import jax_data
import numpy as np
import pytest
import reference
import torch

from torch_threefry import threefry, threefry_2x32

RANDOM123 = jax_data.DATA / "random123"
ONE_ROW = ("threefry2x32", "threefry4x32", "threefry2x64", "threefry4x64")


def known_answers() -> dict[tuple[str, int], list[list[int]]]:
    """The rows of both files by cipher and rounds; a row is counter, key and answer in one list."""
    rows = defaultdict(list)
    for name in ("kat_vectors.txt", "old_kat_vectors.txt"):
        for line in (RANDOM123 / name).read_text().splitlines():
            if line.strip():
                cipher, rounds, *words = line.split()
                rows[cipher, int(rounds)].append([int(word, 16) for word in words])
    return dict(rows)


ANSWERS = known_answers()


def columns(cipher: str, rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Counters, keys and answers of shape (rows, words)."""
    numpy_type = np.uint32 if cipher.endswith("32") else np.uint64
    table = torch.from_numpy(np.array(rows, numpy_type))
    counter, key, answer = table.reshape(len(rows), 3, -1).unbind(1)
    return counter, key, answer


def test_all_rows_are_there() -> None:
    assert sum(map(len, ANSWERS.values())) == 628


@pytest.mark.parametrize(("cipher", "rounds"), ANSWERS)
def test_rows_in_one_call(cipher: str, rounds: int) -> None:
    # The columns are strided views, so this is also a test of layouts.
    counter, key, answer = columns(cipher, ANSWERS[cipher, rounds])
    words = threefry(counter, key, rounds)
    assert words.dtype == answer.dtype
    assert torch.equal(words, answer)


@pytest.mark.parametrize(("cipher", "rounds"), ANSWERS)
def test_rows_one_by_one(cipher: str, rounds: int) -> None:
    for counter, key, answer in zip(*columns(cipher, ANSWERS[cipher, rounds]), strict=True):
        assert torch.equal(threefry(counter, key, rounds=rounds), answer)


@pytest.mark.parametrize("cipher", ONE_ROW)
def test_twenty_rounds_are_the_default(cipher: str) -> None:
    counter, key, answer = columns(cipher, ANSWERS[cipher, 20])
    assert torch.equal(threefry(counter, key), answer)


@pytest.mark.parametrize("cipher", ONE_ROW)
def test_every_number_of_rounds(cipher: str) -> None:
    counter, key, _ = columns(cipher, ANSWERS[cipher, 20][2:3])
    size, width = counter.shape[1], counter.itemsize * 8
    for rounds in range(1, 33 if size == 2 else 73):
        expected = reference.threefry(counter[0].tolist(), key[0].tolist(), width, rounds)
        assert threefry(counter[0], key[0], rounds).tolist() == list(expected), rounds


@pytest.mark.parametrize("cipher", ONE_ROW)
def test_counters_and_keys_broadcast(cipher: str) -> None:
    counter, key, _ = columns(cipher, ANSWERS[cipher, 20])
    counter, key = counter[:5, None], key[7:10]
    words = threefry(counter, key)
    assert words.shape == (5, 3, counter.shape[-1])
    for i in range(5):
        for j in range(3):
            assert torch.equal(words[i, j], threefry(counter[i, 0], key[j]))


@pytest.mark.parametrize("cipher", ONE_ROW)
def test_no_rows(cipher: str) -> None:
    counter, key, _ = columns(cipher, ANSWERS[cipher, 20])
    assert threefry(counter[:0], key[0]).shape == (0, counter.shape[-1])


def test_published_states_of_xlas_generator() -> None:
    """XLA writes a 64-bit number as (low, high) words, in the key, the counter and the result."""
    facts = json.loads((RANDOM123 / "xla_threefry2x32.json").read_text())
    state, start = facts["state_u64"]

    def words(blocks: int) -> torch.Tensor:
        counter = torch.tensor([[start + b, 0] for b in range(blocks)]).to(torch.uint32)
        return threefry(counter, torch.tensor([state, 0]).to(torch.uint32))

    assert words(3).flatten().tolist() == facts["uint32"]
    assert [low | high << 32 for low, high in words(6).tolist()] == facts["uint64"]


ARRAY_FORM = [pytest.param(c, id=c.id) for c in jax_data.load("jax_default") if c.fn == "threefry_2x32"]


def array_form_case(case: jax_data.Case) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    keypair, count = (torch.from_numpy(case.kwargs[name]) for name in ("keypair", "count"))
    return keypair, count, torch.from_numpy(case.result)


@pytest.mark.parametrize("case", ARRAY_FORM)
def test_array_form(case: jax_data.Case) -> None:
    """Both halves of the counts in one block each, odd numbers padded, any shape."""
    keypair, count, answer = array_form_case(case)
    words = threefry_2x32(keypair, count)
    assert words.dtype == torch.uint32
    assert words.shape == count.shape
    assert torch.equal(words, answer)


@pytest.mark.parametrize("case", ARRAY_FORM[-1:])
def test_array_form_takes_a_pair_and_a_strided_count(case: jax_data.Case) -> None:
    keypair, count, answer = array_form_case(case)
    strided = count.movedim(0, -1).contiguous().movedim(-1, 0)
    assert not strided.is_contiguous()
    assert torch.equal(threefry_2x32((keypair[0], keypair[1]), strided), answer)
