"""Keys from seeds, and from other keys."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import _check
from ..key import DEFAULT_IMPL, IMPLS, Key, as_int64_tensor, check_impl, data_of_words, unsigned, wrap
from ._draw import checked_key


def key(seed: int | Tensor, *, impl: str | None = None, device: torch.device | str | None = None) -> Key:
    """Make a key from a seed.

    Args:
        seed: an int; or an integer tensor, which makes a batch of keys of its shape, each number taken as 64 bits (of
            threefry4x64 without a sign: -1 there is 2^64-1).
        impl: ``"threefry2x32"`` (the default: JAX's partitionable streams), ``"threefry2x32_original"`` (JAX's
            before 0.5) or ``"threefry4x64"`` (keys of 256 bits that are split along paths).
        device: where the key and its draws lie; the CPU (or the seed tensor's device) by default.

    Returns:
        A key. Over Threefry-2x32, -2^63 <= seed < 2^64, its words are the high and low 32 bits of the seed in two's
        complement. threefry4x64, 0 <= seed < 2^256, has ``[seed, least significant word first (4) | 0 0 | 0 0 |
        1 << 63, 0]``: the cipher's key, the path from it, the counter of the first block and the next bit of the path.

    Raises:
        TypeError: the seed is not an integer. OverflowError: it is out of range.
    """
    impl = DEFAULT_IMPL if impl is None else impl
    check_impl(impl)
    if isinstance(seed, Tensor):
        if seed.dtype not in _check.INTEGERS:
            raise TypeError(f"seed must be an int or an integer tensor, got {_check.describe(seed)}")
        numbers = as_int64_tensor(seed.to(device) if device is not None else seed)
        return wrap(unsigned(_words_of_tensor(numbers, impl), IMPLS[impl].dtype), impl)
    words = _words(_check.integer("seed", seed), impl)
    return wrap(data_of_words(words, (), impl, "cpu" if device is None else device), impl)


def _words(seed: int, impl: str) -> list[int]:
    """The words of a seed's key."""
    if impl == "threefry4x64":
        if not 0 <= seed < 2**256:
            raise OverflowError(f"seed must fit into 256 bits for threefry4x64, 0 <= seed < 2^256, got {seed}")
        return [seed >> shift & (2**64 - 1) for shift in (0, 64, 128, 192)] + [0, 0, 0, 0, 1 << 63, 0]
    if not -(2**63) <= seed < 2**64:
        raise OverflowError(f"seed must fit into 64 bits, -2^63 <= seed < 2^64, got {seed}")
    return [seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF]


def _words_of_tensor(seeds: Tensor, impl: str) -> Tensor:
    """The same of 64-bit seeds, as int64."""
    if impl == "threefry4x64":
        zeros = torch.zeros_like(seeds)
        return torch.stack([seeds, *(zeros,) * 7, torch.full_like(seeds, -(2**63)), zeros], -1)
    return torch.stack([seeds >> 32 & 0xFFFFFFFF, seeds & 0xFFFFFFFF], -1)


def PRNGKey(seed: int | Tensor, *, impl: str | None = None) -> Key:
    """The same as :func:`key`, under JAX's older name."""
    return key(seed, impl=impl)


def split(key: Key, num: int | Sequence[int] = 2) -> Key:
    """Derive ``num`` new keys.

    Args:
        key: a key, or a batch of them of shape ``B``.
        num: how many, or the shape of the batch to make.

    Returns:
        A batch of keys of shape ``B + (num,)``. It unpacks: ``k1, k2 = split(key)``. With ``threefry2x32`` child
        *i* does not depend on ``num``. With ``threefry4x64`` it has the bits of *i* appended to its path, most
        significant first, ``max(1, ceil(log2(num)))`` of them: 0 goes left and 1 right, and ``split(key, 4)`` are both
        children's children. The key's counter is left behind; a path that is full, after 126 bits, is hashed into a new
        key first.
    """
    return checked_key(key).split(num)


def fold_in(key: Key, data: int | Tensor) -> Key:
    """Derive a new key for a number, such as a step, a rank or a layer's index.

    Args:
        key: a key or a batch of keys.
        data: an int, -2^63 <= data < 2^64, or an integer tensor, which broadcasts against the batch. It is taken
            as 64 bits in two's complement (JAX takes 32: equal for 0 <= data < 2^32).

    Returns:
        Over Threefry-2x32, the block of the cipher at ``data``, which with ``threefry2x32`` is that of child ``data``
        too. With ``threefry4x64`` a new cipher key, hashed from the path and ``data`` with a mark by which no such
        block is one of a draw's, and an empty path: no split leads there.
    """
    return checked_key(key).fold_in(data)


def clone(key: Key) -> Key:
    """A copy of the key."""
    return checked_key(key).clone()


def key_data(key: Key) -> Tensor:
    """The words of a key: a uint32 tensor ``(*batch, 2)``, or of threefry4x64 a uint64 tensor ``(*batch, 10)``."""
    return checked_key(key).data


def wrap_key_data(data: Tensor, *, impl: str | None = None) -> Key:
    """The key with these words: the inverse of :func:`key_data`.

    Raises:
        TypeError: data is no tensor of the impl's dtype. ValueError: its last dimension is not the impl's number of
            words, impl is unknown, or data is no state of threefry4x64. (That is not looked into on another device than
            the CPU, in compiled code, under vmap or a dispatch mode.)
    """
    return Key(data, DEFAULT_IMPL if impl is None else impl)


def key_impl(key: Key) -> str:
    """The name of a key's implementation."""
    return checked_key(key).impl
