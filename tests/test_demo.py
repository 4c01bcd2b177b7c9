"""The demo: it keeps its promises, and it would say so if it did not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from torch_threefry import demo, random

ROOT = Path(__file__).resolve().parents[1]
PROMISES = 6


def run_demo(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The demo in a process of its own, after some lines of Python."""
    program = f"{before}\nimport runpy\nrunpy.run_module('torch_threefry.demo', run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_promise_is_kept() -> None:
    result = run_demo("--epochs", "2", "--seed", "7")
    assert result.returncode == 0, result.stdout + result.stderr
    verdicts = [line.split()[-1] for line in result.stdout.splitlines() if line.endswith((" ok", " FAILED"))]
    assert verdicts == ["ok"] * PROMISES, result.stdout
    assert "test accuracy" in result.stdout


def test_without_scikit_learn_one_line_says_what_to_install() -> None:
    result = run_demo(before="import sys\nsys.modules['sklearn'] = None")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1 and "pip install torch_threefry[demo]" in result.stderr


def test_help() -> None:
    result = run_demo("--help")
    assert result.returncode == 0 and "--epochs" in result.stdout


@pytest.mark.parametrize("arguments", [["--epochs", "0"], ["--seed", str(2**64)], ["--seed", "one"]])
def test_bad_options(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        demo.main(arguments)
    assert exit_.value.code == 2 and arguments[0] in capsys.readouterr().err


def test_a_broken_promise_fails_the_table_and_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = demo.start(random.key(1)), demo.start(random.key(1))
    assert demo.weights_promise("equal", one, other).kept
    with torch.no_grad():
        other.model.b_output[3] = -0.0  # equal in value, but not in bits
    broken = demo.weights_promise("equal", one, other)
    assert not broken.kept and broken.found.startswith("1 of ")
    assert demo.table([broken]).endswith("FAILED")

    monkeypatch.setattr(demo, "show_training", lambda *arguments: [broken])
    assert demo.main([]) == 1


def test_a_saved_training_comes_back_whole(tmp_path: Path) -> None:
    digits = demo.load_digits()
    training = demo.train(demo.start(random.key(5)), digits, 3, demo.eager(), demo.Progress("eager", lines=1))
    demo.save(training, tmp_path / "training.pt")
    loaded = demo.load(tmp_path / "training.pt")
    assert loaded.step == 3 and loaded.key.equal(training.key)
    assert torch.equal(demo.weights(loaded), demo.weights(training))
    torch.testing.assert_close(loaded.optimizer.state_dict(), training.optimizer.state_dict(), rtol=0, atol=0)


def test_the_plot_falls_from_left_to_right_with_the_values() -> None:
    lines = demo.text_plot([8.0, 4.0, 2.0, 1.0], rows=4).splitlines()
    assert [line.split("|")[1] for line in lines[:4]] == ["*", " *", "  *", "   *"]
    assert demo.text_plot([1.0]).count("*") == 1
