"""Builds the extension torch_threefry._C: one library for CPython 3.10+ and torch 2.10+.

The CPU kernels are compiled once for each x86-64 level (csrc/cpu/kernels_v2.cpp...) and chosen at run
time; elsewhere once, for the compiler's default target.
"""

from __future__ import annotations

import concurrent.futures
import os
import platform
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

TORCH_TARGET = "0x020A000000000000"  # the stable ABI of torch 2.10
PYTHON_TARGET = "0x030A0000"  # the limited API of Python 3.10
CSRC = Path("csrc")

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


def extension() -> Extension:
    import torch.utils.cpp_extension as cpp

    sources = [str(CSRC / "ops.cpp"), str(CSRC / "cpu/dispatch.cpp"), *kernel_sources()]
    headers = [str(p) for pattern in ("*.h", "*/*.h", "*/*.inl") for p in sorted(CSRC.glob(pattern))]
    return Extension(
        "torch_threefry._C",
        sources=sources,
        depends=headers,
        include_dirs=cpp.include_paths(),
        libraries=["torch_cpu"],
        library_dirs=cpp.library_paths(),
        language="c++",
        py_limited_api=True,
    )


setup(
    ext_modules=[extension()],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
