"""Problems of corpora made in tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hulltune import Corpus, Dataset, Forest
from hulltune.arrays import Int64s
from hulltune.metrics.base import Metric
from hulltune.search.problem import Problem


def corpus_problem(
    given: Corpus | Sequence[Forest],
    metric: str | Metric,
    references: Sequence[Sequence[str]],
    *,
    first_choices: Int64s | None = None,
) -> Problem:
    """The problem of a corpus with references; lists put their first hypothesis first, unless choices are given."""
    corpus = given if isinstance(given, Corpus) else Corpus.pack(given)
    if first_choices is None:
        listed = corpus.is_list & (np.diff(corpus.sentence_edges) > 0)
        first_choices = np.where(listed, 0, -1)
    return Problem.of(Dataset(range(len(corpus)), corpus, first_choices, tuple(map(tuple, references))), metric)
