"""The headers in csrc/ and csrc/distributions/ alone, as g++ and nvcc see them: no torch involved."""

from __future__ import annotations

import ctypes
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
import torch

TESTS = Path(__file__).parent
DATA = TESTS / "data"
CSRC = TESTS.parent / "csrc"
HEADERS = sorted([*CSRC.glob("*.h"), *CSRC.glob("distributions/*.h")])

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

# name: function of numerics.h, argument type, result type
ARRAY_FUNCTIONS = {
    "log_float": ("log", "float", "float"),
    "log1p_float": ("log1p", "float", "float"),
    "erf_inv_float": ("erf_inv", "float", "float"),
    "log": ("log", "double", "double"),
    "log1p": ("log1p", "double", "double"),
    "erf_inv": ("erf_inv", "double", "double"),
    "to_float16": ("to_float16_bits", "float", "uint16_t"),
    "to_bfloat16": ("to_bfloat16_bits", "float", "uint16_t"),
    "from_float16": ("from_float16_bits", "uint16_t", "float"),
    "from_bfloat16": ("from_bfloat16_bits", "uint16_t", "float"),
}
NUMPY_TYPES = {"float": np.float32, "double": np.float64, "uint16_t": np.uint16}


def array_functions_source() -> str:
    """One function a line, so that a compiler's remark tells the function by its line."""
    lines = ['#include "numerics.h"']
    for name, (function, argument, result) in ARRAY_FUNCTIONS.items():
        lines.append(
            f'extern "C" void array_{name}(const {argument}* __restrict x, {result}* __restrict y, long n) '
            f"{{ for (long i = 0; i < n; ++i) y[i] = torch_threefry::numerics::{function}(x[i]); }}"
        )
    return "\n".join(lines) + "\n"


ArrayFunction = Callable[[np.ndarray], np.ndarray]
Functions = dict[str, ArrayFunction]


def array_function(library: ctypes.CDLL, name: str) -> ArrayFunction:
    _, argument, result = ARRAY_FUNCTIONS[name]

    def call(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x)
        assert x.dtype == NUMPY_TYPES[argument]
        y = np.empty(x.shape, NUMPY_TYPES[result])
        function = getattr(library, f"array_{name}")
        function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), ctypes.c_long(x.size))
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
    assert not scalar


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


@pytest.mark.parametrize("target", targets()[1:])
def test_float64_bits_are_those_of_the_oldest_target(target: list[str], tmp_path: Path) -> None:
    """With FMA in hardware and in the C library."""
    built = {}
    for name, flags in {"oldest": targets()[0].values[0], "target": target}.items():
        (tmp_path / name).mkdir()
        built[name] = build(flags, tmp_path / name)
    for name in ("log", "log1p", "erf_inv"):
        x = REFERENCE["points"](name)
        bits = [functions[name](x).view(np.int64) for functions in built.values()]
        assert np.array_equal(*bits)


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
    ],
)
def test_float64_special_values(functions: Functions, name: str, x: list[float], expected: list[float]) -> None:
    x, expected = np.array(x), np.array(expected)
    y = functions[name](x)
    assert (np.isnan(y) == np.isnan(expected)).all()
    number = ~np.isnan(y)
    assert np.array_equal(y[number].view(np.int64), expected[number].view(np.int64))


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
