"""The bare Threefry block cipher, equal to Random123's."""

from __future__ import annotations

import torch
from torch import Tensor

from . import _check, _ops

_MAX_ROUNDS = {2: 32, 4: 72}


def threefry(counter: Tensor, key: Tensor, rounds: int = 20) -> Tensor:
    """Encrypt counter blocks with Threefry.

    Args:
        counter: uint32 or uint64 tensor ``(..., 2)`` or ``(..., 4)``: its dtype and last dimension choose
            Threefry-2x32, -4x32, -2x64 or -4x64.
        key: tensor of the same dtype and last dimension; the other dimensions broadcast.
        rounds: 1 to 32 for blocks of two words, 1 to 72 for four.

    Returns:
        The encrypted blocks, of the broadcast shape and the counter's dtype.

    Raises:
        TypeError: a dtype other than these two, or not the same one twice.
        ValueError: a last dimension other than 2 or 4, shapes that do not broadcast, rounds out of range.

    Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).

    >>> zero = torch.zeros(2, dtype=torch.uint32)
    >>> [hex(word) for word in threefry(zero, zero).tolist()]
    ['0x6b200159', '0x99ba4efe']
    """
    for name, value in (("counter", counter), ("key", key)):
        if not isinstance(value, Tensor) or value.dtype not in (torch.uint32, torch.uint64):
            raise TypeError(f"{name} must be a uint32 or uint64 tensor, got {_check.describe(value)}")
        if value.dim() == 0 or value.shape[-1] not in _MAX_ROUNDS:
            raise ValueError(f"{name} must have a last dimension of 2 or 4 words, got shape {tuple(value.shape)}")
    if key.dtype != counter.dtype:
        raise TypeError(f"key must have counter's dtype {counter.dtype}, got {key.dtype}")
    if key.shape[-1] != counter.shape[-1]:
        raise ValueError(f"key must have as many words as counter, {counter.shape[-1]}, got shape {tuple(key.shape)}")
    if key.device != counter.device:
        raise ValueError(f"key must lie on counter's device {counter.device}, got {key.device}")
    rounds = _check.integer("rounds", rounds)
    if not 1 <= rounds <= _MAX_ROUNDS[counter.shape[-1]]:
        raise ValueError(
            f"rounds must lie in 1..{_MAX_ROUNDS[counter.shape[-1]]} for {counter.shape[-1]} words, got {rounds}"
        )
    shape = _check.common_shape("key", key.shape, "counter", counter.shape)
    return _ops.threefry(counter.expand(shape).contiguous(), key.expand(shape).contiguous(), rounds)


def threefry_2x32(keypair: Tensor | tuple[Tensor, Tensor], count: Tensor) -> Tensor:
    """Hash an array of counts as JAX's original streams do (``jax.extend.random.threefry_2x32``).

    The counts, flattened (an odd number of them with a zero appended), are cut into halves: the first are
    the blocks' first words, the second their second words. The outputs are joined in the same way.

    Args:
        keypair: uint32 tensor of shape ``(2,)``, or a pair of uint32 tensors of one element.
        count: uint32 tensor of any shape.

    Returns:
        uint32 tensor of ``count``'s shape.
    """
    if isinstance(keypair, (tuple, list)) and len(keypair) == 2 and all(isinstance(k, Tensor) for k in keypair):
        pair = torch.cat([k.reshape(-1) for k in keypair])
    else:
        pair = keypair  # type: ignore[assignment]
    for name, value in (("keypair", pair), ("count", count)):
        if not isinstance(value, Tensor) or value.dtype != torch.uint32:
            raise TypeError(f"{name} must be a uint32 tensor, got {_check.describe(value)}")
    if pair.shape != (2,):
        raise ValueError(f"keypair must have shape (2,), got {tuple(pair.shape)}")
    flat = count.reshape(-1)
    if flat.numel() % 2:
        flat = torch.cat([flat, flat.new_zeros(1, dtype=torch.int32).view(torch.uint32)])  # CUDA fills no unsigned ones
    blocks = flat.view(2, -1).t()
    words = threefry(blocks, pair).t().reshape(-1)
    return words[: count.numel()].view(count.shape)
