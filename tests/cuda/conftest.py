"""Tests on a CUDA device: whatever is drawn there is what the CPU draws, bit for bit. Without a device all are skipped.

TORCH_THREEFRY_TEST_DEVICE=cpu runs what is not CUDA's alone on the CPU, to find mistakes in these tests; with
TORCH_THREEFRY_STAND_IN as well (see stand_in.py), the CUDA kernels' stand-in is compared with the CPU's kernels.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import stand_in
import torch
from on_device import Check


@pytest.fixture(scope="session", autouse=True)
def device() -> torch.device:
    """The device under test."""
    name = os.environ.get("TORCH_THREEFRY_TEST_DEVICE", "cuda")
    if name == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    if importlib.util.find_spec("torch_threefry._C_cuda") is None:
        pytest.skip("built without CUDA kernels: TORCH_THREEFRY_CUDA=1 python setup.py build_ext --inplace")
    return torch.device("cuda", torch.cuda.current_device())


@pytest.fixture(scope="session")
def check(device: torch.device, stand_in_library: Any) -> Check:
    """Compares the device with the CPU."""
    own = contextlib.nullcontext if stand_in_library is None else partial(stand_in.cpu_kernels, stand_in_library)
    return Check(device, own)


@pytest.fixture(scope="session")
def cuda(device: torch.device) -> torch.device:
    """The device, for tests of what only CUDA has."""
    if device.type != "cuda":
        pytest.skip("is about CUDA alone")
    return device


@pytest.fixture
def set_launch_shape(device: torch.device, stand_in_library: Any) -> Iterator[Callable[[int, int], None]]:
    """Sets the blocks and threads of all launches, until the test ends."""
    if device.type == "cpu" and stand_in_library is None:
        pytest.skip("the CPU's own kernels are not launched")
    library = stand_in_library or importlib.import_module("torch_threefry._C_cuda")
    yield library.set_launch_shape
    library.set_launch_shape(0, 0)
