"""Regularised tuning: its strength, its refusals, and what is told about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hulltune import Certified, Climb, Constraints, InputError, TuneResult, tune
from hulltune.tuning.inputs import as_dataset
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
    best = [
        strength for strength, score in zip(found.strengths, found.scores, strict=True) if score == min(found.scores)
    ]
    assert found.strength == max(best)
    assert found.penalty == pytest.approx(found.strength * found.distance)
    assert tuned("auto", threads=2).weights == result.weights
    assert TuneResult.load(result.save(tmp_path / "result.json")).regularisation == found
    assert "strengths and their scores on 4 folds not tuned on" in result.summary()


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
