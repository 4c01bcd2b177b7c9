"""What the benchmarks print."""

from __future__ import annotations

from collections.abc import Sequence


def power_of_two(n: int) -> str:
    """A size as it is written in the table."""
    return f"2^{n.bit_length() - 1}"


def line(cells: Sequence[str]) -> str:
    """A line of a markdown table."""
    return "| " + " | ".join(cells) + " |"


def head(names: Sequence[str]) -> str:
    """The first two lines of a markdown table."""
    return line(names) + "\n|" + "---|" * len(names)
