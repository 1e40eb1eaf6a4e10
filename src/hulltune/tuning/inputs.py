"""Arguments of callers turned into a dataset with references, and into weights."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset, References
from hulltune.data.forest import feature_vector
from hulltune.data.matching import matched_aloud
from hulltune.errors import InputError
from hulltune.formats.read import DataLike, read
from hulltune.formats.references import ReferencesLike, as_references
from hulltune.formats.weights import normalisation_in, read_weights
from hulltune.metrics.base import Metric
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store
from hulltune.search.problem import Problem
from hulltune.tuning.result import TunedWeights, TuneResult

WeightsLike: TypeAlias = Mapping[str, float] | Sequence[float] | str | os.PathLike[str] | TunedWeights

SPELLING_OPTIONS = ("normalization", "normalize", "lowercase")
"""What metrics call their options that take away differences of spelling."""

__all__ = [
    "DataLike",
    "ReferencesLike",
    "WeightsLike",
    "as_dataset",
    "as_problem",
    "as_references",
    "as_weights",
    "judged",
    "like",
    "weight_vector",
]


def as_dataset(data: DataLike, references: ReferencesLike = None, *metrics: Metric) -> Dataset:
    """The dataset as metrics need it: columns that one of them reads are no features, and if one needs references,
    each sentence has some: those given, or those that the data carry.
    """
    return judged(read(data), as_references(references), *metrics)


def judged(dataset: Dataset, references: References | None, *metrics: Metric, any_order: bool = False) -> Dataset:
    """The dataset with these references, or its own, as metrics need it (see ``as_dataset`` and ``matched_aloud``)."""
    qualities = [name for metric in metrics for name in metric.reads]
    asking = [metric for metric in metrics if metric.needs_references]
    needed = not metrics or any(metric.answers == "winner" for metric in asking)
    for metric in asking:
        if metric.answers == "winner" and dataset.normalisation is not None:
            raise InputError(
                f"{metric.name}: compares outputs with references, and these are documents of queries; "
                "expected a measure of orders, such as ndcg@10, mrr or map"
            )
        if metric.answers == "order" and dataset.references is None and references is None:
            raise InputError(
                f"{metric.name}: no judgements; give some (--qrels FILE), or a column of the candidates with their "
                f"grades ({metric.name}:column=grade)"
            )
    spelling_counts = not metrics or not all(map(_ignores_spelling, metrics))
    found = dataset.with_qualities(qualities)
    return matched_aloud(found, references, needed=needed, spelling_counts=spelling_counts, any_order=any_order)


def _ignores_spelling(metric: Metric) -> bool:
    """Whether an option of the metric takes away differences of case, at least."""
    return any(getattr(metric, option, None) not in (None, "none", False, ()) for option in SPELLING_OPTIONS)


def as_problem(
    data: Problem | DataLike,
    references: ReferencesLike = None,
    metric: str | Metric = "bleu",
    store: Store | None = None,
) -> Problem:
    """The problem itself, or that of data with references and a metric, whose statistics a store may keep."""
    if isinstance(data, Problem):
        return data
    chosen = get_metric(metric)
    return Problem.of(as_dataset(data, references, chosen), chosen, store=store)


def as_weights(weights: WeightsLike) -> Mapping[str, float] | Sequence[float]:
    """Weights by name, or in the order of the features, from a result, a file, or as they are."""
    if isinstance(weights, TunedWeights):
        return weights.weights
    if isinstance(weights, (str, os.PathLike)):
        return read_weights(weights)
    return weights


def weights_for(dataset: Dataset, weights: WeightsLike) -> Floats:
    """Weights in the order of the features of a dataset, whose scores are normalised like those they were tuned on."""
    where = os.fspath(weights) if isinstance(weights, (str, os.PathLike)) else "result"
    dataset.check_normalisation(normalisation_of(weights), where)
    return feature_vector(as_weights(weights), dataset.feature_names, "weights")


def normalisation_of(weights: WeightsLike) -> str | None:
    """What was done to the scores that weights were tuned on; None if nothing is known of that."""
    if isinstance(weights, TuneResult):
        return weights.normalisation
    return normalisation_in(weights) if isinstance(weights, (str, os.PathLike)) else None


def weight_vector(problem: Problem, weights: WeightsLike | Floats, what: str = "weights") -> Floats:
    """Weights as a vector in the order of the features; messages call them ``what``."""
    given = weights if isinstance(weights, np.ndarray) else as_weights(weights)
    return feature_vector(given, problem.feature_names, what)


def like(dataset: Dataset, heldout: DataLike, *metrics: Metric) -> Dataset:
    """Held-out data with their own references, and with the features of a dataset, matched by name, for metrics.

    A feature that the held-out data lack counts as 0 if one of both has forests, or if the lists of ``dataset`` leave
    it out themselves; otherwise it is an error.
    """
    found = read(heldout)
    both_lists = dataset.is_lists and found.is_lists
    found = found.with_qualities(name for metric in metrics for name in metric.reads)
    same = found.with_features(dataset.feature_names, may_lack=dataset.omitted if both_lists else None)
    return judged(same, None, *metrics)
