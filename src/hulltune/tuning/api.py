"""score and rerank."""

from __future__ import annotations

from typing import Any

from hulltune.data.forest import feature_vector
from hulltune.metrics.base import Metric
from hulltune.search.shards import runner_of
from hulltune.tuning.inputs import (
    ListsLike,
    ReferencesLike,
    WeightsLike,
    are_forests,
    as_forests,
    as_lists,
    as_weights,
    tuning_data,
)
from hulltune.tuning.reranking import best_outputs, best_rows


def score(
    lists: ListsLike,
    weights: WeightsLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric = "bleu",
    threads: int | None = None,
) -> float:
    """The metric of what reranking with ``weights`` picks: exactly what ``tune`` reports for its own."""
    problem = tuning_data(lists, references).problem(metric)
    vector = feature_vector(as_weights(weights), problem.feature_names, "weights")
    return problem.score(vector, runner=runner_of(threads))


def rerank(lists: ListsLike, weights: WeightsLike) -> list[str]:
    """SHIM"""
    if are_forests(lists):
        return best_outputs(as_forests(lists), as_weights(weights))
    candidates: Any = as_lists(lists)
    return [candidates.text(row) if row >= 0 else "" for row in best_rows(candidates, as_weights(weights)).tolist()]
