"""What dieharder prints, and what it says of a stream.

dieharder gives every test one p-value: by a Kolmogorov-Smirnov test over the p-values of the test's samples, or, of one
sample, that sample's own. It is PASSED from 0.005 to 0.995, FAILED within 1e-6 of 0 or 1, and otherwise WEAK.

Its Kolmogorov-Smirnov test measures the distance from i/(n+1) where the law it uses is that of the distance from both
(i-1)/n and i/n. Of a perfect generator 2 % of its p-values are then above 0.995 with n = 100 samples, and one in 10^4 is 1
and FAILED; with n = 2 every other one is. So n is 1, or large, and a p-value near 1 proves nothing until it comes again:

* FAILED with a p-value near 0 is final.
* Any other result but PASSED is repeated with as many samples on fresh parts of the stream, up to ``REPETITIONS`` times,
  until it is PASSED. If it never is, the test has failed.

Per p-value of a perfect generator that happens once in about 10^6 times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

REPETITIONS = 3

# Tests by the names in the output, as -d takes them, and whether -n chooses one of several.
NAMES = {
    "diehard_birthdays": 0,
    "diehard_operm5": 1,
    "diehard_rank_32x32": 2,
    "diehard_rank_6x8": 3,
    "diehard_bitstream": 4,
    "diehard_opso": 5,
    "diehard_oqso": 6,
    "diehard_dna": 7,
    "diehard_count_1s_str": 8,
    "diehard_count_1s_byt": 9,
    "diehard_parking_lot": 10,
    "diehard_2dsphere": 11,
    "diehard_3dsphere": 12,
    "diehard_squeeze": 13,
    "diehard_sums": 14,
    "diehard_runs": 15,
    "diehard_craps": 16,
    "marsaglia_tsang_gcd": 17,
    "sts_monobit": 100,
    "sts_runs": 101,
    "sts_serial": 102,
    "rgb_bitdist": 200,
    "rgb_minimum_distance": 201,
    "rgb_permutations": 202,
    "rgb_lagged_sum": 203,
    "rgb_kstest_test": 204,
    "dab_bytedistrib": 205,
    "dab_dct": 206,
    "dab_filltree": 207,
    "dab_filltree2": 208,
    "dab_monobit2": 209,
}
WITH_NTUPLE = range(200, 204)

FAR = 1e-6  # of dieharder's FAILED


@dataclass(frozen=True)
class Result:
    """One line of dieharder's table; ``ordinal`` counts those of the same test that look alike."""

    name: str
    ntuple: int
    ordinal: int
    psamples: int
    p: float
    assessment: str

    @property
    def place(self) -> tuple[str, int, int]:
        """What tells it from the others."""
        return self.name, self.ntuple, self.ordinal

    @property
    def again(self) -> tuple[str, ...]:
        """dieharder's arguments for the same test."""
        number = NAMES[self.name]
        ntuple = ("-n", str(self.ntuple)) if number in WITH_NTUPLE else ()
        return ("-d", str(number), *ntuple, "-p", str(self.psamples))


ASSESSED = re.compile(r".*\|\s*(PASSED|WEAK|FAILED)\s*")
LINE = re.compile(r"\s*(\w+)\s*\|\s*(\d+)\|\s*\d+\|\s*(\d+)\|\s*([\d.]+)\|\s*(PASSED|WEAK|FAILED)\s*")


def parse(lines: Iterable[str]) -> Iterator[Result]:
    """The results among dieharder's lines. ValueError: one is of no known form."""
    seen: dict[tuple[str, int], int] = {}
    for line in lines:
        match = LINE.fullmatch(line)
        if ASSESSED.fullmatch(line) and not (match and match[1] in NAMES):
            raise ValueError(f"a result of dieharder's must be of the known form and tests, got {line!r}")
        if match:
            test = match[1], int(match[2])
            ordinal = seen[test] = seen.get(test, -1) + 1
            yield Result(*test, ordinal, int(match[3]), float(match[4]), match[5])


@dataclass(frozen=True)
class Verdict:
    """A result, and what its repetitions gave."""

    result: Result
    repeated: tuple[Result, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it has passed at last."""
        return (self.repeated or (self.result,))[-1].assessment == "PASSED"


def judge(results: Iterable[Result], run: Callable[[tuple[str, ...], int], Iterable[Result]]) -> list[Verdict]:
    """The rule above. ``run`` gives the results of dieharder with some arguments on fresh part 1, 2, ... of the stream."""
    results = list(results)
    repeated: dict[tuple[str, int, int], list[Result]] = {result.place: [] for result in results}
    for part in range(1, REPETITIONS + 1):
        open_ = [result for result in results if is_open([result, *repeated[result.place]])]
        for arguments in dict.fromkeys(result.again for result in open_):
            fresh = {result.place: result for result in run(arguments, part)}
            for result in open_:
                if result.again == arguments:
                    repeated[result.place].append(fresh[result.place])
    return [Verdict(result, tuple(repeated[result.place])) for result in results]


def is_open(results: list[Result]) -> bool:
    """Whether a result and its repetitions so far call for another."""
    last = results[-1]
    return last.assessment != "PASSED" and not (last.assessment == "FAILED" and last.p < 0.5)


def full(psamples: float) -> list[list[str]]:
    """Arguments for the whole battery, with a multiple of its usual numbers of samples."""
    return [["-a", "-m", f"{psamples:g}"]]


# The battery with one sample of the tests that take long and the usual 100 of the others: a test, its ntuples, its samples.
REDUCED: list[tuple[int, Iterable[int], int]] = [
    *((number, [0], 100) for number in (0, 4, 8, 10, 11, 12, 14, 15, 16, 100, 102)),
    *((number, [0], 1) for number in (1, 2, 3, 5, 6, 7, 9, 13, 17, 101, *range(204, 210))),
    (200, range(1, 13), 1),
    (201, range(2, 6), 1),
    (202, range(2, 6), 1),
    (203, range(33), 1),
]


def reduced() -> list[list[str]]:
    """Arguments for every test of the battery, one after the other."""
    return [
        ["-d", str(number), "-n", str(ntuple), "-p", str(psamples)]
        for number, ntuples, psamples in REDUCED
        for ntuple in ntuples
    ]
