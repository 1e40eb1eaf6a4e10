"""Decoders that write lattices: the loop takes the same reading options as ``tune``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hulltune
from hulltune import Climb, CommandDecoder, Reading, read, tune_loop
from hulltune.cli import main
from tests.loop import lattice_decoders
from tests.loop.decoders import references
from tests.loop.runs import PROGRAM, loop_line

OPTIONS: dict[str, dict[str, Any]] = {
    "slf": {"negate": ["acoustic", "language"], "drop": ["uh"]},
    "openfst": {"drop": ["uh"], "symbols": "words.txt"},
}


def command(kind: str) -> str:
    return f"{PROGRAM} -m tests.loop.lattice_decoders {kind} {{weights}} {{output}}/"


def start(kind: str) -> dict[str, float]:
    return dict(zip(lattice_decoders.FEATURES[kind], (0.1, 1.0), strict=True))


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files that the loop needs."""
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text(lattice_decoders.symbols(), encoding="utf-8")
    Path("refs").write_text("\n".join(references()) + "\n", encoding="utf-8")
    Path("in").write_text("\n" * len(references()), encoding="utf-8")
    for kind in OPTIONS:
        Path(f"{kind}.json").write_text(json.dumps(start(kind)), encoding="utf-8")
    return tmp_path


def arguments(kind: str, *more: str) -> list[str]:
    return loop_line(Path(), command(kind), "--weights", f"{kind}.json", "--json", "--quiet", *more)


@pytest.mark.parametrize("kind", OPTIONS)
def test_costs_fillers_and_word_tables(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    negate = ["--negate", "acoustic,language"] if kind == "slf" else ["--symbols", "words.txt"]
    assert main(arguments(kind, *negate, "--drop", "uh")) == 0
    found = json.loads(capsys.readouterr().out)
    written = read(f"run/iter-{found['best']:03d}/output", **OPTIONS[kind])
    assert hulltune.score(written, found["weights"], references(), metric="wer") == found["score"]
    assert found["score"] < found["start_score"] < 1.0
    assert found["weights"][lattice_decoders.FEATURES[kind][0]] > 0.0  # what was a cost is a score
    again = tune_loop(
        CommandDecoder(command(kind)), references(), start=start(kind), metric="wer", iterations=2,
        search=Climb(restarts=2), reading=Reading(**OPTIONS[kind]),
    )  # fmt: skip
    assert (again.weights, again.score) == (found["weights"], found["score"])


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--negate", "lm", "unknown feature 'lm'"),
        ("--symbols", "none.txt", "none.txt: no such file; expected a table of words"),
    ],
)
def test_what_cannot_be_meant(option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments("slf", option, value)) in (1, 2)
    assert message in capsys.readouterr().err
    assert main(arguments("slf")) == 0  # the wrong options left nothing behind, so the right ones work


def test_a_run_goes_on_with_the_same_reading_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments("slf", "--drop", "uh")) == 0
    assert main(arguments("slf", "--drop", "uh")) == 0
    capsys.readouterr()
    assert main(arguments("slf")) == 2
    assert "this run was started with another reading" in capsys.readouterr().err
