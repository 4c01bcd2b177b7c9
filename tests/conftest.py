"""Shared by all tests: both implementations, and compiled code without a disk cache."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")


@pytest.fixture(params=["threefry2x32", "threefry2x32_original"])
def impl(request: pytest.FixtureRequest) -> str:
    """The name of each implementation in turn."""
    name: str = request.param
    return name
