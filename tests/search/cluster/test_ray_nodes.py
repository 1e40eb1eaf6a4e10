"""A node of a Ray cluster that is lost in the middle of a tuning: its actors go on elsewhere, with the same result."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hulltune import Problem
from hulltune.interrupts import SIGNALS
from tests.search.cluster.test_driver import described

pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
from tests.search.cluster.test_ray import DATA, RUN, WEIGHTS, actors, pid, ray

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster whose head takes no actors, and which notices soon that a node is gone."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 200, "health_check_failure_threshold": 3}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": soon}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        _restore(handlers)
        yield cluster
        ray.shutdown()
        cluster.shutdown()
        _restore(handlers)


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    """Put handlers of signals back: Ray replaces some, and again for each node that is added."""
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_lost_node(nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = nodes.add_node(num_cpus=1)
    with actors(tmp_path, shards=2) as (problem, fleet):
        assert problem.loss(WEIGHTS) == Problem.of(DATA, "bleu").loss(WEIGHTS)  # its actors are on the one node
        before = [pid(fleet, shard) for shard in range(2)]
        nodes.add_node(num_cpus=1)
        asked, lock, ask = [0], threading.Lock(), fleet.ask

        def ask_and_lose(*question: Any) -> list[Any]:
            with lock:
                asked[0] += 1
                if asked[0] == 6:
                    nodes.remove_node(lost, allow_graceful=False)
                    for number in before:  # a machine takes all its processes with it; Ray leaves them 2 s
                        os.kill(number, signal.SIGKILL)
            return ask(*question)

        monkeypatch.setattr(fleet, "ask", ask_and_lose)
        assert described(RUN.tune(problem)) == described(RUN.tune(Problem.of(DATA, "bleu")))
        assert asked[0] > 6
        assert not set(before) & {pid(fleet, shard) for shard in range(2)}
