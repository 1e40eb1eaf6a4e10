"""Wrong usage and wrong input: one line on standard error, exit code 2, and never a traceback."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hulltune.cli import main
from hulltune.formats import write_jsonl
from tests.cli.conftest import GOOD
from tests.tuning.corpora import random_lists


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a command that must fail with exit code 2."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if "compiling kernels" not in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("hulltune: ")
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("tnue good --ref refs", "unknown command 'tnue'; did you mean 'tune'?"),
        ("tune", "the following arguments are required: LISTS"),
        (
            "tune good --ref refs --metrc bleu",
            "unknown option --metrc; did you mean --metric? (see hulltune",
        ),
        ("tune good --ref", "option '--ref' requires an argument (see hulltune tune --help)"),
        ("tune good --ref refs --quite", "unknown option --quite; did you mean --quiet? (see hulltune tune --help)"),
        ("demo bash", "got unexpected extra argument (bash) (see hulltune demo --help)"),
        (
            "surface good -r refs -w w.txt --feature x --sensitivity",
            "argument --sensitivity: not allowed with argument",
        ),
        ("tune good --ref refs --metric blue", "unknown metric 'blue'; did you mean 'bleu'?"),
        ("tune good --ref refs --seed x", "argument --seed: got 'x'; expected a whole number"),
        ("tune good --ref refs --fix lm", "argument --fix: got 'lm'; expected NAME=NUMBER"),
        ("tune good --ref refs --fix lm=1", "unknown feature in fix: 'lm'"),
        ("tune good --ref refs --fix y=1 --fix y=2", "--fix: 'y' is given twice"),
        ("tune good --ref refs --search randm", "unknown search 'randm'; did you mean 'random'?"),
        ("tune good --ref refs --metric comet", "unknown metric 'comet' (known: "),
        ("tune good --ref refs --format xml", "unknown format 'xml' (known: "),
        ("tune good --ref refs --policy mid", "unknown policy 'mid'"),
        ("tune good --ref refs --features wrds", "unknown built-in feature 'wrds'; did you mean 'words'?"),
        ("tune good --ref refs --missing 1", "missing: got 1.0; expected 0"),
        ("tune good --ref refs --sign y=*", "the sign of 'y' is '*'; expected '+' or '-'"),
        ("tune good --ref refs --on-error ignore", "unknown way to handle errors 'ignore'"),
        ("tune good --ref refs --format mose", "unknown format 'mose'; did you mean 'moses'?"),
        ("tune good --ref refs --out w.jsn", "--out: 'w.jsn' has no known suffix"),
        ("tune good --ref refs --out no/w.json", "there is no folder no"),
        ("tune good --ref refs --heldout-ref refs", "no held-out data; give --heldout"),
        ("tune good --ref refs --folds 9", "folds: expected 2 to 2"),
        ("tune missing --ref refs --metric blue", "unknown metric 'blue'; did you mean 'bleu'?"),
        ("tune missing --ref refs --also chr", "unknown metric 'chr'; did you mean 'chrf'?"),
        ("tune missing --ref refs --scale l3", "unknown scale 'l3'"),
        ("tune missing --ref empty", "empty: the file is empty"),
        ("tune good", "no references"),
        ("tune missing --ref refs", "missing: no such file"),
        ("tune good --ref missing", "missing: no such file"),
        ("tune empty --ref refs", "empty: the file is empty"),
        ("tune good --ref empty", "empty: the file is empty"),
        ("tune good --ref refs --start missing", "missing: no such file"),
        ("tune good --ref refs --threads 0", "threads"),
        ("score good --ref refs", "--weights: expected a file of weights; only --oracle does without"),
        ("score good --ref refs --weights refs", "refs:1: "),
        ("score good --ref refs --weights empty", "empty: no weights in it"),
        ("rerank good --weights w.txt --as txt", "unknown output 'txt'; did you mean 'text'?"),
        ("rerank good --weights w.txt --best 0", "--best: got '0'; expected a whole number of at least 1"),
        ("rerank good --weights w.txt --out no/x", "--out: no/x: there is no folder no"),
        (
            "surface good --ref refs --weights w.txt",
            "one of the arguments --feature --to --plane --sensitivity is required",
        ),
        ("convert good", "the following arguments are required: LISTS"),
    ],
)
def test_one_clear_line(folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, expected: str) -> None:
    assert expected in complaint(capsys, *arguments.split())
    assert not (folder / "w.json").exists()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 ||| e ||| x= nan 1 y= 1 ||| 0", "lists:2: "),
        ("1 ||| e ||| x= one 1 y= 1 ||| 0", "lists:2: "),
        ("1 ||| e ||| x= 1 inf y= 1 ||| 0", "lists:2: "),
        ("1 ||| e ||| x= 1 y= 1 ||| 0", "lists:2: "),
        ("1 ||| e ||| x= 1 1 ||| 0", "lists:2: "),
        ("1 ||| e", "lists:2: "),
        ("x ||| e |", "lists:2: "),
    ],
)
def test_a_line_at_fault_is_named(folder: Path, capsys: pytest.CaptureFixture[str], line: str, expected: str) -> None:
    """NaN and words are no numbers, a missing feature shifts no column, a cut-off line is not half read."""
    (folder / "lists").write_text(f"{GOOD[0]}\n{line}\n", encoding="utf-8")
    assert expected in complaint(capsys, "tune", "lists", "--ref", "refs")


def test_too_few_references_and_a_missing_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Line i is sentence i: a sentence without hypotheses keeps its line, and none may lack a reference."""
    (folder / "lists").write_text(f"{GOOD[0]}\n{GOOD[1]}\n{GOOD[2].replace('1 |||', '2 |||', 1)}\n", encoding="utf-8")
    assert "only 2 reference lines" in complaint(capsys, "tune", "lists", "--ref", "refs")
    (folder / "refs").write_text("a b\nmissing\nd\n", encoding="utf-8")
    assert main(["score", "lists", "--ref", "refs", "--weights", "w.txt", "--metric", "accuracy"]) == 0
    assert capsys.readouterr().out.startswith("0.6667  accuracy")


def test_a_blank_line_is_a_fault_like_any_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "lists").write_text("\n\n".join(GOOD) + "\n", encoding="utf-8")
    assert "lists:2: blank line" in complaint(capsys, "info", "lists")
    assert main(["info", "lists", "--on-error", "skip"]) == 0
    assert "skipped 2 faults" in capsys.readouterr().err


def test_an_omitted_labelled_feature_is_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["0 ||| a b ||| lm=5 tm=1 ||| 0", "0 ||| a c ||| tm=1 ||| 0"]
    (folder / "lists").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "w.txt").write_text("lm -1\ntm 0\n", encoding="utf-8")
    assert main(["rerank", "lists", "--weights", "w.txt", "--quiet"]) == 0
    assert capsys.readouterr().out == "a c\n"


def test_an_unexpected_failure_is_one_line_too(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("something\nodd")

    monkeypatch.setattr(importlib.import_module("hulltune.formats.read"), "read_with", fail)
    assert main(["info", "good"]) == 1
    expected = (
        "hulltune: the run failed: ZeroDivisionError: something odd; run it again with --debug for the traceback\n"
    )
    assert capsys.readouterr().err == expected
    assert main(["info", "good", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_metric_that_asks_ends_with_its_own_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "tune",
        "good",
        "--ref",
        "refs",
        "--metric",
        "ask",
        "--store",
        "s.sqlite",
        "--restarts",
        "0",
        "--quiet",
    ]
    assert main(arguments) == 3
    assert "the questions are in questions.jsonl" in capsys.readouterr().err
    assert (folder / "questions.jsonl").exists()


def test_questions_on_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asking = ["tune", "good", "--ref", "refs", "--metric", "ask", "--store", "s.sqlite", "--restarts", "0", "--quiet"]
    assert main(asking) == 3
    capsys.readouterr()
    assert main([*asking, "--questions", "-"]) == 3
    out, err = capsys.readouterr()
    assert out == (folder / "questions.jsonl").read_text(encoding="utf-8")
    assert all(json.loads(line)["answer"] is None for line in out.splitlines())
    assert "the questions are on standard output" in err
    assert not (folder / "-").exists()


def test_the_traceback_is_for_all_commands(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("something odd")

    monkeypatch.setattr(importlib.import_module("hulltune.formats.read"), "read_with", fail)
    assert main(["--debug", "info", "good"]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert main(["--help"]) == 0
    assert "--debug    Show the Python traceback if the run fails." in capsys.readouterr().out


def test_python_m_and_a_reader_that_leaves(folder: Path) -> None:
    write_jsonl(random_lists(1, sentences=3000, candidates=2), folder / "long.jsonl")
    (folder / "w.txt").write_text("f0 1\nf1 1\nf2 1\n", encoding="utf-8")
    command = f"{sys.executable} -m hulltune rerank long.jsonl --weights w.txt --best 2 | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    assert done.stdout.startswith("0 ||| ")
    assert "rror" not in done.stderr
