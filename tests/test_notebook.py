"""The tour runs from top to bottom and still prints what it shows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
TOUR = ROOT / "notebooks" / "tour.ipynb"


def texts(cell: Any) -> str:
    """What a cell printed, and the value it ended with; pictures and warnings are left out."""
    return "".join(
        output.text if output.output_type == "stream" else output.data.get("text/plain", "")
        for output in cell.get("outputs", [])
        if output.get("name") != "stderr" and "image/png" not in output.get("data", {})
    )


def test_the_tour_prints_what_it_shows(tmp_path: Path) -> None:
    stored = nbformat.read(TOUR, as_version=4)
    fresh = nbformat.read(TOUR, as_version=4)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)}
    NotebookClient(fresh, timeout=None, kernel_name="python3").execute(cwd=str(ROOT), env=environment)
    for before, after in zip(stored.cells, fresh.cells, strict=True):
        assert texts(after) == texts(before), after.source


def test_the_tour_is_small_and_says_nothing_of_a_machine() -> None:
    text = TOUR.read_text()
    assert len(text) < 200_000
    assert set(nbformat.reads(text, as_version=4).metadata) == {"kernelspec", "language_info"}
    assert str(Path.home()) not in text and str(ROOT) not in text
