"""A tuning over shards is that of one process to the bit, whatever the shards, the order of answers, and the metric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Climb, Constraints, Dataset, Problem, read
from hulltune.data.features import SparseFeatures
from hulltune.metrics.base import Metric
from hulltune.search.strategies import get_strategy
from hulltune.tuning.tune import Run
from tests.search.cluster.fleets_for_tests import unreliable
from tests.search.function_metric import FunctionMetric, hits
from tests.tuning.corpora import quick_search, random_forests, random_lists, random_records

TIMES = ("seconds", "timings")


def described(result: Any) -> dict[str, Any]:
    """All of a result but its times."""
    return {name: value for name, value in result.to_dict().items() if name not in TIMES}


def forests(seed: int) -> Dataset:
    built, references = random_forests(seed)
    return read(built, references=references)


def sparse(dataset: Dataset) -> Dataset:
    """The dataset with features as sparse rows."""
    table = dataset.corpus.features.toarray().astype(np.float64)
    rows, columns = np.nonzero(table)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(table)))]).astype(np.int64)
    features = SparseFeatures(offsets, columns.astype(np.int32), table[rows, columns], table.shape[1])
    return replace(dataset, corpus=replace(dataset.corpus, features=features))


def data(name: str) -> Dataset:
    if name.startswith("sparse"):
        return sparse(data(name.removeprefix("sparse ")))
    return forests(3) if name == "forests" else random_lists(3, sentences=16, empty=name == "empty")


def both(dataset: Dataset, metric: str | Metric, shards: int, folder: Path, **options: Any) -> list[dict[str, Any]]:
    """The results of one process and of shards."""
    run = Run(**{"strategy": Climb(restarts=2, directions=5), "constraints": Constraints(), "threads": 2, **options})
    here = Problem.of(dataset, metric)
    with unreliable(Problem.of(dataset, metric), shards, folder) as (problem, _):
        return [described(run.tune(here)), described(run.tune(problem))]


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("name", ["lists", "empty", "forests", "sparse lists", "sparse forests"])
def test_shards_change_nothing(name: str, shards: int, tmp_path: Path) -> None:
    here, there = both(data(name), "bleu", shards, tmp_path)
    assert here == there


@pytest.mark.parametrize("metric", ["wer", "chrf", "bleu - 0.5 * ter", FunctionMetric(hits), "meteor"])
def test_any_metric(metric: str | Metric, tmp_path: Path) -> None:
    here, there = both(data("lists"), metric, 3, tmp_path)
    assert here == there


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": get_strategy("cma")},
        {"strategy": quick_search("gradient")},
        {"strategy": quick_search("coordinate")},
        {"strategy": Climb(restarts=1, directions=4, smoothing="mean")},
        {"strategy": Climb(restarts=1, directions=4, policy="widest"), "regularise": 0.3},
        {"constraints": Constraints(fix={"f0": 1.0}, min={"f1": 0.0})},
    ],
    ids=str,
)
def test_any_search(options: dict[str, Any], tmp_path: Path) -> None:
    here, there = both(data("lists"), "wer", 3, tmp_path, **options)
    assert here == there


class Judged:
    """A function that counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, sentences: Any, texts: Any) -> Any:
        self.asked += texts
        return hits(sentences, texts)


@pytest.mark.parametrize("name", ["lists", "empty", "forests"])
def test_a_metric_that_cannot_be_sent_is_asked_by_the_driver(name: str, tmp_path: Path) -> None:
    """It is a function in this process: workers name the outputs that they do not know."""
    judge = Judged()
    metric = FunctionMetric(lambda sentences, texts: judge(sentences, texts))
    here, there = both(data(name), metric, 3, tmp_path)
    assert here == there
    assert judge.asked


def test_a_column_of_the_data_is_read_by_the_driver(tmp_path: Path) -> None:
    records = random_records(4)
    for record in records:
        for number, candidate in enumerate(record["candidates"]):
            candidate["features"]["correct"] = float(number % 3)
    here, there = both(read(records), "mean:column=correct", 3, tmp_path)
    assert here == there
