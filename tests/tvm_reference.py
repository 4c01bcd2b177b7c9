"""An oracle for TVM's generator in plain Python integers, from the facts in data/tvm alone.

A state is a list of ten words; every function returns new ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference import PARITY, ROTATIONS, xor_all

Words = list[int]

MASK = 2**64 - 1
FIRST_POSITION = [1 << 63, 0]


def block(key: Sequence[int], block_in: Sequence[int]) -> Words:
    """The block function: twenty rounds, of which every fourth begins with a subkey."""
    schedule = [*key, xor_all(key) ^ PARITY[64]]
    words = list(block_in)
    for r in range(20):
        if r % 4 == 0:
            words = [(w + schedule[(r // 4 + i) % 5]) & MASK for i, w in enumerate(words)]
            words[3] = (words[3] + r // 4) & MASK
        for pair, turn in enumerate(ROTATIONS[4, 64][r % 8]):
            a = 2 * pair
            b = (a + 1) if r % 2 == 0 else 3 - a
            rotated = (words[b] << turn | words[b] >> (64 - turn)) & MASK
            words[a] = (words[a] + words[b]) & MASK
            words[b] = ((words[a] + words[b]) & MASK) ^ rotated
    return words


def _next(position: Words) -> Words:
    shifted = (position[0] << 64 | position[1]) >> 1
    return [shifted >> 64, shifted & MASK]


def _new_key(state: Words) -> Words:
    return [*block(state[:4], state[4:8]), 0, 0, 0, 0, *FIRST_POSITION]


def split(state: Words) -> tuple[Words, Words]:
    """The left and the right child."""
    if state[8] == 0:
        state = _new_key(state)
    key, path, counter, position = state[:4], state[4:6], state[6:8], state[8:]
    extended = [p | bit for p, bit in zip(path, position, strict=True)]
    return [*key, *path, *counter, *_next(position)], [*key, *extended, *counter, *_next(position)]


def generate(state: Words, n: int, rule: str) -> tuple[Words, Words]:
    """The state after a draw of n words, and the words."""
    blocks = (n + 3) // 4
    if not state[7] < MASK - (4 * blocks if rule == "first" else n):
        if state[8:] == [0, 0]:
            state = _new_key(state)
        else:
            path = [p | bit for p, bit in zip(state[4:6], state[8:], strict=True)]
            state = [*state[:4], *path, 0, 0, *_next(state[8:])]
    words = []
    for i in range(blocks):
        steps = [0, 0, 0, 4 * i] if rule == "release" and 4 * i + 4 > n else [i] * 4
        words += block(state[:4], [(w + step) & MASK for w, step in zip(state[4:8], steps, strict=True)])
    return [*state[:6], 0, (state[7] + 4 * blocks) & MASK, *state[8:]], words[:n]
