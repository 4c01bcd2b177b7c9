"""What a block of the cipher costs in the compiled CUDA kernels, counted in their machine code (SASS).

``python scripts/count_sass.py FILE...`` takes cubins, object files or the built extension, and prints for each of this
library's kernels what it takes of the device (registers, stack, local memory, accesses to local memory) and for each
loop around the cipher's rounds how many blocks and instructions it has. ``--check`` fails unless the kernels of LIMITS
are as cheap as they have to be. Nothing is run, so no GPU is needed, but `cuobjdump` and `nvdisasm` are, and `c++filt`.

How it is counted:

- A loop is the range of addresses of a backward branch. Instructions of loops inside of it are not among its own, and
  neither are those of functions it calls. Every instruction counts once, whether or not a branch jumps over it. An
  *outer* loop, one with others inside, mostly has such branches: its numbers are upper bounds.
- The main loop of a kernel is the innermost loop with the most blocks; another may make the few elements at the ends of
  a run one by one.
- A rotation is one funnel shift with the same register for both halves. Twenty make a block, by certain distances (see
  DISTANCES). A loop has as many blocks as the distance that is most often there says. If there are fewer rotations than
  such blocks have, others are made by several instructions; or the compiler has left them out, as of two blocks that
  begin alike, or the last of a block whose first word alone is used.
- draw_pairs makes two elements of a block, all others one or less.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

# ---- What counts ----

# How often Threefry-2x32 with 20 rounds rotates by each distance (csrc/threefry.h).
DISTANCES = {13: 3, 15: 3, 26: 3, 6: 3, 17: 2, 29: 2, 16: 2, 24: 2}
ROTATIONS = sum(DISTANCES.values())

# The kinds of instructions by their names up to the first dot. A U before a name is the same for a warp instead of a
# thread: it takes a place in the warp's sequence of instructions just as well. "integer" is what the cipher, the
# counters and the addresses are made of, and so what a block is charged with.
KINDS = {
    "integer": (
        "IADD3 VIADD VIADDMNMX VIMNMX IMNMX IABS IMAD LEA "  # sums and products; IMAD also adds, shifts and moves
        "LOP3 SHF SHL SHR PRMT SGXT BMSK BREV POPC FLO "  # bits
        "ISETP SEL PLOP3 "  # comparisons, and what is made of them
        "MOV CS2R R2UR P2R R2P "  # moves: of registers, zeros, and to the warp's registers and predicates
    ),
    # The arithmetic of the values that are made of a word. It depends on the distribution, not on the cipher.
    "floating": "FADD FMUL FFMA FSETP FSEL FMNMX FCHK FRND MUFU DADD DMUL DFMA DSETP HADD2 HMUL2 HFMA2 HSETP2 HMNMX2",
    "conversion": "I2F I2FP F2I F2F F2FP",
    # Of constants, parameters and results too.
    "memory": "LDC LDG LDL LDS LD STG STL STS ST ATOM ATOMG ATOMS RED CCTL MEMBAR ERRBAR",
    "control": "BRA BRX BSSY BSYNC BREAK BMOV CALL RET EXIT WARPSYNC BAR DEPBAR YIELD NANOSLEEP BPT KILL NOP",
    "other": "S2R S2UR VOTE VOTEU MATCH SHFL REDUX ELECT",
}
KIND_OF = {opcode: kind for kind, opcodes in KINDS.items() for opcode in opcodes.split()}

# Of a block in the main loop, in integer instructions. Twenty rounds of addition, rotation and XOR are 60; key
# injections, counter, address and loop are the rest.
MOST_INTEGERS = 80

# The kernels with a limit, by the beginnings of their names. Each makes a block for every element of a run, or for two
# elements of two runs, so that a pass of the main loop has a multiple of as many blocks as the last template argument
# says.
LIMITS = (
    "draw_runs<Threefry2x32, Uniform<float>, ",
    "draw_pairs<Uniform<float>, ",
    "draw_runs<Threefry2x32, Bits<uint64_t>, ",
)

# ---- Machine code ----


class Instruction(NamedTuple):
    address: int
    opcode: str  # with its modifiers
    operands: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.opcode.partition(".")[0]

    @property
    def kind(self) -> str | None:
        """None: it is in none of the lists."""
        if self.name == "HFMA2" and self.operands[1:3] == ("-RZ", "RZ"):
            return "integer"  # 0 * 0 + c: the compiler's other way to move a constant
        return KIND_OF.get(self.name) or KIND_OF.get(self.name.removeprefix("U"))

    @property
    def rotation(self) -> int | None:
        """How far the instruction rotates, if that is what it does."""
        if self.opcode.removeprefix("U") != "SHF.L.W.U32.HI" or self.operands[1] != self.operands[3]:
            return None
        distance = self.operands[2]
        return int(distance, 16) if distance.startswith("0x") else None

    @property
    def back_to(self) -> int | None:
        """Where a backward branch goes."""
        if self.name != "BRA":
            return None
        target = int(self.operands[-1], 16)
        return target if target < self.address else None


@dataclass
class Loop:
    begin: int
    end: int  # the address of the last instruction
    inner: list[Loop] = field(default_factory=list)  # at any depth
    own: list[Instruction] = field(default_factory=list)

    def contains(self, other: Loop) -> bool:
        return self is not other and self.begin <= other.begin and other.end <= self.end

    @cached_property
    def distances(self) -> Counter[int]:
        return Counter(distance for i in self.own if (distance := i.rotation) is not None)

    @cached_property
    def blocks(self) -> int:
        return max((math.ceil(self.distances[distance] / often) for distance, often in DISTANCES.items()), default=0)

    @property
    def rotations(self) -> tuple[int, int]:
        """How many there are, and how many the blocks have."""
        return self.distances.total(), ROTATIONS * self.blocks

    @property
    def foreign(self) -> set[int]:
        """The distances of other rotations than Threefry-2x32's."""
        return self.distances.keys() - DISTANCES.keys()

    @cached_property
    def integers(self) -> int:
        return sum(i.kind == "integer" for i in self.own)

    @property
    def integers_a_block(self) -> float:
        return self.integers / self.blocks

    @property
    def unknown(self) -> set[str]:
        return {i.name for i in self.own if i.kind is None}


@dataclass
class Kernel:
    name: str
    registers: int
    stack: int
    local: int
    instructions: list[Instruction]

    @cached_property
    def local_accesses(self) -> int:
        """What registers could not hold, or an array whose index is found at run time."""
        return sum(i.name in ("LDL", "STL") for i in self.instructions)

    @cached_property
    def cipher_loops(self) -> list[Loop]:
        """The loops with rounds of their own, by address."""
        ends: dict[int, int] = {}
        for i in self.instructions:
            if (begin := i.back_to) is not None:
                ends[begin] = max(i.address, ends.get(begin, 0))
        loops = [Loop(begin, end) for begin, end in sorted(ends.items())]
        for loop in loops:
            loop.inner = [other for other in loops if loop.contains(other)]
            loop.own = [
                i
                for i in self.instructions
                if loop.begin <= i.address <= loop.end
                and not any(other.begin <= i.address <= other.end for other in loop.inner)
            ]
        return [loop for loop in loops if loop.blocks > 0]

    @property
    def main_loop(self) -> Loop | None:
        innermost = (loop for loop in self.cipher_loops if not loop.inner)
        return max(innermost, key=lambda loop: loop.blocks, default=None)


# ---- What cuobjdump says ----

FUNCTION = re.compile(r"\s*Function\s*:?\s+([^\s:]+)")
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")
RESOURCES = re.compile(r"\s+REG:(\d+) STACK:(\d+).* LOCAL:(\d+)")


def parse_sass(lines: Iterable[str], arch: str) -> dict[str, list[Instruction]]:
    """The instructions of each function, by its mangled name."""
    functions: dict[str, list[Instruction]] = {}
    instructions: list[Instruction] | None = None
    right_arch = False
    for line in lines:
        if match := INSTRUCTION.match(line):
            if instructions is not None:
                address, opcode, operands = match.groups()
                # `.reuse` only keeps an operand at hand.
                parts = tuple(part.strip() for part in operands.replace(".reuse", "").split(","))
                instructions.append(Instruction(int(address, 16), opcode, parts))
        elif match := FUNCTION.match(line):
            # Of a cubin, cuobjdump shows the code whatever the architecture.
            instructions = None
            if right_arch:
                # Of a function that several object files have, the last.
                instructions = functions[match[1]] = []
        elif line.strip().startswith("code for "):
            right_arch = line.split()[-1] == arch
    return functions


def parse_resources(lines: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """Registers, stack and local memory of each function, by its mangled name."""
    resources: dict[str, tuple[int, int, int]] = {}
    name = ""
    for line in lines:
        if match := FUNCTION.match(line):
            name = match[1]
        elif match := RESOURCES.match(line):
            resources[name] = (int(match[1]), int(match[2]), int(match[3]))
    return resources


INTEGER_TYPES = {
    "unsigned char": "uint8_t",
    "unsigned short": "uint16_t",
    "unsigned int": "uint32_t",
    "unsigned long": "uint64_t",
    "signed char": "int8_t",
    "short": "int16_t",
    "int": "int32_t",
    "long": "int64_t",
}


def shorten(name: str) -> str | None:
    """A demangled name as the sources write it, without what all have; None if it is none of this library's."""
    name = name.removeprefix("void ").partition("(")[0]
    if not name.startswith("torch_threefry::"):
        return None
    name = re.sub(r"\b\w+::", "", name).replace(" >", ">").replace(", AsTheyAre", "")
    for long, short in INTEGER_TYPES.items():
        name = re.sub(rf"\b{long}\b", short, name)
    return name


def make_kernels(sass: Iterable[str], resources: Iterable[str], arch: str) -> list[Kernel]:
    """This library's kernels, by name."""
    functions, usage = parse_sass(sass, arch), parse_resources(resources)
    kernels = []
    for mangled, demangled in zip(functions, demangle(functions), strict=True):
        name = shorten(demangled)
        if name is not None:
            kernels.append(Kernel(name, *usage[mangled], functions[mangled]))
    return sorted(kernels, key=lambda kernel: kernel.name)


# ---- Tools ----


def find_tools() -> str:
    """A PATH with the CUDA tools on it: those there, PyPI's, those by nvcc or in CUDA_HOME."""
    places = [os.environ.get("PATH", "")]
    for package in ("nvidia-cuda-cuobjdump", "nvidia-cuda-nvdisasm"):
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        places += [str(Path(str(file.locate())).parent) for file in files if file.parent.name == "bin"]
    if nvcc := shutil.which("nvcc"):
        places.append(str(Path(nvcc).resolve().parent))
    places.append(str(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")))
    path = os.pathsep.join(places)
    # cuobjdump calls nvdisasm.
    missing = [tool for tool in ("cuobjdump", "nvdisasm") if not shutil.which(tool, path=path)]
    if missing:
        raise SystemExit(
            f"{' and '.join(missing)} not found: on the PATH, in this Python's packages or next to nvcc. To install: "
            "pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"
        )
    return path


def run_cuobjdump(path: str, *arguments: str) -> list[str]:
    command = [str(shutil.which("cuobjdump", path=path)), *arguments]
    result = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if result.returncode != 0:
        raise SystemExit(f"cuobjdump {' '.join(arguments)}: {result.stderr.strip() or result.stdout.strip()}")
    return result.stdout.splitlines()


def demangle(names: Iterable[str]) -> list[str]:
    if not shutil.which("c++filt"):
        raise SystemExit("c++filt not found: it comes with the compiler, in GNU binutils")
    result = subprocess.run(["c++filt"], check=True, input="\n".join(names), stdout=subprocess.PIPE, text=True)
    return result.stdout.splitlines()


# ---- Reports ----

HEADER = ("kernel", "regs", "stack", "local", "ldl/stl", "loop", "blocks", "rotations", "integer", "a block", "all")


def rows_of(kernel: Kernel) -> Iterator[tuple[str, ...]]:
    """The kernel's rows of the table, a loop each."""
    numbers = (kernel.registers, kernel.stack, kernel.local, kernel.local_accesses)
    start = (kernel.name, *map(str, numbers))
    for loop in kernel.cipher_loops:
        place = "outer" if loop.inner else "main" if loop is kernel.main_loop else "inner"
        there, wanted = loop.rotations
        rotations = "of others too" if loop.foreign else str(there) if there == wanted else f"{there} of {wanted}"
        counts = (str(loop.blocks), rotations, str(loop.integers), f"{loop.integers_a_block:.1f}", str(len(loop.own)))
        yield (*start, f"{place} {loop.begin:x}-{loop.end:x}", *counts)
        start = ("",) * len(start)
    if not kernel.cipher_loops:
        yield (*start, *("-",) * (len(HEADER) - len(start)))


def print_table(kernels: Iterable[Kernel]) -> None:
    rows = [HEADER, *(row for kernel in kernels for row in rows_of(kernel))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = {HEADER.index(name) for name in ("kernel", "loop", "rotations")}
    for row in rows:
        cells = (cell.ljust(widths[k]) if k in texts else cell.rjust(widths[k]) for k, cell in enumerate(row))
        print("  ".join(cells).rstrip())


def complaints_about(kernel: Kernel) -> Iterator[str]:
    """What is wrong with a kernel that has limits."""
    for what, value in (
        ("bytes of stack", kernel.stack),
        ("bytes of local memory", kernel.local),
        ("accesses to local memory", kernel.local_accesses),
    ):
        if value > 0:
            yield f"{value} {what}, the limit is 0"
    loop = kernel.main_loop
    if loop is None:
        yield "no innermost loop has the cipher's rounds as rotations by funnel shifts"
        return
    there, wanted = loop.rotations
    if loop.foreign:
        yield f"rotations by distances that are not the cipher's: {', '.join(map(str, sorted(loop.foreign)))}"
    elif there != wanted:
        yield f"{there} rotations are funnel shifts, the limit is all {wanted} of {loop.blocks} blocks"
    size = int(kernel.name.rpartition(", ")[2].rstrip(">"))
    if loop.blocks % size:
        yield f"the main loop has the rotations of {loop.blocks} blocks, but makes a multiple of {size} blocks"
    if loop.integers_a_block > MOST_INTEGERS:
        yield f"{loop.integers_a_block:.1f} integer instructions a block, the limit is {MOST_INTEGERS}"
    if loop.unknown:
        yield f"instructions of no known kind: {', '.join(sorted(loop.unknown))}"


def check_limits(kernels: Sequence[Kernel]) -> Iterator[str]:
    for beginning in LIMITS:
        found = [kernel for kernel in kernels if kernel.name.startswith(beginning)]
        if not found:
            yield f"{beginning}...>: there is no such kernel"
        for kernel in found:
            yield from (f"{kernel.name}: {complaint}" for complaint in complaints_about(kernel))


def check_spills(kernels: Iterable[Kernel]) -> Iterator[str]:
    for kernel in kernels:
        if kernel.local_accesses:
            yield f"{kernel.name}: {kernel.local_accesses} accesses to local memory, the limit is 0"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What a block of the cipher costs in compiled CUDA kernels.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a cubin, an object file or a library")
    parser.add_argument("--arch", default="sm_90", help="whose code (default: %(default)s)")
    parser.add_argument("--kernels", default="", metavar="SUBSTRING", help="show only kernels with this in their names")
    parser.add_argument("--check", action="store_true", help="fail unless the kernels that have limits keep them")
    parser.add_argument("--strict-spills", action="store_true", help="fail if any kernel accesses local memory")
    options = parser.parse_args(arguments)

    path = find_tools()
    kernels: list[Kernel] = []
    for file in options.files:
        sass = run_cuobjdump(path, "-sass", "-arch", options.arch, file)
        found = make_kernels(sass, run_cuobjdump(path, "-res-usage", "-arch", options.arch, file), options.arch)
        if not found:
            raise SystemExit(f"{file}: none of this library's kernels is in it for {options.arch}")
        kernels += found
    kernels.sort(key=lambda kernel: kernel.name)

    print_table(kernel for kernel in kernels if options.kernels in kernel.name)
    unknown = sorted({i.name for kernel in kernels for i in kernel.instructions if i.kind is None})
    if unknown:
        print(f"not counted, as their kind is not known: {', '.join(unknown)}", file=sys.stderr)
    complaints = [*check_limits(kernels)] if options.check else []
    if options.strict_spills:
        complaints += check_spills(kernels)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
