"""Builds the extensions, for CPython 3.10+ and torch 2.10+:

torch_threefry._C       the operators and the CPU kernels, which are compiled once for each x86-64 level
                        (csrc/cpu/kernels_v2.cpp...) and chosen at run time; elsewhere once, for the compiler's
                        default target.
torch_threefry._C_cuda  the CUDA kernels, a library of its own, as it is large and needs neither torch's headers nor
                        its libraries: any torch will do to build it, and one without CUDA never loads it.

TORCH_THREEFRY_CUDA=1 builds _C_cuda, 0 does not; unset, it is built where nvcc is on the PATH and torch has CUDA.
TORCH_CUDA_ARCH_LIST, as for torch, says for which GPUs: "9.0", "8.0;9.0+PTX".
"""

from __future__ import annotations

import concurrent.futures
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

TORCH_TARGET = "0x020A000000000000"  # the stable ABI of torch 2.10
PYTHON_TARGET = "0x030A0000"  # the limited API of Python 3.10
CSRC = Path("csrc")
CUDA_EXTENSION = "torch_threefry._C_cuda"

COMMON_FLAGS = [
    "-std=c++17",
    "-O3",
    "-g0",
    "-fvisibility=hidden",
    # No fusing and no library errno: every result is what the source says, in every build.
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
]

# Two vectors of a transform in turn, instruction by instruction: one alone is a chain that a processor waits for.
INTERLEAVE_FLAGS = [
    "-funroll-loops",
    "--param=max-unroll-times=2",
    "--param=max-unrolled-insns=800",
    "--param=max-average-unrolled-insns=800",
    "-fschedule-insns",
]


def is_x86_64() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def compiler() -> str:
    """The C++ compiler's name, as setuptools takes it."""
    return (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0]


def kernel_sources() -> dict[str, list[str]]:
    """The CPU kernels' sources, each with the flags for its instruction set."""
    interleave = INTERLEAVE_FLAGS if "g++" in compiler() and "clang" not in compiler() else []
    if not is_x86_64():
        return {str(CSRC / "cpu/kernels_base.cpp"): interleave}
    return {
        str(CSRC / f"cpu/kernels_{level}.cpp"): [f"-march=x86-64-{level}", *interleave] for level in ("v2", "v3", "v4")
    }


# ---- CUDA ----

CUDA_FLAGS = [
    "-std=c++17",
    "-O3",
    # The CPU's bits: nothing fused but where the source says fma, and every operation rounded to nearest.
    "-fmad=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "-ftz=false",
    "-cudart=static",
    "-Xcompiler=-fPIC,-fvisibility=hidden,-ffp-contract=off",
]
CUDA_ARCHITECTURES = ["7.5", "8.0", "8.6", "9.0", "10.0"]


def wants_cuda() -> bool:
    asked = os.environ.get("TORCH_THREEFRY_CUDA", "")
    nvcc = shutil.which("nvcc")
    if asked not in ("", "0", "1"):
        sys.exit(f"torch_threefry: TORCH_THREEFRY_CUDA must be 0 or 1, got {asked!r}")
    if asked == "1" and nvcc is None:
        sys.exit("torch_threefry: TORCH_THREEFRY_CUDA=1 needs nvcc on the PATH: install the CUDA toolkit.")
    if asked:
        return asked == "1"
    import torch

    return nvcc is not None and torch.version.cuda is not None


def architectures() -> list[str]:
    """The GPUs to compile for: the list of the environment, or the usual ones that this nvcc knows, and PTX, which newer
    ones compile for themselves."""
    asked = os.environ.get("TORCH_CUDA_ARCH_LIST")
    if asked:
        return re.split(r"[;,\s]+", asked.strip())
    listed = subprocess.run(["nvcc", "--list-gpu-arch"], check=True, capture_output=True, text=True).stdout
    usual = [a for a in CUDA_ARCHITECTURES if f"compute_{a.replace('.', '')}" in listed.split()]
    return [*usual[:-1], f"{usual[-1]}+PTX"]


def architecture_flags() -> list[str]:
    flags = []
    for entry in architectures():
        match = re.fullmatch(r"(\d+)\.(\d[af]?)(\+PTX)?", entry)
        if match is None:
            sys.exit(f"torch_threefry: TORCH_CUDA_ARCH_LIST must be like '8.0;9.0+PTX', got {entry!r} in it")
        number = match[1] + match[2]
        codes = f"[sm_{number},compute_{number}]" if match[3] else f"sm_{number}"
        flags.append(f"-gencode=arch=compute_{number},code={codes}")
    return flags


def run(command: list[str]) -> None:
    result = subprocess.run(command, check=False)
    if result.returncode != 0:
        sys.exit(f"torch_threefry: failed: {' '.join(command)}")


# ---- Building ----


def require_compiler() -> None:
    if shutil.which(compiler()) is None:
        sys.exit(f"torch_threefry: no C++ compiler: {compiler()!r} is not on the PATH; install g++ or set CXX.")


def is_newer(target: Path, sources: list[str]) -> bool:
    """Whether the target was made after the last change of what it is made from."""
    return target.exists() and all(Path(s).stat().st_mtime <= target.stat().st_mtime for s in sources)


class BuildExtension(build_ext):
    """Compiles each source with its own flags, several at a time."""

    def build_extension(self, ext: Extension) -> None:
        target = Path(self.get_ext_fullpath(ext.name))
        if not self.force and is_newer(target, [*ext.sources, *ext.depends, "setup.py"]):
            return
        require_compiler()
        if ext.name == CUDA_EXTENSION:
            self.build_cuda(ext, target)
        else:
            self.build_cpu(ext, target)

    def build_cpu(self, ext: Extension, target: Path) -> None:
        flags = kernel_sources()
        macros = [("TORCH_TARGET_VERSION", TORCH_TARGET), ("Py_LIMITED_API", PYTHON_TARGET)]

        def compile_one(source: str) -> list[str]:
            return self.compiler.compile(
                [source],
                output_dir=self.build_temp,
                macros=macros,
                include_dirs=ext.include_dirs,
                extra_postargs=[*COMMON_FLAGS, *flags.get(source, [])],
                depends=ext.depends,
            )

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [o for result in pool.map(compile_one, ext.sources) for o in result]
        self.compiler.link_shared_object(
            objects,
            str(target),
            libraries=ext.libraries,
            library_dirs=ext.library_dirs,
            target_lang="c++",
        )

    def build_cuda(self, ext: Extension, target: Path) -> None:
        objects_folder = Path(self.build_temp) / "cuda"
        objects_folder.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        flags = [*CUDA_FLAGS, *architecture_flags()]
        include = f"-I{sysconfig.get_paths()['include']}"

        def compile_one(source: str) -> str:
            compiled = str(objects_folder / f"{Path(source).stem}.o")
            run(["nvcc", *flags, f"-DPy_LIMITED_API={PYTHON_TARGET}", include, "-c", source, "-o", compiled])
            return compiled

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = list(pool.map(compile_one, ext.sources))
        # The CUDA runtime that is linked in stays this library's own.
        run(["nvcc", *flags, "-shared", "-Xlinker=--exclude-libs,ALL", *compiled, "-o", str(target)])


def headers() -> list[str]:
    return [str(p) for pattern in ("*.h", "*/*.h", "*/*.inl") for p in sorted(CSRC.glob(pattern))]


def cpu_extension() -> Extension:
    import torch.utils.cpp_extension as cpp

    names = ("ops.cpp", "tvm_ops.cpp", "device.cpp", "cpu/dispatch.cpp")
    sources = [str(CSRC / name) for name in names] + list(kernel_sources())
    return Extension(
        "torch_threefry._C",
        sources=sources,
        depends=headers(),
        include_dirs=cpp.include_paths(),
        libraries=["torch_cpu", "dl"],
        library_dirs=cpp.library_paths(),
        language="c++",
        py_limited_api=True,
    )


def cuda_extension() -> Extension:
    # The longest first, so that they do not come last.
    sources = sorted(CSRC.glob("cuda/*.cu"))
    longest = [CSRC / "cuda/continuous.cu", CSRC / "cuda/gamma_family.cu", CSRC / "cuda/words.cu"]
    ordered = [*longest, *(source for source in sources if source not in longest)]
    return Extension(
        CUDA_EXTENSION, sources=[str(source) for source in ordered], depends=headers(), py_limited_api=True
    )


setup(
    ext_modules=[cpu_extension(), *([cuda_extension()] if wants_cuda() else [])],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
