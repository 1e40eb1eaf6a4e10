"""Ctrl-C of a tuning over processes: the best so far is kept, nobody is left, and a run with a folder goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hulltune import TuneResult
from hulltune.cli import main
from hulltune.formats import write_jsonl
from hulltune.search.cluster.journal import FILE
from tests.search.cluster.test_driver import described
from tests.search.cluster.test_journal import descendants, wait_for_the_end
from tests.tuning.corpora import random_lists

SEARCH = ["--metric", "wer", "--restarts", "20", "--directions", "40"]


def heard_by(whom: str, driver: int) -> None:
    """Send SIGINT to the driver alone, to its process group as a terminal does, or to each process of the run."""
    if whom == "group":
        os.killpg(driver, signal.SIGINT)
        return
    for pid in [*(descendants(driver) if whom == "everybody" else []), driver]:
        os.kill(pid, signal.SIGINT)


@pytest.mark.parametrize("whom", ["driver", "group", "everybody"])
def test_an_interrupted_run_keeps_the_best_and_goes_on(whom: str, tmp_path: Path) -> None:
    write_jsonl(random_lists(1, sentences=120, candidates=10, features=6), tmp_path / "lists.jsonl")
    command = ["tune", "lists.jsonl", *SEARCH, "--out", "w.json", "--out", "w.txt"]
    clustered = [*command, "--cluster", "processes", "--workers", "2", "--run", "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hulltune", *clustered], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
    )  # fmt: skip
    try:
        journal = tmp_path / "run" / FILE
        while process.poll() is None and not (journal.exists() and journal.stat().st_size > 5000):
            time.sleep(0.001)
        workers = descendants(process.pid)
        heard_by(whom, process.pid)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert len(workers) == 2
    wait_for_the_end(workers)
    assert "interrupted; the best so far is in w.json, w.txt" in err
    assert "Traceback" not in err
    assert "interrupted: the best so far" in out
    best = TuneResult.load(tmp_path / "w.json")
    assert best.interrupted
    assert best.score <= best.baseline

    completed, completed_weights = finished(tmp_path, clustered)
    alone, alone_weights = finished(tmp_path, command)
    assert completed == alone
    assert completed_weights == alone_weights


def finished(folder: Path, command: list[str]) -> tuple[dict[str, Any], bytes]:
    """The result of a run to its end, without its times, and its file of weights."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert main([*command, "--quiet"]) == 0
        return described(TuneResult.load("w.json")), Path("w.txt").read_bytes()
    finally:
        os.chdir(before)
