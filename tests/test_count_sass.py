"""What scripts/count_sass.py counts and complains about, on recorded machine code: without nvcc and its tools.

tests/data/sass/ has what cuobjdump says of one kernel as nvcc 13.0 compiles it for sm_90: without most of what comes
before its loops, and without the encodings but of the first instructions.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
SCRIPT = runpy.run_path(str(TESTS.parent / "scripts" / "count_sass.py"))
SASS = (TESTS / "data" / "sass" / "bits64.sass").read_text()
RESOURCES = (TESTS / "data" / "sass" / "bits64.resources").read_text()

BITS = "draw_runs<Threefry2x32, Bits<uint64_t>, 2>"
UNIFORM = "draw_runs<Threefry2x32, Uniform<float>, 2>"
PAIRS = "draw_pairs<Uniform<float>, 2>"
NO_LIMITS = "draw_runs<Threefry2x32, Bits<uint32_t>, 2>"

MAIN_LOOP = ("10f0", "1a20")  # from the recording, as are the numbers below
LAST_IN_MAIN_LOOP = "        /*1a10*/ "

pytestmark = pytest.mark.skipif(not shutil.which("c++filt"), reason="c++filt is not here")


def rename(text: str, name: str) -> str:
    """The recorded kernel under another name."""
    run = "9draw_runsINS0_12Threefry2x32ENS0_4BitsImEE"
    mangled = {
        BITS: run,
        UNIFORM: "9draw_runsINS0_12Threefry2x32ENS0_7UniformIfEE",
        PAIRS: "10draw_pairsINS0_7UniformIfEE",
        NO_LIMITS: "9draw_runsINS0_12Threefry2x32ENS0_4BitsIjEE",
    }
    assert text.count(run) == 1
    return text.replace(run, mangled[name])


def in_main_loop(text: str, change: Callable[[str], str]) -> str:
    begin, end = (text.index(f"/*{address}*/") for address in MAIN_LOOP)
    return text[:begin] + change(text[begin:end]) + text[end:]


def insert(text: str, instruction: str, times: int = 1) -> str:
    """More instructions at the end of the main loop."""
    assert LAST_IN_MAIN_LOOP in text
    return text.replace(LAST_IN_MAIN_LOOP, f"{LAST_IN_MAIN_LOOP} {instruction} ;\n" * times + LAST_IN_MAIN_LOOP)


def split_rotations(text: str, distance: int, count: int) -> str:
    """The main loop with `count` of its rotations by this distance made of two shifts and what joins them."""
    pattern = rf"( +/\*\w+\*/ +)SHF\.L\.W\.U32\.HI (R\d+), (R\d+)(?:\.reuse)?, 0x{distance:x}, \3(?:\.reuse)? ;\n"

    def parts(match: re.Match[str]) -> str:
        start, out, source = match.groups()
        return (
            f"{start}SHF.L.U32 R60, {source}, 0x{distance:x}, RZ ;\n"
            f"{start}SHF.R.U32.HI R61, RZ, 0x{32 - distance:x}, {source} ;\n"
            f"{start}LOP3.LUT {out}, R60, R61, RZ, 0xfc, !PT ;\n"
        )

    def change(loop: str) -> str:
        changed, done = re.subn(pattern, parts, loop, count=count)
        assert done == count
        return changed

    return in_main_loop(text, change)


class Run:
    """main() with a cuobjdump that says what was recorded, of kernels of several names."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.sass = {name: rename(SASS, name) for name in (BITS, UNIFORM, PAIRS, NO_LIMITS)}
        self.resources = {name: rename(RESOURCES, name) for name in self.sass}
        self.errors = self.table = ""
        tools = folder / "tools"
        tools.mkdir()
        write_tools(tools, folder)
        monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")

    def __call__(self, *arguments: str) -> int:
        (self.folder / "sass").write_text("".join(self.sass.values()))
        (self.folder / "resources").write_text("".join(self.resources.values()))
        status: int = SCRIPT["main"](["any.cubin", *arguments])
        self.table, self.errors = self.capsys.readouterr()
        return status

    def complains(self, *parts: str) -> None:
        """--check makes one complaint, which has all of the parts."""
        assert self("--check") == 1
        assert len(self.errors.splitlines()) == 1
        for part in parts:
            assert part in self.errors


def write_tools(tools: Path, recording: Path) -> None:
    script = f'#!/bin/sh\ncase "$1" in -sass) cat {recording}/sass;; -res-usage) cat {recording}/resources;; esac\n'
    for name in ("cuobjdump", "nvdisasm"):
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, monkeypatch, capsys)


def kernel_of(sass: str) -> Any:
    (kernel,) = SCRIPT["make_kernels"](sass.splitlines(), RESOURCES.splitlines(), "sm_90")
    return kernel


# ---- Counts ----


def test_counts() -> None:
    kernel = kernel_of(SASS)
    assert (kernel.name, kernel.registers, kernel.stack, kernel.local, kernel.local_accesses) == (BITS, 40, 0, 0, 0)
    # The loop over runs, around these two, has no rounds of its own.
    main, few = kernel.cipher_loops
    assert kernel.main_loop is main
    assert (main.begin, main.end, main.blocks, main.rotations) == (0x10F0, 0x1A20, 2, (40, 40))
    assert (few.begin, few.end, few.blocks, few.rotations) == (0x1B20, 0x2060, 1, (20, 20))
    # All but the branch, the store and the loads of constants.
    assert (main.integers, len(main.own)) == (145, 148)
    assert (few.integers, len(few.own)) == (81, 85)
    assert main.integers_a_block == 72.5


PAIRS_IN_FULL = (
    "void torch_threefry::base::draw_pairs<torch_threefry::base::Rademacher<signed char>, "
    "torch_threefry::base::AsTheyAre, 16>(torch_threefry::Draw, torch_threefry::base::Runs)"
)
NORMAL_IN_FULL = (
    "void torch_threefry::base::draw_elements<torch_threefry::base::Threefry2x32, "
    "torch_threefry::base::Normal<float>, torch_threefry::base::Rounded<float> >(torch_threefry::Draw, long)"
)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (PAIRS_IN_FULL, "draw_pairs<Rademacher<int8_t>, 16>"),
        (NORMAL_IN_FULL, "draw_elements<Threefry2x32, Normal<float>, Rounded<float>>"),
        ("torch_threefry::base::fold_in_keys(torch_threefry::FoldIn, long)", "fold_in_keys"),
        ("void cub::DeviceScan<torch_threefry::Draw>(long)", None),
    ],
)
def test_names(name: str, short: str | None) -> None:
    assert SCRIPT["shorten"](name) == short


def test_loop_around_others() -> None:
    """An instruction belongs to the innermost loop around it."""
    # The main loop becomes two: from its first half on, and all of it.
    kernel = kernel_of(SASS.replace("        /*1580*/ ", "        /*1580*/  @P4 BRA 0x1400 ;\n        /*1580*/ "))
    outer, inner, few = kernel.cipher_loops
    assert [loop.begin for loop in (outer, inner, few)] == [0x10F0, 0x1400, 0x1B20]
    assert outer.inner == [inner]
    assert outer.rotations[0] + inner.rotations[0] == 40
    assert min(outer.rotations[0], inner.rotations[0]) > 0
    assert len(outer.own) + len(inner.own) == 149
    assert kernel.main_loop is inner


@pytest.mark.parametrize(
    ("instruction", "kind"),
    [
        ("LOP3.LUT R8, R8, R9, RZ, 0x3c, !PT", "integer"),
        ("@!P0 IMAD.WIDE.U32 R2, R5, UR4, R2", "integer"),
        ("@!UP0 UIADD3 UR4, UR7, 0x1, URZ", "integer"),
        ("UMOV UR4, 0x28", "integer"),
        ("HFMA2.MMA R2, -RZ, RZ, 1.875, 0", "integer"),
        ("HFMA2.MMA R2, -R4, R5, 1.875, 0", "floating"),
        ("FFMA R9, R9, UR15, R12.reuse", "floating"),
        ("I2F.U32.RP R0, UR4", "conversion"),
        ("ULDC.64 UR8, c[0x0][0xd08]", "memory"),
        ("STL [R1], R4", "memory"),
        ("@P1 BRA 0x1a30", "control"),
        ("S2UR UR4, SR_CTAID.X", "other"),
        ("XYZZY R1, R2", None),
    ],
)
def test_kinds(instruction: str, kind: str | None) -> None:
    added = kernel_of(insert(SASS, instruction)).main_loop.own[-3]
    assert added.kind == kind
    assert kernel_of(insert(SASS, instruction, 5)).main_loop.integers == (150 if kind == "integer" else 145)


@pytest.mark.parametrize(
    ("instruction", "rotations"),
    [
        ("SHF.L.W.U32.HI R2, R3.reuse, 0x18, R3", 1),
        ("USHF.L.W.U32.HI UR4, UR5, 0x18, UR5", 1),
        ("SHF.L.W.U32.HI R2, RZ, 0x18, R3", 0),  # another shift
        ("SHF.L.W.U32.HI R2, R3, R4, R3", 0),  # by a distance that is no constant
        ("SHF.R.W.U32.HI R2, R3, 0x18, R3", 0),
    ],
)
def test_rotations(instruction: str, rotations: int) -> None:
    assert kernel_of(insert(SASS, instruction)).main_loop.rotations[0] == 40 + rotations


def test_table(run: Run) -> None:
    assert run() == 0
    assert run.errors == ""
    header, *rows = (re.split(r"  +", row.strip()) for row in run.table.splitlines())
    assert header[:5] == ["kernel", "regs", "stack", "local", "ldl/stl"]
    assert [row[0] for row in rows[::2]] == [PAIRS, NO_LIMITS, BITS, UNIFORM]
    assert rows[0][1:] == ["40", "0", "0", "0", "main 10f0-1a20", "2", "40", "145", "72.5", "148"]
    assert rows[1] == ["inner 1b20-2060", "1", "20", "81", "81.0", "85"]


def test_kernels_by_name(run: Run) -> None:
    run.resources[BITS] = run.resources[BITS].replace("STACK:0", "STACK:8")
    assert run("--kernels", "Uniform") == 0
    assert run.table.count(UNIFORM) == run.table.count(PAIRS) == 1
    assert "Bits" not in run.table
    # What is checked does not depend on what is shown.
    assert run("--kernels", "Uniform", "--check") == 1
    assert BITS in run.errors


# ---- Limits ----


def test_check_passes(run: Run) -> None:
    assert run("--check", "--strict-spills") == 0
    assert run.errors == ""


@pytest.mark.parametrize("name", [BITS, UNIFORM, PAIRS])
def test_one_split_rotation(run: Run, name: str) -> None:
    run.sass[name] = split_rotations(run.sass[name], 17, 1)
    run.complains(name, "39 rotations", "limit is all 40")


def test_one_split_rotation_by_each_distance(run: Run) -> None:
    for distance in SCRIPT["DISTANCES"]:
        run.sass[BITS] = split_rotations(run.sass[BITS], distance, 1)
    assert run("--check") == 1
    assert f"{BITS}: 32 rotations are funnel shifts, the limit is all 40" in run.errors


def test_a_block_of_split_rotations(run: Run) -> None:
    """The rotations that are left are those of one whole block, but two are made at once."""
    for distance, often in SCRIPT["DISTANCES"].items():
        run.sass[BITS] = split_rotations(run.sass[BITS], distance, often)
    assert run("--check") == 1
    assert f"{BITS}: the main loop has the rotations of 1 blocks, but makes a multiple of 2" in run.errors


def test_no_rotations_at_all(run: Run) -> None:
    run.sass[PAIRS] = run.sass[PAIRS].replace("SHF.L.W.U32.HI", "SHF.L.U64.HI")
    run.complains(PAIRS, "no innermost loop")


def test_rotation_of_another_cipher(run: Run) -> None:
    run.sass[UNIFORM] = insert(run.sass[UNIFORM], "SHF.L.W.U32.HI R2, R3, 0xb, R3")
    run.complains(UNIFORM, "11")


def test_integers_a_block(run: Run) -> None:
    good = run.sass[UNIFORM]
    run.sass[UNIFORM] = insert(insert(good, "VIADD R50, R50, 0x1", 15), "FADD R50, R50, 1", 9)
    assert run("--check") == 0
    run.sass[UNIFORM] = insert(good, "VIADD R50, R50, 0x1", 16)
    run.complains(UNIFORM, "80.5 integer instructions", "limit is 80")


@pytest.mark.parametrize(("key", "value"), [("STACK", "16"), ("LOCAL", "8")])
def test_memory(run: Run, key: str, value: str) -> None:
    run.resources[PAIRS] = run.resources[PAIRS].replace(f"{key}:0", f"{key}:{value}")
    run.complains(PAIRS, f"{value} bytes of {key.lower()}", "limit is 0")


@pytest.mark.parametrize("instruction", ["STL [R1+0x8], R4", "@P0 LDL.64 R4, [R1]"])
def test_spills(run: Run, instruction: str) -> None:
    run.sass[BITS] = insert(run.sass[BITS], instruction, 3)
    run.complains(BITS, "3 accesses to local memory", "limit is 0")


def test_spills_elsewhere(run: Run) -> None:
    """Kernels without limits fail if that is asked for."""
    run.sass[NO_LIMITS] = insert(split_rotations(run.sass[NO_LIMITS], 6, 1), "STL [R1], R4")
    assert run("--check") == 0
    assert "39 of 40" in run.table
    assert run("--strict-spills") == 1
    assert NO_LIMITS in run.errors
    assert "1 accesses" in run.errors


def test_unknown_instruction(run: Run) -> None:
    run.sass[BITS] = insert(run.sass[BITS], "XYZZY R1, R2")
    assert run() == 0
    assert "XYZZY" in run.errors
    assert run("--check") == 1
    assert f"{BITS}: instructions of no known kind: XYZZY" in run.errors


@pytest.mark.parametrize("name", [BITS, UNIFORM, PAIRS])
def test_kernel_that_is_not_there(run: Run, name: str) -> None:
    del run.sass[name]
    run.complains(name.removesuffix("2>"), "no such kernel")


# ---- Tools ----


def test_other_architecture(run: Run) -> None:
    """cuobjdump shows a cubin's code whatever architecture it is asked for."""
    with pytest.raises(SystemExit, match=r"any\.cubin: .*sm_80"):
        run("--arch", "sm_80")


def test_tools_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.path", [])  # no packages
    with pytest.raises(SystemExit, match="pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"):
        SCRIPT["find_tools"]()


def test_tools_from_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "nvidia" / "cu13" / "bin"
    tools.mkdir(parents=True)
    write_tools(tools, tmp_path)
    for name in ("cuobjdump", "nvdisasm"):
        info = tmp_path / f"nvidia_cuda_{name}-13.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: nvidia-cuda-{name}\nVersion: 13.0\n")
        (info / "RECORD").write_text(f"nvidia/cu13/bin/{name},,\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert shutil.which("cuobjdump", path=SCRIPT["find_tools"]()) == str(tools / "cuobjdump")


def test_cuobjdump_that_fails(run: Run) -> None:
    run()
    tool = Path(str(shutil.which("cuobjdump")))
    tool.write_text("#!/bin/sh\necho no such file >&2\nexit 1\n")
    with pytest.raises(SystemExit, match="no such file"):
        run()
