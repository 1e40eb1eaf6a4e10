"""Gains, error counts, and start weights on sentences not tuned on, against scores of the picks themselves."""

from __future__ import annotations

from typing import Any

import jiwer
import numpy as np
import pytest

from hulltune import Constraints, count_errors, rerank, score, tune
from hulltune.errors import InputError
from hulltune.metrics import Wer, get_metric
from hulltune.search.problem import Problem, exact_sum
from hulltune.tuning.evaluation import _by_content, paired_bootstrap
from tests.tuning.corpora import QUICK, random_lists, random_records


def improvement(name: str, before: float, after: float) -> float:
    return after - before if get_metric(name).higher_is_better else before - after


@pytest.mark.parametrize("name", ["wer", "bleu:tokenize=none", "ter", "1 - wer"])
def test_gains_are_positive_when_better(name: str) -> None:
    lists = random_lists(2)
    result = tune(lists, **{**QUICK, "metric": name})
    gain = improvement(name, result.baseline, result.score)
    assert gain > 0
    assert result.gain is not None
    assert result.gain.low <= gain <= result.gain.high
    assert result.gain.high > 0
    for feature, change in result.without.items():
        removed = {**result.weights, feature: 0.0}
        assert change == improvement(name, result.score, score(lists, removed, metric=name))
    assert min(result.without.values()) < 0


@pytest.mark.parametrize("start", [None, {"f0": 1.0, "f1": -0.5, "f2": 0.25}])
def test_held_out_data_are_scored_with_the_start(start: dict[str, float] | None) -> None:
    lists, unseen = random_lists(4), random_lists(5)
    result = tune(lists, heldout=unseen, start=start, **QUICK)
    found = result.heldout
    assert found is not None
    assert found.start == score(unseen, result.start, metric="wer")
    assert result.start_kind == ("equal weights over scaled features" if start is None else "the weights given")
    problem = Problem.of(unseen, "wer")
    started, tuned = (problem.picks(np.array(list(w.values()))).statistics for w in (result.start, result.weights))
    assert found.gain_over_start == paired_bootstrap(problem.metric, started, tuned)
    assert found.counts["start"] == count_errors(unseen, result.start)
    assert found.counts["tuned"] == count_errors(unseen, result)
    assert found.counts["baseline"].percent == 100 * found.baseline


def test_folds_are_scored_with_the_start_of_each() -> None:
    lists = random_lists(6)
    given = {"f0": 1.0, "f1": 0.5, "f2": 0.25}
    found = tune(lists, folds=3, start=given, **QUICK).folds
    assert found is not None
    assert found.start == score(lists, given, metric="wer")  # all folds start from what is given
    assert found.counts["start"] == count_errors(lists, given)
    assert found.counts["start"].sentences == 12


def test_folds_without_a_start_take_that_of_a_tuning_on_the_other_folds() -> None:
    lists = random_lists(6)
    found = tune(lists, folds=3, **QUICK).folds
    problem = Problem.of(lists, "wer")
    fold_of = np.empty(12, dtype=np.int64)
    fold_of[_by_content(problem)] = np.random.default_rng([1, 7]).permutation(12) % 3
    started, tuned = (np.zeros_like(problem.baseline().statistics) for _ in range(2))
    for fold in range(3):
        alone = tune(lists.take(np.flatnonzero(fold_of != fold)), **QUICK)
        outside = fold_of == fold
        for rows, weights in ((started, alone.start), (tuned, alone.weights)):
            rows[outside] = problem.picks(np.array(list(weights.values()))).statistics[outside]
    assert found is not None
    assert (found.start, found.score) == tuple(
        float(problem.metric.score(exact_sum(rows))) for rows in (started, tuned)
    )
    assert found.gain_over_start == paired_bootstrap(problem.metric, started, tuned)


def test_weights_that_cannot_move_do_as_well_as_their_start() -> None:
    lists = random_lists(7)
    given = {"f0": 1.0, "f1": 0.5, "f2": 0.25}
    result = tune(lists, heldout=random_lists(8), start=given, constraints=Constraints(fix=given), **QUICK)
    assert result.heldout is not None
    assert result.heldout.score == result.heldout.start
    assert result.verdict.established is False
    assert "over the start weights it is no more than chance (+0.0000" in result.verdict.sentence


@pytest.mark.parametrize(("name", "process"), [("wer", "words"), ("mer", "words"), ("cer", "characters")])
def test_counts_of_a_result_are_jiwer_s_of_its_picks(name: str, process: str) -> None:
    records = random_records(9, empty=True)
    references = [record["refs"][0] for record in records]
    result = tune(records, **{**QUICK, "metric": name})
    first = [record["candidates"][0]["text"] if record["candidates"] else "" for record in records]
    picked = {"baseline": first, "start": rerank(records, result.start), "tuned": rerank(records, result)}
    for side, texts in picked.items():
        expected: Any = getattr(jiwer, f"process_{process}")(references, list(texts))
        counts = result.counts[side]
        assert (counts.hits, counts.substitutions) == (expected.hits, expected.substitutions)
        assert (counts.deletions, counts.insertions) == (expected.deletions, expected.insertions)
        assert counts.percent == 100 * getattr(expected, name)
        assert counts.sentence_errors == sum(a != b for a, b in zip(texts, references, strict=True))
    assert list(result.counts) == ["baseline", "start", "tuned"]
    assert result.counts["tuned"].percent == 100 * result.score
    assert result.counts["start"].percent == 100 * result.start_score


def test_other_metrics_have_no_counts_in_results() -> None:
    lists = random_lists(10)
    result = tune(lists, folds=2, **{**QUICK, "metric": "bleu"})
    assert result.counts == {}
    assert result.folds is not None
    assert result.folds.counts == {}
    with pytest.raises(InputError, match="metric: bleu counts no errors; expected wer, cer, mer or ter"):
        count_errors(lists, result, metric="bleu")


class Waiting(Wer):
    """A metric that may answer later, so that nothing is asked of it that a search can do without."""

    waits = True


@pytest.mark.parametrize("how", [{"heldout": random_lists(14)}, {"folds": 2}])
def test_a_metric_that_waits_is_not_asked_for_the_start(how: dict[str, Any]) -> None:
    result = tune(random_lists(13), **{**QUICK, "metric": Waiting()}, **how)
    found = result.heldout or result.folds
    assert found is not None
    assert (found.start, found.gain_over_start) == (None, None)
    assert (found.single, found.gain_over_single, result.single) == (None, None, None)
    assert list(found.counts) == ["baseline", "tuned"]
    assert list(result.verdict.against) == ["baseline"]
    assert result.verdict.established in (False, None)
