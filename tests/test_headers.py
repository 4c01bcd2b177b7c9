"""The kernels' headers in csrc/ and csrc/distributions/ alone, as g++ and nvcc see them: no torch involved."""

from __future__ import annotations

import ctypes
import functools
import math
import os
import platform
import re
import runpy
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.special
import torch

TESTS = Path(__file__).parent
DATA = TESTS / "data"
CSRC = TESTS.parent / "csrc"
OPERATORS = {CSRC / "arguments.h", CSRC / "device.h"}  # the operators' own, between torch and the kernels
HEADERS = sorted({*CSRC.glob("*.h"), *CSRC.glob("distributions/*.h")} - OPERATORS)

CXX = shlex.split(os.environ.get("CXX", "g++"))
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FLOATS = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
FLAGS = ["-std=c++17", "-O3", *FLOATS, f"-I{CSRC}", *WARNINGS]

ON_X86 = platform.machine().lower() in ("x86_64", "amd64")


def cpu_has(feature: str) -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and feature in cpuinfo.read_text().split()


def targets() -> list[object]:
    """The flags that name an instruction set, as test parameters; v3 needs a CPU that can run it."""
    if not ON_X86:
        return [pytest.param([], id="default")]
    no_fma = pytest.mark.skipif(not (cpu_has("fma") and cpu_has("avx2")), reason="this CPU has no FMA")
    return [
        pytest.param(["-march=x86-64-v2"], id="v2"),
        pytest.param(["-march=x86-64-v3"], id="v3", marks=no_fma),
    ]


def run(*command: object) -> str:
    """The command's output; its failure fails the test and shows what it said."""
    words = [str(part) for part in command]
    result = subprocess.run(words, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, f"{shlex.join(words)}\n{result.stdout}"
    return result.stdout


# ---- The C++ program ----


@pytest.mark.parametrize("target", targets())
def test_cipher_and_float32_functions(target: list[str], tmp_path: Path) -> None:
    model, program = tmp_path / "model.o", tmp_path / "test_headers"
    as_c = ["-x", "c", "-O2", *FLOATS, *WARNINGS]
    run(*CXX, *as_c, *target, "-c", DATA / "float32_model.c", "-o", model)
    run(*CXX, *FLAGS, *target, TESTS / "cpp/test_headers.cpp", model, "-lm", "-o", program)
    checked = run(program, DATA / "random123/kat_vectors.txt", DATA / "random123/old_kat_vectors.txt")
    assert re.findall(r"threefry: (\d+) rows", checked) == ["36", "592"]
    assert re.findall(r"(\w+): (\d+) .*uniforms", checked) == [
        (function, str(2**23)) for function in ("log", "log1p", "erf_inv")
    ]


# ---- Each function over an array ----

# The functions of numerics.h and special.h, each under a name of its own.
ARRAY_FUNCTIONS = {
    "log_float": "float log(float)",
    "log1p_float": "float log1p(float)",
    "erf_inv_float": "float erf_inv(float)",
    "exp_float": "float exp(float)",
    "pow_float": "float pow(float, float)",
    "tan_float": "float tan(float)",
    "erf_float": "float erf(float)",
    "floor_float": "float floor(float)",
    "log": "double log(double)",
    "log1p": "double log1p(double)",
    "erf_inv": "double erf_inv(double)",
    "exp": "double exp(double)",
    "pow": "double pow(double, double)",
    "tan": "double tan(double)",
    "erf": "double erf(double)",
    "floor": "double floor(double)",
    "stirling_tail": "double stirling_tail(double)",
    "deviance": "double deviance(double)",
    "mills_ratio": "double mills_ratio(double)",
    "normal_tail_ratio": "double normal_tail_ratio(double, double)",
    "normal_tail_excess": "double normal_tail_excess(double, double)",
    "normal_tail_inverse": "double normal_tail_inverse(double, double)",
    "to_float16": "uint16_t to_float16_bits(float)",
    "to_bfloat16": "uint16_t to_bfloat16_bits(float)",
    "from_float16": "float from_float16_bits(uint16_t)",
    "from_bfloat16": "float from_bfloat16_bits(uint16_t)",
}
BRANCHING = {"normal_tail_excess", "normal_tail_inverse"}
NUMPY_TYPES = {"float": np.float32, "double": np.float64, "uint16_t": np.uint16}


def parsed(signature: str) -> tuple[str, str, list[str]]:
    """A function's result type, its name and the types of its arguments."""
    match = re.fullmatch(r"(\w+) (\w+)\((.+)\)", signature)
    assert match
    result, function, arguments = match.groups()
    return result, function, arguments.split(", ")


def array_functions_source() -> str:
    """One function a line, so that a compiler's remark tells the function by its line."""
    lines = ['#include "special.h"']
    for name, signature in ARRAY_FUNCTIONS.items():
        result, function, arguments = parsed(signature)
        inputs = "".join(f"const {argument}* __restrict x{i}, " for i, argument in enumerate(arguments))
        values = ", ".join(f"x{i}[i]" for i in range(len(arguments)))
        lines.append(
            f'extern "C" void array_{name}({inputs}{result}* __restrict y, long n) '
            f"{{ for (long i = 0; i < n; ++i) y[i] = torch_threefry::numerics::{function}({values}); }}"
        )
    return "\n".join(lines) + "\n"


ArrayFunction = Callable[..., np.ndarray]
Functions = dict[str, ArrayFunction]


def array_function(library: ctypes.CDLL, name: str) -> ArrayFunction:
    result, _, arguments = parsed(ARRAY_FUNCTIONS[name])

    def call(*inputs: np.ndarray) -> np.ndarray:
        inputs = tuple(np.ascontiguousarray(x) for x in inputs)
        assert [x.dtype for x in inputs] == [NUMPY_TYPES[argument] for argument in arguments]
        assert len({x.shape for x in inputs}) == 1
        y = np.empty(inputs[0].shape, NUMPY_TYPES[result])
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*inputs, y)]
        getattr(library, f"array_{name}")(*pointers, ctypes.c_long(y.size))
        return y

    return call


def build(target: list[str], folder: Path) -> Functions:
    source, library = folder / "arrays.cpp", folder / "arrays.so"
    source.write_text(array_functions_source())
    run(*CXX, *FLAGS, *target, "-fPIC", "-shared", source, "-lm", "-o", library)
    loaded = ctypes.CDLL(str(library))
    return {name: array_function(loaded, name) for name in ARRAY_FUNCTIONS}


@pytest.fixture(scope="module", params=targets())
def functions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Functions:
    return build(request.param, tmp_path_factory.mktemp("numerics"))


def compiler_is_gcc() -> bool:
    return "Free Software Foundation" in run(*CXX, "--version")


@pytest.mark.skipif(not ON_X86, reason="compiles for x86")
def test_loops_are_vectorised(tmp_path: Path) -> None:
    if not compiler_is_gcc():
        pytest.skip("reads the remarks of g++")
    source = tmp_path / "arrays.cpp"
    source.write_text(array_functions_source())
    v3 = ["-march=x86-64-v3", "-fopt-info-vec"]
    remarks = run(*CXX, *FLAGS, *v3, "-c", source, "-o", tmp_path / "arrays.o")
    lines = {int(line) for line in re.findall(r"arrays\.cpp:(\d+):.*loop vectorized using 32 byte", remarks)}
    scalar = [name for line, name in enumerate(ARRAY_FUNCTIONS, start=2) if line not in lines]
    assert set(scalar) <= BRANCHING


# ---- float64 ----

REFERENCE = runpy.run_path(str(DATA / "make_float64_reference.py"))


def ordered(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats, one apart for neighbours; both zeros are 0."""
    bits = x.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def ulps_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    assert np.isfinite(a).all() and np.isfinite(b).all()
    return np.abs(ordered(a) - ordered(b))


@pytest.mark.parametrize("name", ["log", "log1p", "erf_inv"])
def test_float64_is_within_4_ulp_of_jax(functions: Functions, name: str) -> None:
    x = REFERENCE["points"](name)
    with np.load(REFERENCE["FILE"]) as values:
        expected = values[name]
    assert x.shape == expected.shape and x.size >= 20_000
    apart = ulps_apart(functions[name](x), expected)
    worst = apart.argmax()
    assert apart[worst] <= 4, f"{name}({x[worst].hex()}) is {apart[worst]} ulp off"


def test_float64_log_is_within_1_ulp_of_the_truth(functions: Functions) -> None:
    i = np.arange(1, 10_001)
    near_1, any_size = 0.5 + i / 9_001, np.ldexp(1 + i / 10_001, i % 2098 - 1074)
    x = np.concatenate([near_1, any_size, 1 + 1 / (i * 10_001.0)])
    y = functions["log"](x)
    with mpmath.workprec(120):
        errors = [
            abs(mpmath.mpf(float(b)) - mpmath.log(mpmath.mpf(float(a)))) / float(np.spacing(abs(b)))
            for a, b in zip(x, y, strict=True)
        ]
    assert max(errors) < 1


INF, NAN = np.inf, np.nan
TINY = 5e-324  # the smallest subnormal


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("log", [0.0, -0.0, 1.0, INF, -1.0, -TINY, -INF, NAN], [-INF, -INF, 0.0, INF, NAN, NAN, NAN, NAN]),
        ("log1p", [0.0, -0.0, -1.0, INF, -2.0, -INF, NAN], [0.0, -0.0, -INF, INF, NAN, NAN, NAN]),
        ("log1p", [TINY, -TINY, 1e-310, -1e-310], [TINY, -TINY, 1e-310, -1e-310]),
        ("erf_inv", [0.0, -0.0, 1.0, -1.0, 1.5, -INF, NAN], [0.0, -0.0, INF, -INF, NAN, NAN, NAN]),
        # sqrt(pi) / 2 times x, where JAX flushes to zero.
        ("erf_inv", [TINY, -TINY, 2e-310], [TINY, -TINY, 1.77245385090552e-310]),
        ("exp", [0.0, -0.0, TINY, -1e-20, 1.0, INF, -INF, NAN], [1.0, 1.0, 1.0, 1.0, math.e, INF, 0.0, NAN]),
        ("exp", [709.782712893384, 709.7827128933841, 1e300], [1.7976931348622732e308, INF, INF]),
        ("exp", [-745.1332191019411, -745.1332191019412, -1e300], [TINY, 0.0, 0.0]),
        ("tan", [0.0, -0.0, TINY, -TINY, NAN], [0.0, -0.0, TINY, -TINY, NAN]),
        ("tan", [math.pi / 2, -math.pi / 2], [1.633123935319537e16, -1.633123935319537e16]),
        ("erf", [0.0, -0.0, INF, -INF, 6.0, -6.0, NAN], [0.0, -0.0, 1.0, -1.0, 1.0, -1.0, NAN]),
        ("erf", [1e-310, -1e-310], [1.12837916709551e-310, -1.12837916709551e-310]),
        (
            "floor",
            [0.0, -0.0, 0.5, -0.5, -TINY, 1e300, INF, -INF, NAN],
            [0.0, -0.0, 0.0, -1.0, -1.0, 1e300, INF, -INF, NAN],
        ),
        ("stirling_tail", [1e300, INF, NAN], [0.0, 0.0, NAN]),
        ("deviance", [-1.0, 0.0, -0.0, INF, 1e308, NAN], [1.0, 0.0, 0.0, INF, INF, NAN]),
        ("mills_ratio", [1e150, INF, NAN], [1e-150, 0.0, NAN]),
    ],
)
def test_float64_special_values(functions: Functions, name: str, x: list[float], expected: list[float]) -> None:
    x, expected = np.array(x), np.array(expected)
    y = functions[name](x)
    assert (np.isnan(y) == np.isnan(expected)).all()
    number = ~np.isnan(y)
    assert np.array_equal(y[number].view(np.int64), expected[number].view(np.int64))


POW_SPECIAL = [  # x, y and x^y, in either precision
    *[(x, 0.0, 1.0) for x in (0.0, 0.5, 1.0, 3.0, INF)],
    *[(x, y, NAN) for x in (-1.0, -INF, NAN) for y in (0.0, 1.0, 2.0, INF, NAN)],
    *[(x, NAN, NAN) for x in (0.0, 1.0, 2.0, INF)],
    *[(1.0, y, 1.0) for y in (1e30, -1e30, INF, -INF)],
    *[
        (x, y, 0.0)
        for x, y in [(0.0, 1e-30), (-0.0, 3.0), (0.0, INF), (0.5, INF), (2.0, -INF), (INF, -1.0), (INF, -INF)]
    ],
    *[
        (x, y, INF)
        for x, y in [(0.0, -1e-30), (-0.0, -3.0), (0.0, -INF), (0.5, -INF), (2.0, INF), (INF, 1.0), (INF, INF)]
    ],
    *[(x, y, 0.0) for x, y in [(1e30, -1e30), (1e-30, 1e30), (2.0, -1076.0)]],
    *[(x, y, INF) for x, y in [(1e30, 1e30), (1e-30, -1e30), (2.0, 1024.0)]],
    (3.0, 1e-30, 1.0),
    (2.0, -140.0, 2.0**-140),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_of_pow(functions: Functions, dtype: type) -> None:
    x, y, expected = np.array(POW_SPECIAL, dtype).T
    np.testing.assert_array_equal(functions["pow" if dtype == np.float64 else "pow_float"](x, y), expected)


def test_special_values_in_float32(functions: Functions) -> None:
    half_pi, tiny = np.float32(np.pi / 2), 2.0**-149
    for name, x, expected in [
        ("exp_float", [0.0, 88.72284, -104.0, INF, -INF, NAN], [1.0, INF, 0.0, INF, 0.0, NAN]),
        ("tan_float", [half_pi, -half_pi, -0.0, tiny, NAN], [-22877332.0, 22877332.0, -0.0, tiny, NAN]),
        ("erf_float", [INF, -INF, -0.0, 4.0, -4.0, NAN], [1.0, -1.0, -0.0, 1.0, -1.0, NAN]),
        ("floor_float", [-0.5, -0.0, 2.5, INF, NAN], [-1.0, -0.0, 2.0, INF, NAN]),
    ]:
        y = functions[name](np.array(x, np.float32))
        np.testing.assert_array_equal(y, np.array(expected, np.float32))
        assert np.array_equal(np.signbit(y[:-1]), np.signbit(expected[:-1]))


# ---- Accuracy, by mpmath ----


def spread(low: float, high: float, count: int, step: float = 0.6180339887498949) -> np.ndarray:
    """Weyl's sequence: evenly spread points, in no order. Another irrational step makes a second coordinate."""
    return low + (high - low) * (np.arange(1, count + 1) * step % 1)


def around(points: list[float] | np.ndarray, reach: int = 1) -> np.ndarray:
    """The points and their neighbours."""
    bits = np.asarray(points, np.float64).view(np.int64)
    return (bits[:, None] + np.arange(-reach, reach + 1)).ravel().view(np.float64)


def exp_points() -> np.ndarray:
    changes = (np.arange(-1074, 1024, 3) + 0.5) * math.log(2)  # of the exponent that is split off
    near_0 = np.ldexp(spread(-1, 1, 500), -(np.arange(500) % 60))
    limits = [709.7827, -708.3964, -745.133]
    return np.concatenate([spread(-745, 709.78, 3000), spread(-746, -708, 500), near_0, around(changes), limits])


def pow_points() -> tuple[np.ndarray, np.ndarray]:
    """Results of all sizes from arguments of all sizes, and the powers 1 / a of uniforms."""
    index = np.arange(2000)
    any_size = np.ldexp(spread(1, 2, 2000), index % 2098 - 1074)
    near_1 = 1 + np.ldexp(spread(-1, 1, 2000), -1 - index % 50)
    x = np.concatenate([any_size, near_1[near_1 != 1]])
    unit = spread(0, 1, 1500)
    y = spread(-745, 709, x.size, math.sqrt(2)) / np.log(x)
    return np.concatenate([x, unit]), np.concatenate([y, 1 / spread(0.01, 20, unit.size, math.sqrt(3))])


def tan_points() -> np.ndarray:
    half_pi = math.pi / 2
    index = np.arange(1000)
    near_0, near_pole = np.ldexp(spread(-1, 1, 1000), -index), half_pi - np.ldexp(spread(0.5, 1, 1000), -(index % 54))
    breaks = around([half_pi / 2, -half_pi / 2], 50)
    return np.concatenate([spread(-half_pi, half_pi, 4000), near_0, near_pole, breaks, [half_pi, -half_pi]])


def erf_points() -> np.ndarray:
    near_0 = np.ldexp(spread(-1, 1, 1000), -np.arange(1000))
    return np.concatenate([spread(-6.5, 6.5, 2500), spread(0.7, 1.5, 2500), near_0, around([1.0, 5.9375], 50), [1e300]])


def stirling_tail_points() -> np.ndarray:
    return np.concatenate([np.arange(100.0), spread(0, 3, 1200), np.expm1(spread(0, 40, 700))])


def deviance_points() -> np.ndarray:
    index = np.arange(1000)
    near_0 = np.ldexp(spread(-1, 1, 1000), -(index % 400))
    near_minus_1 = np.ldexp(spread(0.5, 1, 1000), -(index % 53)) - 1
    large = np.ldexp(spread(1, 2, 1000), index)
    breaks = around([-0.5, 1.0, math.sqrt(2) - 1, math.sqrt(0.5) - 1], 20)
    return np.concatenate([spread(-1, 1, 2000), spread(0.9, 5, 2000), near_0, near_minus_1, large, breaks])


def mills_ratio_points() -> np.ndarray:
    any_size = np.ldexp(spread(1, 2, 700), np.arange(700) % 600 - 60)
    return np.concatenate([spread(0, 12, 1500), spread(0, 100, 500), any_size, around([1e8]), [0.0]])


def tail_starts(count: int) -> np.ndarray:
    return np.concatenate([spread(0, 0.5, count), spread(0.5, 40, count), 10 ** spread(1, 149, count)])


def normal_tail_ratio_points() -> tuple[np.ndarray, np.ndarray]:
    a = tail_starts(500)
    exponent = np.where(
        np.arange(a.size) % 2 == 0, spread(0, 690, a.size, math.sqrt(2)), 10 ** spread(-16, 2, a.size, math.sqrt(2))
    )
    return a, a + 2 * exponent / (a + np.sqrt(a * a + 2 * exponent))


def normal_tail_inverse_points() -> tuple[np.ndarray, np.ndarray]:
    a = np.tile(tail_starts(60), 3)
    third = a.size // 3
    uniform, tiny = spread(0, 1, third, math.sqrt(2)), np.exp2(spread(-1074, 0, third, math.sqrt(2)))
    near_1 = np.exp(-np.exp2(spread(-52, 0, third, math.sqrt(2))))
    return a, np.concatenate([uniform, tiny, near_1])


POINTS: dict[str, Callable[[], np.ndarray | tuple[np.ndarray, ...]]] = {
    "exp": exp_points,
    "pow": pow_points,
    "tan": tan_points,
    "erf": erf_points,
    "stirling_tail": stirling_tail_points,
    "deviance": deviance_points,
    "mills_ratio": mills_ratio_points,
    "normal_tail_ratio": normal_tail_ratio_points,
    "normal_tail_excess": normal_tail_inverse_points,
    "normal_tail_inverse": normal_tail_inverse_points,
}


def arguments_for(name: str) -> tuple[np.ndarray, ...]:
    points = POINTS[name]()
    return points if isinstance(points, tuple) else (points,)


def true_stirling_tail(k: mpmath.mpf) -> mpmath.mpf:
    z = k + 1
    return mpmath.loggamma(z) - (z - 0.5) * mpmath.log(z) + z - mpmath.log(2 * mpmath.pi) / 2


def true_deviance(y: mpmath.mpf) -> mpmath.mpf:
    return (1 + y) * mpmath.log1p(y) - y if y > -1 else mpmath.mpf(1)


def true_mills_ratio(x: mpmath.mpf) -> mpmath.mpf:
    if x < 1e5:
        return mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(x * x / 2) * mpmath.erfc(x / mpmath.sqrt(2))
    return mpmath.fsum((-1) ** k * mpmath.fac2(2 * k - 1) / x ** (2 * k + 1) for k in range(10))


def true_normal_tail_ratio(a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp((a - b) * (a + b) / 2) * true_mills_ratio(b) / true_mills_ratio(a)


TRUTH: dict[str, tuple[Callable[..., mpmath.mpf], int]] = {  # and the bits that it takes
    "exp": (mpmath.exp, 120),
    "pow": (mpmath.power, 150),
    "tan": (mpmath.tan, 120),
    "erf": (mpmath.erf, 120),
    "stirling_tail": (true_stirling_tail, 200),
    "deviance": (true_deviance, 1000),
    "mills_ratio": (true_mills_ratio, 120),
    "normal_tail_ratio": (true_normal_tail_ratio, 150),
}


@functools.cache
def truth(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The function at its points: the nearest double, and what is left, in ulp for it may be below any double."""
    function, bits = TRUTH[name]
    with mpmath.workprec(bits):
        values = [function(*map(mpmath.mpf, x)) for x in zip(*(x.tolist() for x in arguments_for(name)), strict=True)]
        highs = [float(value) for value in values]
        ulps = np.spacing(np.abs(highs)).tolist()
        rests = [float((value - high) / ulp) for value, high, ulp in zip(values, highs, ulps, strict=True)]
    return np.array(highs), np.array(rests)


@pytest.mark.parametrize(
    ("name", "unit", "bound"),
    [
        ("exp", "ulp", 0.9),
        ("pow", "ulp", 1.0),
        ("tan", "ulp", 1.1),
        ("erf", "ulp", 1.0),
        ("stirling_tail", "absolute", 6e-16),
        ("deviance", "relative", 8e-16),
        ("mills_ratio", "relative", 1e-15),
        ("normal_tail_ratio", "relative", 1.3e-15),
    ],
)
def test_accuracy_in_float64(functions: Functions, name: str, unit: str, bound: float) -> None:
    high, rest = truth(name)
    x = arguments_for(name)
    ulp = np.spacing(np.abs(high))
    errors = np.abs((functions[name](*x) - high) / ulp - rest)
    if unit != "ulp":
        errors *= ulp
    if unit == "relative":
        errors[high != 0] /= np.abs(high[high != 0])
    worst = errors.argmax()
    assert errors[worst] <= bound, f"{name}({', '.join(a[worst].hex() for a in x)}) is {errors[worst]} off ({unit})"
    assert errors[worst] > bound / 2  # or the bound says too little


def error_of_excess(a: float, r: float, excess: mpmath.mpf) -> mpmath.mpf:
    """To first order, from how far the tail beyond a + excess is from r times that beyond a."""
    start = mpmath.mpf(a)
    mills = true_mills_ratio(start + excess)
    reached = excess * (2 * start + excess) / 2 + mpmath.log(true_mills_ratio(start) / mills)
    return (reached + mpmath.log(mpmath.mpf(r))) * mills


def test_accuracy_of_normal_tail_inverse(functions: Functions) -> None:
    a, r = normal_tail_inverse_points()
    excesses, inverses = functions["normal_tail_excess"](a, r), functions["normal_tail_inverse"](a, r)
    with mpmath.workprec(300):
        for start, ratio, excess, x in zip(*(v.tolist() for v in (a, r, excesses, inverses)), strict=True):
            error = error_of_excess(start, ratio, mpmath.mpf(excess))
            assert abs(error) <= 3e-13 * excess, (start, ratio)
            if start >= 0.5:
                assert abs(error + (mpmath.mpf(x) - start - excess)) <= 1e-15 * x, (start, ratio)


def test_special_values_of_the_normal_tail(functions: Functions) -> None:
    a = np.array([0.0, 0.5, 5.5, 1e6, 1e149])
    everything, nothing = np.ones_like(a), np.zeros_like(a)
    assert np.array_equal(functions["normal_tail_ratio"](a, a), everything)
    assert np.array_equal(functions["normal_tail_ratio"](a, nothing + INF), nothing)
    assert np.array_equal(functions["normal_tail_inverse"](a, everything), a)
    assert np.array_equal(functions["normal_tail_inverse"](a, nothing), nothing + INF)
    assert np.isnan(functions["normal_tail_inverse"](a, nothing + NAN)).all()


FLOAT_TRUTH = {"exp_float": (np.exp, 0.9), "tan_float": (np.tan, 1.4), "erf_float": (scipy.special.erf, 1.1)}


def float_errors(y: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """In float32's ulp, given what float64 makes of it; overflow must agree."""
    with np.errstate(over="ignore"):
        rounded = expected.astype(np.float32)
    infinite = np.isinf(rounded)
    assert np.array_equal(y[infinite], rounded[infinite])
    y, expected, rounded = y[~infinite], expected[~infinite], rounded[~infinite]
    return np.abs(y - expected) / np.spacing(np.abs(rounded))


@pytest.mark.parametrize("name", FLOAT_TRUTH)
def test_accuracy_in_float32(functions: Functions, name: str) -> None:
    function, bound = FLOAT_TRUTH[name]
    x = spread_float32()
    x = x[np.abs(x) <= np.float32(np.pi / 2)] if name == "tan_float" else x[~np.isnan(x)]
    with np.errstate(over="ignore"):
        expected = function(x.astype(np.float64))
    assert float_errors(functions[name](x), expected).max() <= bound


def test_pow_in_float32_is_nearly_always_the_nearest(functions: Functions) -> None:
    x = spread_float32()[::3]
    x = x[(x > 0) & np.isfinite(x)]
    y = (spread(-104, 89, x.size, math.sqrt(2)) / np.log(x.astype(np.float64))).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    assert float_errors(functions["pow_float"](x, y), expected).max() <= 0.50001


def increasing(y: np.ndarray) -> bool:
    return bool((y[1:] >= y[:-1]).all())


def test_exp_and_tan_never_decrease(functions: Functions) -> None:
    half_pi = np.pi / 2
    in_order = {
        name: np.sort(np.concatenate([around(x, 20) for x in POINTS[name]().reshape(1, -1)])) for name in ("exp", "tan")
    }
    assert increasing(functions["exp"](in_order["exp"]))
    assert increasing(functions["tan"](in_order["tan"][np.abs(in_order["tan"]) <= half_pi]))
    # All floats of some stretches, where the steps of the approximations are.
    stretches = [
        np.float32(x).view(np.int32) + np.arange(-200_000, 200_000, dtype=np.int32)
        for x in (0.34657359, 0.7853982, 20.1)
    ]
    for stretch in stretches:
        x = stretch.view(np.float32)
        assert increasing(functions["exp_float"](x)) and increasing(-functions["exp_float"](-x))
        assert increasing(functions["tan_float"](x[x < half_pi]))


@pytest.mark.parametrize("target", targets()[1:])
def test_bits_are_those_of_the_oldest_target(target: list[str], tmp_path: Path) -> None:
    """With FMA in hardware and in the C library."""
    built = {}
    for name, flags in {"oldest": targets()[0].values[0], "target": target}.items():
        (tmp_path / name).mkdir()
        built[name] = build(flags, tmp_path / name)
    arguments = {name: (REFERENCE["points"](name),) for name in ("log", "log1p", "erf_inv")}
    arguments |= {name: arguments_for(name) for name in POINTS}
    x = spread_float32()[::7]
    arguments |= {name: (x,) for name in ("exp_float", "erf_float", "tan_float")}
    arguments["pow_float"] = (np.abs(x), x[::-1])
    for name, x in arguments.items():
        results = [functions[name](*x) for functions in built.values()]
        assert not np.isnan(results[0]).all()
        np.testing.assert_array_equal(*results, err_msg=name)


# ---- Half precision ----

HALF_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
HALF_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80}
ALL_HALVES = np.arange(2**16, dtype=np.uint32).astype(np.uint16)


def is_half_nan(bits: np.ndarray, name: str) -> np.ndarray:
    return (bits & 0x7FFF) > HALF_INFINITY[name]


def widened_by_torch(name: str) -> np.ndarray:
    return torch.from_numpy(ALL_HALVES.view(np.int16)).view(HALF_TYPES[name]).float().numpy()


def half_by_torch(x: np.ndarray, name: str) -> np.ndarray:
    return torch.from_numpy(x).to(HALF_TYPES[name]).view(torch.int16).numpy().view(np.uint16)


@pytest.mark.parametrize("name", HALF_TYPES)
def test_every_half_goes_to_float32_and_back(functions: Functions, name: str) -> None:
    widened = functions[f"from_{name}"](ALL_HALVES)
    expected = widened_by_torch(name)
    nan = is_half_nan(ALL_HALVES, name)
    assert np.array_equal(np.isnan(widened), nan)
    assert np.array_equal(widened.view(np.uint32)[~nan], expected.view(np.uint32)[~nan])
    back = functions[f"to_{name}"](widened)
    assert np.array_equal(back[~nan], ALL_HALVES[~nan])
    assert is_half_nan(back[nan], name).all()


def float32_near_halves(name: str) -> np.ndarray:
    """Every half, the ties between neighbours, and the float32 numbers next to both."""
    halves = widened_by_torch(name).view(np.uint32)
    step = {"float16": 2**13, "bfloat16": 2**16}[name]
    offsets = np.array([-1, 0, 1, step // 2 - 1, step // 2, step // 2 + 1], np.int64)
    return (halves.astype(np.int64)[:, None] + offsets).astype(np.uint32).ravel().view(np.float32)


def spread_float32() -> np.ndarray:
    """Every 1021st bit pattern."""
    return np.arange(0, 2**32, 1021, dtype=np.uint64).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", HALF_TYPES)
def test_float32_rounds_to_half_as_in_torch(functions: Functions, name: str) -> None:
    x = np.concatenate([float32_near_halves(name), spread_float32()])
    # float16's subnormals are 2^-24 apart: ties and their neighbours there.
    ties = ((np.arange(1024) + 0.5) * 2.0**-24).astype(np.float32)
    x = np.concatenate([x, ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(1)), -ties])
    y = functions[f"to_{name}"](x)
    nan = np.isnan(x)
    assert np.array_equal(is_half_nan(y, name), nan)
    assert np.array_equal(y[~nan], half_by_torch(x, name)[~nan])
    if name == "float16":
        with np.errstate(all="ignore"):  # numpy warns of overflow
            assert np.array_equal(y[~nan], x.astype(np.float16).view(np.uint16)[~nan])


# ---- What the headers may include ----

NOT_FOR_DEVICE_CODE = re.compile(
    r"""\#\s*include\s*[<"](
        (torch|ATen|c10|caffe2)/.* | Python\.h
        | array | deque | forward_list | list | map | queue | set | span | stack | string | string_view
        | unordered_map | unordered_set | vector | bitset | optional | variant | any | functional | memory
        | fstream | iomanip | ios | iosfwd | iostream | istream | ostream | sstream | streambuf
    )[>"]""",
    re.VERBOSE,
)


def test_the_include_rule_sees_what_it_should() -> None:
    for line in ("#include <torch/all.h>", "#  include <vector>", '#include "c10/util/Half.h"'):
        assert NOT_FOR_DEVICE_CODE.search(line)
    for line in ("#include <stdint.h>", '#include "../macros.h"', "#include <string.h>"):
        assert not NOT_FOR_DEVICE_CODE.search(line)


def header_id(header: Path) -> str:
    return str(header.relative_to(CSRC))


@pytest.mark.parametrize("header", HEADERS, ids=header_id)
def test_header_includes_no_torch_and_no_containers(header: Path) -> None:
    assert not [line for line in header.read_text().splitlines() if NOT_FOR_DEVICE_CODE.search(line)]


@pytest.mark.parametrize("header", HEADERS, ids=header_id)
def test_header_compiles_alone(header: Path, tmp_path: Path) -> None:
    source = tmp_path / "alone.cpp"
    source.write_text(f'#include "{header.relative_to(CSRC)}"\n')
    run(*CXX, *FLAGS, "-fsyntax-only", source)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")
def test_headers_compile_for_cuda(tmp_path: Path) -> None:
    includes = "".join(f'#include "{header.relative_to(CSRC)}"\n' for header in HEADERS)
    (tmp_path / "all_headers.h").write_text(includes)
    flags = ["-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-arch=sm_90", "-std=c++17"]
    warnings = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
    source = TESTS / "cpp/test_headers.cu"
    run("nvcc", *flags, *warnings, f"-I{CSRC}", f"-I{tmp_path}", "-c", source, "-o", tmp_path / "headers.o")
