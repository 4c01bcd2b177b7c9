"""Keys from seeds, and from other keys."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import _check
from ..key import DEFAULT_IMPL, Key, as_int64_tensor, check_impl
from ._draw import checked_key


def key(seed: int | Tensor, *, impl: str | None = None, device: torch.device | str | None = None) -> Key:
    """Make a key from a seed.

    Args:
        seed: an int, -2^63 <= seed < 2^64, taken as 64 bits in two's complement; or an integer tensor, which
            makes a batch of keys of its shape.
        impl: ``"threefry2x32"`` (the default: JAX's partitionable streams) or ``"threefry2x32_original"`` (JAX's
            before 0.5).
        device: where the key and its draws lie; the CPU (or the seed tensor's device) by default.

    Returns:
        A key whose words are the seed's high and low 32 bits.

    Raises:
        TypeError: the seed is not an integer. OverflowError: it does not fit into 64 bits.
    """
    impl = DEFAULT_IMPL if impl is None else impl
    check_impl(impl)
    if isinstance(seed, Tensor):
        if seed.dtype not in _check.INTEGERS:
            raise TypeError(f"seed must be an int or an integer tensor, got {_check.describe(seed)}")
        halves = as_int64_tensor(seed.to(device) if device is not None else seed)
        words = torch.stack([halves >> 32 & 0xFFFFFFFF, halves & 0xFFFFFFFF], -1)
    else:
        value = _check.integer("seed", seed)
        if not -(2**63) <= value < 2**64:
            raise OverflowError(f"seed must fit into 64 bits, -2^63 <= seed < 2^64, got {seed}")
        words = torch.tensor(
            [value >> 32 & 0xFFFFFFFF, value & 0xFFFFFFFF],
            dtype=torch.int64,
            device="cpu" if device is None else device,
        )
    return Key(words.to(torch.uint32), impl)


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
        *i* does not depend on ``num``.
    """
    return checked_key(key).split(num)


def fold_in(key: Key, data: int | Tensor) -> Key:
    """Derive a new key for a number, such as a step, a rank or a layer's index.

    Args:
        key: a key or a batch of keys.
        data: an int, -2^63 <= data < 2^64, or an integer tensor, which broadcasts against the batch. It is taken
            as 64 bits in two's complement (JAX takes 32: equal for 0 <= data < 2^32).
    """
    return checked_key(key).fold_in(data)


def clone(key: Key) -> Key:
    """A copy of the key."""
    return checked_key(key).clone()


def key_data(key: Key) -> Tensor:
    """The words of a key: a uint32 tensor ``(*batch, 2)``."""
    return checked_key(key).data


def wrap_key_data(data: Tensor, *, impl: str | None = None) -> Key:
    """The key with these words: the inverse of :func:`key_data`.

    Raises:
        TypeError: data is no uint32 tensor. ValueError: its last dimension is not 2, or impl is unknown.
    """
    return Key(data, DEFAULT_IMPL if impl is None else impl)


def key_impl(key: Key) -> str:
    """The name of a key's implementation."""
    return checked_key(key).impl
