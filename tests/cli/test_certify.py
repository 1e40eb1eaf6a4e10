"""Certified search and the plane from the command line."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from hulltune import Problem, read
from hulltune.cli import main
from hulltune.cli.progress import line
from hulltune.tuning import Progress
from hulltune.tuning.result import TuneResult
from tests.tuning.corpora import random_records


@pytest.fixture
def lists(tmp_path: Path) -> str:
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in random_records(4)), encoding="utf-8")
    return str(path)


@pytest.fixture
def weights(tmp_path: Path) -> str:
    path = tmp_path / "weights.json"
    path.write_text(json.dumps({"f0": 1.0, "f1": 0.5, "f2": 0.2}), encoding="utf-8")
    return str(path)


def test_certify(lists: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "w.json"
    arguments = [
        lists,
        "--metric",
        "wer",
        "--certify",
        "--gap",
        "0",
        "--free",
        "f1,f2",
        "--fix",
        "f0=1",
        "--time",
        "60",
    ]
    assert main(["tune", *arguments, "--out", str(out)]) == 0
    shown = capsys.readouterr()
    result = TuneResult.load(out)
    assert result.certificate is not None
    assert result.certificate.gap == 0.0
    assert f"proven: no weights of the region score less than {result.score:.6f}" in shown.out
    assert "boxes, reached" in shown.err
    assert main(["tune", *arguments, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["bound"] == result.certificate.bound


def test_options_that_a_search_does_not_have_are_refused(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["--certify", "--directions", "4"], ["--search", "powell", "--directions", "4"]):
        assert main(["tune", lists, "--metric", "wer", *given]) == 2
        assert (
            "search has no such option; leave it out, or search with cma, random or gradient" in capsys.readouterr().err
        )
    assert main(["tune", lists, "--metric", "wer", "--certify", "--restarts", "4"]) == 2
    assert "hulltune: --restarts: a certified search has no such option" in capsys.readouterr().err


def test_certify_and_another_search_are_an_error(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", lists, "--certify", "--search", "powell"]) == 2
    assert "--certify: means --search certified" in capsys.readouterr().err


def test_infeasible(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", lists, "--certify", "--min", "f0=2", "--max", "f0=1", "--metric", "wer"]) == 2
    assert "'f0': no weight lies between 2 and 1" in capsys.readouterr().err


def test_plane(lists: str, weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plane.png"
    arguments = ["surface", lists, "--metric", "wer", "--weights", weights, "--plane", "f1", "f2", "--grid", "3x3"]
    assert main([*arguments, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "proven optimal" in shown
    assert "of 9 grid points" in shown
    assert out.read_bytes().startswith(b"\x89PNG")
    assert main([*arguments, "--json", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["score"] == answer["bound"] <= answer["grid"]
    assert set(answer["weights"]) == {"f1", "f2"}


def test_a_plane_as_data(lists: str, weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plane.csv"
    arguments = ["surface", lists, "--metric", "wer", "--weights", weights, "--plane", "f1", "f2", "--range=-1,1,-2,2"]
    assert main([*arguments, "--out", str(out), "--quiet"]) == 0
    header, *rows = csv.reader(out.read_text(encoding="utf-8").splitlines())
    assert header == ["f2", "f1 from", "f1 to", "score"]
    problem = Problem.of(read(lists), "wer")
    assert len({row[0] for row in rows}) == 400
    for row in rows[::997]:
        height, left, right, score = map(float, row)
        assert problem.score(np.array([1.0, (left + right) / 2, height])) == score


def test_sensitivity(lists: str, weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["surface", lists, "--metric", "wer", "--weights", weights, "--sensitivity"]
    assert main([*arguments, "--json", "--tolerance", "0.02"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tolerance"] == 0.02
    assert list(found["ranges"]) == ["f0", "f1", "f2"]
    problem = Problem.of(read(lists), "wer")
    assert found["score"] == problem.score(np.array([1.0, 0.5, 0.2]))
    low, high = found["ranges"]["f1"]
    assert high is None  # f1 knows best
    for weight, good in ((low - 1e-9, False), (low + 1e-9, True), (1e9, True)):
        assert (problem.score(np.array([1.0, weight, 0.2])) <= found["score"] + 0.02 + 1e-12) == good
    for suffix in ("csv", "png"):
        assert main([*arguments, "--tolerance", "0.02", "--out", str(tmp_path / f"s.{suffix}")]) == 0
    told = capsys.readouterr().out
    assert "the score stays within 0.02 while this weight alone moves" in told
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["weight"] for row in rows] == ["f0", "f1", "f2"]
    assert (float(rows[1]["from"]), float(rows[1]["now"]), float(rows[1]["to"])) == (low, 0.5, math.inf)
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")


def test_the_tolerance_of_tuning(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tune", lists, "--metric", "wer", "--restarts", "0", "--quiet"]
    assert main([*arguments, "--tolerance", "0.03"]) == 0
    assert "the score stays within 0.03 while this weight alone moves\n" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sensitivity"]["tolerance"] == 0.001


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plane", "f1", "f9"], "f9"),
        (["--plane", "f1", "f1"], "two different features"),
        (["--plane", "f1", "f2", "--grid", "6"], "6x6"),
        (["--plane", "f1", "f2", "--grid", "1x6"], "at least 2"),
        (["--plane", "f1", "f2", "--range=0,1"], "LEFT,RIGHT,BOTTOM,TOP"),
        (["--plane", "f1", "f2", "--out", "x.gif"], "has no known suffix"),
        (["--plane", "f1", "f2", "--tolerance", "1"], "only for --sensitivity"),
        (["--sensitivity", "--range=0,1"], "only for a line or a plane"),
        (["--sensitivity", "--tolerance", "-1"], "a number of at least 0"),
        (["--sensitivity", "--feature", "f1"], "not allowed with argument"),
        (["--feature", "f1", "--grid", "6x6"], "--plane"),
    ],
)
def test_faults_of_planes(
    arguments: list[str], message: str, lists: str, weights: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["surface", lists, "--metric", "wer", "--weights", weights, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_progress_line_shows_the_gap_closing() -> None:
    step = Progress(0, 1, 12, 1.5, 0.15, 0.2, bound=0.125, boxes=1234)
    assert line(step) == "1,234 boxes, reached 0.1500, bound 0.1250, gap 0.025"


def test_a_limit_for_another_search_is_refused_not_ignored(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", lists, "--metric", "wer", "--time", "1"]) == 2
    assert "--time: limits a certified search" in capsys.readouterr().err
