"""The CUDA kernels as plain C++: a build of csrc/cuda for the CPU, and the tests that run on it.

``python tests/stand_in.py FOLDER`` builds it. With the environment variable TORCH_THREEFRY_STAND_IN naming the library,
conftest.py has the operators use it for keys on the CPU, in whatever tests are run.
"""

from __future__ import annotations

import concurrent.futures
import importlib.machinery
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "TORCH_THREEFRY_STAND_IN"
ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "csrc/cuda").glob("*.cu"))
CXX = shlex.split(os.environ.get("CXX", "g++"))
FLAGS = [
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-DPy_LIMITED_API=0x030A0000",
    f"-I{sysconfig.get_paths()['include']}",
]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
# What leaves memory or the language's rules ends the run.
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def _run(command: list[str]) -> None:
    result = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}\n{result.stdout}")


def build(folder: Path) -> Path:
    """Compile and link; the library's path."""

    def compile_one(source: Path) -> str:
        compiled = str(folder / f"{source.stem}.o")
        _run([*CXX, *FLAGS, *WARNINGS, *SANITIZERS, "-x", "c++", "-c", str(source), "-o", compiled])
        return compiled

    longest_first = sorted(SOURCES, key=lambda source: source.stem not in ("continuous", "words", "gamma_family"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, longest_first))
    library = folder / "_C_cuda.abi3.so"
    _run([*CXX, *SANITIZERS, "-shared", *objects, "-o", str(library)])
    return library


def environment(library: Path) -> dict[str, str]:
    """What a Python needs that uses the library: the sanitizers' runtime before all else. Python itself and torch leave
    memory behind."""
    runtimes = [
        subprocess.run([*CXX, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        **os.environ,
        VARIABLE: str(library),
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OMP_NUM_THREADS": "1",
    }


# ---- In a Python that uses it ----


def load(path: str) -> Any:
    """The library as a module."""
    loader = importlib.machinery.ExtensionFileLoader("torch_threefry._C_cuda", path)
    spec = importlib.util.spec_from_file_location("torch_threefry._C_cuda", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def use(library: Any) -> None:
    """Its kernels for keys on the CPU; None for the CPU's own."""
    from torch_threefry import _C

    _C.use_cuda_kernels_on_cpu(None if library is None else library.kernels)


@contextmanager
def cpu_kernels(library: Any) -> Iterator[None]:
    """The CPU's own kernels, for a while."""
    use(None)
    try:
        yield
    finally:
        use(library)


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
