"""Regularised tuning: its strength, its refusals, and what is told about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hulltune import Certified, Climb, Constraints, InputError, TuneResult, tune
from hulltune.metrics import get_metric
from hulltune.tuning.evaluation import standard_error
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.regularising import _chosen
from tests.tuning.corpora import quick_search, random_forests, random_lists

DATA = as_dataset(random_lists(7, sentences=40, features=5))
SEARCH = Climb(restarts=2)


def tuned(regularise: float | str | None, **options: object) -> TuneResult:
    return tune(DATA, metric="wer", search=SEARCH, regularise=regularise, oracle=False, also=(), **options)  # type: ignore[arg-type]


def test_a_strength_of_0_changes_nothing_and_a_huge_one_keeps_the_start() -> None:
    plain, none, huge = tuned(None), tuned(0.0), tuned(1e9)
    assert plain.regularisation is None
    assert none.score == plain.score
    assert huge.regularisation is not None
    assert huge.weights == pytest.approx(huge.start, rel=1e-6)
    assert huge.score == huge.start_score


def test_stronger_is_nearer_and_scores_are_the_metrics_own() -> None:
    results = [tuned(strength) for strength in (0.0, 0.001, 0.01, 0.1)]
    distances = [each.regularisation.distance for each in results if each.regularisation is not None]
    sums = [each.score + each.regularisation.penalty for each in results if each.regularisation is not None]
    assert distances[0] > distances[-1]
    assert all(total <= each.start_score for total, each in zip(sums, results, strict=True))
    assert results[0].score <= results[-1].score


@pytest.mark.parametrize("threads", [1, 3])
def test_auto_compares_strengths_and_the_seed_alone_decides(threads: int, tmp_path: Path) -> None:
    result = tuned("auto", threads=threads)
    found = result.regularisation
    assert found is not None
    assert found.folds == 4
    assert len(found.strengths) == len(found.scores) == 4
    assert found.strengths[0] == 0.0
    best = max(
        strength for strength, score in zip(found.strengths, found.scores, strict=True) if score == min(found.scores)
    )
    assert found.strength in (0.0, best)
    assert found.penalty == pytest.approx(found.strength * found.distance)
    assert tuned("auto", threads=2).weights == result.weights
    assert TuneResult.load(result.save(tmp_path / "result.json")).regularisation == found
    assert "strengths and their scores on 4 folds not tuned on" in result.summary()


def rows(wrong: Sequence[int]) -> NDArray[np.int64]:
    """The statistics of accuracy for sentences that are wrong, and right."""
    return np.array([[1 - each, 1] for each in wrong])


@pytest.mark.parametrize(
    ("saved", "broken", "chosen"),
    [
        (0, 0, 0),  # level: nothing speaks for a penalty
        (3, 2, 0),  # one sentence more of five that change: chance
        (9, 2, 1),
        (40, 0, 1),
        (0, 9, 0),
    ],
)
def test_a_penalty_must_beat_none_by_more_than_chance(saved: int, broken: int, chosen: int) -> None:
    plain = rows([1] * saved + [0] * broken + [0, 1] * 50)
    penalised = rows([0] * saved + [1] * broken + [0, 1] * 50)
    metric = get_metric("accuracy")
    unseen = [plain, penalised, plain]
    losses = [float(metric.loss(statistics.sum(axis=0))) for statistics in unseen]
    assert _chosen(metric, unseen, losses, seed=3) == chosen


def test_of_equal_losses_the_largest_strength_counts() -> None:
    plain, better = rows([1, 0] * 50), rows([0] * 100)
    metric = get_metric("accuracy")
    unseen = [plain, better, better, plain]
    losses = [float(metric.loss(statistics.sum(axis=0))) for statistics in unseen]
    assert _chosen(metric, unseen, losses, seed=1) == 2


@pytest.mark.parametrize("sentences", [50, 400])
def test_the_standard_error_is_that_of_a_mean(sentences: int) -> None:
    rng = np.random.default_rng(sentences)
    one, other = rng.integers(0, 2, sentences), rng.integers(0, 2, sentences)
    difference = (one - other).std() / np.sqrt(sentences)
    found = standard_error(get_metric("accuracy"), rows(one.tolist()), rows(other.tolist()), samples=4000)
    assert found == pytest.approx(difference, rel=0.06)


def test_constraints_are_kept() -> None:
    names = DATA.feature_names
    limits = Constraints(fix={names[0]: 1.0}, tie=[names[1:3]], sign={names[3]: "+"})
    result = tuned(0.01, constraints=limits)
    assert result.weights[names[0]] == 1.0
    assert result.weights[names[1]] == result.weights[names[2]]
    assert result.weights[names[3]] >= 0.0
    assert result.regularisation is not None
    far = tuned(1e9, constraints=limits)
    others = np.array([far.weights[name] for name in names[1:]])
    assert np.abs(others).max() < 0.1 * max(abs(far.start[name]) for name in names[1:])  # towards 0: no start was given


@pytest.mark.parametrize("search", ["cma", "random", "gradient"])
def test_forests_stay_near_the_start_too(search: str) -> None:
    forests, references = random_forests(3, sentences=8)

    def near(regularise: float | str | None, threads: int = 1) -> TuneResult:
        return tune(
            forests, references, metric="wer", search=quick_search(search, restarts=1), regularise=regularise,
            threads=threads, oracle=False, also=(),
        )  # fmt: skip

    plain, weak, strong = near(0.0), near(0.003), near(1e9)
    assert plain.score == near(None).score < plain.start_score, "there must be something to gain"
    assert strong.weights == pytest.approx(strong.start, rel=1e-6)
    assert weak.regularisation is not None
    assert plain.regularisation is not None
    assert weak.score + weak.regularisation.penalty <= weak.start_score
    assert weak.regularisation.distance < plain.regularisation.distance
    found = near("auto")
    assert found.weights == near("auto", threads=2).weights
    assert found.regularisation is not None
    assert found.regularisation.folds == 4


def test_refusals_are_one_clear_line() -> None:
    with pytest.raises(
        InputError, match=r"^regularise: a certified search proves scores without a penalty; search with"
    ):
        tune(DATA, metric="wer", search=Certified(), regularise=0.1)
    with pytest.raises(InputError, match=r"^regularise: the penalty is weighed against exact losses; leave smoothing"):
        tune(DATA, metric="wer", search=Climb(smoothing="min"), regularise=0.1)
    for bad in (-1.0, float("nan"), float("inf"), "much", True):
        with pytest.raises(InputError, match=r"^regularise: expected a number of at least 0 or 'auto', got"):
            tune(DATA, metric="wer", regularise=bad)
