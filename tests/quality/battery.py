"""Run dieharder over raw streams of every impl, order and interleaving: ``make quality``.

Each stream's output is a file of its own under results/, named by the stream; one that is there already is not run again.
The table of all that are there is results/*.md. The exit status is 1 if any test failed: dieharder.py says when.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from torch_threefry.key import IMPL_NUMBERS
from torch_threefry.stream import ORDERS

from . import dieharder
from .dieharder import Result, Verdict

ROOT = Path(__file__).resolve().parents[2]
INTERLEAVINGS = (1, 4, 8196)
SEED = 1
PART = 2**42  # bytes from one fresh part of a stream to the next: more than the battery reads

# ---- One stream ----


@dataclass(frozen=True)
class Source:
    """A program that writes a stream."""

    name: str
    arguments: tuple[str, ...]

    def command(self, part: int) -> list[str]:
        """The command of a part of the stream."""
        return ["python", "-m", *self.arguments, "--skip", str(part * PART)]


def stream(impl: str, order: str, interleave: int) -> Source:
    """One of the library's streams."""
    options = f"--impl {impl} --seed {SEED} --order {order} --interleave {interleave}"
    return Source(f"{impl}-{order}-{interleave}", ("torch_threefry.stream", *options.split()))


def weakened(rounds: int) -> Source:
    """The cipher with few rounds, which has to fail."""
    return Source(f"weakened-{rounds}", ("tests.quality.weakened", "--rounds", str(rounds)))


@contextmanager
def running(command: list[str]) -> Iterator[IO[bytes]]:
    """A source's output. It ends by itself when no one reads any more."""
    with subprocess.Popen([sys.executable, *command[1:]], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.stdout.close()
    if process.returncode != 0:
        raise RuntimeError(f"exit status {process.returncode}: {shlex.join(command)}")


def run_dieharder(source: Source, part: int, batteries: list[list[str]], log: TextIO) -> list[Result]:
    """The results of one or more runs of dieharder, which read one after the other from a part of the stream."""
    lines: list[str] = []
    source_command = source.command(part)
    with running(source_command) as pipe:
        for arguments in batteries:
            command = ["dieharder", "-g", "200", "-k", "2", *arguments]
            log.write(f"$ {shlex.join(source_command)} | {shlex.join(command)}\n")
            with subprocess.Popen(command, stdin=pipe, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    log.write(line)
                    log.flush()
                    lines.append(line)
            if process.returncode != 0:
                raise RuntimeError(f"exit status {process.returncode}: {shlex.join(command)}")
    return list(dieharder.parse(lines))


def run_battery(source: Source, batteries: list[list[str]], log: TextIO) -> list[Verdict]:
    """A stream's verdicts; what dieharder prints goes to the log."""
    results = run_dieharder(source, 0, batteries, log)
    return dieharder.judge(results, lambda arguments, part: run_dieharder(source, part, [list(arguments)], log))


# ---- The table ----

HEADING = """\
| impl | order | interleaved | p-values | passed | passed when repeated | failed | minutes |
|---|---|---|---|---|---|---|---|
"""


def row(cells: Sequence[object], verdicts: Sequence[Verdict], minutes: float) -> str:
    """A stream's line of the table."""
    failed = [verdict.result for verdict in verdicts if not verdict.passed]
    at_once = sum(verdict.passed and not verdict.repeated for verdict in verdicts)
    names = ", ".join(f"{result.name} {result.ntuple}" for result in failed)
    counts = [len(verdicts), at_once, len(verdicts) - at_once - len(failed), f"{len(failed)} {names}".rstrip()]
    return "| " + " | ".join(map(str, [*cells, *counts, f"{minutes:.1f}"])) + " |"


def failures(line: str) -> int:
    """How many tests failed, by a line of the table."""
    return int(line.split("|")[-3].split()[0])


def last_line(path: Path) -> str:
    """The line of the table that ends a stream's file."""
    return path.read_text().splitlines()[-1]


def table(folder: Path, names: Sequence[str]) -> str:
    """The table of the streams that are done."""
    lines = [last_line(path) for name in names if (path := folder / f"{name}.txt").exists()]
    return HEADING + "".join(f"{line}\n" for line in lines)


# ---- The program ----


@dataclass(frozen=True)
class Setting:
    """How much dieharder is to do, under a name for its results."""

    name: str
    batteries: list[list[str]]


def setting(reduced: bool, psamples: float) -> Setting:
    """The reduced battery, or the whole one."""
    if reduced:
        return Setting("reduced", dieharder.reduced())
    return Setting("full" if psamples == 1 else f"full-{psamples:g}", dieharder.full(psamples))


def run_stream(source: Source, cells: Sequence[object], chosen: Setting, path: Path) -> str:
    """Run the battery into a file, which has its name once it is complete; its line of the table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    started = time.monotonic()
    with unfinished.open("w") as log:
        verdicts = run_battery(source, chosen.batteries, log)
        if not verdicts:
            raise RuntimeError(f"dieharder printed no results: see {unfinished}")
        line = row(cells, verdicts, (time.monotonic() - started) / 60)
        log.write(f"{line}\n")
    unfinished.replace(path)
    return line


def multiple(text: str) -> float:
    """A multiple of dieharder's numbers of samples."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to 1e6 (--reduced runs less), got {text!r}")
    return value


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.battery", description=__doc__)
    parser.add_argument("--impl", nargs="+", choices=IMPL_NUMBERS, default=list(IMPL_NUMBERS), help="default: all")
    parser.add_argument("--order", nargs="+", choices=ORDERS, default=list(ORDERS), help="default: all")
    parser.add_argument("--interleave", nargs="+", type=int, choices=INTERLEAVINGS, default=INTERLEAVINGS)
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--reduced", action="store_true", help="every test, those that take long with few samples: minutes a stream"
    )
    size.add_argument(
        "--psamples", type=multiple, default=1, help="dieharder's -m: a multiple of its samples, at least 1"
    )
    parser.add_argument(
        "--results", type=Path, default=Path(__file__).with_name("results"), help="default: %(default)s"
    )
    parser.add_argument(
        "--weakened", type=int, metavar="ROUNDS", help="instead, show that the cipher with so few rounds fails"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is not there yet, print the table, and return the exit status."""
    parser = options()
    chosen = parser.parse_args(arguments)
    if not shutil.which("dieharder"):
        print("make quality runs dieharder, which is not installed: apt-get install dieharder", file=sys.stderr)
        return 2
    how = setting(chosen.reduced, chosen.psamples)
    streams = [(stream(*cells), cells) for cells in itertools.product(chosen.impl, chosen.order, chosen.interleave)]
    if chosen.weakened is not None:
        streams = [(weakened(chosen.weakened), (f"{chosen.weakened} rounds", "counter", 1))]
    folder = chosen.results / how.name
    for source, cells in streams:
        path = folder / f"{source.name}.txt"
        if not path.exists():
            print(run_stream(source, cells, how, path), flush=True)
    result = table(folder, [source.name for source, _ in streams])
    if chosen.weakened is None:
        every = itertools.product(IMPL_NUMBERS, ORDERS, INTERLEAVINGS)
        folder.with_suffix(".md").write_text(table(folder, [stream(*cells).name for cells in every]))
    print(f"\n{result}")
    return 1 if any(failures(line) for line in result.splitlines()[2:]) else 0


if __name__ == "__main__":
    sys.exit(main())
