"""Certificates over forests: the pool holds whatever can win, so no derivation of the forest is better."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Certified, Forest, ForestBuilder, read
from hulltune.certified.clock import Clock
from hulltune.certified.pools import pool_of
from hulltune.certified.space import space_of
from hulltune.errors import InputError
from hulltune.metrics import get_metric
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from hulltune.search.problem import Problem
from hulltune.tuning.inputs import as_dataset
from tests.certified.small_problems import bound_of, certified, proof_of
from tests.oracles import derivations, output_of
from tests.problems import corpus_problem
from tests.strategies import counts, forests, reals

DATA = Path(__file__).parents[2] / "../shared/data"
REFERENCES = ["a b c", "c", "b b a"]
tame = st.one_of(counts, reals.filter(lambda x: x == 0.0 or abs(x) > 1e-3))
corpora = st.lists(forests(elements=tame, max_derivations=80), min_size=1, max_size=3)


def problem_of(given: Sequence[Forest]) -> Problem:
    references = [(REFERENCES[i % len(REFERENCES)],) for i in range(len(given))]
    return corpus_problem(given, get_metric("wer"), references)


def all_sums(forest: Forest) -> NDArray[np.float64]:
    features = forest.features.toarray()
    return np.array([features[list(edges)].sum(axis=0) for edges in derivations(forest)]).reshape(-1, features.shape[1])


@settings(deadline=None, max_examples=40)
@given(corpora, st.integers(0, 2**32))
def test_no_derivation_beats_the_pool(given: list[Forest], seed: int) -> None:
    problem = problem_of(given)
    units = feature_units(problem.corpus)
    if not np.any(units[1:]):
        return
    space = space_of(Constraints(fix={"f0": 1.0}).compile(problem.feature_names), units)
    pool = pool_of(problem, space, Clock())
    rng = np.random.default_rng(seed)
    points = np.column_stack([np.ones(300), rng.standard_cauchy((300, 2)) * 10.0 ** rng.uniform(-2, 2, (300, 2))])
    for sentence, forest in enumerate(given):
        sums = all_sums(forest)
        mine = pool.features.toarray()[pool.offsets[sentence] : pool.offsets[sentence + 1]]
        assert (len(mine) > 0) == (len(sums) > 0)
        if len(sums):
            best, reached = (points @ sums.T).max(axis=1), (points @ mine.T).max(axis=1)
            size = np.abs(points) @ np.abs(sums).max(axis=0)
            assert np.all(best <= reached + 1e-9 * size)
            assert np.all(reached <= best + 1e-9 * size)


@settings(deadline=None, max_examples=25)
@given(corpora)
def test_one_free_weight_has_two_directions(given: list[Forest]) -> None:
    problem = problem_of(given)
    units = feature_units(problem.corpus)
    if not units[0]:
        return
    found = certified(problem, fix={"f1": 0.0, "f2": 0.0})
    both = [float(problem.metric.loss(problem.picks(np.array([sign, 0.0, 0.0])).total)) for sign in (-1.0, 1.0)]
    assert found.loss == min(both)
    assert bound_of(problem, found) == found.loss
    assert proof_of(found).is_optimal is problem.is_lists  # over forests, up to rounding


@settings(deadline=None, max_examples=25)
@given(corpora, st.integers(0, 2**32))
def test_no_weights_of_a_forest_are_better_than_the_bound(given: list[Forest], seed: int) -> None:
    problem = problem_of(given)
    units = feature_units(problem.corpus)
    if not np.any(units[1:]):
        return
    found = certified(problem, Certified(gap=0.0, time=5.0), fix={"f0": 1.0})
    assert found.loss == float(problem.metric.loss(problem.picks(found.weights).total))
    rng = np.random.default_rng(seed)
    for point in np.column_stack([np.ones(150), rng.standard_cauchy((150, 2))]):
        loss = float(problem.metric.loss(problem.picks(point).total))
        if all(_is_clear(forest, point) for forest in given):
            assert loss >= bound_of(problem, found)


def _is_clear(forest: Forest, weights: NDArray[np.float64]) -> bool:
    """Whether the best derivation is far from all with another output."""
    sums = all_sums(forest)
    if not len(sums):
        return True
    scores = sums @ weights
    texts = [output_of(forest, edges) for edges in derivations(forest)]
    best = int(np.argmax(scores))
    others = [score for score, text in zip(scores, texts, strict=True) if text != texts[best]]
    return not others or scores[best] - max(others) > 1e-8 * float(np.abs(weights) @ np.abs(sums).max(axis=0))


def test_many_free_weights_of_forests_are_refused() -> None:
    builder = ForestBuilder(feature_names=[f"f{k}" for k in range(6)])
    for node in range(2):
        builder.add_node(node)
        for k in range(6):
            values = [float(k == j) * (node + 1) for j in range(6)]
            builder.add_edge(node, [0] if node else [], features=values, output=["a"])
    problem = corpus_problem([builder.build(root=1)], "wer", [("a",)])
    with pytest.raises(InputError, match="at most 3"):
        certified(problem)


@pytest.mark.skipif(not (DATA / "asr_tts").exists(), reason="the speech lattices in ../shared/data are missing")
def test_real_lattices_in_a_plane() -> None:
    names = (DATA / "asr_tts/ids.txt").read_text().split()[:8]
    references = (DATA / "asr_tts/refs.txt").read_text().splitlines()[:8]
    lattices = read([DATA / f"asr_tts/slf/{name}.slf.gz" for name in names])
    problem = Problem.of(as_dataset(lattices, references), "wer")
    found = certified(problem, fix={"acoustic": 1.0})
    proof = proof_of(found)
    assert (proof.gap, proof.exact, proof.is_optimal) == (0.0, False, False)  # pools are complete up to near ties
    rng = np.random.default_rng(1)
    for _ in range(12):  # each line has hundreds of intervals, all of them exact
        origin = np.append(1.0, rng.uniform([0.0, -60.0], [40.0, 60.0]))
        direction = np.append(0.0, rng.normal(size=2) * [1.0, 5.0])
        (surface,) = problem.surfaces(origin, direction[None], np.array([[-np.inf, np.inf]]))
        assert surface.losses(problem.metric.loss).min() >= found.loss
