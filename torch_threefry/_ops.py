"""The operators of the extension: handles, fake kernels, vmap rules, autograd functions.

Every draw has the form ``op(key, impl, size, window, ..., dtype)``: ``key`` is a uint32 tensor
``(*batch, 2)``, ``size`` the logical shape of one key's draw, ``window`` a flat list of a start and a stop
for each dimension of it (or None for all of it), ``dtype`` a number of ``DTYPE_CODES``. The result has shape
``(*batch, *window extents)``; tensor parameters broadcast over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _C

cpu_instruction_set: Callable[[], str] = _C.cpu_instruction_set

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
_DTYPES = {code: dtype for dtype, code in DTYPE_CODES.items()}

Operator = Callable[..., Tensor]

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

_DRAWS = (
    bits,
    uniform,
    uniform_tensor,
    randint,
    randint_tensor,
    normal,
    exponential,
    gumbel,
    laplace,
    logistic,
    rademacher,
)
_BOOLEAN_DRAWS = (bernoulli, bernoulli_tensor)


# ---- Fake kernels: shapes and dtypes without the numbers ----


Window = Sequence[int] | None


def _fake(key: Tensor, size: Sequence[int], window: Window, parameters: Sequence[Any], dtype: torch.dtype) -> Tensor:
    _same_device(key, *parameters)
    extents = size if window is None else [stop - start for start, stop in zip(window[::2], window[1::2])]
    return key.new_empty((*key.shape[:-1], *extents), dtype=dtype)


def _same_device(*tensors: Any) -> None:
    devices = {t.device for t in tensors if isinstance(t, Tensor)}
    if len(devices) > 1:
        raise ValueError(f"all tensors must lie on the key's device, got {', '.join(map(str, devices))}")


def _fake_draw(key: Tensor, impl: int, size: Sequence[int], window: Window, *parameters: Any) -> Tensor:
    return _fake(key, size, window, parameters, _DTYPES[parameters[-1]])


def _fake_boolean_draw(key: Tensor, impl: int, size: Sequence[int], window: Window, *parameters: Any) -> Tensor:
    return _fake(key, size, window, parameters, torch.bool)


def _fake_threefry(counter: Tensor, key: Tensor, rounds: int) -> Tensor:
    _same_device(counter, key)
    return counter.new_empty(counter.shape)


def _fake_split(key: Tensor, impl: int, shape: Sequence[int]) -> Tensor:
    return key.new_empty((*key.shape[:-1], *shape, 2))


def _fake_fold_in(key: Tensor, impl: int, data: Tensor) -> Tensor:
    _same_device(key, data)
    batch: Sequence[int] = torch.broadcast_shapes(key.shape[:-1], data.shape)  # type: ignore[no-untyped-call]
    return key.new_empty((*batch, 2))


def _fake_fold_in_int(key: Tensor, impl: int, data: int) -> Tensor:
    return key.new_empty(key.shape)


def _fake_permutation(key: Tensor, impl: int, n: int, dtype: int) -> Tensor:
    return key.new_empty((*key.shape[:-1], n), dtype=_DTYPES[dtype])


# ---- vmap rules: a mapped dimension of a key is one more dimension of its batch ----


def _to_front(x: Tensor, dim: int | None, rank: int) -> Tensor:
    """Move the mapped dimension to the front of ``rank`` others, which the rest aligns with from the right."""
    if dim is None:
        return x
    x = x.movedim(dim, 0)
    return x.reshape(x.shape[0], *(1,) * (rank - x.dim() + 1), *x.shape[1:])


def _batched_key(key: Tensor, dim: int | None, batch_size: int) -> Tensor:
    return key.expand(batch_size, *key.shape) if dim is None else key.movedim(dim, 0)


def _vmap_draw(op: Operator) -> Callable[..., tuple[Tensor, int]]:
    def rule(
        info: Any, in_dims: Any, key: Tensor, impl: int, size: Any, window: Any, *parameters: Any
    ) -> tuple[Tensor, int]:
        key = _batched_key(key, in_dims[0], info.batch_size)
        rank = key.dim() - 2 + len(size)
        moved = [_to_front(p, dim, rank) if isinstance(p, Tensor) else p for p, dim in zip(parameters, in_dims[4:])]
        return op(key, impl, size, window, *moved), 0

    return rule


def _vmap_key_only(op: Operator) -> Callable[..., tuple[Tensor, int]]:
    def rule(info: Any, in_dims: Any, key: Tensor, *rest: Any) -> tuple[Tensor, int]:
        return op(_batched_key(key, in_dims[0], info.batch_size), *rest), 0

    return rule


def _vmap_fold_in(info: Any, in_dims: Any, key: Tensor, impl: int, data: Tensor) -> tuple[Tensor, int]:
    key_dim, _, data_dim = in_dims
    key_rank = key.dim() - (key_dim is not None)
    data_rank = data.dim() - (data_dim is not None)
    rank = max(key_rank - 1, data_rank)
    return fold_in(_to_front(key, key_dim, rank + 1), impl, _to_front(data, data_dim, rank)), 0


def _vmap_threefry(info: Any, in_dims: Any, counter: Tensor, key: Tensor, rounds: int) -> tuple[Tensor, int]:
    counter = _batched_key(counter, in_dims[0], info.batch_size)
    key = _batched_key(key, in_dims[1], info.batch_size)
    return threefry(counter.contiguous(), key.contiguous(), rounds), 0


def _register() -> None:
    rules: list[tuple[Any, Callable[..., Tensor], Callable[..., tuple[Tensor, int]]]] = [
        (split, _fake_split, _vmap_key_only(split)),
        (fold_in_int, _fake_fold_in_int, _vmap_key_only(fold_in_int)),
        (permutation, _fake_permutation, _vmap_key_only(permutation)),
        (fold_in, _fake_fold_in, _vmap_fold_in),
        (threefry, _fake_threefry, _vmap_threefry),
    ]
    rules += [(op, _fake_draw, _vmap_draw(op)) for op in _DRAWS]
    rules += [(op, _fake_boolean_draw, _vmap_draw(op)) for op in _BOOLEAN_DRAWS]
    for op, fake, vmap in rules:
        torch.library.register_fake(op.name(), fake)
        torch.library.register_vmap(op.name(), vmap)


_register()

# Draws that take no tensor but the key have nothing to differentiate: skipping autograd's fallback saves a short
# draw a good part of a microsecond.
_library = torch.library.Library("torch_threefry", "IMPL")  # type: ignore[no-untyped-call]
for _op in (*_DRAWS, *_BOOLEAN_DRAWS, split, fold_in, fold_in_int, permutation):
    if _op not in (uniform_tensor, randint_tensor, bernoulli_tensor):
        _library.impl(_op, torch.library.fallthrough_kernel, "Autograd")  # type: ignore[no-untyped-call]


# ---- Autograd: the key is saved, not the draw, and backward draws again ----


class _Uniform(torch.autograd.Function):
    """low + u (high - low), differentiable in both bounds; an empty range is low."""

    generate_vmap_rule = True

    @staticmethod
    def forward(key: Tensor, impl: int, size: Any, window: Any, low: Tensor, high: Tensor, dtype: int) -> Tensor:
        return uniform_tensor(key, impl, size, window, low, high, dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        key, ctx.impl, ctx.size, ctx.window, low, high, ctx.dtype = inputs
        ctx.save_for_backward(key, low, high)
        ctx.save_for_forward(key, low, high)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        key, low, high = ctx.saved_tensors
        in_low, in_high = _slopes(key, ctx.impl, ctx.size, ctx.window, low, high, ctx.dtype)
        grad = grad.to(low.dtype)
        grads = (grad * in_low).sum_to_size(low.shape), (grad * in_high).sum_to_size(high.shape)
        return None, None, None, None, *grads, None


class _UniformForwardMode(_Uniform):
    """The same with forward-mode derivatives. Compiled code needs the class without: torch.compile cannot
    trace the backward of a function that has a jvp."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        key, low, high = ctx.saved_tensors
        slopes = _slopes(key, ctx.impl, ctx.size, ctx.window, low, high, ctx.dtype)
        terms: list[Tensor] = [t * slope for t, slope in zip(tangents[4:6], slopes) if t is not None]
        return (terms[0] if len(terms) == 1 else terms[0] + terms[1]).to(_DTYPES[ctx.dtype])


def _slopes(
    key: Tensor, impl: int, size: Sequence[int], window: Window, low: Tensor, high: Tensor, dtype: int
) -> tuple[Tensor, Tensor]:
    """The derivatives of a uniform draw in low and in high."""
    u = uniform(key, impl, size, window, 0.0, 1.0, dtype).to(low.dtype)
    in_high = torch.where(low < high, u, 0.0)
    return 1 - in_high, in_high


def uniform_between(
    key: Tensor, impl: int, size: Sequence[int], window: Window, low: Tensor, high: Tensor, dtype: int
) -> Tensor:
    """Uniform draws with tensor bounds, differentiable in them."""
    if torch.compiler.is_compiling() and forward_ad._current_level >= 0:
        # Forward mode in compiled code ignores autograd functions: a sum of ordinary operations, which adds
        # zero to the draw and the slopes to its derivatives.
        draw = uniform_tensor(key, impl, size, window, low.detach(), high.detach(), dtype)
        in_low, in_high = _slopes(key, impl, size, window, low.detach(), high.detach(), dtype)
        moved = low * in_low + high * in_high
        return draw + (moved - moved.detach()).to(draw.dtype)
    function = _Uniform if torch.compiler.is_compiling() else _UniformForwardMode
    result: Tensor = function.apply(key, impl, size, window, low, high, dtype)  # type: ignore[no-untyped-call]
    return result
