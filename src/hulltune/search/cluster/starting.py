"""Starting a driver and its workers for a problem, by the name of a cluster."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from hulltune.errors import InputError, unknown_name
from hulltune.metrics.base import Metric
from hulltune.names import CLUSTERS
from hulltune.search.cluster.driver import Driver
from hulltune.search.cluster.fleets import Fleet
from hulltune.search.cluster.journal import Here, recorded
from hulltune.search.cluster.processes import Processes
from hulltune.search.cluster.shard_files import ShardFile, cuts, digest_of, packed_bytes, write_shard
from hulltune.search.cluster.told import ToldMetric
from hulltune.search.elsewhere import Searcher
from hulltune.search.problem import Problem
from hulltune.threads import check_threads


@contextmanager
def searcher_of(
    problem: Problem,
    cluster: str | None,
    *,
    workers: int | None = None,
    folder: str | Path | None = None,
    stored: bool = False,
) -> Iterator[Problem]:
    """The problem, searched by a cluster if one is named, and with its answers kept in a folder if one is given."""
    if cluster is None and workers is not None:
        raise InputError("workers: a number of workers is that of a cluster; name one, processes or ray")
    with ExitStack() as stack:
        searcher: Searcher | None = None
        place = None if folder is None else _made(Path(folder))
        if cluster is not None:
            driver = driver_of(problem, cluster, workers=workers, folder=place, stored=stored)
            searcher = stack.enter_context(driver)
        if place is not None:
            searcher = stack.enter_context(recorded(searcher or Here(), problem, place))
        yield problem if searcher is None else problem.searched_by(searcher)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder ({error.strerror})") from None
    return folder


@contextmanager
def driver_of(
    problem: Problem, cluster: str, *, workers: int | None = None, folder: Path | None = None, stored: bool = False
) -> Iterator[Driver]:
    """A driver for a problem, whose workers end with this context.

    ``workers`` is the number of shards, by default one for each CPU. Shards are written to ``folder``, and stay there;
    without one, to a folder that goes with the context. A metric whose statistics are ``stored``, or that workers
    cannot compute by themselves, is asked by the driver.
    """
    if cluster not in CLUSTERS:
        raise unknown_name("cluster", cluster, CLUSTERS)
    count = check_threads(workers)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else folder
        parts = cuts(problem.corpus.sentence_edges, count)
        shards = shard_files(problem, parts, sent_metric(problem.metric, stored=stored), place)
        fleet: Fleet
        if cluster == "ray":
            from hulltune.search.cluster.actors import Actors

            fleet = Actors(shards)
        else:
            fleet = Processes(shards, count)
        stack.callback(fleet.close)
        yield Driver(problem, fleet, parts)


def shard_files(problem: Problem, parts: list[tuple[int, int]], metric: Metric, folder: Path) -> list[ShardFile]:
    """The shards of a problem, written to a folder."""
    if problem.dataset is None:
        raise InputError("cluster: the problem was not made of a dataset; make it with Problem.of")
    files = []
    for number, part in enumerate(parts):
        content = packed_bytes(problem.dataset, np.arange(*part))
        path = write_shard(content, folder)
        files.append(ShardFile(number, str(path), digest_of(content), metric))
    return files


def sent_metric(metric: Metric, *, stored: bool) -> Metric:
    """The metric as workers get it: itself, or a stand-in whose statistics the driver tells."""
    return metric if _is_portable(metric) and not stored else ToldMetric(metric)


def _is_portable(metric: Metric) -> bool:
    """Whether a worker can compute the statistics of its outputs by itself: they depend on texts alone, and the metric
    can be sent to another process that has this package.
    """
    if metric.waits or metric.reads or not metric.storable:
        return False
    try:
        sent = pickle.dumps(metric)
    except Exception:
        return False
    return b"__main__" not in sent
