"""Ctrl-C at any moment: what was found is written, the exit code says so, and nothing hangs."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hulltune import TuneResult
from hulltune.cli.main import entry_point
from hulltune.formats import write_jsonl
from hulltune.interrupts import SIGNALS, Terminated
from tests.cli.running import Shell
from tests.tuning.corpora import random_lists


@pytest.mark.parametrize("more", ["--restarts 20000", "--restarts 1 --folds 40", "--restarts 1 --replicates 500"])
def test_an_interrupt_ends_with_the_best_so_far_written(folder: Path, shell: Shell, more: str) -> None:
    several = "--restarts 1" in more
    sizes = {"sentences": 60} if several else {"sentences": 400, "features": 8}  # a search that does not end by itself
    write_jsonl(random_lists(1, candidates=10, **sizes), folder / "lists.jsonl")
    line = f"-m hulltune tune lists.jsonl --metric wer --also cer --out w.json --out w.ini --directions 400 {more}"
    with subprocess.Popen(
        [sys.executable, *line.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
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
    shell("score lists.jsonl --weights w.ini --metric wer --quiet")


TUNING = "tune good --ref refs --metric wer --out w.json --quiet --restarts 0"


def interrupted_result(shell: Shell, line: str = TUNING) -> TuneResult:
    """The result that an interrupted run has written."""
    shell(line, code=130)
    assert "the best so far is in w.json" in shell.said
    result = TuneResult.load("w.json")
    assert result.interrupted
    return result


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_while_reading_has_nothing_to_write(
    folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("hulltune.formats.read"), "read_with", interrupt)
    shell(TUNING, code=130)
    assert shell.said == "hulltune: interrupted; there was nothing to write yet\n"
    assert not (folder / "w.json").exists()


def test_an_interrupt_while_describing_keeps_the_weights(
    folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("hulltune.tuning.tune"), "without_each_feature", interrupt)
    result = interrupted_result(shell)
    assert result.gain is None
    assert any(result.weights.values())


@pytest.mark.parametrize("stage", ["hulltune.tuning.tune._checked_outputs", "hulltune.search.problem.Problem.picks"])
def test_an_interrupt_after_the_search_keeps_the_weights(
    folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    owner_name, name = stage.rsplit(".", 1)
    module, _, kind = owner_name.rpartition(".")
    owner = getattr(importlib.import_module(module), kind) if kind == "Problem" else importlib.import_module(owner_name)
    work = getattr(owner, name)
    searched: list[bool] = []

    def work_and_interrupt(*arguments: Any, **options: Any) -> Any:
        if searched:
            searched.clear()
            signal.raise_signal(signal.SIGINT)
        return work(*arguments, **options)

    tuning = importlib.import_module("hulltune.tuning.tune")
    find = tuning.Run.find

    def find_and_say(*given: Any, **options: Any) -> Any:
        found = find(*given, **options)
        searched.append(True)
        return found

    monkeypatch.setattr(tuning.Run, "find", find_and_say)
    monkeypatch.setattr(owner, name, work_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert interrupted_result(shell).oracle is not None
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_between_replicates_keeps_the_first(
    folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = importlib.import_module("hulltune.tuning.tune").Run
    find, seeds = kind.find, []

    def find_or_interrupt(run: Any, *given: Any) -> Any:
        seeds.append(run.seed)
        if run.seed == 3:
            interrupt()
        return find(run, *given)

    monkeypatch.setattr(kind, "find", find_or_interrupt)
    interrupted_result(shell, f"{TUNING} --replicates 5")
    assert seeds == [1, 2, 3]


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


@pytest.mark.parametrize(("again", "code"), [(KeyboardInterrupt(), 130), (Terminated(signal.SIGTERM), 143)])
def test_a_second_signal_while_the_first_is_answered_is_no_traceback(
    again: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted_again() -> int:
        raise again

    before = {number: signal.getsignal(number) for number in SIGNALS}
    monkeypatch.setattr(importlib.import_module("hulltune.cli.main"), "main", interrupted_again)
    try:
        with pytest.raises(SystemExit) as ended:
            entry_point()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert ended.value.code == code
