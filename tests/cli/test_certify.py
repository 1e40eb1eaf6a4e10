"""Certified search, the plane and the ranges of weights from the command line."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from hulltune import Problem, read
from hulltune.cli.progress import line
from hulltune.tuning import Progress
from hulltune.tuning.result import TuneResult
from tests.cli.running import Shell

SURFACE = "surface few.jsonl --metric wer --weights few.w"


def test_certify(folder: Path, shell: Shell) -> None:
    proving = "tune few.jsonl --metric wer --certify --gap 0 --free f1,f2 --fix f0=1 --time 60"
    out = shell(f"{proving} --out w.json")
    result = TuneResult.load("w.json")
    assert result.certificate is not None
    assert result.certificate.gap == 0.0
    assert f"proven: no weights of the region score less than {result.score:.6f}" in out
    assert "boxes, reached" in shell.said
    assert shell.json(f"{proving} --quiet")["certificate"]["bound"] == result.certificate.bound


def test_plane(folder: Path, shell: Shell) -> None:
    drawing = f"{SURFACE} --plane f1 f2 --grid 3x3"
    out = shell(f"{drawing} --out plane.png")
    assert "proven optimal" in out
    assert "of 9 grid points" in out
    assert (folder / "plane.png").read_bytes().startswith(b"\x89PNG")
    answer = shell.json(f"{drawing} --quiet")
    assert answer["score"] == answer["bound"] <= answer["grid"]
    assert set(answer["weights"]) == {"f1", "f2"}


def test_a_plane_as_data(folder: Path, shell: Shell) -> None:
    shell(f"{SURFACE} --plane f1 f2 --range=-1,1,-2,2 --out plane.csv --quiet")
    header, *rows = csv.reader((folder / "plane.csv").read_text(encoding="utf-8").splitlines())
    assert header == ["f2", "f1 from", "f1 to", "score"]
    problem = Problem.of(read("few.jsonl"), "wer")
    assert len({row[0] for row in rows}) == 400
    for row in rows[::997]:
        height, left, right, score = map(float, row)
        assert problem.score(np.array([1.0, (left + right) / 2, height])) == score


def test_sensitivity(folder: Path, shell: Shell) -> None:
    found = shell.json(f"{SURFACE} --sensitivity --tolerance 0.02")
    assert found["tolerance"] == 0.02
    assert list(found["ranges"]) == ["f0", "f1", "f2"]
    problem = Problem.of(read("few.jsonl"), "wer")
    assert found["score"] == problem.score(np.array([1.0, 0.5, 0.2]))
    low, high = found["ranges"]["f1"]
    assert high is None  # f1 knows best
    for weight, good in ((low - 1e-9, False), (low + 1e-9, True), (1e9, True)):
        assert (problem.score(np.array([1.0, weight, 0.2])) <= found["score"] + 0.02 + 1e-12) == good
    for suffix in ("csv", "png"):
        told = shell(f"{SURFACE} --sensitivity --tolerance 0.02 --out s.{suffix}")
        assert "the score is worse by at most 0.02 (2 %) while this weight alone moves" in told
    rows = list(csv.DictReader((folder / "s.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["weight"] for row in rows] == ["f0", "f1", "f2"]
    assert (float(rows[1]["from"]), float(rows[1]["now"]), float(rows[1]["to"])) == (low, 0.5, math.inf)
    assert (folder / "s.png").read_bytes().startswith(b"\x89PNG")


def test_the_tolerance_of_tuning(folder: Path, shell: Shell) -> None:
    tuning = "tune few.jsonl --metric wer --restarts 0 --quiet"
    assert "the score is worse by at most 0.03 (3 %) while this weight alone moves;" in shell(
        f"{tuning} --tolerance 0.03"
    )
    assert shell.json(tuning)["sensitivity"]["tolerance"] is None


def test_the_progress_line_shows_the_gap_closing() -> None:
    step = Progress(0, 1, 12, 1.5, 0.15, 0.2, bound=0.125, boxes=1234)
    assert line(step) == "1,234 boxes, reached 0.1500, bound 0.1250, gap 0.025"
