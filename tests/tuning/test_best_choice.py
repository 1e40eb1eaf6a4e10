"""The best choice of one candidate for each sentence: against the enumeration of all choices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.metrics.base import Metric
from hulltune.metrics.registry import get_metric
from hulltune.tuning.best_choice import best_choice

WORDS = ("a", "b", "c", "d", "e")
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
corpora = st.lists(st.tuples(lines, st.lists(lines, min_size=1, max_size=4)), min_size=1, max_size=4)
RATIOS = ("wer", "cer", "ter", "accuracy")
OTHERS = ("bleu", "chrf", "meteor", "mer", "bleu - ter", "ter", "wer")


def chosen(
    metric: Metric, corpus: list[tuple[str, list[str]]], *, references: int = 1
) -> tuple[Any, np.ndarray[Any, Any], float]:
    """The choice, all statistics, and the smallest loss of all choices. A second reference is the first, cut."""
    cut = [[reference, " ".join(reference.split()[1:])][:references] for reference, _ in corpus]
    prepared = metric.prepare(cut)
    tables = [prepared.statistics(np.full(len(texts), number), texts) for number, (_, texts) in enumerate(corpus)]
    statistics = np.concatenate(tables)
    offsets = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
    lowest = min(float(metric.loss(np.sum(rows, axis=0))) for rows in itertools.product(*tables))
    return best_choice(metric, statistics, offsets, np.zeros_like(statistics[0])), statistics, lowest


@pytest.mark.parametrize("name", RATIOS)
@settings(max_examples=80, deadline=None)
@given(corpus=corpora)
def test_ratios_are_exact(name: str, corpus: list[tuple[str, list[str]]]) -> None:
    metric = get_metric(name)
    choice, statistics, lowest = chosen(metric, corpus)
    assert choice.loss == lowest == float(metric.loss(statistics[choice.candidates].sum(axis=0)))
    assert choice.exact


@pytest.mark.parametrize("references", [1, 2])
@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=80, deadline=None)
@given(corpus=corpora)
def test_no_choice_beats_the_bound(name: str, references: int, corpus: list[tuple[str, list[str]]]) -> None:
    metric = get_metric(name)
    choice, statistics, lowest = chosen(metric, corpus, references=references)
    assert choice.loss == float(metric.loss(statistics[choice.candidates].sum(axis=0)))
    assert choice.loss >= lowest
    assert choice.bound is not None
    assert choice.bound <= lowest + 1e-12 * abs(lowest)
    for sentence, (first, last) in enumerate(itertools.pairwise(_offsets(corpus))):  # no single change is better
        for row in range(first, last):
            other = choice.candidates.copy()
            other[sentence] = row
            assert float(metric.loss(statistics[other].sum(axis=0))) >= choice.loss


def _offsets(corpus: list[tuple[str, list[str]]]) -> list[int]:
    return [0, *itertools.accumulate(len(texts) for _, texts in corpus)]


def test_statistics_that_every_choice_has_count() -> None:
    """With 8 hits from elsewhere, one more error is worth one more word."""
    metric = get_metric("wer")
    statistics = np.array([[0, 1, 0, 0], [1, 1, 1, 0]])  # hits, substitutions, deletions, insertions
    alone = best_choice(metric, statistics, np.array([0, 2]), np.zeros(4, dtype=np.int64))
    assert (alone.candidates.tolist(), alone.loss) == ([1], 2 / 3)
    beside = best_choice(metric, statistics, np.array([0, 2]), np.array([8, 0, 0, 0]))
    assert (beside.candidates.tolist(), beside.loss, beside.exact) == ([0], 1 / 9, True)


@pytest.mark.parametrize("name", RATIOS)
def test_references_without_a_word(name: str) -> None:
    metric = get_metric(name)
    for texts in (["a", "a b"], ["a b", ""], ["a"]):
        choice, _, lowest = chosen(metric, [("", texts), ("", ["a"])])
        assert choice.loss == lowest
        assert choice.exact
