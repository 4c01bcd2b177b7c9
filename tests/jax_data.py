"""Reading the reference draws of jax.random: a manifest of calls beside the arrays they name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Case:
    """One call of jax.random: its arguments and its result, arrays as stored."""

    id: str
    fn: str
    seed: int | None
    impl: str
    compare: str
    kwargs: dict[str, Any]
    batch: tuple[int, ...] | None  # the call was mapped over split(key, batch)
    result: np.ndarray
    dtype: str  # of the result; bfloat16 is stored as its bits


def load(folder: str) -> list[Case]:
    """All cases of a folder of tests/data."""
    manifest = json.loads((DATA / folder / "manifest.json").read_text())
    with np.load(DATA / folder / "arrays.npz") as file:
        arrays = dict(file)

    def value(entry: Any) -> Any:
        if isinstance(entry, dict):
            return arrays[entry["array"]]
        return tuple(entry) if isinstance(entry, list) else entry

    def case(record: dict[str, Any]) -> Case:
        result = value(record["result"])
        return Case(
            id=record["id"],
            fn=record["fn"],
            seed=record.get("seed"),
            impl="threefry2x32" if record["partitionable"] else "threefry2x32_original",
            compare=record["compare"],
            kwargs={name: value(entry) for name, entry in record["kwargs"].items()},
            batch=tuple(record["batch"]) if "batch" in record else None,
            result=result,
            dtype=record["result"].get("stored_as", str(result.dtype)),
        )

    return [case(record) for record in manifest["cases"]]
