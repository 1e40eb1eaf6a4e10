"""Wrong usage and wrong input: one line on standard error, exit code 2, and never a traceback."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hulltune import TuneResult
from hulltune.cli import main
from hulltune.cli.compiling import TUNING_FORESTS, TUNING_LISTS, needs_compiling
from hulltune.io import write_jsonl
from tests.tuning.corpora import random_lists

GOOD = ["0 ||| a b ||| x= 1 2 y= 3 ||| 1", "0 ||| a c ||| x= 1 1 y= 0 ||| 2", "1 ||| d ||| x= 0 1 y= 1 ||| 0"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good").write_text("\n".join(GOOD) + "\n", encoding="utf-8")
    (tmp_path / "refs").write_text("a b\nd\n", encoding="utf-8")
    (tmp_path / "empty").write_text("", encoding="utf-8")
    (tmp_path / "w.txt").write_text("x_0 1\nx_1 1\ny 1\n", encoding="utf-8")
    return tmp_path


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
        ("tune good --ref refs --metrc bleu", "unrecognized arguments: --metrc bleu"),
        ("tune good --ref refs --metric blue", "unknown metric 'blue'; did you mean 'bleu'?"),
        ("tune good --ref refs --seed x", "argument --seed: got 'x'; expected a whole number"),
        ("tune good --ref refs --fix lm", "argument --fix: got 'lm'; expected NAME=NUMBER"),
        ("tune good --ref refs --fix lm=1", "unknown feature in fixed: 'lm'"),
        ("tune good --ref refs --fix y=1 --fix y=2", "--fix: 'y' is given twice"),
        ("tune good --ref refs --search randm", "unknown search 'randm'; did you mean 'random'?"),
        ("tune good --ref refs --metric comet", "unknown metric 'comet' (known: "),
        ("tune good --ref refs --format xml", "unknown format 'xml' (known: "),
        ("tune good --ref refs --policy mid", "unknown policy 'mid'"),
        ("tune good --ref refs --features wrds", "unknown built-in feature 'wrds'; did you mean 'words'?"),
        ("tune good --ref refs --missing 1", "--missing: got '1'; expected 0"),
        ("tune good --ref refs --on-error ignore", "unknown way to handle errors 'ignore'"),
        ("tune good --ref refs --format mose", "unknown format 'mose'; did you mean 'moses'?"),
        ("tune good --ref refs --out w.jsn", "--out: 'w.jsn' has no known suffix"),
        ("tune good --ref refs --out no/w.json", "there is no folder no"),
        ("tune good --ref refs --heldout-ref refs", "there are no --heldout lists"),
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
        ("score good --ref refs", "the following arguments are required: --weights"),
        ("score good --ref refs --weights refs", "refs:1: "),
        ("score good --ref refs --weights empty", "empty: no weights in it"),
        ("rerank good --weights w.txt --as txt", "unknown output 'txt'; did you mean 'text'?"),
        ("rerank good --weights w.txt --best 0", "--best: got '0'; expected a whole number of at least 1"),
        ("rerank good --weights w.txt --out no/x", "cannot be written"),
        ("surface good --ref refs --weights w.txt", "one of the arguments --feature --to --plane is required"),
        ("pack good", "the following arguments are required: --out"),
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

    monkeypatch.setattr("hulltune.io.read_lists", fail)
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


def test_python_m_and_a_reader_that_leaves(folder: Path) -> None:
    write_jsonl(random_lists(1, sentences=3000, candidates=2), folder / "long.jsonl")
    (folder / "w.txt").write_text("f0 1\nf1 1\nf2 1\n", encoding="utf-8")
    command = f"{sys.executable} -m hulltune rerank long.jsonl --weights w.txt --best 2 | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    assert done.stdout.startswith("0 ||| ")
    assert "rror" not in done.stderr


@pytest.mark.parametrize("more", [[], ["--folds", "40"], ["--replicates", "500"]])
def test_an_interrupt_ends_with_the_best_so_far_written(folder: Path, more: list[str]) -> None:
    write_jsonl(random_lists(1, sentences=60, candidates=10), folder / "lists.jsonl")
    restarts = ["--restarts", "20000"] if not more else ["--restarts", "1"]
    command = [
        sys.executable, "-m", "hulltune", "tune", "lists.jsonl", "--metric", "wer", "--also", "cer", "--out", "w.json",
        "--out", "w.ini", *restarts, "--directions", "400", *more,
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            while "line searches" not in process.stderr.readline():  # it has begun
                assert process.poll() is None
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert "interrupted; the best so far is in w.json, w.ini" in err
    assert "Traceback" not in err
    assert "interrupted: the best so far" in out
    result = TuneResult.load("w.json")
    assert result.interrupted
    assert result.score <= result.baseline
    assert main(["score", "lists.jsonl", "--weights", "w.ini", "--metric", "wer", "--quiet"]) == 0


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def interrupt_in_a_kernel(*_: object, **__: object) -> None:
    """What Python makes of Ctrl-C as a kernel returns."""
    try:
        raise SystemError("_numba_unpickle returned a result with an exception set") from KeyboardInterrupt()
    except SystemError as error:
        raise SystemError("CPUDispatcher returned a result with an exception set") from error


interrupts = pytest.mark.parametrize("interrupt", [interrupt, interrupt_in_a_kernel])


@interrupts
def test_an_interrupt_while_reading_has_nothing_to_write(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, interrupt: Callable[..., None]
) -> None:
    monkeypatch.setattr("hulltune.io.read_lists", interrupt)
    assert main(["tune", "good", "--ref", "refs", "--out", "w.json", "--quiet"]) == 130
    assert capsys.readouterr().err == "hulltune: interrupted; there was nothing to write yet\n"
    assert not (folder / "w.json").exists()


@interrupts
def test_an_interrupt_while_describing_keeps_the_weights(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, interrupt: Callable[..., None]
) -> None:
    monkeypatch.setattr(importlib.import_module("hulltune.tuning.tune"), "oracle_around", interrupt)
    arguments = ["tune", "good", "--ref", "refs", "--metric", "wer", "--out", "w.json", "--quiet", "--restarts", "0"]
    assert main(arguments) == 130
    assert "the best so far is in w.json" in capsys.readouterr().err
    result = TuneResult.load("w.json")
    assert result.interrupted
    assert result.oracle is None
    assert any(result.weights.values())


@pytest.mark.parametrize(
    "stage", ["hulltune.tuning.inputs.ListData.score_anew", "hulltune.search.problem.ListProblem.picks"]
)
def test_an_interrupt_after_the_search_keeps_the_weights(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    owner_name, name = stage.rsplit(".", 1)
    module, kind = owner_name.rsplit(".", 1)
    owner = getattr(importlib.import_module(module), kind)
    work = getattr(owner, name)
    searched: list[bool] = []

    def work_and_interrupt(*arguments: Any, **options: Any) -> Any:
        if searched:
            searched.clear()
            signal.raise_signal(signal.SIGINT)
        return work(*arguments, **options)

    tuning = importlib.import_module("hulltune.tuning.tune")
    search = tuning._search

    def search_and_say(*given: Any) -> Any:
        found = search(*given)
        searched.append(True)
        return found

    monkeypatch.setattr(tuning, "_search", search_and_say)
    monkeypatch.setattr(owner, name, work_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        arguments = [
            "tune",
            "good",
            "--ref",
            "refs",
            "--metric",
            "wer",
            "--out",
            "w.json",
            "--quiet",
            "--restarts",
            "0",
        ]
        assert main(arguments) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert "the best so far is in w.json" in capsys.readouterr().err
    result = TuneResult.load("w.json")
    assert result.interrupted
    assert result.oracle is not None


@interrupts
def test_an_interrupt_between_replicates_keeps_the_first(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, interrupt: Callable[..., None]
) -> None:
    api = importlib.import_module("hulltune.tuning.api")
    tune_problem, seeds = api.tune_problem, []

    def tune_or_interrupt(problem: Any, options: Any, **others: Any) -> Any:
        seeds.append(options.seed)
        if options.seed == 3:
            interrupt()
        return tune_problem(problem, options, **others)

    monkeypatch.setattr(api, "tune_problem", tune_or_interrupt)
    arguments = ["tune", "good", "--ref", "refs", "--metric", "wer", "--out", "w.json", "--quiet", "--restarts", "0"]
    assert main([*arguments, "--replicates", "5"]) == 130
    assert seeds == [1, 2, 3]
    assert "the best so far is in w.json" in capsys.readouterr().err
    assert TuneResult.load("w.json").interrupted


def test_another_error_of_the_machine_is_no_interrupt(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SystemError("bad call")

    monkeypatch.setattr(importlib.import_module("hulltune.tuning.tune"), "oracle_around", fail)
    assert main(["tune", "good", "--ref", "refs", "--metric", "wer", "--quiet", "--restarts", "0"]) == 1
    assert "the run failed: SystemError: bad call" in capsys.readouterr().err


COMPILING = "hulltune: compiling kernels, first run only\n"


def test_the_first_run_says_that_it_compiles(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "nothing"))
    assert needs_compiling(TUNING_LISTS)
    tune_lists = ["tune", "good", "--ref", "refs", "--features", "wrds"]
    assert main(tune_lists) == 2
    assert capsys.readouterr().err.startswith(COMPILING)
    cache = folder / "nothing" / "kernels_0123"
    cache.mkdir(parents=True)
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    for name in TUNING_LISTS:
        (cache / f"{name}-1.{version}.nbi").touch()
    assert not needs_compiling(TUNING_LISTS)
    assert main(tune_lists) == 2
    assert COMPILING not in capsys.readouterr().err
    (folder / "forest").write_text("# lattice\n", encoding="utf-8")
    assert needs_compiling(TUNING_FORESTS)
    assert main(["tune", "forest", "--format", "forest", "--ref", "refs"]) == 2  # other kernels, and a fault after that
    assert capsys.readouterr().err.startswith(COMPILING)
    os.utime(cache / f"{TUNING_LISTS[0]}-1.{version}.nbi", (1, 1))
    assert needs_compiling(TUNING_LISTS)


ASKED_AND_CALLED = """
import json, sys
from hulltune.cli import compiling, main
asked = []
compiling.needs_compiling = lambda kernels: asked.extend(kernels)
for arguments in json.loads(sys.argv[1]):
    assert main(arguments) == 0, arguments
called = [
    f"{name.rpartition('.')[2]}.{function}"
    for name, module in sys.modules.items() if name.startswith("hulltune.kernels.")
    for function, kernel in vars(module).items() if getattr(kernel, "signatures", None)
]
print(json.dumps([asked, called]))
"""


@pytest.mark.parametrize("kind", ["lists", "forests"])
def test_the_kernels_that_commands_look_for_are_those_they_call(folder: Path, kind: str) -> None:
    """Otherwise every run would say that it is the first."""
    if kind == "lists":
        data, refs, feature = "good", "refs", "y"
    else:
        assert main(["decode", "--make", "2", "--input", "de", "--ref", "en"]) == 0
        assert main(["decode", "--input", "de", "--output", "forests", "--forest"]) == 0
        data, refs, feature = "forests", "en", "lm"
    judged = [data, "--ref", refs, "--metric"]
    weighted = ["--weights", "w.json"]
    commands = [
        ["tune", *judged, "wer", "--restarts", "0", "--out", "w.json"],
        ["score", *judged, "wer", *weighted],
        ["rerank", data, *weighted],
        ["surface", *judged, "wer", *weighted, "--feature", feature, "--out", "surface.csv"],
        ["oracle", *judged, "cer"],
        ["oracle", *judged, "bleu", *weighted],
        ["kbest", data, *weighted, "--k", "3", "--out", "best"],
    ]
    told = subprocess.run(
        [sys.executable, "-c", ASKED_AND_CALLED, json.dumps(commands)], check=True, capture_output=True, text=True
    ).stdout
    asked, called = map(set, json.loads(told.splitlines()[-1]))
    assert set(TUNING_LISTS if kind == "lists" else TUNING_FORESTS) <= asked <= called


def test_an_interrupt_while_python_ends_changes_nothing() -> None:
    late = (
        "import atexit, signal, sys; from hulltune.cli.main import entry_point; sys.argv = ['hulltune', '--version']; "
        "atexit.register(signal.raise_signal, signal.SIGINT); entry_point()"
    )
    done = subprocess.run(
        [sys.executable, "-c", late], capture_output=True, text=True, timeout=300,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
