"""Reranking: the best output of each sentence under some weights, the order of all outputs, and the metric.

Scores are compared on the exact grid of the search, so that search and reranking never differ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError, check_most
from hulltune.formats.read import read
from hulltune.lines.derivations import DerivationLists
from hulltune.lines.kbest import kbest
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import ErrorCounts, error_counts
from hulltune.metrics.store import Store, opened
from hulltune.names import MOST_BEST
from hulltune.threads import Workers
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_problem, as_weights, weight_vector
from hulltune.tuning.picks import Reranked


def rerank(data: DataLike, weights: WeightsLike, *, threads: int | None = None) -> Reranked:
    """The best text of every sentence under ``weights``, or "" where there is nothing to choose from, as a list whose
    ``picks`` tell the index, the score and the features of each. Of equally good ones the first of a list wins, and in
    a forest the first by the order of edges, from the root down. O(edges × features).

    >>> from hulltune import rerank
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> outputs = rerank(task.lists, {"forward": 1.0, "backward": 1.0, "fluency": 2.0})
    >>> len(outputs), outputs[0] == outputs.picks[0].text, outputs.picks[0].index
    (20, True, 0)
    """
    dataset = read(data, threads=threads)
    vector = feature_vector(as_weights(weights), dataset.feature_names, "weights")
    return Reranked.of(dataset, vector, threads=threads)


def rank(
    dataset: Dataset, weights: WeightsLike, *, best: int | None = None, threads: int | None = None
) -> DerivationLists:
    """The ``best`` outputs of each sentence, from best to worst; equally good ones stay in the order of their list.

    None ranks whole lists; forests need a number.
    """
    if best is None:
        if not dataset.is_lists:
            raise InputError("best: expected a number, because forests have too many outputs to rank them all")
        best = int(np.diff(dataset.corpus.sentence_edges).max(initial=1))
    if best < 1:
        raise InputError(f"best: expected at least 1, got {best}")
    check_most("best", best, MOST_BEST)
    vector = feature_vector(as_weights(weights), dataset.feature_names, "weights")
    return kbest(dataset.corpus, vector, best, threads=threads)


def count_errors(
    data: DataLike,
    weights: WeightsLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric = "wer",
    threads: int | None = None,
) -> ErrorCounts:
    """The errors of the data reranked with ``weights``, by kind, and the number of sentences with errors: the counts
    behind a WER, CER, MER or TER.

    >>> from hulltune import count_errors
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> counts = count_errors(task.lists, task.optimum, metric="wer")
    >>> counts.errors, counts.substitutions, counts.deletions, counts.insertions, counts.reference_length
    (38, 21, 7, 10, 281)
    """
    problem = as_problem(data, references, metric)
    vector = weight_vector(problem, weights)
    found = error_counts(problem.metric, problem.picks(vector, workers=Workers(threads)).statistics)
    if found is None:
        raise InputError(f"metric: {problem.metric.name} counts no errors; expected wer, cer, mer or ter")
    return found


def score(
    data: DataLike,
    weights: WeightsLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric = "bleu",
    threads: int | None = None,
    store: Store | str | Path | None = None,
) -> float:
    """The metric of the data reranked with ``weights``: for tuned weights, exactly the score that ``tune`` reports.
    ``store`` keeps what an expensive metric says across runs, and has what it said to ``tune``.

    >>> from hulltune import score
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> round(score(task.lists, {"forward": 1.0}, metric="wer"), 4)
    0.2064
    >>> round(score(task.lists, task.optimum, metric="wer"), 4)
    0.1352
    """
    with opened(store) as kept:
        problem = as_problem(data, references, metric, kept)
        return problem.score(weight_vector(problem, weights), workers=Workers(threads))
