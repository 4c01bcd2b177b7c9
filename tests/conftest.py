"""Shared by all tests: every implementation, compiled code without a disk cache, and CUDA kernels on the CPU."""

from __future__ import annotations

import os
from typing import Any

import pytest
import stand_in

# Tests of the CUDA kernels on the CPU, for a run that has them.
collect_ignore = [] if stand_in.VARIABLE in os.environ else ["test_on_stand_in.py"]

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")


@pytest.fixture(params=["threefry2x32", "threefry2x32_original", "threefry4x64"])
def impl(request: pytest.FixtureRequest) -> str:
    """The name of each implementation in turn."""
    name: str = request.param
    return name


@pytest.fixture(scope="session", autouse=True)
def stand_in_library() -> Any:
    """The CUDA kernels that this run uses for keys on the CPU, if it does."""
    path = os.environ.get(stand_in.VARIABLE)
    if path is None:
        return None
    library = stand_in.load(path)
    stand_in.use(library)
    return library
