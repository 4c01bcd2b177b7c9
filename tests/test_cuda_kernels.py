"""The CUDA kernels without a GPU: on the CPU, compiled as plain C++, and compiled by nvcc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import stand_in
import torch

from torch_threefry import _C

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def run(*command: object, **environment: str) -> str:
    """The command's output; its failure fails the test and shows the end of what it said."""
    result = subprocess.run(
        [str(part) for part in command],
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-6000:]
    return result.stdout


# ---- As plain C++ ----


@pytest.fixture(scope="module")
def built_stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the kernels as plain C++, under AddressSanitizer and UndefinedBehaviorSanitizer."""
    return stand_in.build(tmp_path_factory.mktemp("stand_in"))


# The comparison with the CPU's kernels, and data of others, with the least that have to pass.
@pytest.mark.parametrize(
    ("file", "least"),
    [
        ("test_on_stand_in.py", 500),
        ("test_random123.py", 30),
        ("test_conformance_jax.py", 1100),
        ("test_splitting.py", 150),
        ("test_tvm.py", 400),
    ],
)
def test_kernels_as_plain_cpp(file: str, least: int, built_stand_in: Path) -> None:
    own_pytest = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{file}")
    passed = re.search(r"(\d+) passed", run(*own_pytest, **stand_in.environment(built_stand_in)))
    assert passed is not None and int(passed[1]) >= least


# ---- By nvcc ----


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH")


@pytest.fixture(scope="module")
def cuda_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension for two GPUs, as setup.py builds it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("cuda")
    package = folder / "torch_threefry"
    package.mkdir()
    # With the other extension in its place, and newer than its sources, only this one is built.
    (package / Path(_C.__file__).name).write_bytes(Path(_C.__file__).read_bytes())
    build = (
        sys.executable,
        "setup.py",
        "--quiet",
        "build_ext",
        "--build-lib",
        folder,
        "--build-temp",
        folder / "objects",
    )
    run(*build, TORCH_THREEFRY_CUDA="1", TORCH_CUDA_ARCH_LIST="8.0;9.0")
    (library,) = package.glob("_C_cuda*.so")
    return library


@needs_nvcc
def test_library_loads_without_a_gpu(cuda_library: Path) -> None:
    """And says in an exception what a draw lacks."""
    program = f"""
        import sys
        sys.path.insert(0, {str(ROOT / "tests")!r})
        import stand_in, torch
        from torch_threefry import random
        library = stand_in.load({str(cuda_library)!r})
        try:
            library.set_launch_shape(1, 3)
        except ValueError as error:
            print(error)
        stand_in.use(library)
        if not torch.cuda.is_available():
            try:
                random.bits(random.key(0), (4,))
            except RuntimeError as error:
                print(error)
    """
    said = run(sys.executable, "-c", textwrap.dedent(program))
    assert "threads 0 or a power of two of at most 256; got blocks=1, threads=3" in said
    assert "CUDA: " in said or torch.cuda.is_available()


@needs_nvcc
def test_library_exports_nothing_but_the_module(cuda_library: Path) -> None:
    symbols = [line.split()[-1] for line in run("nm", "-D", "--defined-only", cuda_library).splitlines()]
    assert symbols == ["PyInit__C_cuda"]


@needs_nvcc
def test_cost_of_a_block(cuda_library: Path) -> None:
    """At most 80 integer instructions in the uniform kernels' loops, rotations by funnel shifts, no local memory."""
    said = run(sys.executable, "scripts/count_sass.py", "--check", cuda_library)
    assert "Uniform<float>" in said


@needs_nvcc
def test_cuda_that_is_asked_for_needs_nvcc(tmp_path: Path) -> None:
    setup = (sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", str(tmp_path))
    environment = {**os.environ, "TORCH_THREEFRY_CUDA": "1", "PATH": str(tmp_path)}
    result = subprocess.run(setup, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode != 0 and "TORCH_THREEFRY_CUDA=1 needs nvcc on the PATH" in result.stderr
