"""Workers as processes: killed at each moment, the result stays that of one process; nobody is left behind."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from hulltune import Climb, Constraints, InputError, Problem, tune, write
from hulltune.cli.main import main
from hulltune.search.cluster import bins, starting
from hulltune.search.cluster.driver import Driver
from hulltune.search.cluster.fleets import ClusterError, OpenCalls
from hulltune.search.cluster.processes import COMMAND, Processes
from hulltune.search.cluster.protocol import Total
from hulltune.search.cluster.shard_files import cuts
from hulltune.search.cluster.starting import sent_metric, shard_files
from hulltune.search.shards import HERE
from hulltune.tuning.tune import Run
from tests.search.cluster.test_driver import described
from tests.tuning.corpora import random_lists

RUN = Run(Climb(restarts=1, directions=4), Constraints(), threads=2)
DATA = random_lists(3, sentences=14)
WEIGHTS = np.array([1.0, 0.5, -0.25])


@contextmanager
def processes(
    folder: Path,
    *,
    shards: int = 2,
    count: int = 2,
    restarts: int = 3,
    command: tuple[str, ...] = COMMAND,
    **options: Any,
) -> Iterator[tuple[Problem, Processes]]:
    """A problem that processes search; all of them have ended afterwards."""
    problem = Problem.of(DATA, "bleu")
    parts = cuts(problem.corpus.sentence_edges, shards)
    files = shard_files(problem, parts, sent_metric(problem.metric, stored=False), folder)
    fleet = Processes(files, count, restarts=restarts, command=command)
    try:
        yield problem.searched_by(Driver(problem, fleet, parts, **options)), fleet
    finally:
        pids = fleet.pids
        fleet.close()
        assert not any(is_running(pid) for pid in pids)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def expected() -> object:
    return described(RUN.tune(Problem.of(DATA, "bleu")))


def test_seven_shards_in_two_processes(expected: object, tmp_path: Path) -> None:
    with processes(tmp_path, shards=7) as (problem, fleet):
        assert len(fleet.pids) == 2
        assert described(RUN.tune(problem)) == expected


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("place", ["loading", "computing", "answering", "memory"])
def test_a_worker_that_is_killed_is_started_again(place: str, shards: int, expected: object, tmp_path: Path) -> None:
    """While it loads its shard, while it computes, after computing and before answering, and without memory."""
    record = tmp_path / "kills"
    arguments = ("computing", str(record), "2", "memory") if place == "memory" else (place, str(record), "2")
    command = (sys.executable, "-m", "tests.search.cluster.killed_worker", *arguments)
    with processes(tmp_path, shards=shards, command=command) as (problem, _):
        assert described(RUN.tune(problem)) == expected
    assert record.stat().st_size == 2


@pytest.mark.parametrize("place", ["computing", "answering"])
def test_a_worker_that_is_killed_between_questions_about_bins(place: str, expected: object, tmp_path: Path) -> None:
    """Its successor finds the changes anew that further questions are about."""
    record = tmp_path / "kills"
    command = (sys.executable, "-m", "tests.search.cluster.killed_worker", place, str(record), "3", "", "2")
    with (
        patch.multiple(bins, FIRST=4, MOST=8, FEW=4, SINGLE=2),
        processes(tmp_path, command=command, most_whole=0) as (problem, _),
    ):
        assert described(RUN.tune(problem)) == expected
    assert record.stat().st_size == 3


def test_workers_killed_from_outside_at_any_moment(expected: object, tmp_path: Path) -> None:
    with processes(tmp_path, count=1, restarts=4) as (problem, fleet):
        problem.loss(WEIGHTS)  # it is up
        ended = threading.Event()

        def kill_a_few_times() -> None:
            for _ in range(3):  # no more: on a busy machine a worker takes longer to start than to be killed
                if not ended.wait(0.1):
                    os.kill(fleet.pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill_a_few_times)
        killer.start()
        try:
            assert described(RUN.tune(problem)) == expected
            os.kill(fleet.pids[0], signal.SIGKILL)  # at least once, however fast the tuning is
            assert problem.loss(WEIGHTS) == Problem.of(DATA, "bleu").loss(WEIGHTS)
        finally:
            ended.set()
            killer.join()


@pytest.mark.parametrize(("kind", "told"), [((), "was ended by SIGKILL"), (("memory",), "ran out of memory")])
def test_a_spent_budget_of_restarts_is_one_line(kind: tuple[str, ...], told: str, tmp_path: Path) -> None:
    kills = (str(tmp_path / "kills"), "100", *kind)
    command = (sys.executable, "-m", "tests.search.cluster.killed_worker", "computing", *kills)
    with processes(tmp_path, count=1, restarts=1, command=command) as (problem, _):
        with pytest.raises(ClusterError, match=f"^cluster: worker 1 of 1 {told}.*started again 1 times") as error:
            RUN.tune(problem)
        assert "\n" not in str(error.value)
        with pytest.raises(ClusterError, match="worker 1 of 1"):  # and no call waits for ever
            problem.loss(WEIGHTS)


def test_a_changed_shard_is_refused(tmp_path: Path) -> None:
    with processes(tmp_path) as (problem, _):
        (file, *_) = sorted(tmp_path.glob("shard-*.hull"))
        content = bytearray(file.read_bytes())
        content[-100] ^= 1
        file.write_bytes(content)
        with pytest.raises(InputError, match=f"{file}: the file of a shard has changed since it was written"):
            problem.loss(WEIGHTS)


def test_a_lost_shard_is_refused(tmp_path: Path) -> None:
    with processes(tmp_path) as (problem, _):
        for file in tmp_path.glob("shard-*.hull"):
            file.unlink()
        with pytest.raises(InputError, match="cannot be read"):
            problem.loss(WEIGHTS)


def test_workers_end_when_the_driver_is_gone(tmp_path: Path) -> None:
    """Their input ends: closing it is what the system does when a process is killed."""
    with processes(tmp_path, count=1) as (problem, fleet):
        problem.loss(WEIGHTS)
        (process,) = fleet._processes
        process.begin_to_end()
        for _ in range(200):
            if process._process.poll() is not None:
                break
            time.sleep(0.02)
        assert process._process.returncode == 0


def test_tune_with_processes(tmp_path: Path) -> None:
    alone = tune(DATA, metric="wer", search=RUN.strategy)
    together = tune(DATA, metric="wer", search=RUN.strategy, cluster="processes", workers=2)
    assert described(alone) == described(together)


def test_late_and_repeated_answers_are_dropped() -> None:
    calls = OpenCalls()
    first = calls.begin(Total(WEIGHTS), [0, 1])
    calls.deliver(first[0].round, 1, "b")
    calls.deliver(first[0].round, 1, "again")
    calls.deliver(first[0].round + 7, 0, "of no round")
    calls.deliver(first[0].round, 0, "a")
    assert calls.wait(first) == ["a", "b"]
    second = calls.begin(Total(WEIGHTS), [0])
    calls.deliver(first[0].round, 0, "late")
    assert calls.of_shards([0]) == second
    calls.deliver(second[0].round, 0, "c")
    assert calls.wait(second) == ["c"]
    assert calls.of_shards([0, 1]) == []


def test_names_of_clusters_and_what_they_do_not_take() -> None:
    with pytest.raises(InputError, match="unknown cluster 'proceses'; did you mean 'processes'"):
        tune(DATA, cluster="proceses")
    with pytest.raises(InputError, match="cluster: a certified search runs in one process"):
        tune(DATA, cluster="processes", search="certified")
    with pytest.raises(InputError, match="workers: a number of workers is that of a cluster"):
        tune(DATA, workers=2)


def test_the_sums_are_those_of_decoding(tmp_path: Path) -> None:
    with processes(tmp_path, shards=3) as (problem, _):
        assert problem.searcher is not None
        total = problem.searcher.total(problem, WEIGHTS, HERE)
        assert np.array_equal(total, Problem.of(DATA, "bleu").picks(WEIGHTS).total)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The same answer with a cluster; and one line and exit code 1 when workers are lost for good."""
    write(DATA, tmp_path / "data.hull")
    command = [
        "tune",
        str(tmp_path / "data.hull"),
        "-m",
        "bleu",
        "-q",
        "--json",
        "--search",
        "random",
        "--restarts",
        "1",
    ]
    answers = []
    for further in ([], ["--cluster", "processes", "--workers", "2", "--run", str(tmp_path / "run")]):
        assert main([*command, *further]) == 0
        answer = json.loads(capsys.readouterr().out)
        answers.append({name: value for name, value in answer.items() if name not in ("seconds", "timings")})
    assert answers[0] == answers[1]
    killed = (sys.executable, "-m", "tests.search.cluster.killed_worker", "loading", str(tmp_path / "kills"), "100")
    monkeypatch.setattr(starting, "Processes", partial(Processes, command=killed, restarts=0))
    assert main([*command, "--cluster", "processes", "--workers", "1"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("hulltune: cluster: worker 1 of 1 was ended by SIGKILL")
    assert told.err.count("\n") == 1
