"""How torch.compile's code generator, Inductor, learns to fuse draws (``_lowerings``): once it is imported.

To import it takes seconds, and most programs do not compile.
"""

from __future__ import annotations

import importlib.abc
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import torch
from torch.torch_version import TorchVersion

# Device types on which draws are fused. On the CPU the operator's own vectors are faster than Inductor's scalar code.
FUSED_ON = {"cuda"}

_AFTER = "torch._inductor.lowering"


class _ImportHook(importlib.abc.MetaPathFinder):
    """Registers the lowerings once the module that holds Inductor's own has been executed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _AFTER:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                sys.meta_path.remove(self)
                _register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    try:
        from ._lowerings import register
    except ImportError as error:
        # Inductor has no stable interface. Without lowerings all is right, but slower.
        warnings.warn(f"torch_threefry: no fused draws with torch {torch.__version__}: {error}", stacklevel=2)
    else:
        register()


def register_lowerings() -> None:
    """Register the lowerings, now or when Inductor is imported.

    With releases before 2.13 the operators are called: that Inductor's fused multiply-add flushes subnormal numbers.
    """
    if TorchVersion(torch.__version__) < "2.13":
        return
    if _AFTER in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _ImportHook())
