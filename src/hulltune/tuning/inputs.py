"""What callers give, turned into what tuning takes: a dataset with references, weights, and the problem they pose."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.errors import InputError
from hulltune.formats.read import read
from hulltune.formats.references import ReferencesLike, as_references
from hulltune.formats.weights import read_weights
from hulltune.metrics.base import Metric
from hulltune.metrics.lazy import LazyStatistics
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store
from hulltune.search.forest_problem import ForestProblem
from hulltune.search.problem import ListProblem, exact_sum
from hulltune.tuning.reranking import best_outputs, best_rows
from hulltune.tuning.result import TuneResult
from hulltune.wording import counted

DataLike: TypeAlias = Any
"""A Dataset, or anything that ``read`` takes."""
WeightsLike: TypeAlias = Mapping[str, float] | Sequence[float] | str | os.PathLike[str] | TuneResult

__all__ = [
    "DataLike",
    "ReferencesLike",
    "WeightsLike",
    "as_dataset",
    "as_references",
    "as_weights",
    "like",
    "problem_of",
    "score_anew",
]


def as_dataset(data: DataLike, references: ReferencesLike = None) -> Dataset:
    """Whatever is to be tuned on, with a reference for each sentence: those given, or those that it carries."""
    return read(data).matched(as_references(references))


def as_weights(weights: WeightsLike) -> Mapping[str, float] | Sequence[float]:
    """Weights by name or in the order of the features: as they are, of a result, or read from a file."""
    if isinstance(weights, TuneResult):
        return weights.weights
    if isinstance(weights, (str, os.PathLike)):
        return read_weights(weights)
    return weights


def like(dataset: Dataset, heldout: DataLike, references: ReferencesLike = None) -> Dataset:
    """Held-out data with the features of a dataset, matched by name, and a reference for each sentence.

    A feature that the held-out data lack is 0 where either of them has forests, or the lists leave it out. Lists that
    are held out from forests have a reference line each: nothing tells that further lines are of sentences that were
    left out on purpose.
    """
    texts = as_references(references)
    found = read(heldout)
    both_lists = dataset.is_lists and found.is_lists
    if found.is_lists and not both_lists and texts is not None and len(texts) != len(found):
        raise InputError(
            f"held-out references: got {counted(len(texts), 'line')}, expected one for each of "
            f"{counted(len(found), 'sentence')} of the held-out lists"
        )
    same = found.with_features(dataset.feature_names, may_lack=dataset.omitted if both_lists else None)
    return same.matched(texts)


def problem_of(
    dataset: Dataset,
    metric: Metric | str,
    *,
    store: Store | None = None,
    questions: str | Path | None = None,
    beside: ListProblem | ForestProblem | None = None,
) -> Any:
    """The ListProblem or ForestProblem that tuning works on: a dataset with references, and a metric.

    Statistics are shared through the store.
    ``beside`` is a problem over the same dataset with another metric: what one picks means the same to the other.
    """
    metric = get_metric(metric)
    references = dataset.references
    if references is None:
        raise InputError("no references: the dataset carries none; give some, or see Dataset.matched")
    sources = dataset.sources
    known = None if sources is None or not any(sources) else [source or "" for source in sources]
    statistics = LazyStatistics(metric, references, known, store=store, questions=questions)
    if dataset.is_lists:
        return ListProblem(
            dataset.corpus,
            dataset.text,
            metric,
            references,
            totals=dataset.scores,
            statistics=statistics,
            some_texts=dataset.texts,
        )
    return ForestProblem(
        dataset.corpus,
        metric,
        references,
        first_choices=dataset.first_choices,
        statistics=statistics,
        outputs=beside.outputs if isinstance(beside, ForestProblem) else None,
    )


def score_anew(dataset: Dataset, problem: ListProblem | ForestProblem, weights: Mapping[str, float]) -> float:
    """The score of decoding from scratch: nothing is taken from the search but the statistics of texts."""
    if isinstance(problem, ListProblem):
        return float(problem.metric.score(problem.picked(best_rows(dataset, weights)).total))
    rows = problem.rows_of_texts(best_outputs(dataset, weights))
    return float(problem.metric.score(exact_sum(np.asarray(problem.table[rows]))))
