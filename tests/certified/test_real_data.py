"""The certified optimum of real lists: no exact line search through the same space finds anything better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hulltune import Certified
from hulltune.formats import read_weights
from hulltune.search.problem import Problem
from hulltune.search.strategy import Found
from hulltune.tuning.inputs import as_dataset
from tests.certified.small_problems import bound_of, certified, proof_of

DATA = Path(__file__).parents[2] / "../shared/data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the real lists in ../shared/data are missing")

POINTS = 100_000


def assert_no_point_is_better(problem: Problem, found: Found, free: list[str], spread: NDArray[np.float64]) -> None:
    """Random lines through the space: every interval of them is a point where everything is known exactly."""
    rng = np.random.default_rng(7)
    columns = [problem.feature_names.index(name) for name in free]
    points = 0
    while points < POINTS:
        origin = found.weights.copy()
        origin[columns] += rng.normal(size=len(free)) * spread * 10.0 ** rng.uniform(-2, 0.5)
        directions = np.zeros((16, len(origin)))
        directions[:, columns] = rng.normal(size=(16, len(free))) * spread
        for surface in problem.surfaces(origin, directions, np.tile([-np.inf, np.inf], (16, 1))):
            losses = surface.losses(problem.metric.loss)
            points += len(losses)
            assert losses.min() >= bound_of(problem, found)
            assert losses.min() >= found.loss - proof_of(found).gap


def test_speech_four_weights_to_the_last_error() -> None:
    problem = Problem.of(as_dataset(DATA / "asr_tts/nbest.txt.gz", DATA / "asr_tts/refs.txt"), "wer")
    found = certified(problem, fix={"am": 1.0})
    assert proof_of(found).gap == 0.0
    assert_no_point_is_better(problem, found, ["lm3", "lm1", "words", "fillers"], np.array([8.0, 2.0, 10.0, 10.0]))


def test_translation_two_weights_to_a_thousandth_of_bleu() -> None:
    problem = Problem.of(as_dataset(DATA / "de_en/nbest.txt.gz", DATA / "de_en/refs.txt"), "bleu")
    held = read_weights(DATA / "de_en/decoding.weights")
    free = ["LanguageModel", "WordPenalty"]
    found = certified(
        problem, Certified(gap=0.001), fix={name: weight for name, weight in held.items() if name not in free}
    )
    assert 0.0 <= proof_of(found).gap <= 0.001
    assert_no_point_is_better(problem, found, free, np.array([0.5, 2.0]))


def test_counts_tie_so_much_that_the_gap_may_stay_open_but_the_bound_holds() -> None:
    lists, gold = DATA / "alignments_en_fr/nbest.txt.gz", DATA / "alignments_en_fr/gold.txt"
    problem = Problem.of(as_dataset(lists, gold), "aer:reference_offset=1")
    first, *free = problem.feature_names[:3]
    held = {name: float(name == first) for name in problem.feature_names if name not in free}
    found = certified(problem, fix=held)
    assert proof_of(found).stopped in ("gap", "rounding")
    assert proof_of(found).gap < 0.01
    assert_no_point_is_better(problem, found, free, np.array([1.0, 1.0]))
