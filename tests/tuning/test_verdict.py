"""The verdict on a tuning, and what it compares with: single features and random candidates, against plain loops."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Dataset, TuneResult, read, score, tune
from hulltune.metrics import get_metric
from hulltune.search.problem import Problem, exact_sum
from hulltune.tuning.evaluation import folds_of, paired_bootstrap
from hulltune.tuning.result import HeldOut, Interval
from hulltune.tuning.verdict import NOT_KNOWN
from tests.tuning.corpora import QUICK, random_forests, random_lists, random_rankings

RESULT = TuneResult(
    weights={"lm": 1.0, "tm": 0.5}, start={"lm": 1.0, "tm": 1.0}, score=0.1, baseline=0.2, start_score=0.15,
    oracle=0.05, metric="wer|version:x", higher_is_better=False, seed=1, sentences=50, candidates=500,
    line_searches=1, seconds=1.0, version="0.1",
)  # fmt: skip


def unseen(baseline: tuple[float, float], start: tuple[float, float], single: tuple[float, float] | None) -> HeldOut:
    """Scores around 0.12 for the tuned weights, with the ends of the intervals of the gains."""
    over = None if single is None else Interval(*single, 1000, 1)
    return HeldOut(
        50, 0.2, 0.12, Interval(*baseline, 1000, 1), start=0.125, gain_over_start=Interval(*start, 1000, 1),
        single=None if single is None else 0.11, gain_over_single=over,
    )  # fmt: skip


GOOD, NOISE, LOSS = (0.01, 0.2), (-0.01, 0.02), (-0.2, -0.01)


@pytest.mark.parametrize(
    ("found", "established", "sentence"),
    [
        (None, None, NOT_KNOWN),
        (
            unseen(GOOD, GOOD, GOOD), True,
            "the gain is established: the tuned weights beat the baseline, equal weights and the best single "
            "feature by more than chance.",
        ),
        (
            unseen(GOOD, GOOD, None), True,
            "the gain is established: the tuned weights beat the baseline and equal weights by more than chance.",
        ),
        (
            unseen(GOOD, NOISE, GOOD), False,
            "the gain is not established: over equal weights it is no more than chance (+0.0050, 95%: -0.0100 to "
            "+0.0200).",
        ),
        (unseen(GOOD, (0.0, 0.0), GOOD), False, "the gain is not established: over equal weights it is no more than"),
        (
            unseen(NOISE, GOOD, LOSS), False,
            "the gain is not established: over the baseline it is no more than chance (+0.0800, 95%: -0.0100 to "
            "+0.0200); it is a loss to the best single feature (-0.0100, 95%: -0.2000 to -0.0100).",
        ),
        (
            HeldOut(50, 0.2, 0.12, Interval(*GOOD, 1000, 1)), None,
            "the tuned weights beat the baseline by more than chance; the start weights were not judged.",
        ),
    ],
)  # fmt: skip
def test_what_is_established_is_said(found: HeldOut | None, established: bool | None, sentence: str) -> None:
    results = dataclasses.replace(RESULT, heldout=found), dataclasses.replace(RESULT, folds=found)
    for result, where in zip(results, ("On held-out data, ", "On folds not tuned on, "), strict=True):
        verdict = result.verdict
        assert verdict.established is established
        assert verdict.sentence.startswith(sentence if found is None else where + sentence)
        assert " ".join(verdict.sentence.split()) in " ".join(result.summary().split())
        if found is not None:
            assert list(verdict.against.values()) == [gain.low > 0 for _, gain in found.compared().values()]


def test_held_out_data_decide_where_there_are_folds_too() -> None:
    both = dataclasses.replace(RESULT, heldout=unseen(GOOD, GOOD, GOOD), folds=unseen(NOISE, NOISE, NOISE))
    assert both.verdict == dataclasses.replace(both, folds=None).verdict
    assert both.verdict.established is True
    assert "the start weights" in dataclasses.replace(both, start_kind="the weights given").verdict.sentence


def test_files_have_the_verdict_for_other_programs(tmp_path: Path) -> None:
    result = dataclasses.replace(RESULT, heldout=unseen(GOOD, NOISE, GOOD))
    record = json.loads(result.save(tmp_path / "w.json").read_text())
    assert record["verdict"] == {
        "established": False, "against": {"baseline": True, "start": False, "single": True},
        "sentence": result.verdict.sentence,
    }  # fmt: skip
    assert TuneResult.load(tmp_path / "w.json") == result
    (tmp_path / "old.json").write_text(json.dumps({**record, "verdict": {"established": True}}))
    assert TuneResult.load(tmp_path / "old.json").verdict == result.verdict  # it is no word of its own


def test_an_interval_of_the_data_that_were_tuned_on_is_not_shown() -> None:
    result = tune(random_lists(3), **QUICK)
    assert result.gain is not None
    assert "95%" not in result.summary()
    assert result.verdict.established is None


def data_of(kind: str, seed: int) -> Dataset:
    if kind == "rankings":
        return random_rankings(seed)
    return random_lists(seed) if kind == "lists" else read(*random_forests(seed))


def best_single(problem: Problem, sentences: Any) -> tuple[str, int]:
    """The feature and sign with the least loss of these sentences, of equals the first."""
    options = [(name, sign) for name in problem.feature_names for sign in (1, -1)]
    part = problem.subset(np.asarray(sentences))
    return min(options, key=lambda option: part.loss({**dict.fromkeys(part.feature_names, 0.0), option[0]: option[1]}))


@pytest.mark.parametrize(
    ("kind", "metric"),
    [("lists", "wer"), ("lists", "bleu"), ("forests", "wer"), ("forests", "bleu"), ("rankings", "ndcg@3")],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_best_single_feature_is_chosen_where_weights_are_tuned(kind: str, metric: str, seed: int) -> None:
    data, others = data_of(kind, seed), data_of(kind, seed + 50)
    result = tune(data, **{**QUICK, "metric": metric}, heldout=others, folds=3)
    problem, elsewhere = Problem.of(data, metric), Problem.of(others, metric)
    zeros = dict.fromkeys(problem.feature_names, 0.0)
    feature, sign = best_single(problem, range(12))
    assert result.single is not None
    assert (result.single.feature, result.single.sign) == (feature, sign)
    alone = {**zeros, feature: float(sign)}
    assert result.single.score == score(data, alone, metric=metric)
    assert result.heldout is not None
    assert result.heldout.single == elsewhere.score(alone)
    rows = [elsewhere.picks(weights).statistics for weights in (alone, result.weights)]
    assert result.heldout.gain_over_single == paired_bootstrap(problem.metric, *rows)
    fold_of = folds_of(problem, 3, 1)
    picked = np.zeros_like(problem.picks(alone).statistics)
    for fold in range(3):
        feature, sign = best_single(problem, np.flatnonzero(fold_of != fold))
        outside = np.flatnonzero(fold_of == fold)
        picked[outside] = problem.subset(outside).picks({**zeros, feature: float(sign)}).statistics
    assert result.folds is not None
    assert result.folds.single == float(problem.metric.score(exact_sum(picked)))


def test_a_single_feature_is_not_compared_with_itself() -> None:
    result = tune(random_lists(4, features=1), **QUICK, folds=3)
    assert result.single is None
    assert result.folds is not None
    assert list(result.verdict.against) == ["baseline", "start"]


@pytest.mark.parametrize("metric", ["mean:column=f1", "accuracy", "accuracy:column=f1"])
def test_the_score_of_a_random_candidate(metric: str) -> None:
    records = [
        {
            "id": sentence,
            "refs": ["yes"],
            "candidates": [
                {
                    "text": ("yes", "no")[k % 3 > 0],
                    "features": {"f0": float(k * k), "f1": float(k % 3 == 0), "f2": -float(k)},
                }
                for k in range(sentence % 4)
            ],
        }
        for sentence in range(20)
    ]
    shares = [sum(k % 3 == 0 for k in range(n)) / n for n in (s % 4 for s in range(20)) if n]
    filled = 20 if metric == "accuracy" else 15  # no candidate is a wrong answer, but has no number
    result = tune(records, **{**QUICK, "metric": metric})
    assert result.random == pytest.approx(sum(shares) / filled)
    assert "a random candidate of each list, on average" in result.summary()


def test_lists_in_the_order_of_a_decoder_have_no_random_candidate() -> None:
    assert tune(random_lists(4), **QUICK).random is None
    assert get_metric("wer").reads == ()
