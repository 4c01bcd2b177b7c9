"""Raw streams: each byte by its definition, in plain integers, wherever one begins; and the program around them."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest
import reference
import torch

from torch_threefry import stream
from torch_threefry.key import IMPL_NUMBERS
from torch_threefry.stream import ORDERS, Stream

ROOT = Path(__file__).resolve().parents[1]

# ---- The definition ----


@functools.cache
def tree_key(root: reference.Key, depth: int, index: int) -> reference.Key:
    """Key ``index`` of a level of the tree of splits."""
    if depth == 0:
        return root
    return reference.split(tree_key(root, depth - 1, index // 16), index % 16, 16)


def defined_word(impl: str, seed: int, order: str, interleave: int, position: int) -> int:
    """A word of a stream."""
    i, j = divmod(position, interleave)
    key = reference.key(seed, impl)
    root = reference.split(key, j, interleave) if interleave > 1 else key
    if order == "counter":
        if impl == "threefry2x32_original":
            return reference.word(reference.fold_in(root, i // 2**20), i % 2**20, 2**20, 64)
        return reference.word(root, i, 2**63 - 1, 64)
    block = 4 if impl == "threefry4x64" else 1
    child = tree_key(root, 15, i // block) if order == "split" else reference.fold_in(root, i // block)
    return reference.word(child, i % block, block, 64)


def defined_bytes(impl: str, seed: int, order: str, interleave: int, skip: int, length: int) -> bytes:
    """Some bytes of a stream."""
    first, last = skip // 8, -(-(skip + length) // 8)
    words = (defined_word(impl, seed, order, interleave, p) for p in range(first, last))
    return b"".join(word.to_bytes(8, "little") for word in words)[skip % 8 :][:length]


def streamed(made: Stream, skip: int, length: int, threads: int = 1) -> bytes:
    """Some bytes of a stream, by the library."""
    return b"".join(bytes(piece.tolist()) for piece in stream.stream_bytes(made, skip, length, threads))


@pytest.mark.parametrize("impl", IMPL_NUMBERS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("interleave", [1, 3])
def test_bytes_are_those_of_the_definition(impl: str, order: str, interleave: int) -> None:
    made = Stream(impl, 11, order, interleave, levels=1)
    size = made.chunk_bytes
    for skip in (0, 5 * size - 100, 2**62 + 3):  # the second one goes on into another chunk, odd and not whole words
        expected = defined_bytes(impl, 11, order, interleave, skip, 203)
        assert streamed(made, skip, 203, threads=2) == expected


def test_the_original_layouts_draws_follow_each_other() -> None:
    made = Stream("threefry2x32_original", 3, "counter", 1)
    skip = (2**20 - 4) * 8
    assert streamed(made, skip, 64) == defined_bytes("threefry2x32_original", 3, "counter", 1, skip, 64)


@pytest.mark.parametrize("impl", IMPL_NUMBERS)
@pytest.mark.parametrize("order", ORDERS)
def test_bytes_do_not_depend_on_chunks(impl: str, order: str) -> None:
    small, large = Stream(impl, 4, order, 4, levels=1), Stream(impl, 4, order, 4, levels=2)
    size = large.chunk_bytes
    assert streamed(small, size - 777, 2000, threads=3) == streamed(large, size - 777, 2000)
    assert streamed(Stream(impl, 4, order, 4), size - 777, 2000) == streamed(large, size - 777, 2000)


@pytest.mark.parametrize("impl", IMPL_NUMBERS)
@pytest.mark.parametrize("order", ORDERS)
def test_many_sequences(impl: str, order: str) -> None:
    made = Stream(impl, 6, order, 8196)
    skip = made.chunk_bytes - 40
    assert streamed(made, skip, 80) == defined_bytes(impl, 6, order, 8196, skip, 80)


def test_the_counter_order_is_one_draw() -> None:
    draw = stream.random.bits(stream.random.key(9), (1000,), torch.uint64)
    assert streamed(Stream("threefry2x32", 9, "counter", 1), 0, 8000) == bytes(draw.view(torch.uint8).tolist())


def test_no_bytes() -> None:
    made = Stream("threefry2x32", 1, "counter", 1, levels=1)
    assert streamed(made, 0, 0) == streamed(made, 5, 0) == b""


def test_the_last_bytes() -> None:
    for order in ORDERS:
        made = Stream("threefry2x32", 1, order, 1, levels=1)
        skip = stream.MAX_BYTES - 20
        assert streamed(made, skip, 20) == defined_bytes("threefry2x32", 1, order, 1, skip, 20)


# ---- The program ----

COMMAND = [sys.executable, "-m", "torch_threefry.stream"]


def test_the_program_writes_what_it_is_asked_for() -> None:
    arguments = ["--impl", "threefry2x32", "--seed", "-7", "--order", "split", "--interleave", "3"]
    done = subprocess.run(
        [*COMMAND, *arguments, "--bytes", "1K", "--skip", "5"], cwd=ROOT, capture_output=True, check=True
    )
    assert done.stdout == streamed(Stream("threefry2x32", -7, "split", 3), 5, 1024) and done.stderr == b""


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    with subprocess.Popen(COMMAND, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert len(process.stdout.read(2**21)) == 2**21
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "--bytes", "8"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"No space left" in done.stderr


BAD = [
    (["--impl", "philox"], ["--impl", "philox", "threefry2x32"]),
    (["--order", "random"], ["--order", "random", "counter"]),
    (["--seed", "one"], ["--seed", "one", "0x2a"]),
    (["--seed", str(2**64), "--impl", "threefry2x32"], ["--seed", str(2**64), "seed < 2^64"]),
    (["--interleave", "0"], ["--interleave", "got 0", "from 1 to"]),
    (["--interleave", "1.5"], ["--interleave", "'1.5'", "integer"]),
    (["--interleave", "1000000"], ["--interleave", "1000000", "16384"]),
    (["--bytes", "-1"], ["--bytes", "'-1'", "from 0"]),
    (["--bytes", "1.5"], ["--bytes", "'1.5'", "whole"]),
    (["--bytes", "many"], ["--bytes", "'many'", "1e9"]),
    (["--bytes", "nan"], ["--bytes", "'nan'", "1e9"]),
    (["--bytes", "9e999999"], ["--bytes", "'9e999999'", "2^63-1"]),
    (["--skip", "G"], ["--skip", "'G'", "4G"]),
    (["--bytes", "2", "--skip", str(2**63 - 2)], ["--bytes", "at most", "got 2"]),
]


@pytest.mark.parametrize(("arguments", "named"), BAD)
def test_bad_arguments(
    arguments: list[str], named: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream.os, "isatty", lambda fd: False)
    monkeypatch.setattr(stream.torch, "set_num_threads", lambda count: None)
    with pytest.raises(SystemExit) as exit_:
        stream.main(arguments)
    message = capsys.readouterr().err
    assert exit_.value.code == 2 and all(part in message for part in named), message


def test_no_words_for_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream.os, "isatty", lambda fd: True)
    with pytest.raises(SystemExit) as exit_:
        stream.main([])
    assert exit_.value.code == 2 and "terminal" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "count"), [("0", 0), ("1e9", 10**9), ("1.5k", 1536), ("4G", 2**32), ("2T", 2**41)])
def test_counts_of_bytes(text: str, count: int) -> None:
    assert stream.byte_count(text) == count


def test_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream.Progress, "INTERVAL", 0)
    progress = stream.Progress(2 * 10**9)
    progress.add(10**9)
    assert capsys.readouterr().err.startswith("\r 50% of 2.00 GB, ")
    progress.add(10**9)
    assert capsys.readouterr().err.endswith(" GB/s\n")


def test_help_says_how_to_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        stream.main(["--help"])
    text = capsys.readouterr().out
    assert all(part in text for part in ("dieharder -a -g 200", "RNG_test stdin64", "unif01_CreateExternGenBits"))
