"""The operators of the extension: handles, fake kernels, vmap rules.

Every draw has the form ``op(key, impl, size, window, ..., dtype)``: ``key`` is a uint32 tensor ``(*batch, 2)``, or
uint64 ``(*batch, 10)`` of threefry4x64, ``impl`` its number, ``size`` the logical shape of one key's draw, ``window`` a
flat list of a start and a stop for each dimension of it (or None for all of it), ``dtype`` a number of ``DTYPE_CODES``.
The result has shape ``(*batch, *window extents)`` and lies on the key's device; tensor parameters broadcast over it. They
lie there too, but for those of one element, which may lie on the CPU: they are read when the operator is called, and
nothing is copied.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import _C

cpu_instruction_set: Callable[[], str] = _C.cpu_instruction_set


def _load_cuda_kernels() -> None:
    """The CUDA kernels, where torch has CUDA and they were built; without them a draw on CUDA says how to build."""
    if torch.version.cuda is None:
        return
    try:
        library = importlib.import_module("torch_threefry._C_cuda")
    except ModuleNotFoundError:
        return
    _C.use_cuda_kernels(library.kernels)


_load_cuda_kernels()

# libtorch's numbers for its dtypes, which are part of its ABI. torch parses an int argument several
# microseconds faster than a dtype.
DTYPE_CODES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bfloat16: 15,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}
DTYPES = {code: dtype for dtype, code in DTYPE_CODES.items()}

Operator = Callable[..., Tensor]
PairOperator = Callable[..., tuple[Tensor, Tensor]]

_namespace = torch.ops.torch_threefry

threefry: Operator = _namespace.threefry.default
split: Operator = _namespace.split.default
fold_in: Operator = _namespace.fold_in.default
fold_in_int: Operator = _namespace.fold_in.int
bits: Operator = _namespace.bits.default
uniform: Operator = _namespace.uniform.default
uniform_tensor: Operator = _namespace.uniform.tensor
randint: Operator = _namespace.randint.default
randint_tensor: Operator = _namespace.randint.tensor
normal: Operator = _namespace.normal.default
exponential: Operator = _namespace.exponential.default
gumbel: Operator = _namespace.gumbel.default
laplace: Operator = _namespace.laplace.default
logistic: Operator = _namespace.logistic.default
bernoulli: Operator = _namespace.bernoulli.default
bernoulli_tensor: Operator = _namespace.bernoulli.tensor
rademacher: Operator = _namespace.rademacher.default
permutation: Operator = _namespace.permutation.default
cauchy: Operator = _namespace.cauchy.default
maxwell: Operator = _namespace.maxwell.default

# With tensors as parameters.
double_sided_maxwell: Operator = _namespace.double_sided_maxwell.default
pareto: Operator = _namespace.pareto.default
rayleigh: Operator = _namespace.rayleigh.default
weibull_min: Operator = _namespace.weibull_min.default
lognormal: Operator = _namespace.lognormal.default
triangular: Operator = _namespace.triangular.default
wald: Operator = _namespace.wald.default
truncated_normal: Operator = _namespace.truncated_normal.default
gamma: Operator = _namespace.gamma.default
loggamma: Operator = _namespace.loggamma.default
chisquare: Operator = _namespace.chisquare.default
beta: Operator = _namespace.beta.default
f: Operator = _namespace.f.default
t: Operator = _namespace.t.default
generalized_normal: Operator = _namespace.generalized_normal.default
geometric: Operator = _namespace.geometric.default
poisson: Operator = _namespace.poisson.default
binomial: Operator = _namespace.binomial.default
multinomial: Operator = _namespace.multinomial.default

# Of rows and elements, without a key; float32 or float64, contiguous.
softmax: Operator = _namespace.softmax.default
shares: Operator = _namespace.shares.default
ball: Operator = _namespace.ball.default
loggamma_slope: Operator = _namespace.loggamma_slope.default

# TVM's generator: a uint64 tensor (*batch, 10) of states, and new states of that shape.
tvm_generate: PairOperator = _namespace.tvm_generate.default
tvm_split: PairOperator = _namespace.tvm_split.default
tvm_uniform: PairOperator = _namespace.tvm_uniform.default

_KEY_ONLY_DRAWS = (
    bits,
    uniform,
    randint,
    normal,
    exponential,
    gumbel,
    laplace,
    logistic,
    rademacher,
    cauchy,
    maxwell,
)
_PARAMETRIC_DRAWS = (
    uniform_tensor,
    randint_tensor,
    double_sided_maxwell,
    pareto,
    rayleigh,
    weibull_min,
    lognormal,
    triangular,
    wald,
    truncated_normal,
    gamma,
    loggamma,
    chisquare,
    beta,
    f,
    t,
    generalized_normal,
    geometric,
    poisson,
    binomial,
)


# ---- Fake kernels: shapes and dtypes without the numbers ----


Window = Sequence[int] | None

# What every elementwise draw's operator begins with: key data, impl, size, window.
Arguments = tuple[Tensor, int, Sequence[int], Window]


def extents(size: Sequence[int], window: Window) -> Sequence[int]:
    """The shape of what is drawn of ``size``: the window's, or all of it."""
    return size if window is None else [stop - start for start, stop in zip(window[::2], window[1::2])]


def _fake(key: Tensor, size: Sequence[int], window: Window, parameters: Sequence[Any], dtype: torch.dtype) -> Tensor:
    _same_device(key, *(p for p in parameters if not _is_number_beside(key, p)))
    return key.new_empty((*key.shape[:-1], *extents(size, window)), dtype=dtype)


def _is_number_beside(key: Tensor, parameter: Any) -> bool:
    """Whether a draw's parameter is one element on the CPU, which the operator reads when it is called."""
    if not isinstance(parameter, Tensor) or parameter.device == key.device:
        return False
    return parameter.device.type == "cpu" and parameter.numel() == 1


def _same_device(*tensors: Any) -> None:
    devices = {t.device for t in tensors if isinstance(t, Tensor)}
    if len(devices) > 1:
        raise ValueError(f"all tensors must lie on the key's device, got {', '.join(map(str, devices))}")


def _fake_draw(key: Tensor, impl: int, size: Sequence[int], window: Window, *parameters: Any) -> Tensor:
    return _fake(key, size, window, parameters, DTYPES[parameters[-1]])


def _fake_boolean_draw(key: Tensor, impl: int, size: Sequence[int], window: Window, *parameters: Any) -> Tensor:
    return _fake(key, size, window, parameters, torch.bool)


def _fake_multinomial(
    key: Tensor, impl: int, size: Sequence[int], window: Window, n: Tensor, shares: Tensor, dtype: int
) -> Tensor:
    _same_device(key, shares)
    rows = _fake(key, size, window, (n,), DTYPES[dtype])
    return rows.new_empty((*rows.shape, shares.shape[-1]))


def _fake_rows(first: Tensor, *others: Tensor) -> Tensor:
    _same_device(first, *others)
    return first.new_empty(first.shape)


def _fake_threefry(counter: Tensor, key: Tensor, rounds: int) -> Tensor:
    _same_device(counter, key)
    return counter.new_empty(counter.shape)


def _fake_split(key: Tensor, impl: int, shape: Sequence[int]) -> Tensor:
    return key.new_empty((*key.shape[:-1], *shape, key.shape[-1]))


def _fake_fold_in(key: Tensor, impl: int, data: Tensor) -> Tensor:
    _same_device(key, data)
    batch: Sequence[int] = torch.broadcast_shapes(key.shape[:-1], data.shape)  # type: ignore[no-untyped-call]
    return key.new_empty((*batch, key.shape[-1]))


def _fake_fold_in_int(key: Tensor, impl: int, data: int) -> Tensor:
    return key.new_empty(key.shape)


def _fake_permutation(key: Tensor, impl: int, n: int, dtype: int) -> Tensor:
    return key.new_empty((*key.shape[:-1], n), dtype=DTYPES[dtype])


def _fake_tvm_generate(gen: Tensor, size: Sequence[int], release: bool) -> tuple[Tensor, Tensor]:
    return gen.new_empty(gen.shape), gen.new_empty((*gen.shape[:-1], *size))


def _fake_tvm_split(gen: Tensor) -> tuple[Tensor, Tensor]:
    return gen.new_empty(gen.shape), gen.new_empty(gen.shape)


def _fake_tvm_uniform(
    gen: Tensor, size: Sequence[int], low: float, high: float, release: bool, dtype: int
) -> tuple[Tensor, Tensor]:
    return gen.new_empty(gen.shape), gen.new_empty((*gen.shape[:-1], *size), dtype=DTYPES[dtype])


# ---- vmap rules: a mapped dimension of a key is one more dimension of its batch ----


def _to_front(x: Tensor, dim: int | None, rank: int) -> Tensor:
    """Move the mapped dimension to the front of ``rank`` others, which the rest aligns with from the right."""
    if dim is None:
        return x
    x = x.movedim(dim, 0)
    return x.reshape(x.shape[0], *(1,) * (rank - x.dim() + 1), *x.shape[1:])


def _batched(x: Tensor, dim: int | None, batch_size: int) -> Tensor:
    """The mapped dimension at the front, whether there was one or not."""
    return x.expand(batch_size, *x.shape) if dim is None else x.movedim(dim, 0)


def _vmap_draw(op: Operator) -> Callable[..., tuple[Tensor, int]]:
    def rule(
        info: Any, in_dims: Any, key: Tensor, impl: int, size: Any, window: Any, *parameters: Any
    ) -> tuple[Tensor, int]:
        key = _batched(key, in_dims[0], info.batch_size)
        rank = key.dim() - 2 + len(size)
        moved = [_to_front(p, dim, rank) if isinstance(p, Tensor) else p for p, dim in zip(parameters, in_dims[4:])]
        return op(key, impl, size, window, *moved), 0

    return rule


def _vmap_multinomial(
    info: Any, in_dims: Any, key: Tensor, impl: int, size: Any, window: Any, n: Tensor, shares: Tensor, dtype: int
) -> tuple[Tensor, int]:
    key = _batched(key, in_dims[0], info.batch_size)
    rank = key.dim() - 2 + len(size)
    n, shares = _to_front(n, in_dims[4], rank), _to_front(shares, in_dims[5], rank + 1)
    return multinomial(key, impl, size, window, n, shares, dtype), 0


def _vmap_rows(op: Operator) -> Callable[..., tuple[Tensor, int]]:
    def rule(info: Any, in_dims: Any, *tensors: Tensor) -> tuple[Tensor, int]:
        return op(*(_batched(x, dim, info.batch_size).contiguous() for x, dim in zip(tensors, in_dims))), 0

    return rule


def _vmap_key_only(op: Operator) -> Callable[..., tuple[Tensor, int]]:
    def rule(info: Any, in_dims: Any, key: Tensor, *rest: Any) -> tuple[Tensor, int]:
        return op(_batched(key, in_dims[0], info.batch_size), *rest), 0

    return rule


def _vmap_fold_in(info: Any, in_dims: Any, key: Tensor, impl: int, data: Tensor) -> tuple[Tensor, int]:
    key_dim, _, data_dim = in_dims
    key_rank = key.dim() - (key_dim is not None)
    data_rank = data.dim() - (data_dim is not None)
    rank = max(key_rank - 1, data_rank)
    return fold_in(_to_front(key, key_dim, rank + 1), impl, _to_front(data, data_dim, rank)), 0


def _vmap_threefry(info: Any, in_dims: Any, counter: Tensor, key: Tensor, rounds: int) -> tuple[Tensor, int]:
    counter = _batched(counter, in_dims[0], info.batch_size)
    key = _batched(key, in_dims[1], info.batch_size)
    return threefry(counter.contiguous(), key.contiguous(), rounds), 0


def _vmap_tvm(op: PairOperator) -> Callable[..., tuple[tuple[Tensor, Tensor], tuple[int, int]]]:
    def rule(info: Any, in_dims: Any, gen: Tensor, *rest: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        return op(_batched(gen, in_dims[0], info.batch_size), *rest), (0, 0)

    return rule


def _register() -> None:
    rules: list[tuple[Any, Callable[..., Any], Callable[..., tuple[Any, Any]]]] = [
        (split, _fake_split, _vmap_key_only(split)),
        (fold_in_int, _fake_fold_in_int, _vmap_key_only(fold_in_int)),
        (permutation, _fake_permutation, _vmap_key_only(permutation)),
        (fold_in, _fake_fold_in, _vmap_fold_in),
        (threefry, _fake_threefry, _vmap_threefry),
        (multinomial, _fake_multinomial, _vmap_multinomial),
        (tvm_generate, _fake_tvm_generate, _vmap_tvm(tvm_generate)),
        (tvm_split, _fake_tvm_split, _vmap_tvm(tvm_split)),
        (tvm_uniform, _fake_tvm_uniform, _vmap_tvm(tvm_uniform)),
    ]
    rules += [(op, _fake_draw, _vmap_draw(op)) for op in (*_KEY_ONLY_DRAWS, *_PARAMETRIC_DRAWS)]
    rules += [(op, _fake_boolean_draw, _vmap_draw(op)) for op in (bernoulli, bernoulli_tensor)]
    rules += [(op, _fake_rows, _vmap_rows(op)) for op in (softmax, shares, ball, loggamma_slope)]
    for op, fake, vmap in rules:
        torch.library.register_fake(op.name(), fake)
        torch.library.register_vmap(op.name(), vmap)


_register()

# Draws that take no tensor but the key have nothing to differentiate: skipping autograd's fallback saves a short
# draw a good part of a microsecond.
_library = torch.library.Library("torch_threefry", "IMPL")  # type: ignore[no-untyped-call]
for _op in (
    *_KEY_ONLY_DRAWS,
    *(bernoulli, split, fold_in, fold_in_int, permutation),
    *(tvm_generate, tvm_split, tvm_uniform),
):
    _library.impl(_op, torch.library.fallthrough_kernel, "Autograd")  # type: ignore[no-untyped-call]
