"""What the tests on a device share: comparing its numbers with the CPU's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import keystr, tree_flatten_with_path

# Takes a tensor or a key to the device where a function is to draw: to that under test, or nowhere.
On = Callable[[Any], Any]

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits_of(x: Tensor) -> Tensor:
    """A tensor's bits as integers on the CPU, where one NaN is like another."""
    x = x.detach().cpu().contiguous()
    if x.is_floating_point():
        x = x.masked_fill(x.isnan(), math.nan)
    return x.view(_INTEGERS[x.dtype.itemsize])


def difference(actual: Tensor, expected: Tensor) -> str:
    """In what a tensor is not the expected one, down to the signs of zeros; nothing if it is."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype} {tuple(actual.shape)} for {expected.dtype} {tuple(expected.shape)}"
    wrong = (bits_of(actual) != bits_of(expected)).flatten().nonzero().flatten()
    if len(wrong) == 0:
        return ""
    first, last = int(wrong[0]), int(wrong[-1])
    pair = [x.detach().cpu().flatten()[first].item() for x in (actual, expected)]
    return f"{len(wrong)} of {actual.numel()} elements, {first} to {last}; element {first}: {pair[0]!r} for {pair[1]!r}"


class Check:
    """Runs functions on a device and on the CPU, and asserts that they make the same."""

    def __init__(self, device: torch.device, on_cpu: Callable[[], AbstractContextManager[Any]]) -> None:
        self.device = device
        self.on_cpu = on_cpu  # the CPU's own kernels, where a stand-in has taken their place

    def __call__(self, cases: Mapping[str, Callable[[On], Any]]) -> None:
        """Each function takes an ``On`` and returns tensors and keys in any nesting. All that differ are named."""
        wrong = []
        for name, f in cases.items():
            with self.on_cpu():
                expected = f(lambda x: x)
            wrong += [f"{name}: {text}" for text in self.differences(f(lambda x: x.to(self.device)), expected)]
        assert not wrong, "\n".join(wrong)

    def same(self, actual: Any, expected: Any) -> None:
        """Assert that results on the device are the expected ones of the CPU."""
        wrong = self.differences(actual, expected)
        assert not wrong, "\n".join(wrong)

    def differences(self, actual: Any, expected: Any) -> list[str]:
        """All in which they are not."""
        leaves, structure = tree_flatten_with_path(actual)
        expected_leaves, expected_structure = tree_flatten_with_path(expected)
        if structure != expected_structure:
            return [f"{structure} for {expected_structure}"]
        wrong = []
        for (path, a), (_, b) in zip(leaves, expected_leaves):
            text = f"on {a.device}" if a.device != self.device else difference(a, b)
            if text:
                wrong.append(f"{keystr(path)} {text}".strip())
        return wrong


def skip_unless_free(device: torch.device, gigabytes: int) -> None:
    """Skip a test that needs more memory than the device has left."""
    if device.type == "cuda" and torch.cuda.mem_get_info(device)[0] < gigabytes * 2**30:
        pytest.skip(f"needs {gigabytes} GB of device memory")
