"""The CUDA kernels, compiled as plain C++ and run on the CPU, give the bits of the CPU's own kernels: every sampler, in
windows, batches and odd sizes, with any shape of the grid."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stand_in
import torch
from samplers import ALL, Draw
from torch import Tensor

from torch_threefry import Key, _ops, random, threefry, tvm

GRIDS = [(1, 1), (3, 32), (2, 256), (7, 8)]  # blocks and threads
SUITABLE = (0, 0)  # what suits the work

BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(x: Tensor) -> Tensor:
    """A tensor's bits as integers; NaN has many."""
    if x.dtype.is_floating_point:
        x = torch.where(torch.isnan(x), torch.nan, x)
    return x.contiguous().view(BITS[x.element_size()])


@pytest.fixture
def grids(stand_in_library: Any) -> Iterator[Callable[[Callable[[], Tensor]], None]]:
    """A check that a draw has the CPU kernels' bits on the grid that suits it, and on the next of the others."""
    others = itertools.cycle(GRIDS)

    def check(draw: Callable[[], Tensor]) -> None:
        with stand_in.cpu_kernels(stand_in_library):
            expected = draw()
        for grid in (SUITABLE, next(others)):
            stand_in_library.set_launch_shape(*grid)
            drawn = draw()
            assert drawn.shape == expected.shape and drawn.dtype == expected.dtype
            different = (bits(drawn) != bits(expected)).reshape(-1).nonzero().reshape(-1)
            assert different.numel() == 0, f"grid {grid}: elements {different[:8].tolist()} of {tuple(drawn.shape)}"

    yield check
    stand_in_library.set_launch_shape(0, 0)


Grids = Callable[[Callable[[], Tensor]], None]


def key_of(impl: str) -> Key:
    return random.key(2024, impl=impl)


# ---- Draws ----

SHAPES = [(), (2,), (37,), (64,), (5, 129), (0, 3), (1200,)]
WINDOWS = [((3, 17), (1, 34)), ((3, 17), (0, 50)), ((39, 40), (49, 50)), ((0, 40), (7, 8)), ((5, 5), (0, 50))]


@pytest.mark.parametrize("draw", ALL)
def test_shapes(draw: Draw, impl: str, grids: Grids) -> None:
    for shape in SHAPES:
        grids(lambda shape=shape: draw(key_of(impl), shape))


@pytest.mark.parametrize("draw", ALL)
def test_windows_and_batches(draw: Draw, impl: str, grids: Grids) -> None:
    keys = key_of(impl).split(6).reshape(2, 3)
    for window in WINDOWS:
        grids(lambda window=window: draw(key_of(impl), (40, 50), window=window))
    grids(lambda: draw(keys, (33,)))
    grids(lambda: draw(keys[:, 1], (41, 6), window=((2, 40), (1, 5))))  # strided keys
    grids(lambda: draw(keys, ()))


def test_position_above_32_bits(grids: Grids) -> None:
    shape, window = (2**33, 5), ((2**32 - 9, 2**32 + 9), (0, 5))
    grids(lambda: random.normal(key_of("threefry2x32"), shape, window=window))
    grids(lambda: random.poisson(key_of("threefry2x32"), 20.0, shape, window=window))


# Parameters that differ between elements: in every state of contiguity, valid and not.
RATES = torch.tensor([0.0, 0.3, 9.9, 10.0, 25.0, 1e6, -1.0, torch.nan, torch.inf, 3.0])
PARAMETRIC: dict[str, Callable[..., Tensor]] = {
    "uniform": lambda key, x, **kw: random.uniform(key, (7, 10), minval=-x, maxval=x, **kw),
    "bernoulli": lambda key, x, **kw: random.bernoulli(key, x, (7, 10), **kw),
    "bernoulli_high": lambda key, x, **kw: random.bernoulli(key, x.double(), (7, 10), "high", **kw),
    "randint": lambda key, x, **kw: random.randint(key, (7, 10), -5, x.nan_to_num(0, 9, 0).long(), **kw),
    "rayleigh": lambda key, x, **kw: random.rayleigh(key, x, (7, 10), **kw),
    "weibull_min": lambda key, x, **kw: random.weibull_min(key, x, x + 1, (7, 10), **kw),
    "triangular": lambda key, x, **kw: random.triangular(key, -x, x / 2, x, (7, 10), **kw),
    "truncated_normal": lambda key, x, **kw: random.truncated_normal(key, x - 2, x, (7, 10), **kw),
    "gamma": lambda key, x, **kw: random.gamma(key, x, (7, 10), **kw),
    "beta": lambda key, x, **kw: random.beta(key, x, 1 / x, (7, 10), **kw),
    "t": lambda key, x, **kw: random.t(key, x, (7, 10), **kw),
    "geometric": lambda key, x, **kw: random.geometric(key, x, (7, 10), **kw),
    "poisson": lambda key, x, **kw: random.poisson(key, x, (7, 10), **kw),
    "binomial": lambda key, x, **kw: random.binomial(key, 10 * x, 0.3, (7, 10), **kw),
    "binomial_p": lambda key, x, **kw: random.binomial(key, 200, x / 30, (7, 10), **kw),
}


@pytest.mark.parametrize("name", PARAMETRIC)
def test_tensors_as_parameters(name: str, impl: str, grids: Grids) -> None:
    key = key_of(impl)
    draw = PARAMETRIC[name]
    whole = RATES * torch.linspace(0.5, 1.5, 7)[:, None]
    for x in (RATES, whole, whole.t().contiguous().t(), whole[:, :1], RATES[2], RATES.repeat_interleave(2)[::2]):
        grids(lambda x=x: draw(key, x))
        grids(lambda x=x: draw(key.split(2), x, window=((1, 6), (2, 10))))


def test_rows(impl: str, grids: Grids) -> None:
    key = key_of(impl)
    weights = torch.tensor([[0.5, 2.0, 0.0, 3.0, 40.0], [0.1, 0.1, 0.1, 0.1, torch.nan]], dtype=torch.float64)
    grids(lambda: random.dirichlet(key, torch.tensor([0.2, 3.0, 1e-3, 50.0]), (9,)))
    grids(lambda: random.dirichlet(key, weights.nan_to_num(1) + 0.1, (4, 2), torch.float64))
    grids(lambda: random.ball(key, 3, 1.5, (13,)))
    grids(lambda: random.multinomial(key, torch.tensor([5.0, 1000.0]), weights, shape=(6, 2, 5)))
    grids(lambda: random.multinomial(key.split(3), 10, torch.ones(1), shape=(2, 1)))
    grids(lambda: random.categorical(key, weights.nan_to_num(1).log(), shape=(50, 2)))
    grids(lambda: random.choice(key, 20, (11,), replace=False))


def test_gamma_slopes(grids: Grids) -> None:
    concentration = torch.logspace(-8, 8, 200, dtype=torch.float64)
    log_draw = concentration.log() + torch.linspace(-3, 3, 200, dtype=torch.float64)
    for dtype in (torch.float32, torch.float64):
        grids(lambda dtype=dtype: _ops.loggamma_slope(concentration.to(dtype), log_draw.to(dtype)))


# ---- Keys, the cipher, permutations ----


def test_keys(impl: str, grids: Grids) -> None:
    key = key_of(impl)
    keys = key.split((2, 5))
    data = torch.tensor([0, 1, -1, 2**40, 77])
    grids(lambda: key.split(9).data)
    grids(lambda: keys[:, ::2].split((3, 2)).data)
    grids(lambda: key.fold_in(-3).data)
    grids(lambda: keys.fold_in(2**63).data)
    grids(lambda: keys.fold_in(data).data)
    grids(lambda: key.fold_in(data.reshape(5, 1).expand(5, 3)).data)


@pytest.mark.parametrize("dtype", [torch.uint32, torch.uint64])
@pytest.mark.parametrize("words", [2, 4])
@pytest.mark.parametrize("rounds", [1, 7, 20, 32])
def test_cipher(dtype: torch.dtype, words: int, rounds: int, grids: Grids) -> None:
    counter = random.bits(random.key(1), (100, words), dtype)
    key = random.bits(random.key(2), (100, words), dtype)
    grids(lambda: threefry(counter, key, rounds))


def tvm_states() -> Tensor:
    """Of any bits, with room in the counter, without, and with no place left in the path."""
    states = torch.randint(-(2**63), 2**63 - 1, (3, 2, 10), generator=torch.Generator().manual_seed(0))
    states[0, :, 7] = 7
    states[1:, :, 7] = -1
    states[2, :, 8:] = 0
    return states.view(torch.uint64)


@pytest.mark.parametrize("shape", [(), (3,), (64,), (5, 129), (0, 3)])
def test_tvm(shape: tuple[int, ...], grids: Grids) -> None:
    for states in (tvm_states(), tvm_states().transpose(0, 1), tvm_states()[0, 0]):
        for part in (0, 1):  # the states, the draw
            for rule in ("first", "release"):
                grids(lambda s=states, i=part, r=rule: tvm.generate(s, shape, r)[i])
                grids(lambda s=states, i=part, r=rule: tvm.uniform(s, shape, -1, 2, torch.float64, r)[i])
            grids(lambda s=states, i=part: tvm.uniform(s, shape, -1, 2)[i])
            grids(lambda s=states, i=part: tvm.split(s)[i])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1625, 1626, 2**15 - 1, 2**15, 2**15 + 1])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_permutations(n: int, dtype: torch.dtype, impl: str, grids: Grids) -> None:
    key = key_of(impl)
    grids(lambda: key.randperm(n, dtype=dtype))
    grids(lambda: key.split(3).randperm(n, dtype=dtype))
    grids(lambda: key.split((2, 4))[:, 1].randperm(min(n, 100), dtype=dtype))


def test_permutation_of_three_rounds(stand_in_library: Any) -> None:
    key = key_of("threefry2x32")
    with stand_in.cpu_kernels(stand_in_library):
        expected = key.randperm(2642246, dtype=torch.int32)
    assert torch.equal(key.randperm(2642246, dtype=torch.int32), expected)
