"""Write Threefry-2x32 with few rounds over consecutive counters to standard output: words that tests ought to see through."""

from __future__ import annotations

import argparse
import itertools

import torch

from torch_threefry import threefry
from torch_threefry.stream import STDOUT, write

BLOCKS = 2**16  # at a time


def main() -> None:
    """Write until the reader closes the pipe."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.weakened", description=__doc__)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--skip", type=int, default=0, help="the position of the first byte, a multiple of 2^19")
    chosen = parser.parse_args()
    torch.set_num_threads(1)  # threads would wait for each other at every piece
    key = torch.tensor([1, 2], dtype=torch.uint32)
    for first in itertools.count(chosen.skip // 8, BLOCKS):
        numbers = torch.arange(first, first + BLOCKS)
        counters = torch.stack([numbers >> 32, numbers & 0xFFFFFFFF], -1).to(torch.uint32)
        try:
            write(STDOUT, threefry(counters, key, rounds=chosen.rounds).view(torch.uint8).flatten())
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
