"""An oracle in plain Python integers: what each key, word and value has to be.

It is written from the definitions alone and shares nothing with the package, so that the two
can be wrong only in different ways. Every function is pure: a key and an element's index in,
that element out. `n` is always the number of elements of the whole draw, which only the
original layout looks at. Floats are exact rationals until `encode` turns them into bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

PARTITIONABLE = "threefry2x32"
ORIGINAL = "threefry2x32_original"


class Key(NamedTuple):
    """The two words of a key and the layout of its streams."""

    first: int
    second: int
    impl: str = PARTITIONABLE


# --- the cipher: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011)

# One row a round, repeated every eight rounds; one rotation for each pair of words.
ROTATIONS = {
    (2, 32): ((13,), (15,), (26,), (6,), (17,), (29,), (16,), (24,)),
    (4, 32): ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20)),
    (2, 64): ((16,), (42,), (12,), (31,), (16,), (32,), (24,), (21,)),
    (4, 64): ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)),
}
PARITY = {32: 0x1BD11BDA, 64: 0x1BD11BDAA9FC1A22}


def threefry(counter: Sequence[int], key: Sequence[int], width: int, rounds: int = 20) -> tuple[int, ...]:
    """Threefry-N x width: N is the length of counter and key (2 or 4), width is 32 or 64."""
    size, mask = len(counter), (1 << width) - 1
    schedule = [*key, xor_all(key) ^ PARITY[width]]
    words = [(c + k) & mask for c, k in zip(counter, key, strict=True)]
    for r in range(rounds):
        for pair, turn in enumerate(ROTATIONS[size, width][r % 8]):
            # With four words every odd round pairs 0 with 3 and 2 with 1.
            a = 2 * pair
            b = (a + 1) if r % 2 == 0 else size - 1 - a
            words[a] = (words[a] + words[b]) & mask
            words[b] = words[a] ^ ((words[b] << turn | words[b] >> (width - turn)) & mask)
        if r % 4 == 3:
            step = r // 4 + 1
            words = [(w + schedule[(step + i) % (size + 1)]) & mask for i, w in enumerate(words)]
            words[-1] = (words[-1] + step) & mask
    return tuple(words)


def xor_all(words: Sequence[int]) -> int:
    """The exclusive or of all words."""
    total = 0
    for word in words:
        total ^= word
    return total


def threefry_2x32(counter: Sequence[int], key: Sequence[int], rounds: int = 20) -> tuple[int, ...]:
    return threefry(counter, key, 32, rounds)


def threefry_4x32(counter: Sequence[int], key: Sequence[int], rounds: int = 20) -> tuple[int, ...]:
    return threefry(counter, key, 32, rounds)


def threefry_2x64(counter: Sequence[int], key: Sequence[int], rounds: int = 20) -> tuple[int, ...]:
    return threefry(counter, key, 64, rounds)


def threefry_4x64(counter: Sequence[int], key: Sequence[int], rounds: int = 20) -> tuple[int, ...]:
    return threefry(counter, key, 64, rounds)


# --- keys: jax.random's threefry2x32 with jax_threefry_partitionable on and off


def halves(value: int) -> tuple[int, int]:
    """The high and the low 32 bits of a number taken as 64 bits, two's complement."""
    return value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF


def key(seed: int, impl: str = PARTITIONABLE) -> Key:
    """jax.random.key with 64-bit seeds (JAX needs its 64-bit types for the high half)."""
    if not -(2**63) <= seed < 2**64:
        raise OverflowError(f"seed {seed} is outside [-2**63, 2**64)")
    return Key(*halves(seed), impl)


def block(key: Key, counter: int) -> tuple[int, int]:
    """The cipher at a 64-bit counter, high half first."""
    first, second = threefry_2x32(halves(counter), key[:2])
    return first, second


def split(key: Key, i: int, n: int) -> Key:
    """Key i of split(key, n)."""
    if key.impl == PARTITIONABLE:
        return Key(*block(key, i), key.impl)
    return Key(hash_iota(key, 2 * i, 2 * n), hash_iota(key, 2 * i + 1, 2 * n), key.impl)


def fold_in(key: Key, data: int) -> Key:
    """JAX's fold_in, which is the same in both layouts; data beyond 32 bits is the package's own."""
    return Key(*block(key, data), key.impl)


# --- words: jax.random.bits


def hash_iota(key: Key, i: int, n: int) -> int:
    """Word i of the original layout's hash of 0..n-1.

    The counts are cut in two halves, an odd n being padded with a zero, and count j of the
    first half meets count j of the second; the outputs are laid out in the same way.
    """
    half = (n + 1) // 2
    j = i % half
    other = j + half if j + half < n else 0
    return threefry_2x32((j, other), key[:2])[i // half]


def word(key: Key, i: int, n: int, width: int) -> int:
    """Word i, of 8, 16, 32 or 64 bits, of a draw of n words."""
    if key.impl == PARTITIONABLE:
        first, second = block(key, i)
        return first << 32 | second if width == 64 else (first ^ second) & ((1 << width) - 1)
    if width == 64:
        return hash_iota(key, i, 2 * n) << 32 | hash_iota(key, n + i, 2 * n)
    per_word = 32 // width  # the narrow words are the bytes of the 32-bit words, lowest first
    wide = hash_iota(key, i // per_word, -(-n // per_word))
    return wide >> (i % per_word * width) & ((1 << width) - 1)


def bits(key: Key, n: int, width: int = 32) -> list[int]:
    """All n words of a draw, in row-major order."""
    return [word(key, i, n, width) for i in range(n)]


# --- floats: jax.random.uniform


@dataclass(frozen=True)
class Format:
    """A binary float: its width, the bits of its mantissa, its smallest normal exponent."""

    width: int
    mantissa: int
    min_exponent: int
    word: int  # the width of the random word that uniform takes
    fused: bool  # whether uniform scales and shifts with one rounding


FORMATS = {
    "float16": Format(16, 10, -14, 16, False),
    "bfloat16": Format(16, 7, -126, 8, False),
    "float32": Format(32, 23, -126, 32, True),
    "float64": Format(64, 52, -1022, 64, True),
}


def rounded(x: Fraction | float, dtype: str) -> Fraction:
    """x to the nearest value of the format, ties to even, subnormals included."""
    x, form = Fraction(x), FORMATS[dtype]
    if x == 0:
        return x
    exponent = max(floor_log2(abs(x)), form.min_exponent)
    step = Fraction(2) ** (exponent - form.mantissa)
    return round(x / step) * step  # Python rounds a Fraction's ties to even


def floor_log2(x: Fraction) -> int:
    """The exponent e with 2**e <= x < 2**(e + 1), for x > 0."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def encode(x: Fraction, dtype: str) -> int:
    """The bits of a value of the format (zero is positive)."""
    form = FORMATS[dtype]
    sign = (x < 0) << (form.width - 1)
    if x == 0:
        return 0
    exponent = max(floor_log2(abs(x)), form.min_exponent)
    scaled = abs(x) / Fraction(2) ** (exponent - form.mantissa)
    assert scaled.denominator == 1, f"{x} is no {dtype}"
    # The leading one of a normal number adds itself to the exponent's field.
    return sign | ((exponent - form.min_exponent) << form.mantissa) + scaled.numerator


def unit(key: Key, i: int, n: int, dtype: str) -> Fraction:
    """Element i of a uniform draw from [0, 1): the top bits of a word, as a fixed-point number."""
    form = FORMATS[dtype]
    return Fraction(word(key, i, n, form.word) >> (form.word - form.mantissa), 1 << form.mantissa)


def uniform(key: Key, i: int, n: int, dtype: str = "float32", minval: float = 0.0, maxval: float = 1.0) -> Fraction:
    """Element i of jax.random.uniform: max(minval, u * (maxval - minval) + minval)."""
    low, high = rounded(minval, dtype), rounded(maxval, dtype)
    scaled = unit(key, i, n, dtype) * rounded(high - low, dtype)
    if not FORMATS[dtype].fused:
        scaled = rounded(scaled, dtype)
    return max(low, rounded(scaled + low, dtype))


def uniform_bits(key: Key, i: int, n: int, dtype: str = "float32", minval: float = 0.0, maxval: float = 1.0) -> int:
    """The package's uniform, as bits: JAX's may round up to maxval, ours is then the number below."""
    value, top = uniform(key, i, n, dtype, minval, maxval), rounded(maxval, dtype)
    if value < top or top <= rounded(minval, dtype):
        return encode(value, dtype)
    if top == 0:
        return 1 << (FORMATS[dtype].width - 1) | 1
    return encode(top, dtype) + (-1 if top > 0 else 1)


# --- the other samplers


def int_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type, from its name."""
    width = int(dtype.lstrip("uint"))
    return (0, 2**width - 1) if dtype.startswith("u") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def randint(key: Key, i: int, n: int, minval: int, maxval: int, dtype: str = "int32") -> int:
    """Element i of jax.random.randint, with the double word's remainder taken exactly.

    JAX works modulo 2**width where the double word overflows and is wrong there, which is
    where the span is over 2**(width / 2) and no power of two.
    """
    least, greatest = int_range(dtype)
    low = min(max(minval, least), greatest)
    high = min(max(maxval, least), greatest + 1)
    span = max(high - low, 1)
    width = 64 if dtype.endswith("64") else 32  # narrow types are drawn with 32 bits
    upper = word(split(key, 0, 2), i, n, width)
    lower = word(split(key, 1, 2), i, n, width)
    return low + (upper << width | lower) % span


def bernoulli(key: Key, i: int, n: int, p: float, dtype: str = "float32", mode: str = "low") -> bool:
    """Element i of jax.random.bernoulli; "high" puts a second uniform below the first one's last bit."""
    limit = rounded(p, dtype)
    if mode == "low":
        return unit(key, i, n, dtype) < limit
    low_part = unit(key, n + i, 2 * n, dtype) / (1 << FORMATS[dtype].mantissa)
    return unit(key, i, 2 * n, dtype) + low_part < limit


def rademacher(key: Key, i: int, n: int, dtype: str = "float32") -> int:
    """Element i of jax.random.rademacher, whose coin is a uniform of the default float type."""
    return 1 if bernoulli(key, i, n, 0.5, dtype) else -1


def shuffled(key: Key, shape: Sequence[int], axis: int = 0) -> list[int]:
    """jax.random's shuffle along an axis: the flat index that each element comes from.

    Repeated stable sorts by fresh 32-bit words, every line along the axis by its own.
    """
    size, length = math.prod(shape), shape[axis]
    stride = math.prod(shape[axis + 1 :])
    starts = [i for i in range(size) if i // stride % length == 0]
    order = list(range(size))
    for _ in range(math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))):
        key, sub = split(key, 0, 2), split(key, 1, 2)
        words = bits(sub, size)
        moved = order.copy()
        for start in starts:
            line = [start + j * stride for j in range(length)]
            for to, source in zip(line, sorted(line, key=words.__getitem__)):
                moved[to] = order[source]
        order = moved
    return order


def permutation(key: Key, n: int) -> list[int]:
    """jax.random.permutation(key, n)."""
    return shuffled(key, (n,))
