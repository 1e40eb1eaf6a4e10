"""News of compiling: one line in a pipe, a line that is kept up to date on a terminal, nothing for the quiet."""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hulltune.cli.progress import plain_lines, plain_loop_lines, shown_progress
from hulltune.compiling import Listener, OnStandardError, listeners, told_of_compiling
from hulltune.loop import LoopProgress
from hulltune.tuning import Progress

COMPILING = "hulltune: compiling kernels, first run only\n"
ADDS_UP = "from hulltune.kernels.scores.exact import compare_products; print(compare_products(3.0, 5.0, 2.0, 7.0))"


def environment(folder: Path) -> dict[str, str]:
    """An environment in which nothing is compiled yet, nor comes with the package."""
    return {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "HULLTUNE_KERNELS": "none"}


def test_a_run_that_compiles_says_so_unless_it_is_quiet(folder: Path) -> None:
    """With a command that calls four kernels: decoding would compile fifty."""
    content = '{"id": 0, "candidates": [{"text": "a", "features": {"x": 1}}]}\n'
    (folder / "lists.jsonl").write_text(content, encoding="utf-8")
    arguments = [sys.executable, "-m", "hulltune", "convert", "lists.jsonl", "lists.hull"]

    def said(*more: str) -> str:
        run = subprocess.run([*arguments, *more], env=environment(folder), capture_output=True, text=True, check=True)
        return run.stderr

    assert said("--quiet") == ""
    written = said()
    assert written.startswith("hulltune: lists.hull: 1 sentence")
    lost = list((folder / "cache").rglob("texts.hash_texts*"))
    assert lost
    for file in lost:
        file.unlink()
    assert said() == COMPILING + written
    assert said() == written
    for file in (folder / "cache").rglob("texts.hash_texts*.nbc"):
        file.write_bytes(file.read_bytes()[:99])
    note, *others = said().splitlines(keepends=True)  # and not a word on the user's file
    assert note.startswith(f"hulltune: the cache of kernels in {folder / 'cache'}")
    assert others == [COMPILING, written]
    assert said() == written


def test_python_says_it_once(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ADDS_UP], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("1\n", COMPILING)


def test_no_standard_error_is_no_trouble(tmp_path: Path) -> None:
    code = f"import sys; sys.stderr = None; {ADDS_UP}"
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert run.stdout == "1\n"


def test_whoever_listens_is_told_the_names_of_kernels(tmp_path: Path) -> None:
    """If this fails, Numba's events have moved, and first runs are silent."""
    code = (
        "from hulltune.compiling import Listener, told_of_compiling\n"
        "class Told(Listener):\n"
        "    def compiling(self, kernel, done): print(kernel, done)\n"
        "    def ended(self, done): print('ended', done)\n"
        f"with told_of_compiling(Told()):\n    {ADDS_UP}\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, check=True
    ).stdout
    assert told == "scores.exact.compare_products 0\nscores.exact.rounding_error 0\nended 2\n1\n"


def test_a_listener_leaves_when_it_is_done() -> None:
    listener = Listener()
    with told_of_compiling(listener):
        assert listeners[-1] is listener
    assert listener not in listeners


class Terminal(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_is_compiled_and_clears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    listener = OnStandardError()
    listener.compiling("exact.clip", 3)
    assert terminal.getvalue() == "\rcompiling kernels, first run only: 3 done, exact.clip …"
    listener.ended(4)
    assert terminal.getvalue().endswith("\r" + " " * 55 + "\r")


def test_trouble_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    listener = OnStandardError()
    for _ in range(2):
        listener.trouble("the cache is full")
    assert capsys.readouterr().err == "hulltune: the cache is full\n"


def test_nothing_is_told_of_a_search_that_has_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter(range(0, 100, 10))
    show = plain_lines(clock=lambda: float(next(seconds)))
    show(Progress(starts=4, starts_done=0, line_searches=0, best_score=0.0, baseline=0.0, seconds=10.0))
    assert capsys.readouterr().err == ""
    show(Progress(starts=4, starts_done=0, line_searches=5, best_score=0.0, baseline=0.0, seconds=20.0))
    assert "5 line searches" in capsys.readouterr().err


def test_a_bar_shows_what_is_compiled_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with shown_progress():
        listeners[-1].compiling("exact.clip", 3)
        listeners[-1].trouble("the cache is full")
    assert "3 done, exact.clip" in terminal.getvalue()
    assert "hulltune: the cache is full" in terminal.getvalue()


def test_nothing_is_told_of_a_loop_that_does_not_search_yet(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter(range(0, 1000, 20))
    show = plain_loop_lines(clock=lambda: float(next(seconds)))
    waiting = Progress(starts=4, starts_done=0, line_searches=0, best_score=0.0, baseline=0.0, seconds=10.0)
    for tuning in (waiting, dataclasses.replace(waiting, line_searches=5)):
        show(LoopProgress(iteration=2, stage="tuning", unit="hypotheses", tuning=tuning))
    assert capsys.readouterr().err.splitlines() == [
        "iteration 2: 0/4 starts, 5 line searches (0/s), best 0.0000 (baseline 0.0000)"
    ]
