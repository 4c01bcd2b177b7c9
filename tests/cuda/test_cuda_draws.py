"""Every sampler with numbers as parameters: shapes, windows and batches of keys."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from on_device import Check, On, skip_unless_free
from samplers import ALL, Draw

from torch_threefry import Key, random

SHAPES = ((), (0,), (3, 0), (1,), (2,), (7,), (31, 32), (5, 129), (2**20 + 3,))

WINDOWS = (
    ((40, 500), ((5, 39), (3, 203))),
    ((4000,), ((1, 3999),)),
    ((7, 300, 13), ((1, 6), (7, 299), (12, 13))),
    ((2, 3, 1100), ((0, 2), (1, 3), (0, 1100))),
    ((7, 300), ((2, 2), (0, 300))),
)

BATCH_SHAPES = ((), (1,), (7,), (8,), (2, 150), (1100,))


def cases(draw: Draw, impl: str) -> dict[str, Any]:
    """Draws that take each way through the kernels."""
    key = random.key(71, impl=impl)
    few, many = key.split((3, 5)), key.fold_in(1).split(4001)

    def transposed(on: On) -> Any:
        return draw(Key(on(few).data.transpose(0, 1), impl), (70,))

    def words_apart(on: On) -> Any:
        return draw(Key(on(few).data.permute(2, 0, 1).contiguous().permute(1, 2, 0), impl), (70,))

    def expanded(on: On) -> Any:
        return draw(Key(on(key).data.expand(3, -1), impl), (70,))

    result: dict[str, Any] = {}
    for shape in SHAPES:
        result[f"shape {shape}"] = lambda on, shape=shape: draw(on(key), shape)
    for shape, window in WINDOWS:
        result[f"window {window}"] = lambda on, shape=shape, window=window: draw(on(key), shape, window=window)
    for shape in BATCH_SHAPES:
        result[f"batch of {shape}"] = lambda on, shape=shape: draw(on(few), shape)
    result |= {
        "batch of windows": lambda on: draw(on(few), (20, 90), window=((3, 19), (5, 85))),
        "no keys": lambda on: draw(on(many)[:0], (5,)),
        "many keys": lambda on: draw(on(many), (33,)),
        "many keys, an element each": lambda on: draw(on(many), ()),
        "every other key": lambda on: draw(on(many)[::2], (3,)),
        "transposed": transposed,
        "words apart": words_apart,
        "expanded": expanded,
    }
    if impl == "threefry2x32":
        far = {"shape": (2**40, 4096), "window": ((2**39, 2**39 + 3), (4000, 4096))}
        result["far"] = lambda on: draw(on(key), **far)
    return result


@pytest.mark.parametrize("draw", ALL)
def test_shapes_windows_and_batches(draw: Draw, impl: str, check: Check) -> None:
    check(cases(draw, impl))


def test_more_than_2_to_the_31_elements(impl: str, cuda: torch.device, check: Check) -> None:
    skip_unless_free(cuda, 8)
    key = random.key(72, impl=impl)
    n, keys = 2**31 + 2**20 + 1, key.split(2**16 + 3)
    parts = ((0, 5000), (2**31 - 5000, 2**31 + 5000), (n // 2 - 5000, n // 2 + 5000), (n - 5000, n))
    for draw, dtype in ((random.bits, torch.uint8), (random.rademacher, torch.int8)):
        whole = draw(key.to(cuda), (n,), dtype)
        for part in parts:
            check.same(whole[slice(*part)], draw(key, (n,), dtype, window=(part,)))
    rows = random.bits(keys.to(cuda), (2**15,), torch.uint8)
    for row in (0, 2**15, len(keys) - 1):
        check.same(rows[row], random.bits(keys[row], (2**15,), torch.uint8))
