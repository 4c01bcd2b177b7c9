"""Write raw words to standard output, for programs that test random numbers.

A stream is a sequence of 64-bit words, the lowest byte first. Each of its bytes is a function of the impl, the seed, the
order, the interleaving N and the byte's position alone, wherever one begins to read (--skip):

* Word p of the stream is word p // N of sequence p % N: N sequences take turns, word by word. Sequence j is made from
  root j, which is split(key(seed), N)[j]; with N = 1 the only root is key(seed) itself.
* counter: a sequence is one draw from its root, bits(root, (n,), uint64), however large n. What threefry2x32_original
  draws depends on n; there it is draws of n = 2^20 words one after the other, draw d from fold_in(root, d).
* split: below the root is a tree of 15 levels, on each of which every key is split into 16. The keys of the lowest level,
  from left to right, give their first words.
* fold_in: the keys fold_in(root, 0), fold_in(root, 1) and so on give their first words.

A key's first words are those of the cipher's first block: one, bits(key, (1,), uint64); with threefry4x64 four.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal, InvalidOperation

import torch
from torch import Tensor

from . import Key, random
from .key import DEFAULT_IMPL, IMPL_NUMBERS

WORD_BYTES = 8
MAX_BYTES = 2**63 - 1  # of a stream; words are then counted with 60 bits
MAX_INTERLEAVE = 2**14  # keys of the tree of splits are kept for each root

# 64-bit words in a block of the cipher, where it is not one.
BLOCK_WORDS = {"threefry4x64": 4}

# The length of a draw: where it is part of the layout, and where it does not matter.
ORIGINAL_DRAW = 2**20
ENDLESS_DRAW = 2**63 - 1

# The tree of splits; its lowest level has 2^60 keys.
DEGREE = 16
DEPTH = 15

# ---- The words ----


def make_roots(impl: str, seed: int, interleave: int) -> Key:
    """The keys that the sequences are made from: a batch of N."""
    key = random.key(seed, impl=impl)
    return key.split(interleave) if interleave > 1 else key.reshape(1)


def draw_words(roots: Key, first: int, last: int) -> Tensor:
    """Words first..last-1 of each root's draw, as (roots, words). They must not cross the end of one of the original
    layout's draws."""
    length = ENDLESS_DRAW
    if roots.impl == "threefry2x32_original":
        length = ORIGINAL_DRAW
        draw, first = divmod(first, length)
        roots, last = roots.fold_in(draw), last - draw * length
    return random.bits(roots, (length,), torch.uint64, window=((first, last),))


class SplitTree:
    """The keys below each root by repeated splits; a level's keys are numbered from left to right."""

    def __init__(self, roots: Key) -> None:
        self._roots = roots
        # Of each level, the key that was split last: those asked for one after the other have most ancestors in common.
        self._families: dict[int, tuple[int, Key]] = {}

    def _family(self, depth: int, index: int) -> Key:
        """The children of key ``index`` of a level, as (roots, DEGREE)."""
        last = self._families.get(depth)
        if last is None or last[0] != index:
            last = self._families[depth] = index, self._key(depth, index).split(DEGREE)
        return last[1]

    def _key(self, depth: int, index: int) -> Key:
        """Key ``index`` of a level, as (roots,)."""
        return self._family(depth - 1, index // DEGREE)[:, index % DEGREE] if depth else self._roots

    def leaves(self, levels: int, index: int) -> Key:
        """The keys of the lowest level below key ``index`` of the level that is ``levels`` higher, as (roots, leaves)."""
        keys = self._family(DEPTH - levels, index)
        for _ in range(levels - 1):
            keys = keys.split(DEGREE)
        return keys.reshape(len(self._roots), DEGREE**levels)


def first_words(keys: Key) -> Tensor:
    """The first block of each of (roots, children), as (roots, words)."""
    return random.bits(keys, (block_words(keys.impl),), torch.uint64).flatten(1)


def block_words(impl: str) -> int:
    """64-bit words in a block of the cipher."""
    return BLOCK_WORDS.get(impl, 1)


class Stream:
    """A stream, cut into chunks that can be made in any order, each on its own.

    Attributes:
        chunk_bytes: the size of a chunk.
    """

    def __init__(self, impl: str, seed: int, order: str, interleave: int, levels: int | None = None) -> None:
        """A chunk has 16^levels blocks of each sequence: where no levels are given, as many as are fast."""
        self._roots = make_roots(impl, seed, interleave)
        self._tree = SplitTree(self._roots)
        self._part = ORDERS[order]
        block = block_words(impl)
        self._levels = fast_levels(block * interleave) if levels is None else levels
        self._blocks = DEGREE**self._levels
        self._words = self._blocks * block
        self.chunk_bytes = self._words * interleave * WORD_BYTES

    def chunk(self, number: int) -> Tensor:
        """A chunk's bytes."""
        words = self._part(self, number)[
            ..., None
        ]  # with three dimensions torch transposes some rows several times faster
        return words.transpose(0, 1).contiguous().flatten().view(torch.uint8)

    # The sequences' parts of a chunk, as (roots, words).

    def counter(self, number: int) -> Tensor:
        return draw_words(self._roots, number * self._words, (number + 1) * self._words)

    def split(self, number: int) -> Tensor:
        return first_words(self._tree.leaves(self._levels, number))

    def fold_in(self, number: int) -> Tensor:
        children = torch.arange(number * self._blocks, (number + 1) * self._blocks)
        return first_words(self._roots[:, None].fold_in(children))


ORDERS: dict[str, Callable[[Stream, int], Tensor]] = {
    "counter": Stream.counter,
    "split": Stream.split,
    "fold_in": Stream.fold_in,
}


def fast_levels(words: int) -> int:
    """How many levels a chunk of 16^levels times so many words should have: up to 2 MiB stay in the cache."""
    return next((levels for levels in (4, 3, 2) if DEGREE**levels * words <= 2**18), 1)


def stream_bytes(stream: Stream, skip: int, length: int, threads: int) -> Iterator[Tensor]:
    """Bytes skip..skip+length-1 of a stream, in pieces."""
    size, end = stream.chunk_bytes, skip + length
    numbers = range(skip // size, -(-end // size))
    for number, chunk in zip(numbers, map_ahead(stream.chunk, numbers, threads)):
        start = number * size
        yield chunk[max(skip - start, 0) : end - start]


def map_ahead(function: Callable[[int], Tensor], numbers: Iterable[int], threads: int) -> Iterator[Tensor]:
    """What ``map`` gives, made by threads while what came before is used."""
    pending: deque[Future[Tensor]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for number in numbers:
                pending.append(pool.submit(function, number))
                if len(pending) > threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


# ---- Writing ----

STDOUT, STDERR = 1, 2
PIPE_BYTES = 2**20  # as much as Linux lets every user have


def enlarge_pipe(fd: int) -> None:
    """Have a pipe hold more, where the system can; the two processes then wait less for each other."""
    try:
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):  # another system, or no pipe
        pass


def write(fd: int, data: Tensor) -> None:
    """Write all of a contiguous uint8 tensor."""
    # Its memory; .numpy() would need numpy.
    rest = memoryview((ctypes.c_char * len(data)).from_address(data.data_ptr()))
    while rest:
        rest = rest[os.write(fd, rest) :]


class Progress:
    """A line on standard error: how much is written, and how fast."""

    INTERVAL = 0.5  # seconds

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._started = self._shown = time.monotonic()

    def add(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._shown >= self.INTERVAL or self._done == self._total:
            self._shown = now
            rate = self._done / max(now - self._started, 1e-9)
            end = "\n" if self._done == self._total else ""
            line = f"\r{self._done / self._total:4.0%} of {self._total / 1e9:.2f} GB, {rate / 1e9:.2f} GB/s"
            print(line, end=end, file=sys.stderr, flush=True)


# ---- The program ----

EXAMPLES = """\
examples, each until the test ends:
  python -m torch_threefry.stream --seed 1 | dieharder -a -g 200
  python -m torch_threefry.stream --seed 1 --order split | RNG_test stdin64
  python -m torch_threefry.stream --seed 1 --interleave 4 | RNG_test stdin32
  python -m torch_threefry.stream --seed 1 --order fold_in | ./testu01_stdin

dieharder reads 32 bits at a time. RNG_test is PractRand's. TestU01 reads no streams on its own; testu01_stdin is
  #include <stdint.h>
  #include <stdio.h>
  #include <stdlib.h>
  #include <bbattery.h>
  #include <unif01.h>
  static unsigned int next_word(void) {
    uint32_t word;
    if (fread(&word, sizeof word, 1, stdin) != 1) exit(1);
    return word;
  }
  int main(void) {
    bbattery_Crush(unif01_CreateExternGenBits("stdin", next_word));
  }
built by: cc testu01_stdin.c -o testu01_stdin -ltestu01 -lprobdist -lmylib -lm

The exit status is 0 also where the reader closes the pipe. Words are made by one thread fewer than torch has, which
OMP_NUM_THREADS sets.
"""

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def byte_count(text: str) -> int:
    """A number of bytes: 4096, 1e9 or 4G."""
    unit = UNITS.get(text[-1:].upper(), 1)
    try:
        value = Decimal(text if unit == 1 else text[:-1]) * unit
        if 0 <= value <= MAX_BYTES and value == int(value):
            return int(value)
    except InvalidOperation:
        pass
    raise argparse.ArgumentTypeError(
        f"must be a whole number of bytes from 0 to 2^63-1, such as 4096, 1e9 or 4G (K, M, G, T: powers of 1024), got {text!r}"
    )


def integer(text: str) -> int:
    """An int in Python's notation, 0x too."""
    try:
        return int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be an integer, such as 42 or 0x2a, got {text!r}") from None


def interleaving(text: str) -> int:
    """A number of sequences."""
    value = integer(text)
    if not 1 <= value <= MAX_INTERLEAVE:
        raise argparse.ArgumentTypeError(f"must be from 1 to {MAX_INTERLEAVE}, got {value}")
    return value


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m torch_threefry.stream",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--impl", choices=IMPL_NUMBERS, default=DEFAULT_IMPL, help="default: %(default)s")
    parser.add_argument("--seed", type=integer, default=0, help="what random.key takes for the impl (default: 0)")
    parser.add_argument("--order", choices=ORDERS, default="counter", help="default: %(default)s")
    parser.add_argument(
        "--interleave", type=interleaving, default=1, metavar="N", help="sequences that take turns (default: 1)"
    )
    parser.add_argument(
        "--bytes", type=byte_count, metavar="N", help="how many to write, such as 4096, 1e9 or 4G (default: no end)"
    )
    parser.add_argument(
        "--skip", type=byte_count, default=0, metavar="N", help="the position of the first byte (default: 0)"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, and return the exit status."""
    parser = options()
    chosen = parser.parse_args(arguments)
    most = MAX_BYTES - chosen.skip
    length = most if chosen.bytes is None else chosen.bytes
    if length > most:
        parser.error(f"argument --bytes: must be at most 2^63-1 - skip = {most}, got {length}")
    if os.isatty(STDOUT):
        parser.error("standard output is a terminal, and raw words are no text: use | or >, as --help shows")
    # Chunks are shared among threads, not the words of one: that would make threads wait for each other at every chunk.
    # One thread fewer than torch has: the reader wants a processor too.
    threads = max(1, torch.get_num_threads() - 1)
    torch.set_num_threads(1)
    try:
        stream = Stream(chosen.impl, chosen.seed, chosen.order, chosen.interleave)
    except OverflowError as error:
        parser.error(f"argument --seed: {error}")
    progress = Progress(length) if chosen.bytes and os.isatty(STDERR) else None
    enlarge_pipe(STDOUT)
    try:
        for piece in stream_bytes(stream, chosen.skip, length, threads):
            write(STDOUT, piece)
            if progress:
                progress.add(len(piece))
    except BrokenPipeError:  # the reader has had enough
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f"{parser.prog}: cannot write to standard output: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
