"""TVM's Threefry generator, bit for bit, for those who have its numbers or its states.

Do not start anything new on it: use :mod:`torch_threefry.random`. Its block function is no Threefry (two inputs can
have the same output), a left child draws the same words as its parent does from the same counter on, and each draw
changes the state, so that a draw depends on all before it.

A state is a uint64 tensor ``(*batch, 10)`` of ``key 4 | path 2 | counter 2 | position of the path's next bit 2``, of
the last three the high word first. The functions take a state and return new ones beside what they draw; none changes
its argument. A batch of states draws ``(*batch, *shape)``, each row as its state alone does.

``rule`` says whose numbers are meant. ``"first"`` is the version of TVM that had the generator first, ``"release"``
its releases 0.8 to 0.19:

================== ==================================== ====================================================
\\                 ``"first"``                          ``"release"``
================== ==================================== ====================================================
last block, where  the block that would come next,      a block of its own: the draw's first one from the
it is not whole    cut off                              state ``4 * (n // 4)`` words further on
room for n words   as for n rounded up to whole blocks  as for n
uniform numbers    float64 of the words' low 52 bits    float32 of their low 32 bits, float64 of all
================== ==================================== ====================================================

Sources: apache/tvm, ``topi/random``; Claessen & Palka, "Splittable pseudorandom number generators using cryptographic
hashing" (Haskell Symposium 2013).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import _check, _ops
from ._check import Shape
from .key import signed_word
from .random._draw import real

__all__ = ["generate", "key", "split", "uniform"]

_WORDS = 10
_SEED_BITS = 256
_FIRST_POSITION = -(2**63)  # the 64 bits of 2^63

# The dtypes of uniform numbers, the default one first.
_UNIFORM_DTYPES = {"first": (torch.float64,), "release": (torch.float32, torch.float64)}


def key(seed: int, *, device: torch.device | str | None = None) -> Tensor:
    """A state from a seed (TVM's ``threefry_key``).

    Args:
        seed: an int, 0 <= seed < 2^256.
        device: where the state and what is drawn from it lie; the CPU by default.

    Returns:
        uint64 tensor ``(10,)``: four words of the seed, the least significant first, an empty path, the counter 0.

    Raises:
        TypeError: the seed is not an int. OverflowError: it does not lie in this range.

    >>> key(5).tolist()
    [5, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 0]
    """
    seed = _check.integer("seed", seed)
    if not 0 <= seed < 2**_SEED_BITS:
        raise OverflowError(f"seed must have {_SEED_BITS} bits, 0 <= seed < 2^{_SEED_BITS}, got {seed}")
    limbs = [signed_word(seed >> shift & 2**64 - 1) for shift in range(0, _SEED_BITS, 64)]
    words = [*limbs, 0, 0, 0, 0, _FIRST_POSITION, 0]
    return torch.tensor(words, dtype=torch.int64, device="cpu" if device is None else device).view(torch.uint64)


def generate(gen: Tensor, shape: Shape, rule: str = "first") -> tuple[Tensor, Tensor]:
    """Draw words (TVM's ``threefry_generate``).

    Where the counter has no room for the draw, the draw takes the path's next bit, set to 1, and starts from the counter
    0. Where all 128 bits of the path are used as well, path and counter are hashed into the key and start anew; TVM's own
    result is undefined there.

    Args:
        gen: uint64 tensor ``(*batch, 10)`` of states.
        shape: the shape of one state's draw.
        rule: ``"first"`` or ``"release"``; of these words it changes the last ``n % 4`` of n alone, and where the counter
            is within three words of its end, whether there is room.

    Returns:
        The states after the draw, of ``gen``'s shape, and a uint64 tensor ``(*batch, *shape)`` of words, each of 0 to
        2^64-1. The counter has moved on by n, rounded up to a multiple of 4.

    Raises:
        TypeError: ``gen`` is no uint64 tensor, or the shape no tuple of ints. ValueError: its last dimension is not 10,
            a size is negative, an unknown rule.

    >>> [hex(word) for word in generate(key(0), (2,))[1].tolist()]
    ['0x962b06cc22e7230e', '0xc1f1c81efbcd382b']
    """
    _check_states(gen)
    size = _check.sizes("shape", shape)
    _check.one_of("rule", rule, _UNIFORM_DTYPES)
    return _ops.tvm_generate(gen, size, rule == "release")


def split(gen: Tensor) -> tuple[Tensor, Tensor]:
    """Two new states (TVM's ``threefry_split``): the left one appends a 0 to the path, the right one a 1.

    Where 64 bits of the path are used, path and counter are hashed into the key before and start anew. Otherwise both
    children keep the counter, and the left one's words are those that ``gen`` itself would have drawn: use a state once,
    to draw from or to split.

    Args:
        gen: uint64 tensor ``(*batch, 10)`` of states.

    Returns:
        The left and the right states, of ``gen``'s shape.

    Raises:
        TypeError: ``gen`` is no uint64 tensor. ValueError: its last dimension is not 10.
    """
    _check_states(gen)
    return _ops.tvm_split(gen)


def uniform(
    gen: Tensor,
    shape: Shape,
    low: float = 0.0,
    high: float = 1.0,
    dtype: torch.dtype | None = None,
    rule: str = "release",
) -> tuple[Tensor, Tensor]:
    """Draw uniform numbers (TVM's ``uniform``), from the words of :func:`generate` with the same rule.

    ``"release"``: ``u * (high - low) + low`` in the dtype, of u = k / 2^23 (float32, k the highest 23 of the word's low 32
    bits) or k / 2^52 (float64, k the word's highest 52 bits). ``"first"``: ``x * (high - low) + (low - (high - low))`` in
    float64, x = 1 + k / 2^52 with the word's low 52 bits. Each operation is rounded on its own; where a compiler of TVM
    has fused the last two, its numbers can differ in the last bits.

    Args:
        gen: uint64 tensor ``(*batch, 10)`` of states.
        shape: the shape of one state's draw.
        low, high: finite numbers, at most the dtype's largest one in size and apart; with ``"first"`` a fourth of that.
            TVM has the numbers of (high, low] where high < low.
        dtype: float32 (the default) or float64; with ``"first"`` float64.
        rule: ``"release"`` or ``"first"``; see this module.

    Returns:
        The states after the draw, of ``gen``'s shape, and a tensor ``(*batch, *shape)`` of numbers from low on and below
        high. Roundings can give high itself, and with ``"first"`` also leave the interval by a last bit or two.

    Raises:
        TypeError: ``gen`` is no uint64 tensor, a bound no number, another dtype. ValueError: ``gen``'s last dimension is not
            10, a bound is out of range, an unknown rule.

    >>> [round(x, 6) for x in uniform(key(5), (2,))[1].tolist()]
    [0.043976, 0.96656]
    """
    _check_states(gen)
    size = _check.sizes("shape", shape)
    _check.one_of("rule", rule, _UNIFORM_DTYPES)
    accepted = _UNIFORM_DTYPES[rule]
    if isinstance(dtype, torch.dtype) and dtype not in accepted and dtype in _UNIFORM_DTYPES["release"]:
        raise TypeError(f"dtype must be {accepted[0]} with rule={rule!r}, got {dtype}")
    dtype = _check.dtype(dtype, accepted[0], accepted)
    low, high = _number("low", low), _number("high", high)
    _check_range(low, high, dtype, rule)
    return _ops.tvm_uniform(gen, size, low, high, rule == "release", _ops.DTYPE_CODES[dtype])


def _check_states(gen: Any) -> None:
    if not isinstance(gen, Tensor) or gen.dtype != torch.uint64:
        raise TypeError(f"gen must be a uint64 tensor of states, such as tvm.key(0), got {_check.describe(gen)}")
    if gen.dim() == 0 or gen.shape[-1] != _WORDS:
        raise ValueError(f"gen must have a last dimension of {_WORDS} words, got shape {tuple(gen.shape)}")


def _number(name: str, value: Any) -> float:
    if isinstance(value, Tensor):
        raise TypeError(f"{name} must be a number, got {_check.describe(value)}")
    return real(name, value)


def _check_range(low: float, high: float, dtype: torch.dtype, rule: str) -> None:
    """Bounds with which nothing on the way to a number overflows."""
    info = torch.finfo(dtype)
    # Rounding the bounds to the dtype may take them further apart; the first version goes to twice the span.
    largest = info.max * (1 - 2 * info.eps) / (1 if rule == "release" else 4)
    for name, value in (("low", low), ("high", high), ("high - low", high - low)):
        if not abs(value) <= largest:
            raise ValueError(f"{name} must be finite and at most {largest} in size for {dtype}, got {value!r}")
