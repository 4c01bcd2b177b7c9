"""How fast the draws are on a CUDA device, as ratios to others measured in the same run.

``python -m benchmarks.cuda`` prints a markdown table; ``--help`` says what else it takes. Nothing here is a test.

Ours and a peer take turns. A turn is timed by CUDA events around some calls, and the median over the turns counts, after
calls to warm up. Every call allocates its result, from memory that torch's allocator keeps. Two kinds of line need care:

- A size with a star: what a call reads and writes fits into the L2 cache, and need not go to memory.
- Below some 2^20 elements calls take as long as Python and the driver need to launch them. The lines in µs are host times:
  "issued" until the call returns, "finished" until its result is there.

Shares are of two limits. "copy": the bytes that a draw writes in a second, over those that a long copy on the device reads
and writes in a second in the same run. "integer": the cipher's blocks in a second, over those that the integer units could
make: processors x 64 operations of 32 bits a clock x the highest clock / 72 operations a block. The compiler may put some
of the additions on other units, so that this is no strict limit.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from torch_threefry import Key, random

from .tables import head, line, power_of_two

Call = Callable[[], Any]

NEW, ORIGINAL, PATHS = "threefry2x32", "threefry2x32_original", "threefry4x64"
NAMES = {NEW: "", ORIGINAL: "original", PATHS: "4x64"}
SIZES = [2**16, 2**20, 2**24, 2**28]
FLOATS = [torch.float32, torch.float64, torch.bfloat16]
KEEP = 0.9  # what dropout keeps

LANES, BLOCK_OPERATIONS = 64, 72  # integer operations of a processor in a clock, and of a block of 2x32
# 4x64's blocks in those of 2x32: 40 MIXes of 6 operations (64-bit sums and rotations are two) and 6 injections of 8.
WIDE_BLOCK = (40 * 6 + 6 * 8) / BLOCK_OPERATIONS

ROUNDS, TURN, MOST_CALLS = 9, 2e-3, 200


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    name: str
    size: int
    ours: Call
    amount: float  # what one call makes: bytes for GB/s, elements for M/s, 1 for a latency
    peer_name: str = ""
    peer: Call | None = None
    impl: str = NEW
    dtype: str = ""
    unit: str = "GB/s"
    touched: int = 0  # bytes that a call reads and writes
    blocks: float = 0  # of the cipher, where its limits are of interest
    clock: str = "device"  # or "issued" and "finished", which are host times


@dataclass(frozen=True)
class Result:
    """What a case has given. Times are in seconds a call, rates in amounts a second."""

    name: str
    impl: str
    dtype: str
    size: int
    unit: str
    amount: float
    blocks: float
    in_cache: bool
    seconds: float
    peer_name: str
    peer_seconds: float | None

    @property
    def ratio(self) -> float | None:
        """Ours to the peer's: of rates, more is better; of latencies, less."""
        if self.peer_seconds is None:
            return None
        return self.seconds / self.peer_seconds if self.unit == "µs" else self.peer_seconds / self.seconds


@dataclass(frozen=True)
class Device:
    """The device, and what it can do at most."""

    name: str
    processors: int
    cache: int  # bytes of L2
    clock: float | None  # the highest, in Hz
    clock_under_load: float | None
    driver: str
    copy: float  # bytes read and written in a second
    fill: float  # bytes written in a second

    @property
    def block_rate(self) -> float | None:
        """The cipher's blocks in a second that the integer units allow."""
        return None if self.clock is None else self.processors * LANES * self.clock / BLOCK_OPERATIONS

    def copy_share(self, result: Result) -> float:
        """A draw's bytes, over those of a copy in the same time."""
        return result.amount / result.seconds / self.copy

    def integer_share(self, result: Result) -> float | None:
        """A draw's blocks, over those that the integer units allow in the same time."""
        return None if self.block_rate is None else result.blocks / result.seconds / self.block_rate

    def share(self, result: Result) -> float | None:
        """Of the lower of the two limits."""
        integer = self.integer_share(result)
        return None if integer is None else max(integer, self.copy_share(result))


# ---- What is measured ----


def blocks_of(impl: str, word_bits: int, n: int) -> float:
    """The cipher's blocks that n words take: one a word, in the original layout one for each 64 bits, and of 4x64, in as
    much work, one for each 256."""
    if impl == PATHS:
        return WIDE_BLOCK * n * word_bits / 256
    return n if impl == NEW else n * word_bits / 64


# How many bits of the stream a uniform number takes.
UNIFORM_BITS = {torch.float32: 32, torch.float64: 64, torch.bfloat16: 8}


def float_cases(keys: dict[str, Key]) -> Iterator[Case]:
    """Uniform and normal numbers."""
    device = keys[NEW].device
    for name, peer in (("uniform", torch.rand), ("normal", torch.randn)):
        for dtype in FLOATS:
            for impl, key in keys.items():
                for n in SIZES:
                    yield Case(
                        name,
                        n,
                        partial(getattr(random, name), key, (n,), dtype),
                        dtype.itemsize * n,
                        f"torch.{peer.__name__}",
                        partial(peer, n, dtype=dtype, device=device),
                        impl,
                        short(dtype),
                        touched=dtype.itemsize * n,
                        blocks=blocks_of(impl, UNIFORM_BITS[dtype], n) if name == "uniform" else 0,
                    )


def bits_cases(keys: dict[str, Key]) -> Iterator[Case]:
    """Plain words. torch has signed ones only."""
    device = keys[NEW].device

    def fill(n: int, dtype: torch.dtype) -> Tensor:
        return torch.empty(n, dtype=dtype, device=device).random_()

    for dtype, signed in ((torch.uint32, torch.int32), (torch.uint64, torch.int64)):
        for impl, key in keys.items():
            for n in SIZES:
                size = dtype.itemsize * n
                yield Case(
                    "bits",
                    n,
                    partial(random.bits, key, (n,), dtype),
                    size,
                    "random_",
                    partial(fill, n, signed),
                    impl,
                    short(dtype),
                    touched=size,
                    blocks=blocks_of(impl, 8 * dtype.itemsize, n),
                )


def dropout(key: Key, x: Tensor) -> Tensor:
    """Dropout with a mask of ours."""
    return x * random.bernoulli(key, KEEP, x.shape) * (1 / KEEP)


def torch_dropout(x: Tensor) -> Tensor:
    """torch's, one fused kernel."""
    return F.dropout(x, 1 - KEEP, training=True)


def dropout_case(name: str, ours: Call, peer_name: str, peer: Call, impl: str, x: Tensor) -> Case:
    """Its rate is that of the bytes read and written."""
    size = 2 * x.itemsize * x.numel()
    return Case(name, x.numel(), ours, size, peer_name, peer, impl, short(x.dtype), touched=size)


def dropout_cases(keys: dict[str, Key]) -> Iterator[Case]:
    """Dropout, kernel by kernel."""
    for dtype in FLOATS:
        for impl, key in keys.items():
            for n in SIZES:
                x = torch.ones(n, dtype=dtype, device=key.device)
                peer = partial(torch_dropout, x)
                yield dropout_case("dropout", partial(dropout, key, x), "F.dropout", peer, impl, x)


def compiled_dropout_cases(key: Key) -> Iterator[Case]:
    """Dropout, compiled: one fused kernel, with a torch whose compiler fuses our draws."""
    if importlib.util.find_spec("triton") is None:
        print("(no triton: nothing was compiled)", file=sys.stderr)
        return
    import torch._dynamo

    for dtype in (torch.float32, torch.bfloat16):
        for n in SIZES[2:]:
            torch._dynamo.reset()  # each size has a kernel of its own
            x = torch.ones(n, dtype=dtype, device=key.device)
            ours, theirs = torch.compile(dropout, fullgraph=True), torch.compile(torch_dropout, fullgraph=True)
            for name, peer in (("F.dropout", torch_dropout), ("F.dropout, compiled", theirs)):
                yield dropout_case("dropout, compiled", partial(ours, key, x), name, partial(peer, x), NEW, x)


def parametric_cases(keys: dict[str, Key]) -> Iterator[Case]:
    """Draws by rejection. torch's take the parameters as tensors, made beforehand."""
    device = keys[NEW].device
    for impl, key in keys.items():
        for n in SIZES[1:3]:
            full = partial(torch.full, (n,), device=device)
            case = partial(Case, size=n, amount=n, impl=impl, unit="M/s", touched=8 * n)
            for dtype in (torch.float32, torch.float64):
                yield case(
                    "gamma 2.5",
                    ours=partial(random.gamma, key, 2.5, (n,), dtype),
                    peer_name="_standard_gamma",
                    peer=partial(torch._standard_gamma, full(2.5, dtype=dtype)),
                    dtype=short(dtype),
                )
            for rate in (5.0, 20.0):
                yield case(
                    f"poisson {rate:g}",
                    ours=partial(random.poisson, key, rate, (n,)),
                    peer_name="torch.poisson",
                    peer=partial(torch.poisson, full(rate)),
                    dtype="int32",
                )
            yield case(
                "binomial 100, 0.3",
                ours=partial(random.binomial, key, 100, 0.3, (n,)),
                peer_name="torch.binomial",
                peer=partial(torch.binomial, full(100.0), full(0.3)),
                dtype="float32",
            )


def permutation_cases(keys: dict[str, Key]) -> Iterator[Case]:
    """Orders, int64 in both."""
    for impl, key in keys.items():
        for n in SIZES:
            peer = partial(torch.randperm, n, device=key.device)
            ours = partial(key.randperm, n)
            yield Case("randperm", n, ours, n, "torch.randperm", peer, impl, "int64", "M/s", touched=40 * n)


def key_cases(keys: dict[str, Key]) -> Iterator[Case]:
    """Keys from keys, which have no peer."""
    for n in SIZES:
        for impl, key in keys.items():
            size = key.data.numel() * key.data.itemsize * n
            yield Case("split", n, partial(key.split, n), n, impl=impl, unit="M/s", touched=size)
        data = torch.arange(n, device=keys[NEW].device)
        yield Case("fold_in", n, partial(keys[NEW].fold_in, data), n, unit="M/s", touched=16 * n)


def latency_cases(key: Key) -> Iterator[Case]:
    """Single short calls from Python."""
    rand, randn = (partial(f, 16, device=key.device) for f in (torch.rand, torch.randn))
    for clock in ("issued", "finished"):
        case = partial(Case, amount=1, unit="µs", clock=clock)
        yield case(f"uniform, {clock}", 16, partial(random.uniform, key, (16,)), peer_name="torch.rand", peer=rand)
        yield case(f"normal, {clock}", 16, partial(random.normal, key, (16,)), peer_name="torch.randn", peer=randn)
        yield case(f"key.split(), {clock}", 2, key.split, peer_name="torch.rand", peer=rand)
        yield case(f"key.fold_in(3), {clock}", 1, partial(key.fold_in, 3), peer_name="torch.rand", peer=rand)


def jax_case(jax: Any, key: Key, name: str, size: int, **parameters: float) -> Case:
    """Against jax under jit, both in host times."""
    draw = jax.jit(partial(getattr(jax.random, name), shape=(size,), **parameters))
    return Case(
        " ".join([name, ", ".join(f"{value:g}" for value in parameters.values())]).rstrip(),
        size,
        partial(getattr(random, name), key, shape=(size,), **parameters),
        size if parameters else 4 * size,
        "jax",
        partial(draw, jax.random.key(42)),
        dtype="int32" if name == "poisson" else "float32",
        unit="M/s" if parameters else "GB/s",
        touched=8 * size,
        clock="finished",
    )


def jax_cases(key: Key) -> Iterator[Case]:
    """jax's draws, if it has a GPU."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes most of the memory
    try:
        import jax  # type: ignore

        jax.devices("gpu")
    except (ImportError, RuntimeError) as error:
        print(f"(no jax with a GPU: {error})", file=sys.stderr)
        return
    for n in SIZES[1:]:
        yield jax_case(jax, key, "uniform", n)
        yield jax_case(jax, key, "normal", n)
    n = SIZES[1]
    yield jax_case(jax, key, "gamma", n, a=2.5)
    yield jax_case(jax, key, "poisson", n, lam=20.0)
    yield jax_case(jax, key, "binomial", n, n=100.0, p=0.3)
    permute = jax.jit(lambda k: jax.random.permutation(k, n))
    ours = partial(random.permutation, key, n)
    peer = partial(permute, jax.random.key(42))
    yield Case("permutation", n, ours, n, "jax", peer, NEW, "int32", "M/s", touched=40 * n, clock="finished")


def cases(keys: dict[str, Key], jax: bool) -> Iterator[Case]:
    """All that is measured."""
    yield from float_cases(keys)
    yield from bits_cases(keys)
    yield from dropout_cases(keys)
    yield from compiled_dropout_cases(keys[NEW])
    yield from parametric_cases(keys)
    yield from permutation_cases(keys)
    yield from key_cases(keys)
    yield from latency_cases(keys[NEW])
    if jax:
        yield from jax_cases(keys[NEW])


# ---- How ----


def device_seconds(call: Call, repeats: int) -> float:
    """The time of a call on the device, of several that follow one another."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    milliseconds: float = start.elapsed_time(end)
    return milliseconds * 1e-3 / repeats


def finish(result: Any) -> None:
    """Wait for a result of torch's or of jax's."""
    wait = getattr(result, "block_until_ready", torch.cuda.synchronize)
    wait()


def issued_seconds(call: Call, repeats: int) -> float:
    """The time until a call returns."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def finished_seconds(call: Call, repeats: int) -> float:
    """The time until a call's result is there."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        finish(call())
    return (time.perf_counter() - start) / repeats


CLOCKS = {"device": device_seconds, "issued": issued_seconds, "finished": finished_seconds}


def median_seconds(calls: list[Call], clock: Callable[[Call, int], float]) -> list[float]:
    """The median time of a call of each, in rounds in which they take turns."""
    repeats = []
    for call in calls:
        for _ in range(3):
            finish(call())
        repeats.append(calls_of_a_turn(clock(call, 3)))
    turns: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for times, call, count in zip(turns, calls, repeats):
            times.append(clock(call, count))
    return [statistics.median(times) for times in turns]


def calls_of_a_turn(seconds: float) -> int:
    """How often a turn repeats its call."""
    return min(max(1, round(TURN / seconds)), MOST_CALLS)


def measure(case: Case, cache: int) -> Result:
    """A case's times."""
    torch.cuda.empty_cache()
    times = median_seconds([case.ours] + ([case.peer] if case.peer else []), CLOCKS[case.clock])
    return Result(
        case.name,
        case.impl,
        case.dtype,
        case.size,
        case.unit,
        case.amount,
        case.blocks,
        case.unit != "µs" and case.touched <= cache,
        times[0],
        case.peer_name,
        times[1] if case.peer else None,
    )


# ---- The device ----


def ask_driver(fields: list[str], uuid: str) -> list[str]:
    """What nvidia-smi says of a device; empty strings where it says nothing."""
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", "-i", f"GPU-{uuid}"]
    try:
        run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return [""] * len(fields)
    answers = [text.strip() for text in run.stdout.strip().split(",")]
    return answers if len(answers) == len(fields) else [""] * len(fields)


def megahertz(text: str) -> float | None:
    """A clock of nvidia-smi's in Hz; it may write N/A."""
    try:
        return float(text) * 1e6
    except ValueError:
        return None


def clock_under_load(key: Key, uuid: str) -> float | None:
    """The processors' clock while they draw."""
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask_driver, ["clocks.sm"], uuid)
        while not answer.done():
            for _ in range(10):
                random.uniform(key, (2**24,))
            torch.cuda.synchronize()
    return megahertz(answer.result()[0])


def examine(key: Key) -> Device:
    """The key's device."""
    properties = torch.cuda.get_device_properties(key.device)
    uuid = str(getattr(properties, "uuid", ""))
    clock, driver = ask_driver(["clocks.max.sm", "driver_version"], uuid)
    kilohertz = getattr(properties, "clock_rate", None)
    highest = megahertz(clock) or (kilohertz * 1e3 if kilohertz else None)
    source = torch.ones(2**28 if fits(2**32) else 2**26, device=key.device)
    target = torch.empty_like(source)
    size = source.itemsize * source.numel()
    copy, fill = median_seconds([lambda: target.copy_(source), lambda: target.fill_(1.0)], device_seconds)
    return Device(
        properties.name,
        properties.multi_processor_count,
        getattr(properties, "L2_cache_size", 0),
        highest,
        clock_under_load(key, uuid),
        driver or "unknown",
        2 * size / copy,
        size / fill,
    )


@functools.cache
def free_memory() -> int:
    """The device's free memory before anything was measured."""
    return torch.cuda.mem_get_info()[0]


def fits(touched: int) -> bool:
    """Whether a case has room, with the results of earlier calls that are not yet free."""
    return 3 * touched < free_memory()


# ---- What is printed ----


def short(dtype: torch.dtype) -> str:
    """A dtype's name."""
    return str(dtype).removeprefix("torch.")


def percent(share: float | None) -> str:
    """A share as it is written in the table."""
    return "?" if share is None else f"{100 * share:.0f} %"


def quantity(seconds: float, result: Result) -> str:
    """A rate or a latency with its unit."""
    scale = {"GB/s": 1e-9, "M/s": 1e-6, "µs": 1e6}[result.unit]
    value = seconds * scale if result.unit == "µs" else result.amount / seconds * scale
    return f"{value:.0f} {result.unit}" if value >= 1000 else f"{value:.3g} {result.unit}"


HEADS = ["op", "impl", "dtype", "size", "ours", "peer", "peer's", "ratio", "copy", "integer"]


def row(result: Result, device: Device) -> str:
    """A result's line."""
    is_short = result.unit == "µs"
    return line(
        [
            result.name,
            NAMES[result.impl],
            result.dtype,
            str(result.size) if is_short else power_of_two(result.size) + "*" * result.in_cache,
            quantity(result.seconds, result),
            result.peer_name,
            quantity(result.peer_seconds, result) if result.peer_seconds else "",
            f"{result.ratio:.2f}" if result.ratio else "",
            percent(device.copy_share(result)) if result.blocks else "",
            percent(device.integer_share(result)) if result.blocks else "",
        ]
    )


def description(device: Device) -> str:
    """What the device is, and its limits."""
    highest, drawing = (
        f"{clock * 1e-6:.0f} MHz" if clock else "?" for clock in (device.clock, device.clock_under_load)
    )
    rate = device.block_rate
    integer = f"{rate * 1e-9:.0f} G blocks/s, {rate * 4e-9:.0f} GB/s at 4 bytes a block" if rate else "?"
    return f"""\
{device.name}, driver {device.driver}, torch {torch.__version__}, CUDA {torch.version.cuda}
{device.processors} processors, clock at most {highest}, {drawing} while drawing, L2 {device.cache / 2**20:.0f} MiB
copy: {device.copy * 1e-9:.0f} GB/s read and written (fill: {device.fill * 1e-9:.0f} GB/s written)
integer: {integer} ({LANES} operations a clock and processor, {BLOCK_OPERATIONS} a block, the highest clock)
Ratio: ours to the peer's; of a rate, more is better, of a latency (µs), less. *: fits into L2.
"""


# ---- Targets ----


@dataclass(frozen=True)
class Target:
    """What is to be reached at least."""

    name: str
    wanted: float
    reached: float | None
    where: str  # it was measured


def share_target(results: list[Result], device: Device, name: str, impl: str, dtype: str, wanted: float) -> Target:
    """Of the lower of the limits, at the largest size."""
    measured = [r for r in results if (r.name, r.impl, r.dtype) == (name, impl, dtype) and r.blocks]
    title = f"{name} {dtype}, {impl}: share of the lower limit"
    if not measured:
        return Target(title, wanted, None, "not measured")
    largest = max(measured, key=lambda r: r.size)
    return Target(title, wanted, device.share(largest), power_of_two(largest.size))


def slowest_target(results: list[Result]) -> Target:
    """Where ours is slowest beside torch.rand."""
    measured = [r for r in results if r.name == "uniform" and r.peer_name == "torch.rand"]
    title = "uniform: ratio to torch.rand, at worst"
    if not measured:
        return Target(title, 0.5, None, "not measured")
    worst = min(measured, key=lambda r: r.ratio or 0)
    return Target(title, 0.5, worst.ratio, f"{worst.impl}, {worst.dtype}, {power_of_two(worst.size)}")


def targets_of(results: list[Result], device: Device) -> list[Target]:
    """All targets."""
    shares = [("uniform", ORIGINAL, "float32"), ("bits", NEW, "uint64"), ("uniform", NEW, "float32")]
    return [*(share_target(results, device, *what, 0.8) for what in shares), slowest_target(results)]


def verdict(target: Target) -> str:
    """A target's line."""
    if target.reached is None:
        met, reached = "unknown", ""
    else:
        met, reached = "met" if target.reached >= target.wanted else "NOT met", f"{target.reached:.2f}"
    return line([target.name, target.where, reached, f">= {target.wanted:g}", met])


# ---- The program ----


def require_device() -> None:
    """End with an error that says what is missing."""
    if not torch.cuda.is_available():
        sys.exit("benchmarks.cuda: there is no CUDA device, or torch was built without CUDA")
    if importlib.util.find_spec("torch_threefry._C_cuda") is None:
        sys.exit(
            "benchmarks.cuda: torch_threefry was built without its CUDA kernels: "
            "TORCH_THREEFRY_CUDA=1 python setup.py build_ext --inplace"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--targets", action="store_true", help="print the targets last, and whether each is met")
    parser.add_argument("--jax", action="store_true", help="measure jax too, which must be installed with its GPU part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results there, times in seconds")
    options = parser.parse_args()
    require_device()
    free_memory()
    keys = {impl: random.key(42, impl=impl, device="cuda") for impl in NAMES}
    device = examine(keys[NEW])
    print(description(device))

    print(head(HEADS))
    results, failures = [], 0
    for case in cases(keys, options.jax):
        if not fits(case.touched):
            continue
        try:
            results.append(measure(case, device.cache))
        except (RuntimeError, TypeError, ValueError) as error:  # the others are measured all the same
            failures += 1
            print(f"{case.name}, {case.impl}, {case.dtype}, {power_of_two(case.size)}: {error!r}", file=sys.stderr)
        else:
            print(row(results[-1], device), flush=True)

    targets = targets_of(results, device)
    if options.targets:
        print("\n" + head(["target", "where", "reached", "wanted", ""]))
        print("\n".join(verdict(target) for target in targets))
    if options.json:
        options.json.write_text(report(device, results, targets))
    if failures:
        sys.exit(f"benchmarks.cuda: {failures} could not be measured")


def report(device: Device, results: list[Result], targets: list[Target]) -> str:
    """All numbers as JSON."""
    content = {
        "torch": torch.__version__,
        "device": {**asdict(device), "block_rate": device.block_rate},
        "results": [{**asdict(result), "ratio": result.ratio} for result in results],
        "targets": [asdict(target) for target in targets],
    }
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    main()
