"""Draws on a device: where they lie, and that they neither wait for it nor copy anything between it and the host.

No device is needed. The draws run on meta tensors and on fake CUDA tensors, which have shapes, types and devices but no
numbers, and every operation that torch dispatches is looked at. (What torch does inside of one operation takes a GPU to
see; those that are known to wait are in ``WAITING``.)
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from samplers import ALL, COUNTS, PARAMETRIC, Draw
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from torch_threefry import Key, _ops, random, threefry, threefry_2x32, tvm
from torch_threefry.key import IMPLS

INT64 = torch.int64
FLOAT32 = _ops.DTYPE_CODES[torch.float32]

# ---- Devices that are not there ----

CXX = shlex.split(os.environ.get("CXX", "g++"))


@pytest.fixture(scope="session")
def cuda_guard(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What torch asks which device is the current one, which its builds without CUDA lack: one that does nothing."""
    if torch.backends.cuda.is_built():
        return
    if shutil.which(CXX[0]) is None:
        pytest.skip("needs a C++ compiler, or a PyTorch with CUDA")
    source = tmp_path_factory.mktemp("guard") / "guard.cpp"
    source.write_text(
        "#include <c10/core/impl/DeviceGuardImplInterface.h>\n"
        "C10_REGISTER_GUARD_IMPL(CUDA, c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA>)\n"
    )
    torch_folder = Path(torch.__file__).parent
    flags = ["-std=c++20", "-shared", "-fPIC", f"-I{torch_folder}/include", f"-L{torch_folder}/lib", "-lc10"]
    subprocess.run([*CXX, str(source), "-o", str(source.with_suffix(".so")), *flags], check=True)
    ctypes.CDLL(str(source.with_suffix(".so")))


@pytest.fixture(params=["meta", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a device that is not there; tensors may be made on it, with nothing in them."""
    if request.param == "cuda":
        request.getfixturevalue("cuda_guard")
    with FakeTensorMode() if request.param == "cuda" else contextlib.nullcontext():
        yield request.param


@pytest.fixture(params=["threefry2x32", "threefry4x64"])
def impl(request: pytest.FixtureRequest) -> str:
    """The name of an implementation for each form of keys."""
    name: str = request.param
    return name


def make_key(device: str, impl: str = "threefry2x32", batch: tuple[int, ...] = ()) -> Key:
    _, dtype, _, words = IMPLS[impl]
    return Key(torch.empty((*batch, words), dtype=dtype, device=device), impl)


# ---- The watch ----

# Operations that read a tensor's numbers for the host, or do so inside.
WAITING = {
    "aten._local_scalar_dense",  # item, tolist, int, float, bool
    "aten.is_nonzero",
    "aten.equal",
    "aten.nonzero",  # an index that is a mask
    "aten.masked_select",
    "aten.repeat_interleave",
    "aten.bincount",
    "aten._unique2",
    "aten.unique_dim",
    "aten._linalg_check_errors",
    "aten._linalg_eigh",
    "aten._linalg_svd",
}


class Watch(TorchDispatchMode):
    """Collects what waits for a device, or brings tensors of several devices together."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(op.overloadpacket)
        taken = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        on_device = [x for x in taken if x.device.type != "cpu"]
        if on_device and (name in WAITING or (name == "aten.index" and any(_is_mask(x) for x in taken[1:]))):
            self.found.add(name)
        if on_device and name == "aten.lift_fresh":  # torch.tensor has copied its numbers there
            self.found.add("aten._to_copy")
        result = op(*args, **(kwargs or {}))
        tensors = [*taken, *(x for x in tree_leaves(result) if isinstance(x, Tensor))]
        if name.startswith("torch_threefry."):  # numbers are read when the operator is called
            tensors = [x for x in tensors if x.device.type != "cpu" or x.numel() != 1]
        # (Forward mode asks meta tensors for the shape of a product with zeros, by aten.to. Copies are _to_copy.)
        if name != "aten.to" and len({x.device for x in tensors}) > 1:
            self.found.add(name)
        return result


def _is_mask(x: Tensor) -> bool:
    return x.dtype in (torch.bool, torch.uint8)


@pytest.mark.parametrize(
    ("f", "found"),
    [
        (lambda x: torch.tensor(2.5, device=x.device), "aten._to_copy"),
        (lambda x: torch.ones(()).to(x.device), "aten._to_copy"),
        (lambda x: torch.ones(3).to(x.device, non_blocking=True), "aten._to_copy"),
        (lambda x: x.cpu(), "aten._to_copy"),
        (lambda x: torch.ones(3).copy_(x), "aten.copy_"),
        (lambda x: x + torch.ones(()), "aten.add"),
        (lambda x: torch.where(x > 0, x, torch.ones(())), "aten.where"),
        (lambda x: x.sum().item(), "aten._local_scalar_dense"),
        (lambda x: x if (x > 0).all() else -x, "aten._local_scalar_dense"),
        (lambda x: x[x > 0], "aten.index"),
        (lambda x: torch.linalg.eigh(x.expand(3, 3)), "aten._linalg_eigh"),
    ],
    ids=["tensor", "to", "asynchronous", "cpu", "copy", "add", "where", "item", "if", "mask", "eigh"],
)
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_the_watch_sees(f: Callable[[Tensor], Any], found: str, device: str) -> None:
    x = torch.empty((3,), device=device)
    # Fake tensors have no numbers to read.
    with Watch() as watch, contextlib.suppress(RuntimeError):
        f(x)
    assert found in watch.found


def test_the_watch_lets_pass(device: str) -> None:
    x = torch.empty((3,), device=device)
    with Watch() as watch:
        y = torch.where(x > 0, x, 0.0).clamp(min=1) * 2 + torch.full((), 2.5, device=device)
        y.double().sort(stable=True).indices.view(-1, 1).expand(3, 4).contiguous()
        torch.tensor(2.5) * torch.ones(3)  # both on the CPU
    assert not watch.found


# ---- The samplers ----


KEYS = None  # in a dtype's place: the result is keys of the same implementation


@dataclass(frozen=True)
class Case:
    """A draw: called with a key and empty tensors of the given shapes on the key's device."""

    draw: Callable[..., Any]
    shape: tuple[int, ...]
    dtype: torch.dtype | None = torch.float32
    tensors: tuple[tuple[int, ...], ...] = ()
    tensors_dtype: torch.dtype = torch.float32
    differentiable: bool = False
    expected: frozenset[str] = frozenset()  # what the watch may and must find, as the docstrings say
    reads_host: bool = False  # looks into a tensor of the host, which a fake one does not allow


def with_parameters(name: str, numbers: tuple[float, ...], dtype: torch.dtype) -> list[Case]:
    """All parameters as numbers, as tensors, and each as a tensor or a CPU tensor without dimensions beside numbers."""
    differentiable = name in PARAMETRIC

    def draw(key: Key, *parameters: Any) -> Tensor:
        shape = (4, 5)
        if name == "double_sided_maxwell":  # whose shape goes before that of the parameters
            shape = shape[: 2 - max(x.dim() if isinstance(x, Tensor) else 0 for x in parameters)]
        return getattr(random, name)(key, *parameters, shape=shape)

    def with_one(i: int, key: Key, x: Tensor) -> Tensor:
        return draw(key, *numbers[:i], x, *numbers[i + 1 :])

    shapes = ((5,), (4, 1), ())[: len(numbers)]
    cases = [
        Case(lambda key: draw(key, *numbers), (4, 5), dtype),
        Case(draw, (4, 5), dtype, shapes, differentiable=differentiable),
    ]
    for i, number in enumerate(numbers):
        one = partial(with_one, i)
        cases += [
            Case(one, (4, 5), dtype, ((5,),), differentiable=differentiable),
            Case(lambda key, one=one, x=number: one(key, torch.tensor(x)), (4, 5), dtype),
        ]
    return cases


def key_of_words(key: Key) -> Key:
    return random.wrap_key_data(random.key_data(key), impl=random.key_impl(key))


def tvm_states(key: Key) -> Tensor:
    return torch.empty((*key.shape, 10), dtype=torch.uint64, device=key.device)


COPY = frozenset({"aten._to_copy"})

CASES: dict[str, list[Case]] = {
    **{
        name: [Case(lambda key, name=name: getattr(random, name)(key, (4, 5)), (4, 5))]
        for name in ("normal", "exponential", "laplace", "logistic", "cauchy", "maxwell")
    },
    "gumbel": [
        Case(lambda key: random.gumbel(key, (4, 5)), (4, 5)),
        Case(lambda key: random.gumbel(key, (4, 5), torch.float64, "high"), (4, 5), torch.float64),
    ],
    **{name: with_parameters(name, numbers, torch.float32) for name, numbers in PARAMETRIC.items()},
    **{
        name: with_parameters(name, numbers, torch.float32 if name == "binomial" else torch.int32)
        for name, numbers in COUNTS.items()
    },
    "bits": [
        Case(lambda key: random.bits(key, (4, 5)), (4, 5), torch.uint32),
        Case(lambda key: random.bits(key, (4, 5), torch.uint64), (4, 5), torch.uint64),
    ],
    "uniform": [
        Case(lambda key: random.uniform(key, (4, 5), minval=-1.0, maxval=3.0), (4, 5)),
        Case(
            lambda key, a, b: random.uniform(key, (4, 5), None, a, b), (4, 5), tensors=((5,), ()), differentiable=True
        ),
        Case(
            lambda key, b: random.uniform(key, (4, 5), torch.bfloat16, -1, b),
            (4, 5),
            torch.bfloat16,
            ((5,),),
            differentiable=True,
        ),
        Case(lambda key: random.uniform(key, (4, 5), maxval=torch.tensor(3.0)), (4, 5)),
    ],
    "randint": [
        Case(lambda key: random.randint(key, (4, 5), 0, 10), (4, 5), torch.int32),
        Case(lambda key, a, b: random.randint(key, (4, 5), a, b), (4, 5), torch.int32, ((5,), ()), INT64),
        Case(
            lambda key, b: random.randint(key, (4, 5), 3, b, torch.uint64), (4, 5), torch.uint64, ((5,),), torch.uint64
        ),
        Case(
            lambda key, a: random.randint(key, (4, 5), a, 100, torch.uint8), (4, 5), torch.uint8, ((5,),), torch.uint16
        ),
        Case(lambda key: random.randint(key, (4, 5), 0, torch.tensor(9)), (4, 5), torch.int32, expected=COPY),
    ],
    "bernoulli": [
        Case(lambda key: random.bernoulli(key, 0.3, (4, 5)), (4, 5), torch.bool),
        Case(lambda key, p: random.bernoulli(key, p), (5,), torch.bool, ((5,),)),
        Case(lambda key, p: random.bernoulli(key, p, (4, 5), "high"), (4, 5), torch.bool, ((5,),), torch.float64),
        Case(lambda key: random.bernoulli(key, torch.tensor(0.3), (4, 5)), (4, 5), torch.bool),
    ],
    "rademacher": [Case(lambda key: random.rademacher(key, (4, 5)), (4, 5), torch.int32)],
    "multinomial": [
        Case(lambda key, p: random.multinomial(key, 30, p), (3,), tensors=((3,),)),
        Case(lambda key, n, p: random.multinomial(key, n, p, dtype=torch.int32), (4, 3), torch.int32, ((4,), (3,))),
        Case(lambda key, p: random.multinomial(key, torch.tensor(30), p, shape=(4, 3)), (4, 3), tensors=((3,),)),
    ],
    "dirichlet": [
        Case(lambda key, a: random.dirichlet(key, a, (4,)), (4, 3), tensors=((3,),), differentiable=True),
        Case(
            lambda key, a: random.dirichlet(key, a, (4,), torch.float16, window=((1, 3),)),
            (2, 3),
            torch.float16,
            ((4, 3),),
            differentiable=True,
        ),
    ],
    "ball": [
        Case(lambda key: random.ball(key, 3, 2.5, (4,)), (4, 3)),
        Case(lambda key, p: random.ball(key, 3, p, (4,)), (4, 3), tensors=((4,),), differentiable=True),
        Case(lambda key: random.ball(key, 3, torch.tensor(2.5), (4,)), (4, 3), expected=COPY),
    ],
    "multivariate_normal": [
        Case(
            lambda key, mean, cov, method=method: random.multivariate_normal(key, mean, cov, (4,), method=method),
            (4, 3),
            tensors=((3,), (3, 3)),
            differentiable=True,
            expected=frozenset(inside),
        )
        for method, inside in (("cholesky", ()), ("svd", ("aten._linalg_svd",)), ("eigh", ("aten._linalg_eigh",)))
    ],
    "orthogonal": [Case(lambda key: random.orthogonal(key, 3, (2,), m=4), (2, 3, 4))],
    "permutation": [
        Case(lambda key: random.permutation(key, 10), (10,), torch.int32),
        Case(lambda key, x: random.permutation(key, x, 1), (4, 5), tensors=((4, 5),)),
        Case(lambda key, x: random.permutation(key, x), (5,), torch.uint16, ((5,),), torch.uint16),
        Case(lambda key, x: random.permutation(key, x, independent=True), (4, 5), INT64, ((4, 5),), INT64),
    ],
    "shuffle": [
        Case(lambda key, x: random.shuffle(key, x, 1), (4, 500), tensors=((4, 500),)),
        Case(lambda key, x: random.shuffle(key, x), (5,), torch.uint32, ((5,),), torch.uint32),
    ],
    "choice": [
        Case(lambda key: random.choice(key, 10, (4, 5)), (4, 5), torch.int32),
        Case(lambda key: random.choice(key, 10, (4,), replace=False, index_dtype=INT64), (4,), INT64),
        Case(lambda key, a: random.choice(key, a, (4,)), (4, 3), tensors=((7, 3),)),
        Case(lambda key, a: random.choice(key, a, (4,), axis=1), (3, 4), torch.uint64, ((3, 7),), torch.uint64),
        Case(lambda key, p: random.choice(key, 7, (4,), p=p), (4,), torch.int32, ((7,),), reads_host=True),
        Case(
            lambda key, p: random.choice(key, 7, (4,), False, p),
            (4,),
            torch.int32,
            ((7,),),
            torch.float16,
            reads_host=True,
        ),
        Case(
            lambda key: random.choice(key, 2, (4,), p=[0.25, 0.75]), (4,), torch.int32, expected=COPY, reads_host=True
        ),
    ],
    "categorical": [
        Case(lambda key, x: random.categorical(key, x, shape=(3, 4)), (3, 4), torch.int32, ((4, 7),)),
        Case(lambda key, x: random.categorical(key, x, 0), (7,), torch.int32, ((4, 7),), torch.bfloat16),
        Case(
            lambda key, x: random.categorical(key, x, shape=(3, 4), replace=False, index_dtype=INT64),
            (3, 4),
            INT64,
            ((4, 7),),
            torch.float64,
        ),
    ],
    "split": [Case(lambda key: random.split(key, (2, 3)), (2, 3), KEYS)],
    "fold_in": [
        Case(lambda key: random.fold_in(key, 7), (), KEYS),
        Case(lambda key, i: random.fold_in(key, i), (), KEYS, ((),), INT64),
        Case(lambda key, i: random.fold_in(key, i), (), KEYS, ((),), torch.uint64),
        Case(lambda key: random.fold_in(key, torch.tensor(7)), (), KEYS, expected=COPY),
    ],
    "clone": [Case(random.clone, (), KEYS)],
    "key_data": [Case(lambda key: Key(random.key_data(key), key.impl), (), KEYS)],
    "wrap_key_data": [Case(key_of_words, (), KEYS)],
    # Not in random.
    "tvm.generate": [Case(lambda key: tvm.generate(tvm_states(key), (4, 5))[1], (4, 5), torch.uint64)],
    "tvm.split": [Case(lambda key: tvm.split(tvm_states(key))[1], (10,), torch.uint64)],
    "tvm.uniform": [
        Case(lambda key: tvm.uniform(tvm_states(key), (4, 5), -1, 2)[1], (4, 5)),
        Case(lambda key: tvm.uniform(tvm_states(key), (4, 5), rule="first")[0], (10,), torch.uint64),
    ],
    # The key's own.
    "Key.rand": [Case(lambda key: key.rand(4, 5), (4, 5))],
    "Key.randn": [Case(lambda key: key.randn(4, 5, dtype=torch.float64), (4, 5), torch.float64)],
    "Key.randint": [Case(lambda key: key.randint(10, (4, 5)), (4, 5), INT64)],
    "Key.randperm": [
        Case(lambda key: key.randperm(10), (10,), INT64),
        Case(lambda key: key.randperm(10, dtype=torch.uint8), (10,), torch.uint8),
    ],
    "Key.split": [Case(lambda key: key.split(3)[..., 1], (), KEYS)],
    "Key.__getitem__": [
        Case(lambda key: key[..., None].reshape(*key.shape), (), KEYS),
        Case(lambda key, i: key.split(7)[..., i], (3,), KEYS, ((3,),), INT64),
    ],
    "Key.__eq__": [Case(lambda key: key.split(3) == key.split(3), (3,), torch.bool)],
}

# What is in random and is no draw from a key.
OTHERS = {
    "key": "brings a seed from the host to the device",
    "PRNGKey": "the same as key",
    "key_impl": "returns a string",
}

ALL_CASES = [pytest.param(case, id=f"{name}-{i}") for name, cases in CASES.items() for i, case in enumerate(cases)]


def test_every_function_is_watched() -> None:
    others = {f"tvm.{name}" for name in tvm.__all__} - {"tvm.key"}  # which brings a seed to the device
    assert others <= set(CASES)
    assert {name for name in CASES if not name.startswith("Key.")} - others | set(OTHERS) == set(random.__all__)
    assert not set(CASES) & set(OTHERS)


def test_every_operator_with_a_key_is_watched() -> None:
    called: set[str] = set()

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.add(str(op))
            return op(*args, **(kwargs or {}))

    for case in [case for cases in CASES.values() for case in cases]:
        with Names():
            case.draw(make_key("meta"), *tensors_of(case, "meta"))
    operators = {str(op) for op in vars(_ops).values() if isinstance(op, torch._ops.OpOverload)}
    assert operators - called == {"torch_threefry.threefry.default", "torch_threefry.loggamma_slope.default"}


def tensors_of(case: Case, device: str, requires_grad: bool = False) -> list[Tensor]:
    return [
        torch.empty(shape, dtype=case.tensors_dtype, device=device, requires_grad=requires_grad)
        for shape in case.tensors
    ]


def check_result(result: Any, key: Key, case: Case) -> None:
    assert result.device == key.device
    assert tuple(result.shape) == (*key.shape, *case.shape)
    if case.dtype is KEYS:
        assert isinstance(result, Key) and result.impl == key.impl and result.data.dtype == key.data.dtype
        assert result.data.shape[-1] == key.data.shape[-1]
    else:
        assert result.dtype == case.dtype


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("case", ALL_CASES)
def test_draws_stay_on_the_device(case: Case, batch: tuple[int, ...], device: str, impl: str) -> None:
    if case.reads_host and not case.tensors and device == "cuda":
        pytest.skip("fake tensors of the host have no numbers")
    key, tensors = make_key(device, impl, batch), tensors_of(case, device)
    with Watch() as watch:
        result = case.draw(key, *tensors)
    check_result(result, key, case)
    assert watch.found == case.expected


@pytest.mark.parametrize("draw", ALL)
def test_windows_stay_on_the_device(draw: Draw, device: str, impl: str) -> None:
    key = make_key(device, impl)
    with Watch() as watch:
        result = draw(key, (4, 5), window=((1, 3), (0, 5)))
    assert result.device == key.device and result.shape == (2, 5)
    assert not watch.found


@pytest.mark.parametrize("case", [p for p in ALL_CASES if p.values[0].differentiable])
def test_derivatives_stay_on_the_device(case: Case, device: str, impl: str) -> None:
    key = make_key(device, impl)
    with Watch() as watch:
        tensors = tensors_of(case, device)
        result, tangent = torch.func.jvp(lambda *p: case.draw(key, *p), (*tensors,), (*tensors,))
        check_result(result, key, case)
        assert tangent.device == key.device and tangent.shape == result.shape
        # torch runs no backward() on a fake device: that is for the meta device.
        if device == "meta":
            tensors = tensors_of(case, device, requires_grad=True)
            case.draw(key, *tensors).sum().backward()
            assert [x.grad.shape for x in tensors] == [*case.tensors]
            assert all(x.grad.device == key.device for x in tensors)
            gradients = torch.func.grad(lambda p: case.draw(key, *p).sum())(tensors_of(case, device))
            assert all(g.device == key.device for g in gradients)
    assert watch.found == case.expected


@pytest.mark.parametrize("name", [*PARAMETRIC, "uniform"])
def test_derivatives_in_a_number_of_the_host(name: str, device: str) -> None:
    key = make_key(device)

    def draw(a: Tensor) -> Tensor:
        if name == "uniform":
            return random.uniform(key, (4,), maxval=a)
        return getattr(random, name)(key, a, *PARAMETRIC[name][1:], shape=(4,))

    with Watch() as watch:
        x, tangent = torch.func.jvp(draw, (torch.ones(()),), (torch.ones(()),))
    assert x.device == tangent.device == key.device
    assert watch.found == COPY  # the number, and its tangent


def test_numbers_of_the_host_under_vmap(device: str) -> None:
    key = make_key(device)
    for f in (random.poisson, random.gamma, random.bernoulli):
        x = torch.vmap(lambda a, f=f: f(key, a, shape=(3,)))(torch.empty(5))
        assert x.device == key.device and x.shape == (5, 3)
    assert torch.vmap(key.fold_in)(torch.empty(5, dtype=INT64)).device == key.device


# ---- Wrong devices ----


@pytest.mark.parametrize("case", [p for p in ALL_CASES if p.values[0].tensors and "__getitem__" not in p.id])
def test_tensors_on_another_device(case: Case, device: str) -> None:
    if case.reads_host and device == "cuda":
        pytest.skip("fake tensors of the host have no numbers")
    key = make_key(device)
    for i, shape in enumerate(case.tensors):
        tensors = tensors_of(case, device)
        tensors[i] = torch.ones(shape).to(case.tensors_dtype)
        with contextlib.ExitStack() as stack:
            if shape != () and not case.reads_host:  # those are brought to the device
                stack.enter_context(pytest.raises(ValueError, match=rf"must lie on .* {key.device}, got cpu"))
            assert case.draw(key, *tensors).device == key.device


def test_operators_name_the_devices(device: str) -> None:
    key = make_key(device).data
    call = (key, 0, (4, 5), None)
    on_device, number, row = torch.empty((5,), device=device), torch.empty((1,)), torch.empty((5,))
    for parameters in ((number, number), (number, on_device), (on_device, number)):
        assert _ops.beta(*call, *parameters, FLOAT32).device == key.device
    assert _ops.multinomial(*call, number, on_device, FLOAT32).device == key.device
    words = torch.empty((5, 2), dtype=torch.uint32)
    for wrong in (
        lambda: _ops.beta(*call, on_device, row, FLOAT32),
        lambda: _ops.multinomial(*call, number, row, FLOAT32),
        lambda: _ops.multinomial(*call, number, number, FLOAT32),
        lambda: _ops.fold_in(key, 0, torch.empty((1,), dtype=INT64)),
        lambda: _ops.loggamma_slope(on_device, row),
        lambda: _ops.threefry(words, words.to(device), 20),
    ):
        with pytest.raises(ValueError, match=rf"device.*(cpu.*{key.device}|{key.device}.*cpu)"):
            wrong()
    on_cpu = random.key(0).data
    with pytest.raises(ValueError, match=f"device.*{key.device}"):
        _ops.gamma(on_cpu, 0, (5,), None, torch.empty((), device=device), FLOAT32)


def test_other_functions_name_the_devices(device: str) -> None:
    key, elsewhere = make_key(device), random.key(0)
    words = torch.empty((2,), dtype=torch.uint32)
    for wrong in (lambda: key == elsewhere, lambda: key.equal(elsewhere), lambda: threefry(words, key.data)):
        with pytest.raises(ValueError, match=rf"device.*({key.device}.*cpu|cpu.*{key.device})"):
            wrong()
    with Watch() as watch:
        count = torch.empty((5,), dtype=torch.uint32, device=device)
        assert threefry_2x32(key.data, count).device == key.device
    assert not watch.found


# ---- Compiled code ----


@pytest.mark.parametrize("name", [*PARAMETRIC, *COUNTS])
def test_compiled_draws_hold_no_tensor_of_the_host(name: str) -> None:
    numbers = {**PARAMETRIC, **COUNTS}[name]
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def draw(key: Key, a: Any) -> Tensor:
        return getattr(random, name)(key, a, *numbers[1:], shape=(4,))

    def f(key: Key, a: Tensor) -> tuple[Tensor, ...]:
        draws = draw(key, numbers[0]), draw(key, a), draw(key, torch.ones(()))
        if name in COUNTS:
            return draws
        return *draws, torch.func.grad(lambda b: draw(key, b).sum())(a.detach())

    torch._dynamo.reset()
    run = torch.compile(f, fullgraph=True, backend=aot_autograd(fw_compiler=keep))
    a = torch.empty((), device="meta", requires_grad=name in PARAMETRIC)
    results = run(make_key("meta"), a)
    assert {x.device.type for x in results} == {"meta"}
    if name in PARAMETRIC:
        results[1].sum().backward()
        assert a.grad is not None and a.grad.device.type == "meta"
    assert len(graphs) == (2 if name in PARAMETRIC else 1)
    nodes = [node for graph in graphs for node in graph.graph.nodes if isinstance(node.meta.get("val"), Tensor)]
    # One tensor is made on the host, by f, and copied to the device.
    users = [user for node in nodes if node.meta["val"].device.type == "cpu" for user in node.users]
    assert all(user.target is torch.ops.aten._to_copy.default for user in users)
    assert sum(user.meta["val"].device.type == "meta" for user in users) == 1
