"""Statistics of random words: each function takes words of 32 or 64 bits and gives a p-value.

A p-value is small if the words are not random, in whatever direction: statistics with a two-sided
alternative (a fit that is too good is as wrong as one that is too bad) double the smaller tail. Laws
are exact where that is said, and otherwise limits whose error is below what can be seen with the
sample sizes of test_battery.py, which also runs every statistic on numpy's PCG64.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Words = NDArray[Any]  # of uint32 or uint64; monobit takes narrower ones too
Floats = NDArray[np.float64]


# --- p-values


def both_tails(cdf: Floats, sf: Floats) -> Floats:
    """The p-values of statistics with P(X <= x) = cdf and P(X >= x) = sf."""
    return np.minimum(1.0, 2 * np.minimum(cdf, sf))


def normal_p(z: Floats | float) -> Floats:
    """The p-values of standard normal statistics, from both sides; to the last digit far out too."""
    return special.erfc(np.abs(z) / math.sqrt(2))


def chi_square_p(x: float, degrees: int) -> float:
    law = stats.chi2(degrees)
    return float(both_tails(law.cdf(x), law.sf(x)))


def smallest(p_values: list[float] | Floats) -> float:
    """The p-value of the smallest of independent p-values: Sidak's, exact."""
    p = np.ravel(np.asarray(p_values))
    least = min(float(p.min()), 1 - 2**-53)
    return -math.expm1(p.size * math.log1p(-least))


# --- bits


def width(words: Words) -> int:
    return 8 * words.itemsize


def ones_by_position(words: Words) -> NDArray[np.int64]:
    """How often each bit is set: of words (..., n) the counts (..., width), bit 0 first.

    Bits 0, 8, 16... of the words are added in one go, one in each byte of a word; a byte holds 255 of them.
    """
    *lead, n = words.shape
    lanes = words.dtype.type(int.from_bytes(b"\1" * words.itemsize, "little"))
    starts = np.arange(0, n, 255)
    counts = np.empty((*lead, words.itemsize, 8), np.int64)
    for bit in range(8):
        sums = np.add.reduceat((words >> words.dtype.type(bit)) & lanes, starts, -1, words.dtype)
        counts[..., bit] = sums[..., None].view(np.uint8).sum(-2, dtype=np.int64)
    return counts.reshape(*lead, width(words))


def transposed(words: Words) -> Words:
    """For each bit position the words made of its bits in successive words: (width, n / width)."""
    size = width(words)
    octets = words.reshape(-1, size, 1).view(np.uint8)
    bits = np.unpackbits(octets, axis=2, bitorder="little").transpose(2, 0, 1)
    return np.packbits(bits, axis=2, bitorder="little").view(words.dtype)[..., 0]


# --- the battery


def monobit(words: Words) -> float:
    """Each bit is set in half of the words (of any width).

    The frequency test (NIST SP 800-22, 2.1) at every bit position: a normal deviate each, and the chi-square of all.
    """
    z = (2.0 * ones_by_position(words) - len(words)) / math.sqrt(len(words))
    return chi_square_p(float((z**2).sum()), len(z))


def serial_correlation(words: Words) -> float:
    """The words, as numbers, are uncorrelated with those any number of places later.

    The circular correlations (Knuth, TAOCP 3.3.2 K) at all lags below n / 2, by Fourier's transform. With the
    known mean and variance of uniform numbers their own mean is 0 and variance 1 / n exactly, and any two are
    uncorrelated; they are normal in the limit. The p-value is that of the largest.
    """
    levels = 2.0 ** width(words)
    numbers = (words - (levels - 1) / 2) / math.sqrt((levels**2 - 1) / 12)
    spectrum = np.fft.rfft(numbers)
    correlations = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, len(words)) / math.sqrt(len(words))
    return smallest(normal_p(correlations[1 : len(words) // 2]))


BIRTHDAYS = 2**12


def birthday_spacings(words: Words) -> float:
    """Spacings of sorted birthdays coincide as often as they do by chance.

    Marsaglia's test: m birthdays in a year of d days have about Poisson(m^3 / 4d) equal spacings. The birthdays are
    32-bit numbers, groups of 2^12 words' upper or lower halves: m = 2^12 is below d^(5/12) = 2^13.3, up to which
    L'Ecuyer & Simard (2001) found the law good. The counts of all groups are added.
    """
    halves = words.view(np.uint32).reshape(len(words), -1).T
    groups = halves[:, : len(words) // BIRTHDAYS * BIRTHDAYS].reshape(-1, BIRTHDAYS)
    spacings = np.sort(np.diff(np.sort(groups)))
    equal = int((spacings[:, 1:] == spacings[:, :-1]).sum())
    law = stats.poisson(len(groups) * BIRTHDAYS**3 / 2**34)
    return float(both_tails(law.cdf(equal), law.sf(equal - 1)))


REMEMBERED = 8  # how many words back a Hamming weight may depend on
LAGS = (1, 2**5, 2**10, 2**15)


def hamming_weight_dependency(words: Words) -> float:
    """A word's Hamming weight does not depend on those of the eight words before it.

    After Blackman & Vigna, "A new test for Hamming-weight dependencies" (2018/2022). Weights fall into three
    classes (below, about and above the middle). The weight of a word, centred and scaled, times a product of
    functions of the classes before it, one of {1, f, g} for each of the eight words, orthonormal under the
    binomial law, has mean 0 and variance 1, and any two of these 3^8 products are uncorrelated: so their sums
    over n words, divided by sqrt(n), are uncorrelated standard normal deviates in the limit. Those with the same
    number of words in the product are taken together, as the authors do it, so that the few simple dependencies are not
    drowned by the many complicated ones. (The constant product is left out: it is the monobit test.) The words are
    taken in order, and with several strides, since a counter's upper bits make words depend that are far apart.
    """
    strided = [words[: len(words) // lag * lag].reshape(-1, lag).T.ravel() for lag in LAGS if lag < len(words)]
    return smallest([p for order in strided for p in _weight_dependencies(order)])


def _weight_dependencies(words: Words) -> list[float]:
    """The p-values for products of 1, 2, ... 8 classes of the words before."""
    half = width(words) // 2
    weights = np.bitwise_count(words).astype(np.int64)
    classes = (weights >= half - 1).astype(np.int64) + (weights > half + 1)
    scaled = (weights - half) / math.sqrt(half / 2)

    n = len(words) - REMEMBERED
    signatures = np.zeros(n, np.int64)
    for back in range(REMEMBERED):
        signatures = 3 * signatures + classes[back : back + n]
    sums = np.bincount(signatures, scaled[REMEMBERED:], 3**REMEMBERED).reshape((3,) * REMEMBERED)

    low = stats.binom.cdf(half - 2, 2 * half, 0.5)
    middle = 1 - 2 * low
    f = np.array([-1, 0, 1]) / math.sqrt(2 * low)
    g = np.array([math.sqrt(middle / (2 * low)), -math.sqrt(2 * low / middle), math.sqrt(middle / (2 * low))])
    for axis in range(REMEMBERED):
        sums = np.moveaxis(np.tensordot([np.ones(3), f, g], sums, (1, axis)), 0, axis)
    p = normal_p(sums / math.sqrt(n))
    words_in_product = (np.indices(p.shape) > 0).sum(0)
    return [smallest(p[words_in_product == size]) for size in range(1, REMEMBERED + 1)]


def binary_rank(words: Words) -> float:
    """Square matrices whose rows are successive words have the ranks of random binary matrices (Marsaglia & Tsay,
    1985)."""
    return _rank_p(words[: len(words) // width(words) * width(words)])


def binary_rank_by_position(words: Words) -> float:
    """Square matrices made of one bit position of successive words have the ranks of random binary matrices.

    Where a bit is a polynomial of low degree in the counter's bits, as in a cipher of few rounds, these matrices
    lack ranks.
    """
    bits = transposed(words[: len(words) // width(words) ** 2 * width(words) ** 2])
    return _rank_p(bits.reshape(-1))


def _rank_p(rows: Words) -> float:
    """The chi-square of the ranks full, one less, two less and lower, with exact chances."""
    size = width(rows)
    lacking = size - ranks(rows.reshape(-1, size))
    observed = np.bincount(np.minimum(lacking, 3), minlength=4)
    expected = rank_chances(size) * observed.sum()
    return chi_square_p(float(((observed - expected) ** 2 / expected).sum()), 3)


def rank_chances(size: int) -> Floats:
    """The chances that a random binary square matrix lacks 0, 1, 2, and more than 2 of the full rank (Kovalenko)."""
    chances = [
        2.0 ** -((size - r) ** 2) * math.prod((1 - 2.0 ** (i - size)) ** 2 / (1 - 2.0 ** (i - r)) for i in range(r))
        for r in (size, size - 1, size - 2)
    ]
    return np.array([*chances, 1 - sum(chances)])


def ranks(matrices: Words) -> NDArray[np.int64]:
    """The ranks over GF(2) of matrices (n, rows), a word a row: Gauss's elimination of all at once."""
    rows = np.ascontiguousarray(matrices.T)  # a row of all matrices in one piece
    for i, pivot in enumerate(rows):
        lowest = pivot & -pivot
        rest = rows[i + 1 :]
        rest ^= pivot * ((rest & lowest) != 0)  # none has the pivot's lowest bit any more
    return (rows != 0).sum(0)


def avalanche(differences: Iterable[Words]) -> float:
    """Every bit of the input changes every bit of the output half of the time (Webster & Tavares' strict avalanche
    criterion, 1985).

    Args:
        differences: for each bit of the input, ``(samples, words)``: the outputs' exclusive or with what they are when
            that bit is flipped. No input may occur twice among all of them.

    The counts are binomial and independent, exactly. The p-value is that of the most extreme one.
    """
    return smallest([_least_avalanche_p(d) for d in differences])


def _least_avalanche_p(differences: Words) -> float:
    changes = ones_by_position(np.ascontiguousarray(differences.T)).ravel()
    law = stats.binom(len(differences), 0.5)
    return smallest(both_tails(law.cdf(changes), law.sf(changes - 1)))
