"""Workers as Ray actors, on a cluster of this machine: the result of one process, whatever happens to the actors."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Climb, Constraints, InputError, Problem, tune
from hulltune.search.cluster.actors import Actors
from hulltune.search.cluster.driver import Driver
from hulltune.search.cluster.fleets import ClusterError
from hulltune.search.cluster.ray_session import connected
from hulltune.search.cluster.shard_files import ShardFile, cuts
from hulltune.search.cluster.starting import sent_metric, shard_files
from hulltune.tuning.tune import Run
from tests.search.cluster.killed_actor import killed_actor
from tests.search.cluster.test_driver import described
from tests.tuning.corpora import random_lists

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install ray")

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

RUN = Run(Climb(restarts=1, directions=4), Constraints(), threads=2)
DATA = random_lists(3, sentences=14)
WEIGHTS = np.array([1.0, 0.5, -0.25])


@pytest.fixture(scope="module")
def session() -> Iterator[None]:
    """One cluster for all tests: to start it takes longer than all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert connected()[1]
        yield
        ray.shutdown()


@contextmanager
def actors(folder: Path, *, shards: int = 2, **options: Any) -> Iterator[tuple[Problem, Actors]]:
    problem = Problem.of(DATA, "bleu")
    parts = cuts(problem.corpus.sentence_edges, shards)
    fleet = Actors(shard_files(problem, parts, sent_metric(problem.metric, stored=False), folder), **options)
    try:
        yield problem.searched_by(Driver(problem, fleet, parts)), fleet
    finally:
        fleet.close()


def pid(fleet: Actors, shard: int) -> int:
    number: int = ray.get(fleet.actors[shard].pid.remote())
    return number


def test_tune_on_ray_is_tune_in_one_process(session: None) -> None:
    alone = tune(DATA, metric="wer", search=RUN.strategy)
    together = tune(DATA, metric="wer", search=RUN.strategy, cluster="ray", workers=2)
    assert described(alone) == described(together)
    assert ray.is_initialized()  # the cluster was there before, so it stays
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_actors_that_are_killed_come_back(session: None, tmp_path: Path) -> None:
    """While nothing is asked, and at some moment of a tuning"""
    expected = described(RUN.tune(Problem.of(DATA, "bleu")))
    with actors(tmp_path) as (problem, fleet):
        first = pid(fleet, 0)
        os.kill(first, signal.SIGKILL)
        assert problem.loss(WEIGHTS) == Problem.of(DATA, "bleu").loss(WEIGHTS)
        assert pid(fleet, 0) != first
        other = pid(fleet, 1)
        killer = threading.Timer(0.15, os.kill, (other, signal.SIGKILL))
        killer.start()
        assert described(RUN.tune(problem)) == expected
        killer.join()
        assert problem.loss(WEIGHTS) == Problem.of(DATA, "bleu").loss(WEIGHTS)
        assert pid(fleet, 1) != other


@pytest.mark.parametrize(
    ("place", "shards"), [("loading", 2), ("computing", 1), ("answering", 1), ("answering", 7), ("memory", 2)]
)
def test_an_actor_killed_at_a_named_moment(place: str, shards: int, session: None, tmp_path: Path) -> None:
    """While it loads its shard, while it computes, after computing and before answering, and without memory"""
    record = tmp_path / "kills"
    killed = killed_actor("computing", record, 2, memory=True) if place == "memory" else killed_actor(place, record, 2)
    with actors(tmp_path, shards=shards, actor=killed) as (problem, _):
        assert described(RUN.tune(problem)) == described(RUN.tune(Problem.of(DATA, "bleu")))
    assert record.stat().st_size == 2


def test_a_node_that_does_not_see_the_folder_gets_its_shard_sent(
    session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with actors(tmp_path, shards=1) as (problem, _):
        (file,) = tmp_path.glob("shard-*.hull")
        content = file.read_bytes()
        file.unlink()
        monkeypatch.setattr(ShardFile, "content", lambda self: content)  # of this process alone: it sees the folder
        assert problem.loss(WEIGHTS) == Problem.of(DATA, "bleu").loss(WEIGHTS)


def test_a_spent_budget_and_a_changed_shard(session: None, tmp_path: Path) -> None:
    with actors(tmp_path, shards=1, restarts=0) as (problem, fleet):
        os.kill(pid(fleet, 0), signal.SIGKILL)
        time.sleep(0.2)
        with pytest.raises(ClusterError, match=r"^cluster: a worker was lost") as error:
            problem.loss(WEIGHTS)
        assert "\n" not in str(error.value)
    with actors(tmp_path, shards=1) as (problem, _):
        (file,) = tmp_path.glob("shard-*.hull")
        content = bytearray(file.read_bytes())
        content[-100] ^= 1
        file.write_bytes(content)
        with pytest.raises(InputError, match="has changed since it was written"):
            problem.loss(WEIGHTS)


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "nonsense://nowhere")
    if ray.is_initialized():
        ray.shutdown()
    with pytest.raises(
        InputError, match=r"^cluster: Ray cannot reach or start the cluster nonsense://nowhere"
    ) as error:
        tune(DATA, cluster="ray")
    assert "\n" not in str(error.value)
