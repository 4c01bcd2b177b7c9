"""How fast the draws are, as ratios to others measured in the same run.

``python -m benchmarks.speed`` prints a markdown table; ``--help`` says what else it takes. Ours and a peer take
turns, and the best time of each counts, so that what else the machine does hits both alike. Every function
allocates its result, from memory that malloc keeps between calls (glibc). With ``--fresh`` malloc is left as
it is: large results then wait for new pages at every call, which takes longer than the draws. Nothing here
is a test.
"""

from __future__ import annotations

import argparse
import ctypes
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from torch_threefry import Key, cpu_instruction_set, random, tvm

from .tables import head, line, power_of_two

Call = Callable[[], Any]

KEY = random.key(42)
ORIGINAL = random.key(42, impl="threefry2x32_original")
PATHS = random.key(42, impl="threefry4x64")
NUMPY = np.random.Generator(np.random.PCG64(42))


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    name: str
    ours: Call
    peer_name: str
    peer: Call | None
    amount: float  # what one call makes: bytes for GB/s, elements for M/s, 1 for a latency
    unit: str = "GB/s"
    size: str = ""
    target: float | None = None  # of the ratio, or of our own rate where there is no peer


# ---- What is measured ----


def exponential_(n: int) -> torch.Tensor:
    """torch's exponential draw, which fills a tensor."""
    return torch.empty(n).exponential_()


def bernoulli_(n: int) -> torch.Tensor:
    """torch's bernoulli draw, which fills a tensor."""
    return torch.empty(n, dtype=torch.bool).bernoulli_(0.3)


def log_normal_(n: int) -> torch.Tensor:
    """torch's log-normal draw, which fills a tensor."""
    return torch.empty(n).log_normal_()


def trunc_normal_(n: int) -> torch.Tensor:
    """torch's truncated normal draw, which fills a tensor."""
    return torch.nn.init.trunc_normal_(torch.empty(n), 0.0, 1.0, -1.0, 2.0)


def finished(draw: Callable[..., Any], key: Any) -> Any:
    """jax's draw, waited for."""
    return draw(key).block_until_ready()


def torch_cases(sizes: list[int]) -> Iterator[Case]:
    """Long draws against torch's of the same dtype."""
    for n in sizes:
        size = power_of_two(n)
        case = partial(Case, size=size, amount=4 * n)
        yield case("uniform", partial(random.uniform, KEY, (n,)), "torch.rand", partial(torch.rand, n), target=4)
        yield case(
            "uniform, original",
            partial(random.uniform, ORIGINAL, (n,)),
            "torch.rand",
            partial(torch.rand, n),
            target=7,
        )
        yield case("uniform, 4x64", partial(random.uniform, PATHS, (n,)), "torch.rand", partial(torch.rand, n))
        yield case("normal", partial(random.normal, KEY, (n,)), "torch.randn", partial(torch.randn, n), target=3)
        yield case("normal, original", partial(random.normal, ORIGINAL, (n,)), "torch.randn", partial(torch.randn, n))
        yield case("normal, 4x64", partial(random.normal, PATHS, (n,)), "torch.randn", partial(torch.randn, n))
        yield case(
            "exponential",
            partial(random.exponential, KEY, (n,)),
            "exponential_",
            partial(exponential_, n),
        )
        yield case(
            "randint 0..999, int32",
            partial(random.randint, KEY, (n,), 0, 1000),
            "torch.randint",
            partial(torch.randint, 0, 1000, (n,), dtype=torch.int32),
        )
        yield Case(
            "bernoulli 0.3, bool",
            partial(random.bernoulli, KEY, 0.3, (n,)),
            "bernoulli_",
            partial(bernoulli_, n),
            amount=n,
            unit="M/s",
            size=size,
        )


def parametric_cases(n: int) -> Iterator[Case]:
    """Draws with parameters, most of them by rejection. torch's take the parameters as tensors, made beforehand."""
    full = partial(torch.full, (n,))
    case = partial(Case, unit="M/s", amount=n, size=power_of_two(n))
    yield case(
        "gamma 2.5",
        partial(random.gamma, KEY, 2.5, (n,)),
        "_standard_gamma",
        partial(torch._standard_gamma, full(2.5)),
        target=1.5,
    )
    yield case(
        "gamma 2.5, 4x64",
        partial(random.gamma, PATHS, 2.5, (n,)),
        "_standard_gamma",
        partial(torch._standard_gamma, full(2.5)),
    )
    yield case(
        "poisson 20, int32",
        partial(random.poisson, KEY, 20.0, (n,)),
        "torch.poisson",
        partial(torch.poisson, full(20.0)),
        target=2,
    )
    yield case(
        "poisson 5, int32",
        partial(random.poisson, KEY, 5.0, (n,)),
        "torch.poisson",
        partial(torch.poisson, full(5.0)),
    )
    yield case(
        "binomial 100, 0.3",
        partial(random.binomial, KEY, 100, 0.3, (n,)),
        "torch.binomial",
        partial(torch.binomial, full(100.0), full(0.3)),
        target=2,
    )
    yield case(
        "beta 2, 3",
        partial(random.beta, KEY, 2.0, 3.0, (n,)),
        "distributions.Beta",
        partial(torch.distributions.Beta(2.0, 3.0).sample, (n,)),
    )
    yield case(
        "t 4",
        partial(random.t, KEY, 4.0, (n,)),
        "distributions.StudentT",
        partial(torch.distributions.StudentT(4.0).sample, (n,)),
    )
    yield case("lognormal", partial(random.lognormal, KEY, 1.0, (n,)), "log_normal_", partial(log_normal_, n))
    yield case(
        "truncated_normal -1, 2",
        partial(random.truncated_normal, KEY, -1.0, 2.0, (n,)),
        "init.trunc_normal_",
        partial(trunc_normal_, n),
    )


def row_cases(n: int) -> Iterator[Case]:
    """Rows of four numbers; the rate is that of the numbers."""
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4])
    case = partial(Case, unit="M/s", amount=4 * n, size=f"{power_of_two(n)} x 4")
    yield case(
        "dirichlet",
        partial(random.dirichlet, KEY, 10 * weights, (n,)),
        "distributions.Dirichlet",
        partial(torch.distributions.Dirichlet(10 * weights).sample, (n,)),
    )
    yield case(
        "multinomial 100",
        partial(random.multinomial, KEY, 100, weights, shape=(n, 4)),
        "numpy PCG64",
        partial(NUMPY.multinomial, 100, weights.double() / weights.double().sum(), n),
    )


def dtype_cases(n: int) -> Iterator[Case]:
    """The other floats, against torch."""
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        name = str(dtype).removeprefix("torch.")
        case = partial(Case, size=power_of_two(n), amount=dtype.itemsize * n)
        yield case(
            f"uniform, {name}",
            partial(random.uniform, KEY, (n,), dtype),
            "torch.rand",
            partial(torch.rand, n, dtype=dtype),
        )
        yield case(
            f"normal, {name}",
            partial(random.normal, KEY, (n,), dtype),
            "torch.randn",
            partial(torch.randn, n, dtype=dtype),
        )


def numpy_cases(n: int) -> Iterator[Case]:
    """Against numpy's PCG64, which always has one thread."""
    case = partial(Case, size=power_of_two(n), amount=4 * n)
    yield case(
        "uniform",
        partial(random.uniform, KEY, (n,)),
        "numpy PCG64",
        partial(NUMPY.random, n, dtype=np.float32),
    )
    yield case(
        "normal",
        partial(random.normal, KEY, (n,)),
        "numpy PCG64",
        partial(NUMPY.standard_normal, n, dtype=np.float32),
    )


def jax_case(name: str, size: int, target: float | None = None, **parameters: float) -> Case:
    """Against jax under jit, which picks its threads itself; with parameters, in numbers a second."""
    import jax  # type: ignore

    draw = jax.jit(partial(getattr(jax.random, name), shape=(size,), **parameters))
    return Case(
        " ".join([name, ", ".join(f"{value:g}" for value in parameters.values())]).rstrip(),
        partial(getattr(random, name), KEY, shape=(size,), **parameters),
        "jax",
        partial(finished, draw, jax.random.key(42)),
        amount=size if parameters else 4 * size,
        unit="M/s" if parameters else "GB/s",
        size=power_of_two(size),
        target=target,
    )


def jax_cases(n: int) -> Iterator[Case]:
    """Short draws where jax takes seconds for a long one."""
    yield jax_case("uniform", n)
    yield jax_case("normal", n)
    yield jax_case("gamma", n // 16, target=5, a=2.5)
    yield jax_case("poisson", n // 16, target=5, lam=20.0)
    yield jax_case("binomial", n // 16, target=5, n=100.0, p=0.3)


def key_cases(n: int) -> Iterator[Case]:
    """Splitting, which has no peer."""
    for name, key in (("split", KEY), ("split, original", ORIGINAL), ("split, 4x64", PATHS)):
        yield Case(
            name,
            partial(key.split, n),
            "",
            None,
            n,
            "M/s",
            power_of_two(n),
            target=500 if key is KEY else None,
        )


def tvm_case(n: int) -> Case:
    """TVM's generator, which has no peer either."""
    draw = partial(tvm.generate, tvm.key(42), (n,))
    return Case("tvm.generate", draw, "", None, n, "M/s", power_of_two(n), target=20)


def permutation_cases(sizes: list[int]) -> Iterator[Case]:
    """Orders, int64 in both."""
    for n in sizes:
        yield Case(
            "permutation",
            partial(KEY.randperm, n),
            "torch.randperm",
            partial(torch.randperm, n),
            n,
            "M/s",
            power_of_two(n),
        )


def latency_cases() -> Iterator[Case]:
    """Single small calls from Python."""
    case = partial(Case, amount=1, unit="µs")
    yield case(
        "uniform",
        partial(random.uniform, KEY, (16,)),
        "torch.rand",
        partial(torch.rand, 16),
        size="16",
        target=4,
    )
    yield case("normal", partial(random.normal, KEY, (16,)), "torch.randn", partial(torch.randn, 16), size="16")
    yield case("key.split()", KEY.split, "torch.rand", partial(torch.rand, 16), size="2")
    yield case("key.fold_in(3)", partial(Key.fold_in, KEY, 3), "torch.rand", partial(torch.rand, 16), size="1")


# ---- How ----


def best_seconds(calls: list[Call], rounds: int, least: float = 2e-2) -> list[float]:
    """The best time of a call of each, in ``rounds`` rounds in which they take turns.

    A turn repeats its call until it has lasted ``least`` seconds.
    """
    repeats = [max(1, round(least / min(seconds(call, 1) for _ in range(3)))) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            best[i] = min(best[i], seconds(call, repeats[i]))
    return best


def seconds(call: Call, repeats: int) -> float:
    """The mean time of a call."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def row(case: Case, rounds: int, threads: int, targets: bool) -> str:
    """Measure a case and write its line."""
    times = best_seconds([case.ours] + ([case.peer] if case.peer else []), rounds)
    scale = {"GB/s": 1e-9, "M/s": 1e-6, "µs": 1e6}[case.unit]
    values = [t * scale if case.unit == "µs" else case.amount / t * scale for t in times]
    ratio = values[0] / values[1] if case.peer else None
    cells = [
        case.name,
        case.size,
        str(threads),
        f"{values[0]:.3g} {case.unit}",
        case.peer_name,
        f"{values[1]:.3g} {case.unit}" if case.peer else "",
        f"{ratio:.2f}" if ratio else "",
    ]
    if targets:
        cells.append(verdict(case, values[0] if ratio is None else ratio))
    return line(cells)


def verdict(case: Case, reached: float) -> str:
    """The target, and whether it is met: at most of a latency, at least of all else."""
    if case.target is None:
        return ""
    latency = case.unit == "µs"
    met = reached <= case.target if latency else reached >= case.target
    unit = f" {case.unit}" if case.peer is None else "x"
    return f"{'<=' if latency else '>='} {case.target:g}{unit}: {'met' if met else 'NOT met'}"


def keep_memory() -> None:
    """Tell glibc's malloc to give no freed memory back, so that no call waits for the kernel to clear pages."""
    trim_threshold, mmap_max = -1, -4  # of malloc.h
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(mmap_max, 0)
        mallopt(trim_threshold, 2**31 - 1)


# ---- The program ----


def cases(quick: bool, jax: bool) -> Iterator[Case]:
    """All that is measured."""
    yield from torch_cases([2**22] if quick else [2**20, 2**22, 2**24])
    yield from dtype_cases(2**22)
    yield from parametric_cases(2**20)
    yield from row_cases(2**18)
    yield from numpy_cases(2**22)
    if jax:
        yield from jax_cases(2**22)
    yield from key_cases(2**22)
    yield tvm_case(2**22)
    yield from permutation_cases([2**20] if quick else [2**16, 2**20, 2**22])
    yield from latency_cases()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, help="torch's threads (default: torch's own choice)")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument("--fresh", action="store_true", help="leave malloc as it is")
    parser.add_argument("--targets", action="store_true", help="print the targets, and whether each is met")
    parser.add_argument("--jax", action="store_true", help="measure jax too, which must be installed")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    if not options.fresh:
        keep_memory()
    threads = torch.get_num_threads()

    print(
        f"torch {torch.__version__}, numpy {np.__version__}, {platform.machine()}, kernels for {cpu_instruction_set()}"
    )
    print("Ratio: ours to the peer's; of a rate, more is better, of a latency (µs), less.\n")
    heads = ["op", "size", "threads", "ours", "peer", "peer's", "ratio"] + ["target"] * options.targets
    print(head(heads))
    for case in cases(options.quick, options.jax):
        print(row(case, 5 if options.quick else 15, threads, options.targets), flush=True)


if __name__ == "__main__":
    main()
