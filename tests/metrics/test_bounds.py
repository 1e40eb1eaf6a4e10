"""No attainable statistics are ever better than the bound of a metric, and exact bounds are exact."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.metrics.accuracy import Accuracy
from hulltune.metrics.aer import Aer
from hulltune.metrics.ask import Ask
from hulltune.metrics.base import Metric, Statistics
from hulltune.metrics.bleu import Bleu
from hulltune.metrics.bounds import LossBound, Ranges, row_products
from hulltune.metrics.chrf import ChrF
from hulltune.metrics.combination import Combination
from hulltune.metrics.fmeasure import FMeasure
from hulltune.metrics.given import ColumnRatio, Given, ScoreTable
from hulltune.metrics.meteor import Meteor
from hulltune.metrics.ter import Ter
from hulltune.metrics.wer import Cer, Mer, Wer
from tests.metrics.fake_metrics import Length, LowerLength

Floats = NDArray[np.float64]
Rng = np.random.Generator
Maker = Callable[[Rng, int], Statistics]


def bleu_rows(order: int) -> Maker:
    def rows(rng: Rng, count: int) -> Statistics:
        lengths = rng.integers(0, 12, count)
        ngrams = np.maximum(lengths[:, None] - np.arange(order), 0)
        matches = np.minimum.accumulate(rng.integers(0, ngrams + 1), axis=1)
        references = rng.integers(1, 12) + (rng.integers(0, 3, count) if rng.random() < 0.5 else np.zeros(count, int))
        return np.column_stack([lengths, references, matches, ngrams])

    return rows


def chrf_rows(orders: int) -> Maker:
    def rows(rng: Rng, count: int) -> Statistics:
        output = rng.integers(0, 30, (count, orders))
        reference = rng.integers(0 if rng.random() < 0.2 else 1, 30, orders) + np.zeros((count, orders), int)
        matches = rng.integers(0, np.minimum(output, reference) + 1)
        return np.stack([output, reference, matches], axis=2).reshape(count, -1)

    return rows


def edit_rows(rng: Rng, count: int) -> Statistics:
    length = int(rng.integers(0, 9))
    hits = rng.integers(0, length + 1, count)
    substitutions = rng.integers(0, length - hits + 1)
    rows = np.column_stack([hits, substitutions, length - hits - substitutions, rng.integers(0, 4, count)])
    if rng.random() < 0.3:  # of several references, another one may be the nearest
        rows[:, 0] += rng.integers(0, 2, count)
    return rows


def ter_rows(rng: Rng, count: int) -> Statistics:
    return np.column_stack([rng.integers(0, 9, count), np.full(count, rng.integers(0, 40) / 4)]).astype(float)


def aer_rows(rng: Rng, count: int) -> Statistics:
    links, sure = rng.integers(0, 9, count), int(rng.integers(0, 9))
    possible = rng.integers(0, links + 1)
    return np.column_stack([np.minimum(rng.integers(0, possible + 1), sure), possible, links, np.full(count, sure)])


def bag_rows(rng: Rng, count: int) -> Statistics:
    output, reference = rng.integers(0, 9, count), rng.integers(0, 9) + rng.integers(0, 2, count)
    return np.column_stack([rng.integers(0, np.minimum(output, reference) + 1), output, reference])


def accuracy_rows(rng: Rng, count: int) -> Statistics:
    return np.column_stack([rng.integers(0, 2, count), np.ones(count, int)])


def mean_rows(rng: Rng, count: int) -> Statistics:
    weights = rng.integers(0, 9, count).astype(float)
    scores = rng.normal(size=count) if rng.random() < 0.7 else rng.integers(-3, 4, count)
    return np.column_stack([weights * scores, weights])


def count_rows(rng: Rng, count: int) -> Statistics:
    return np.column_stack([rng.integers(0, 6, count), rng.integers(0 if rng.random() < 0.3 else 1, 12, count)])


def length_rows(rng: Rng, count: int) -> Statistics:
    return np.column_stack([rng.integers(0, 50, count), np.ones(count, int)])


def meteor_rows(rng: Rng, count: int) -> Statistics:
    matches = rng.integers(0, 6, (count, 3))
    output, reference = matches.sum(1) + rng.integers(0, 3, count), matches.sum(1).max() + rng.integers(0, 3)
    chunks = np.minimum(rng.integers(1, 6, count), matches.sum(1))
    return np.column_stack([matches, chunks, output, np.full(count, reference)])


def beside(*parts: Maker) -> Maker:
    return lambda rng, count: np.concatenate([part(rng, count) for part in parts], axis=1)


class MonotoneLength(Length):
    """A metric that states ``monotone`` and no bound."""

    name: ClassVar[str] = "monotone_length"
    monotone = (1, -1)


class MonotoneLowerLength(LowerLength):
    """The metric MonotoneLength, but shorter is better."""

    name: ClassVar[str] = "monotone_lower_length"
    monotone = (1, -1)


TABLE = ScoreTable([0], ["a"], [1.0])
METRICS: dict[str, tuple[Metric, Maker]] = {
    "bleu": (Bleu(), bleu_rows(4)),
    "bleu none": (Bleu(smooth_method="none"), bleu_rows(4)),
    "bleu floor": (Bleu(smooth_method="floor", smooth_value=2.5), bleu_rows(4)),
    "bleu add-k": (Bleu(smooth_method="add-k"), bleu_rows(4)),
    "bleu effective": (Bleu(effective_order=True, max_ngram_order=2), bleu_rows(2)),
    "chrf": (ChrF(), chrf_rows(6)),
    "chrf++ eps": (ChrF(char_order=2, word_order=1, eps_smoothing=True, beta=3), chrf_rows(3)),
    "fmeasure": (FMeasure(), bag_rows),
    "fmeasure 1/3": (FMeasure(beta=1 / 3), bag_rows),
    "ter": (Ter(), ter_rows),
    "wer": (Wer(), edit_rows),
    "cer": (Cer(), edit_rows),
    "mer": (Mer(), edit_rows),
    "aer": (Aer(), aer_rows),
    "accuracy": (Accuracy(), accuracy_rows),
    "given": (Given(scores=TABLE), mean_rows),
    "given lower": (Given(scores=TABLE, higher_is_better=False), mean_rows),
    "ratio of errors": (ColumnRatio(errors="e", of="n"), count_rows),
    "ratio of hits": (ColumnRatio(hits="e", of=("n", "m")), count_rows),
    "ask": (Ask(), mean_rows),
    "meteor": (Meteor(), meteor_rows),
    "of the user": (MonotoneLength(), length_rows),
    "of the user, lower": (MonotoneLowerLength(), length_rows),
    "bleu - ter": (Combination([(0.5, Bleu()), (-0.5, Ter())], constant=3.0), beside(bleu_rows(4), ter_rows)),
    "wer + mer": (Combination([(0.7, Wer()), (0.3, Mer())]), beside(edit_rows, edit_rows)),
    "chrf - wer": (Combination([(2.0, ChrF()), (-1.0, Wer())]), beside(chrf_rows(6), edit_rows)),
}
EXACT = ("fmeasure", "ter", "wer", "cer", "mer", "aer", "accuracy")


def attainable(sentences: list[Statistics]) -> Statistics:
    """The sums of all choices of one row per sentence."""
    return np.array([np.sum(rows, axis=0) for rows in product(*sentences)])


def ranges_of(sentences: list[Statistics], at: Statistics) -> Ranges:
    return Ranges(
        low=np.sum([rows.min(axis=0) for rows in sentences], axis=0)[None].astype(float),
        high=np.sum([rows.max(axis=0) for rows in sentences], axis=0)[None].astype(float),
        at=np.asarray(at, dtype=float)[None],
        sizes=np.sum([np.abs(rows).max(axis=0) for rows in sentences], axis=0).astype(float),
        whole=all(np.array_equal(rows, np.rint(rows)) for rows in sentences),
        exact=all(np.array_equal(rows * 1024, np.rint(rows * 1024)) for rows in sentences),
    )


def minimiser(sentences: list[Statistics], slopes: Floats) -> Floats:
    best = [rows[int(np.argmin(rows @ slopes))] for rows in sentences]
    total: Floats = np.sum(best, axis=0)[None].astype(float)
    return total


def proven(bound: LossBound, sentences: list[Statistics]) -> float:
    return float(bound.proven(minimiser(sentences, bound.slopes[0]))[0])


def draw(seed: int, maker: Maker) -> tuple[list[Statistics], Statistics]:
    """A small corpus and one of its choices. A base of many sentences with one candidate makes the range narrow."""
    rng = np.random.default_rng(seed)
    sentences = [maker(rng, int(rng.integers(1, 5))) for _ in range(int(rng.integers(1, 5)))]
    if rng.random() < 0.7:
        sentences.append(np.sum([maker(rng, 1) for _ in range(int(rng.integers(1, 60)))], axis=0))
    at = np.sum([rows[int(rng.integers(len(rows)))] for rows in sentences], axis=0)
    return sentences, at


@pytest.mark.parametrize("name", METRICS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_attainable_statistics_are_better_than_the_bounds(name: str, seed: int) -> None:
    """Every smaller loss is below the level, and the linear bound is below the loss at every attainable point."""
    metric, maker = METRICS[name]
    sentences, at = draw(seed, maker)
    ranges = ranges_of(sentences, at)
    bound, linear = metric.loss_bound(ranges), metric.linear_bound(ranges)
    points = attainable(sentences)
    losses, values = metric.loss(points), points @ bound.slopes[0]
    least = float(losses.min())
    assert proven(bound, sentences) <= least
    assert proven(linear.as_loss_bound(ranges), sentences) <= least
    for wanted in np.unique(losses)[:20]:
        assert np.all(values[losses < wanted] < bound.level(float(wanted))[0])
    margin = 1e-10 * (1.0 + np.abs(linear.slopes[0]) @ ranges.sizes + abs(linear.offsets[0]))
    below = points @ linear.slopes[0] + linear.offsets[0]
    assert np.all((below <= losses + margin) | np.isneginf(below))


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rates_of_whole_numbers_are_bounded_by_their_minimum_to_the_bit(name: str, seed: int) -> None:
    metric, maker = METRICS[name]
    sentences, at = draw(seed, maker)
    assert metric.as_ratio is not None
    if float(ranges_of(sentences, at).low[0] @ metric.as_ratio.denominator) <= 0.0:
        return  # the bound is then the best possible loss
    least = float(metric.loss(attainable(sentences)).min())
    for _ in range(20):  # each step touches at the minimiser of the last
        bound = metric.loss_bound(ranges_of(sentences, at))
        found = proven(bound, sentences)
        if found == least:
            break
        assert bound.settled is not None
        assert not bound.settled[0]
        at = minimiser(sentences, bound.slopes[0])[0]
    assert found == least


@pytest.mark.parametrize("name", ["bleu", "chrf", "bleu - ter", "chrf - wer", "wer + mer", "given"])
def test_the_bound_closes_as_the_choices_do(name: str) -> None:
    metric, maker = METRICS[name]
    rng = np.random.default_rng(5)
    base = np.sum([maker(rng, 1) for _ in range(400)], axis=0)
    sentences = [base, *(maker(rng, 3) for _ in range(3))]
    points = attainable(sentences)
    gap = metric.loss(points).min() - proven(metric.loss_bound(ranges_of(sentences, points[0])), sentences)
    assert 0.0 <= gap < 0.05 * np.ptp(metric.loss(points)) + 1e-9


def test_a_metric_that_states_nothing_is_refused_and_told_what_to_do() -> None:
    """A score may be best between the corners of its ranges."""
    point = np.ones((1, 2))
    with pytest.raises(InputError, match=r"length: no bound .*monotone"):
        Length().loss_bound(Ranges(point, point, point, point[0], True))


def test_a_monotone_metric_is_bounded_by_its_best_corner() -> None:
    metric = MonotoneLength()
    low, high = np.array([[3.0, 1.0]]), np.array([[8.0, 4.0]])
    bound = metric.loss_bound(Ranges(low, high, low, high[0], True))
    assert float(bound.proven(low)[0]) == pytest.approx(float(metric.loss(np.array([8.0, 1.0]))))


@given(st.integers(0, 2**32), st.integers(1, 13), st.integers(1, 40))
@settings(deadline=None)
def test_a_product_of_rows_does_not_depend_on_the_rows_beside_it(seed: int, columns: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(count, columns)) * 10.0 ** rng.integers(-9, 9, columns), rng.normal(size=(count, columns))
    for other in (b, b[0]):
        whole = row_products(a, other)
        for first in range(count):
            for last in (first + 1, count):
                some = row_products(a[first:last].copy(), other if other.ndim == 1 else other[first:last].copy())
                assert some.tobytes() == whole[first:last].tobytes()
    assert np.allclose(row_products(a, b), (a * b).sum(axis=1), rtol=1e-9, atol=1e-9 * np.abs(a * b).max())
