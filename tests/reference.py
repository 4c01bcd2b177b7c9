"""An oracle in plain Python integers: what each key, word and value has to be.

It is written from the definitions alone and shares nothing with the package, so that the two
can be wrong only in different ways. Every function is pure: a key and an element's index in,
that element out. `n` is always the number of elements of the whole draw, which only the
original layout looks at. Floats are exact rationals until `encode` turns them into bits; where a
logarithm comes in, they are mpmath's, with more digits than any type of torch has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import mpmath

PARTITIONABLE = "threefry2x32"
ORIGINAL = "threefry2x32_original"
PATHS = "threefry4x64"
IMPLS = (PARTITIONABLE, ORIGINAL, PATHS)


class PairKey(NamedTuple):
    """The two words of a key over Threefry-2x32 and the layout of its streams."""

    first: int
    second: int
    impl: str = PARTITIONABLE

    @property
    def words(self) -> list[int]:
        return [self.first, self.second]


class PathKey(NamedTuple):
    """A key of threefry4x64: the cipher's key, the path from it as zeros and ones, and where in its stream a draw begins."""

    cipher_key: tuple[int, ...]
    path: str = ""
    counter: int = 0
    impl: str = PATHS

    @property
    def words(self) -> list[int]:
        marker = 1 << (127 - len(self.path))
        return [*self.cipher_key, *limbs(bits_from_the_top(self.path)), *limbs(self.counter), *limbs(marker)]


Key = PairKey | PathKey


def limbs(x: int) -> tuple[int, int]:
    """The high and the low half of 128 bits."""
    return x >> 64 & 2**64 - 1, x & 2**64 - 1


def bits_from_the_top(bits: str) -> int:
    """Zeros and ones as the first of 128 bits."""
    return int(bits.ljust(128, "0"), 2)


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


# --- keys


def halves(value: int) -> tuple[int, int]:
    """The high and the low 32 bits of a number taken as 64 bits, two's complement."""
    return value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF


def key(seed: int, impl: str = PARTITIONABLE) -> Key:
    """jax.random.key with 64-bit seeds (JAX needs its 64-bit types for the high half); or a path of no bits."""
    if impl == PATHS:
        if not 0 <= seed < 2**256:
            raise OverflowError(f"seed {seed} is outside [0, 2**256)")
        return PathKey(tuple(seed >> shift & 2**64 - 1 for shift in (0, 64, 128, 192)))
    if not -(2**63) <= seed < 2**64:
        raise OverflowError(f"seed {seed} is outside [-2**63, 2**64)")
    return PairKey(*halves(seed), impl)


def split(key: Key, i: int, n: int) -> Key:
    """Key i of split(key, n)."""
    if isinstance(key, PathKey):
        key = key._replace(counter=0)
        for bit in format(i, f"0{max(1, (n - 1).bit_length())}b"):
            if len(key.path) == 126:
                key = new_key(key, 0, 0)
            key = key._replace(path=key.path + bit)
        return key
    if key.impl == PARTITIONABLE:
        return PairKey(*block(key, i), key.impl)
    return PairKey(hash_iota(key, 2 * i, 2 * n), hash_iota(key, 2 * i + 1, 2 * n), key.impl)


def fold_in(key: Key, data: int) -> Key:
    """JAX's fold_in, which is the same in both layouts; data beyond 32 bits is the package's own."""
    if isinstance(key, PathKey):
        return new_key(key, 1, data)
    return PairKey(*block(key, data), key.impl)


def element_key(key: Key, i: int, n: int) -> Key:
    """Element i's own key in a draw of n that each have one: a child, or what no child is."""
    return new_key(key, 2, i) if isinstance(key, PathKey) else split(key, i, n)


def own_key(key: Key, i: int) -> Key:
    """The key of the package's own stream for element i, which is the same in both of JAX's layouts."""
    if isinstance(key, PathKey):
        return new_key(key, 2, i)
    root = PairKey(*block(key, 2**64 - 1))
    return PairKey(*block(root, i))


# --- threefry4x64's blocks: the path with a 1 after it, and what it is for


def new_key(key: PathKey, purpose: int, number: int) -> PathKey:
    """An empty path from a new cipher key."""
    place = limbs(bits_from_the_top(key.path + "1") | 1)
    return PathKey(threefry_4x64((*place, purpose, number % 2**64), key.cipher_key))


def path_block(key: PathKey, i: int) -> tuple[int, ...]:
    """Block i of a draw."""
    place = limbs(bits_from_the_top(key.path + "1"))
    return threefry_4x64((*place, *limbs((key.counter + i) % 2**128)), key.cipher_key)


def path_word(key: PathKey, i: int, width: int) -> int:
    """Word i of a draw: the 64-bit words are cut up, low part first."""
    whole = i * width // 64
    return path_block(key, whole // 4)[whole % 4] >> (i * width % 64) & (1 << width) - 1


# --- words: jax.random's threefry2x32 with jax_threefry_partitionable on and off


def block(key: PairKey, counter: int) -> tuple[int, int]:
    """The cipher at a 64-bit counter, high half first."""
    first, second = threefry_2x32(halves(counter), key[:2])
    return first, second


def hash_iota(key: PairKey, i: int, n: int) -> int:
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
    if isinstance(key, PathKey):
        return path_word(key, i, width)
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


# --- the samplers with parameters, before any rounding: a word's numbers are exact, and so is what is made of them

REALS = mpmath.mp.clone()
REALS.dps = 40
Real = mpmath.mpf


def real(x: Fraction | float) -> Real:
    x = Fraction(x)
    return REALS.mpf(x.numerator) / x.denominator


def normal(key: Key, i: int, n: int, dtype: str = "float64") -> Real:
    """Element i of jax.random.normal."""
    first = -1 + Fraction(1, 2 << FORMATS[dtype].mantissa)  # the number after -1
    v = uniform(key, i, n, dtype, first, 1)
    return REALS.sqrt(2) * REALS.erfinv(real(v))


def exponential(key: Key, i: int, n: int, dtype: str = "float64") -> Real:
    """Element i of jax.random.exponential."""
    return -REALS.log(real(1 - unit(key, i, n, dtype)))


def children(key: Key, n: int = 2) -> list[Key]:
    return [split(key, i, n) for i in range(n)]


def loggamma(key: Key, i: int, n: int, alpha: float, dtype: str = "float64") -> Real:
    """Element i of jax.random.loggamma: Marsaglia and Tsang's method with a key for each element."""
    own, boost = children(element_key(key, i, n))
    d = real(alpha) + (1 if alpha < 1 else 0) - real(1) / 3
    c = 1 / (3 * REALS.sqrt(d))
    while True:
        own, roots, test = children(own, 3)
        v = REALS.mpf(-1)
        while v <= 0:
            roots, trial = children(roots)
            x = normal(trial, 0, 1, dtype)
            v = 1 + c * x
        u = real(unit(test, 0, 1, dtype))
        if u < 1 - real(Fraction(331, 10000)) * x**4 or u == 0:
            break
        if REALS.log(u) < x**2 / 2 + d * (1 - v**3 + 3 * REALS.log(v)):
            break
    log_boost = -exponential(boost, 0, 1, dtype) / real(alpha) if alpha < 1 else 0
    return REALS.log(d) + 3 * REALS.log(v) + log_boost


def wald(key: Key, i: int, n: int, mean: float) -> Real:
    """Element i of jax.random.wald in float64, without its cancellation."""
    first, second = children(key)
    y = normal(first, i, n) ** 2
    m = real(mean)
    x = m + m**2 * y / 2 - m / 2 * REALS.sqrt(4 * m * y + m**2 * y**2)
    return x if real(unit(second, i, n, "float64")) <= m / (m + x) else m**2 / x


def normal_cdf(x: float) -> Real:
    """With all digits in the lower tail."""
    if math.isinf(x):
        return REALS.mpf(x > 0)
    return REALS.erfc(-real(x) / REALS.sqrt(2)) / 2


def truncated_normal_error(key: Key, i: int, n: int, lower: float, upper: float, x: float) -> Real:
    """How far x is from element i of truncated_normal in float64, by Newton's step from x. In the upper tail,
    mirrored, so that no digits are lost."""
    u = real(unit(key, i, n, "float64"))
    if lower > 0:
        lower, upper, x, u = -upper, -lower, -x, 1 - u
    low, high = normal_cdf(lower), normal_cdf(upper)
    density = REALS.exp(-(real(x) ** 2) / 2) / REALS.sqrt(2 * REALS.pi)
    return abs(normal_cdf(x) - (low + u * (high - low))) / density


def geometric(key: Key, i: int, n: int, p: float, dtype: str = "float32") -> int:
    """Element i of jax.random.geometric, u = 0 standing for 1."""
    u = unit(key, i, n, dtype)
    if p == 1 or u == 0:
        return 1
    return int(REALS.floor(REALS.log(real(u)) / REALS.log(1 - real(p)))) + 1


def poisson_of_small_rate(key: Key, i: int, n: int, rate: float) -> int:
    """Element i of jax.random.poisson for a rate below 10."""
    count, log_product = -1, REALS.mpf(0)
    while log_product > -real(rate):
        key, sub = children(key)
        u = unit(sub, i, n, "float32")
        log_product += REALS.log(real(u)) if u else -REALS.inf
        count += 1
    return count


def own_uniform(key: Key, i: int, w: int) -> Fraction:
    """Uniform number w of the package's own stream for element i."""
    return unit(own_key(key, i), w, 0, "float64")


def candidate(u: Real, us: Real, a: Real, b: Real, centre: float) -> int:
    """A count from the table mountain hat. In float64, whose steps are wide beyond 2^51: but each count has a unit of
    the real line there too."""
    return math.floor((2 * float(a) / float(us) + float(b)) * float(u) + centre) if us else -1


def log_factorial(k: int) -> Real:
    return REALS.loggamma(k + 1)


def poisson_of_large_rate(key: Key, i: int, rate: float) -> int:
    """Element i of the package's poisson for a rate of 10 or more: Hormann's PTRS (1993)."""
    lam = real(rate)
    b = real(0.931) + real(2.53) * REALS.sqrt(lam)
    a = real(-0.059) + real(0.02483) * b
    inverse_alpha = real(1.1239) + real(1.1328) / (b - real(3.4))
    quick = real(0.9277) - real(3.6224) / (b - 2)
    for t in range(10_000):
        u, v = real(own_uniform(key, i, 2 * t)) - 0.5, real(own_uniform(key, i, 2 * t + 1))
        us = 0.5 - abs(u)
        k = candidate(u, us, a, b, rate + 0.43)
        if us >= real(0.07) and v <= quick:
            return k
        if k < 0 or (us < real(0.013) and v > us):
            continue
        if REALS.log(v * inverse_alpha / (a / us**2 + b)) <= k * REALS.log(lam) - lam - log_factorial(k):
            return k
    raise AssertionError("never accepted")


def binomial(key: Key, i: int, n: int, p: float) -> int:
    """Element i of the package's binomial; the rarer outcome is counted."""
    if p > 0.5:
        return n - binomial(key, i, n, 1 - p)
    q = 1 - real(p)
    if n * p < 10:
        rest, k, term = real(own_uniform(key, i, 0)), 0, q**n
        while k < n and rest >= term:
            rest, k, term = rest - term, k + 1, term * (n - k) / (k + 1) * real(p) / q
        return k
    return binomial_by_rejection(key, i, n, p)


def binomial_by_rejection(key: Key, i: int, n: int, p: float) -> int:
    """Hormann's BTRS (1993)."""
    q = 1 - real(p)
    deviation = REALS.sqrt(n * real(p) * q)
    b = real(1.15) + real(2.53) * deviation
    a = real(-0.0873) + real(0.0248) * b + real(0.01) * real(p)
    alpha, quick = (real(2.83) + real(5.1) / b) * deviation, real(0.92) - real(4.2) / b

    def log_shape(k: int) -> Real:
        return k * REALS.log(real(p) / q) - log_factorial(k) - log_factorial(n - k)

    at_mode = log_shape(int(REALS.floor((n + 1) * real(p))))
    for t in range(10_000):
        u, v = real(own_uniform(key, i, 2 * t)) - 0.5, real(own_uniform(key, i, 2 * t + 1))
        us = 0.5 - abs(u)
        k = candidate(u, us, a, b, n * p + 0.5)
        if us >= real(0.07) and v <= quick:
            return k
        if 0 <= k <= n and REALS.log(v * alpha / (a / us**2 + b)) <= log_shape(k) - at_mode:
            return k
    raise AssertionError("never accepted")


def multinomial(key: Key, i: int, n: int, weights: Sequence[float]) -> list[int]:
    """Row i of the package's multinomial: one category after the other takes its part of those left."""
    counts = []
    for j, weight in enumerate(weights):
        share = float(Fraction(weight) / sum(map(Fraction, weights[j:]))) if weight else 0.0
        counts.append(binomial(split(key, j, len(weights)), i, n - sum(counts), share))
    return counts
