"""Draws in Inductor's arithmetic: torch.compile fuses them into the kernels around them, with the operators' bits.

A lowering is one expression an element, from its index to its value: the streams (csrc/streams.h), the cipher
(csrc/threefry.h) and the transforms (csrc/distributions) once more, over unsigned integers, which wrap around in every
backend, and with every fused multiply-add written out. What it cannot do exactly is NotLowered, and the operator is
called. (A decomposition into torch's operators would be two hundred of them, and these know no unsigned arithmetic.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import sympy  # type: ignore[import-untyped]
import torch
from torch._inductor.ir import Pointwise, TensorBox
from torch._inductor.lowering import expand, fallback_handler, register_lowering
from torch._inductor.virtualized import V, ops
from torch.utils._sympy.functions import FloorDiv

from . import _inductor, _ops

Value = Any  # part of an element's expression
Expr = Any  # an int, or sympy's expression of sizes and positions
Node = Any  # a tensor, or what Inductor has for it

UINT32, UINT64 = torch.uint32, torch.uint64


class NotLowered(Exception):
    """A draw that the operator is to make."""


# ---- Arithmetic ----


def _cast(x: Value, dtype: torch.dtype) -> Value:
    return ops.to_dtype(x, dtype)


def _number(n: Expr, dtype: torch.dtype) -> Value:
    """An unsigned number."""
    is_known = isinstance(n, int) or n.is_Integer
    return ops.constant(int(n), dtype) if is_known else _cast(ops.index_expr(n, torch.int32), dtype)


def _left(x: Value, bits: int, dtype: torch.dtype = UINT32) -> Value:
    return ops.bitwise_left_shift(x, _number(bits, dtype)) if bits else x


def _right(x: Value, bits: int, dtype: torch.dtype = UINT32) -> Value:
    return ops.bitwise_right_shift(x, _number(bits, dtype)) if bits else x


def _mask(condition: Value) -> Value:
    """All 32 bits set where a condition holds. (Inductor's C++ has no ``where`` of unsigned numbers.)"""
    return _number(0, UINT32) - _cast(condition, UINT32)


def _join(high: Value, low: Value) -> Value:
    """64 bits of two 32-bit words."""
    return _left(_cast(high, UINT64), 32, UINT64) | _cast(low, UINT64)


# ---- Streams ----

PARTITIONABLE, ORIGINAL = 0, 1

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


class Pair(NamedTuple):
    """Two 32-bit words: a key, or an encrypted block."""

    first: Value
    second: Value


def _encrypt(key: Pair, c0: Value, c1: Value) -> Pair:
    """Threefry-2x32-20."""
    schedule = (*key, key.first ^ key.second ^ _number(0x1BD11BDA, UINT32))
    a, b = c0 + key.first, c1 + key.second
    for i in range(20):
        a = a + b
        rotation = _ROTATIONS[i % 8]
        b = (_left(b, rotation) | _right(b, 32 - rotation)) ^ a
        if i % 4 == 3:
            injection = i // 4 + 1
            a = a + schedule[injection % 3]
            b = b + schedule[(injection + 1) % 3] + _number(injection, UINT32)
    return Pair(a, b)


def _word32(impl: int, key: Pair, index: Value, n: Expr) -> Value:
    """Word ``index`` of a stream of ``n`` 32-bit words."""
    zero = _number(0, UINT32)
    if impl == PARTITIONABLE:
        block = _encrypt(key, zero, index)
        return block.first ^ block.second
    half = _number(FloorDiv(n + 1, 2), UINT32)
    second = _mask(index >= half)
    c0 = index - (half & second)
    c1 = c0 + half
    block = _encrypt(key, c0, c1 & _mask(c1 < _number(n, UINT32)))
    return block.first ^ ((block.first ^ block.second) & second)


def _word64(impl: int, key: Pair, index: Value, n: Expr) -> Value:
    """Word ``index`` of a stream of ``n`` 64-bit words."""
    if impl == PARTITIONABLE:
        return _join(*_encrypt(key, _number(0, UINT32), index))
    return _join(*_encrypt(key, index, _number(n, UINT32) + index))


def _narrow_word(impl: int, key: Pair, index: Value, n: Expr, bits: int) -> Value:
    """Word ``index`` of a stream of ``n`` words of 8 or 16 bits."""
    mask = _number(2**bits - 1, UINT32)
    if impl == PARTITIONABLE:
        return _word32(impl, key, index, n) & mask
    parts = 32 // bits  # of a 32-bit word, low ones first
    whole = _word32(impl, key, _right(index, parts.bit_length() - 1), FloorDiv(n + parts - 1, parts))
    shift = (index & _number(parts - 1, UINT32)) * _number(bits, UINT32)
    return ops.bitwise_right_shift(whole, shift) & mask


def _child(impl: int, key: Pair, i: int) -> Pair:
    """Child i of a key's two children."""
    if impl == PARTITIONABLE:
        return _encrypt(key, _number(0, UINT32), _number(i, UINT32))
    # Words 2i and 2i + 1 of four: of the same half of the blocks (0, 2) and (1, 3).
    blocks = [_encrypt(key, _number(c, UINT32), _number(c + 2, UINT32)) for c in (0, 1)]
    return Pair(blocks[0][i], blocks[1][i])


# ---- Draws ----


def _holds(condition: sympy.Basic) -> bool:
    """Whether a condition on sizes holds. Code is made anew for sizes with which that changes; if it is made ahead of
    time, the condition must hold for all sizes."""
    sizes: Any = V.graph.sizevars
    return bool(sizes.statically_known_true(condition) if V.graph.aot_mode else sizes.guard_or_false(condition))


class Draw:
    """The elements of a draw and their words, of which they take one from each of some ``rows`` of the draw's size."""

    def __init__(
        self, key: Node, impl: int, size: Sequence[Expr], window: Sequence[Expr] | None, rows: int = 1
    ) -> None:
        *batch, key_words = key.get_size()
        if key.get_dtype() != UINT32 or not _holds(sympy.Eq(key_words, 2)) or impl not in (PARTITIONABLE, ORIGINAL):
            raise NotLowered
        if window is not None and len(window) != 2 * len(size):
            raise NotLowered
        self.impl = impl
        self.device = key.get_device()
        self.load_key = key.make_loader()
        self.axes = len(batch)  # of the batch of keys
        self.shape = [*batch, *_ops.extents(size, window)]
        self.starts = [0] * len(size) if window is None else window[::2]
        self.strides = [math.prod(size[axis + 1 :], start=sympy.Integer(1)) for axis in range(len(size))]
        self.count = math.prod(size, start=sympy.Integer(1))
        self.words = rows * self.count
        # Inductor's index arithmetic is in signed 32-bit numbers, and it may fold a sum of two indices into it.
        if not _holds(self.words < 2**30):
            raise NotLowered

    def elements(self, value: Callable[[Sequence[Expr]], Value], dtype: torch.dtype) -> Node:
        """The draw, of ``value`` at each position. It is long enough for Inductor to compute it once, whoever uses it,
        and in registers where they are in the same kernel."""
        return Pointwise.create(device=self.device, dtype=dtype, inner_fn=value, ranges=self.shape)

    def word(self, position: Sequence[Expr], bits: int, row: int = 0, child: int | None = None) -> Value:
        """The word of the element at a position, from a row of the key's own stream, or from a child's."""
        batch = position[: self.axes]
        key = Pair(self.load_key([*batch, 0]), self.load_key([*batch, 1]))
        if child is not None:
            key = _child(self.impl, key, child)
        places = zip(position[self.axes :], self.starts, self.strides)
        index = row * self.count + sum((p + start) * stride for p, start, stride in places)
        index = _number(index, UINT32)
        if bits == 64:
            return _word64(self.impl, key, index, self.words)
        if bits == 32:
            return _word32(self.impl, key, index, self.words)
        return _narrow_word(self.impl, key, index, self.words, bits)


def _bits(key: Node, impl: int, size: Sequence[Expr], window: Sequence[Expr] | None, dtype_code: int) -> Node:
    dtype = _ops.DTYPES[dtype_code]
    draw = Draw(key, impl, size, window)
    return draw.elements(lambda at: _cast(draw.word(at, 8 * dtype.itemsize), dtype), dtype)


# ---- Floats ----

# How many bits the words of a type's unit uniform have.
_WORD_BITS = {torch.float16: 16, torch.bfloat16: 8, torch.float32: 32, torch.float64: 64}


def _spacing(x: float, dtype: torch.dtype) -> float:
    """The last place of a finite number of the dtype, or that it would have."""
    info = torch.finfo(dtype)
    return max(math.ldexp(info.eps, math.frexp(x)[1] - 1), info.smallest_normal * info.eps)


def rounded(x: float, dtype: torch.dtype) -> float:
    """The number of the dtype that is nearest to x."""
    if not math.isfinite(x):
        return x
    step = _spacing(x, dtype)
    nearest = math.copysign(round(x / step) * step, x)
    return nearest if abs(nearest) <= torch.finfo(dtype).max else math.copysign(math.inf, x)


def _below(x: float, dtype: torch.dtype) -> float:
    """The largest number of the dtype below a finite number of it."""
    is_power_of_two = math.frexp(x)[0] == 0.5  # below which the numbers are denser
    smallest = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    return x - max(_spacing(x, dtype) / (2 if is_power_of_two else 1), smallest)


def _unit(word: Value, dtype: torch.dtype) -> Value:
    """[0, 1): the word's high bits under the exponent of 1, minus 1. Of half precision, in float32."""
    wide = dtype == torch.float64
    unsigned, floating = (UINT64, torch.float64) if wide else (UINT32, torch.float32)
    bits, mantissa = _WORD_BITS[dtype], _mantissa_bits(dtype)
    fraction = _left(_right(word, bits - mantissa, unsigned), _mantissa_bits(floating) - mantissa, unsigned)
    one = _number(0x3FF0000000000000 if wide else 0x3F800000, unsigned)
    return ops.to_dtype_bitcast(fraction | one, floating, unsigned) - ops.constant(1.0, floating)


def _mantissa_bits(dtype: torch.dtype) -> int:
    return round(-math.log2(torch.finfo(dtype).eps))


def _uniform(
    key: Node, impl: int, size: Sequence[Expr], window: Sequence[Expr] | None, low: float, high: float, dtype_code: int
) -> Node:
    dtype = _ops.DTYPES[dtype_code]
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise NotLowered
    draw = Draw(key, impl, size, window)
    low, high = rounded(low, dtype), rounded(high, dtype)
    span = rounded(high - low, dtype)
    computed_in = torch.float64 if dtype == torch.float64 else torch.float32
    if not math.isfinite(span):
        return draw.elements(lambda at: _cast(ops.constant(math.nan, computed_in), dtype), dtype)

    def half(x: Value) -> Value:
        return _cast(ops.to_dtype(x, dtype, use_compute_types=False), torch.float32)

    def value(at: Sequence[Expr]) -> Value:
        u = _unit(draw.word(at, _WORD_BITS[dtype]), dtype)
        a, b, d = (ops.constant(x, computed_in) for x in (low, high, span))
        x = ops.fma(u, d, a) if dtype == computed_in else half(half(u * d) + a)
        x = ops.where(a > x, a, x)
        if low < high:
            x = ops.where(x >= b, ops.constant(_below(high, dtype), computed_in), x)
        return _cast(x, dtype)

    return draw.elements(value, dtype)


# ---- Two values ----


def _bernoulli(
    key: Node, impl: int, size: Sequence[Expr], window: Sequence[Expr] | None, p: float | Node, high: bool
) -> Node:
    draw = Draw(key, impl, size, window, rows=2 if high else 1)
    dtype = p.get_dtype() if isinstance(p, TensorBox) else torch.float32
    if isinstance(p, TensorBox):
        # Not high: if p is a product, the kernel would make one operation of it and p - u, and p would not be rounded.
        if high or dtype not in (torch.float32, torch.float64):
            raise NotLowered
        probability = expand(p, draw.shape).make_loader()
    elif isinstance(p, (int, float)):
        number = rounded(p, dtype)
        probability = lambda at: ops.constant(number, dtype)
    else:
        raise NotLowered

    def value(at: Sequence[Expr]) -> Value:
        u = _unit(draw.word(at, _WORD_BITS[dtype]), dtype)
        if not high:
            return u < probability(at)
        step = ops.constant(torch.finfo(dtype).eps, dtype)
        return _unit(draw.word(at, _WORD_BITS[dtype], row=1), dtype) * step < probability(at) - u

    return draw.elements(value, torch.bool)


# ---- Integers ----


def _randint(
    key: Node, impl: int, size: Sequence[Expr], window: Sequence[Expr] | None, low: int, span: int, dtype_code: int
) -> Node:
    dtype = _ops.DTYPES[dtype_code]
    if not isinstance(low, int) or not isinstance(span, int):
        raise NotLowered
    bits, unsigned = (64, UINT64) if dtype.itemsize == 8 else (32, UINT32)
    span %= 2**64
    is_power_of_two = span & (span - 1) == 0  # or 0, which stands for all 2^bits numbers
    if bits == 64 and span > 2**32 and not is_power_of_two:
        raise NotLowered
    draw = Draw(key, impl, size, window)

    def value(at: Sequence[Expr]) -> Value:
        # low + (h * 2^bits + l) mod span
        l = draw.word(at, bits, child=1)
        if is_power_of_two:
            r = l & _number((span - 1) % 2**bits, unsigned)
        else:
            h, divisor = draw.word(at, bits, child=0), _number(span, UINT64)
            if bits == 32:
                r = ops.mod(_join(h, l), divisor)
            else:
                # By halves of l: a remainder is below 2^32, and so is each of them.
                r = ops.mod(h, divisor)
                r = ops.mod(_left(r, 32, UINT64) | _right(l, 32, UINT64), divisor)
                r = ops.mod(_left(r, 32, UINT64) | (l & _number(2**32 - 1, UINT64)), divisor)
            r = _cast(r, unsigned)
        return _cast(r + _number(low % 2**bits, unsigned), dtype)

    return draw.elements(value, dtype)


# ---- Registration ----


def _or_call(op: Any, lower: Callable[..., Node]) -> Callable[..., Node]:
    """The lowering, or the operator's call where that does not do."""
    call = fallback_handler(op, add_to_fallback_set=False)  # type: ignore[no-untyped-call]

    def lowering(key: Node, *arguments: Any) -> Node:
        if key.get_device().type in _inductor.FUSED_ON:
            try:
                return lower(key, *arguments)
            except NotLowered:
                pass
        return call(key, *arguments)

    return lowering


def register() -> None:
    """Put the lowerings into Inductor's table."""
    for op, lower in (
        (_ops.bits, _bits),
        (_ops.uniform, _uniform),
        (_ops.bernoulli, _bernoulli),
        (_ops.bernoulli_tensor, _bernoulli),
        (_ops.randint, _randint),
    ):
        register_lowering(op, type_promotion_kind=None)(_or_call(op, lower))
