"""The battery's harness: what it reads from dieharder, when a test has failed, and what is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from quality import battery, dieharder
from quality.dieharder import Result, Verdict

OUTPUT = Path(__file__).with_name("data") / "dieharder.txt"
RESULTS = list(dieharder.parse(OUTPUT.read_text().splitlines(keepends=True)))


def named(name: str, ordinal: int = 0) -> Result:
    """A result in the saved output."""
    return next(result for result in RESULTS if (result.name, result.ordinal) == (name, ordinal))


def test_every_line_of_results_is_read() -> None:
    assert len(RESULTS) == 8 and len({result.place for result in RESULTS}) == 8
    assert named("diehard_sums") == Result("diehard_sums", 0, 0, 1, 0.00239108, "WEAK")
    assert named("diehard_runs") == Result("diehard_runs", 0, 0, 1, 0.0, "FAILED")
    assert named("sts_serial", 1) == Result("sts_serial", 3, 1, 2, 1.0, "FAILED")


@pytest.mark.parametrize("line", ["new_test|   0|  100|  1|0.5|  PASSED  ", "sts_runs|   0|  100|  1|nan|  FAILED  "])
def test_no_result_is_passed_over(line: str) -> None:
    with pytest.raises(ValueError, match="known form"):
        list(dieharder.parse([line]))


def test_a_test_is_repeated_with_as_many_samples() -> None:
    assert named("sts_serial").again == ("-d", "102", "-p", "2")  # gives all of its ntuples at once
    assert named("rgb_lagged_sum").again == ("-d", "203", "-n", "17", "-p", "1")


def judged(result: Result, fresh: Iterable[str]) -> tuple[Verdict, int]:
    """The verdict where fresh parts give such assessments, and how many parts were used."""
    assessments = list(fresh)
    parts: list[int] = []

    def run(arguments: tuple[str, ...], part: int) -> list[Result]:
        assert arguments == result.again
        parts.append(part)
        return [replace(result, assessment=assessments[part - 1])]

    (verdict,) = dieharder.judge([result], run)
    assert parts == list(range(1, len(parts) + 1))
    return verdict, len(parts)


WEAK, NEAR_0, NEAR_1 = named("diehard_sums"), named("diehard_runs"), named("sts_serial", 1)


@pytest.mark.parametrize(
    ("result", "fresh", "passed", "parts"),
    [
        (named("diehard_birthdays"), [], True, 0),
        (NEAR_0, [], False, 0),
        (WEAK, ["PASSED"], True, 1),
        (WEAK, ["WEAK", "WEAK", "PASSED"], True, 3),
        (WEAK, ["WEAK", "WEAK", "WEAK"], False, 3),
        (WEAK, ["FAILED"], False, 1),
        (NEAR_1, ["PASSED"], True, 1),
        (NEAR_1, ["FAILED", "FAILED", "FAILED"], False, 3),
    ],
)
def test_when_a_test_has_failed(result: Result, fresh: list[str], passed: bool, parts: int) -> None:
    verdict, used = judged(result, fresh)
    assert verdict.passed == passed and used == parts


def test_results_of_one_run_are_repeated_together() -> None:
    weak = [Result("sts_serial", ntuple, 0, 100, 0.001, "WEAK") for ntuple in (1, 2)]
    runs: list[tuple[str, ...]] = []

    def run(arguments: tuple[str, ...], part: int) -> list[Result]:
        runs.append(arguments)
        return [replace(result, assessment="PASSED") for result in weak]

    assert all(verdict.passed for verdict in dieharder.judge(weak, run)) and len(runs) == 1


def test_the_reduced_battery_has_every_test() -> None:
    chosen = [arguments[1] for arguments in dieharder.reduced()]
    assert set(chosen) == {str(number) for number in dieharder.NAMES.values()}
    assert len(chosen) == 27 + 12 + 4 + 4 + 33


def stand_in_dieharder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name which reads a little and prints the saved output."""
    program = folder / "dieharder"
    program.write_text(f"#!/bin/sh\nhead -c 64 > /dev/null\ncat {OUTPUT}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_battery_is_kept_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dieharder, "REPETITIONS", 0)
    stand_in_dieharder(tmp_path, monkeypatch)
    arguments = ["--impl", "threefry2x32", "--order", "split", "--interleave", "4", "--results"]
    assert battery.main([*arguments, str(tmp_path)]) == 1
    row = "| threefry2x32 | split | 4 | 8 | 5 | 0 | 3 diehard_sums 0, diehard_runs 0, sts_serial 3 |"
    assert row in capsys.readouterr().out and row in (tmp_path / "full.md").read_text()
    kept = (tmp_path / "full" / "threefry2x32-split-4.txt").read_text()
    assert "torch_threefry.stream --impl threefry2x32 --seed 1 --order split --interleave 4" in kept
    assert "| dieharder -g 200 -k 2 -a -m 1\n" in kept

    monkeypatch.setattr(battery, "run_battery", lambda *arguments: pytest.fail("it ran again"))
    assert battery.main([*arguments, str(tmp_path)]) == 1
    assert row in capsys.readouterr().out


def test_without_dieharder_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(battery.shutil, "which", lambda name: None)
    assert battery.main([]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and "apt-get install dieharder" in message


@pytest.mark.parametrize(
    "arguments", [["--psamples", "0.1"], ["--psamples", "x"], ["--interleave", "2"], ["--order", "up"], ["--impl", "x"]]
)
def test_bad_options(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        battery.main(arguments)
    message = capsys.readouterr().err
    assert exit_.value.code == 2 and arguments[0] in message and arguments[1] in message
