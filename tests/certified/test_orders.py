"""Certified search of orders: bounds that hold, values that are reached, and the best of all cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Certified, Constraints, Dataset, read, tune
from hulltune.data.lists import lists_of_texts
from hulltune.kernels.orders.bounds import Boxed
from hulltune.kernels.simd.simd import LANES
from hulltune.search.problem import Problem

CRANFIELD = Path(__file__).parents[2] / "../shared/data/retrieval/cranfield"
METRICS = ("ndcg@3", "ndcg", "mrr@2", "map", "map@2", "p@2", "recall@3", "0.5*ndcg@2 + 0.5*mrr")


@st.composite
def rankings(draw: st.DrawFn, least: int = 2) -> Dataset:
    """A few queries with up to four rankers, small whole scores with many ties, and grades."""
    width = draw(st.integers(least, 4))
    sizes = [draw(st.integers(2, 8)), *draw(st.lists(st.integers(1, 8), max_size=3))]
    values = st.integers(-2, 2) | st.integers(0, 9)
    scores = draw(st.lists(st.lists(values, min_size=width, max_size=width), min_size=sum(sizes), max_size=sum(sizes)))
    references, texts = [], []
    for size in sizes:
        grades = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
        texts += [f"d{number}" for number in range(size)]
        references.append(tuple(f"{grade} d{number}" for number, grade in enumerate(grades)))
    names = tuple(f"r{number}" for number in range(width))
    table = np.array(scores, dtype=np.float64)
    table[0] += np.arange(width) * 0.25 + 0.125  # so that some weight makes a difference
    return lists_of_texts(
        [f"q{number}" for number in range(len(sizes))], np.cumsum([0, *sizes]).astype(np.int64), texts, table, names,
        references=tuple(references),
    )  # fmt: skip


def proof_of(data: Dataset, metric: str, **options: Any) -> tuple[float, float]:
    """The value that is reached and the bound of it."""
    result = tune(data, metric=metric, search=Certified(gap=0, time=5.0), oracle=False, threads=1, **options)
    assert result.certificate is not None
    return result.score, result.certificate.bound


@settings(deadline=None, max_examples=40)
@given(rankings(least=1), st.sampled_from(METRICS), st.booleans(), st.integers(0, 2**31))
def test_no_weights_score_above_the_bound(data: Dataset, metric: str, signed: bool, seed: int) -> None:
    score, bound = proof_of(data, metric, constraints=Constraints(sign={"*": "any"}) if signed else None)
    assert score <= bound
    problem, random = Problem.of(data, metric), np.random.default_rng(seed)
    for weights in random.normal(size=(200, len(data.feature_names))):
        assert problem.score(weights if signed else np.abs(weights)) <= bound


@settings(deadline=None, max_examples=40)
@given(rankings(), st.sampled_from(METRICS))
def test_two_weights_reach_the_best_of_all_cells(data: Dataset, metric: str) -> None:
    two = data.with_features(data.feature_names[:2])
    problem = Problem.of(two, metric)
    score, bound = proof_of(two, metric)
    assert score == bound
    directions = np.array([[-1.0, 1.0]])
    (line,) = problem.surfaces(np.array([1.0, 0.0]), directions, np.array([[0.0, 1.0]]))
    ends = np.concatenate([[0.0], line.breakpoints, [1.0]])
    wide = np.diff(ends) > 1e-9
    values = [problem.score(np.array([1.0 - eta, eta])) for eta in ((ends[1:] + ends[:-1]) / 2.0)[wide]]
    assert score == pytest.approx(max(values), abs=1e-12)


def made_up(seed: int) -> Dataset:
    """Five queries of six documents under three rankers, so that orders change in many places."""
    random = np.random.default_rng(seed)
    references = tuple(
        tuple(f"{grade} d{d}" for d, grade in enumerate(random.integers(0, 3, size=6))) for _ in range(5)
    )
    texts, names = [f"d{number}" for number in range(6)] * 5, ("x", "y", "z")
    edges = np.arange(6, dtype=np.int64) * 6
    return lists_of_texts(
        [f"q{number}" for number in range(5)], edges, texts, random.random((30, 3)), names, references=references
    )


def shortfalls(metric: str, margin: float) -> int:
    """How many random weights of random boxes are worth more than the bound along the line of their box."""
    count = 0
    for seed in range(40):
        data, random = made_up(seed), np.random.default_rng([7, seed])
        problem = Problem.of(data, metric)
        orders = problem.orders
        assert orders is not None
        columns = np.pad(data.corpus.features.values.T, ((0, 0), (0, LANES)))
        origin, radii = np.append(random.random(2), 0.0), random.random(2) * 0.3
        heights = origin[0] * columns[0] + origin[1] * columns[1]
        boxed = Boxed(heights, columns[2].copy(), columns[:2].copy(), margin * radii, np.full(5, 1e-13))
        surface = orders.bound(boxed, 0.0, 1.0)
        for _ in range(50):
            point = origin + np.append(radii * random.uniform(-1.0, 1.0, size=2), random.random())
            bound = float(problem.metric.score(surface.at(point[2])))
            count += problem.score(point) > bound
    return count


@pytest.mark.parametrize("metric", METRICS)
def test_bounds_hold_all_over_a_box_and_one_without_margins_does_not(metric: str) -> None:
    assert shortfalls(metric, 1.0) == 0
    assert shortfalls(metric, 0.0) > 0


@pytest.mark.parametrize(
    ("names", "value"),
    [(("bm25", "dense"), 0.41884147), (("bm25", "lsa", "dense"), 0.43338055)],
)
def test_real_rankers_have_the_known_optimum(names: tuple[str, ...], value: float) -> None:
    if not CRANFIELD.is_dir():
        pytest.skip("real data (../shared/data) is not there")
    data = read([CRANFIELD / f"{name}.run.gz" for name in names], CRANFIELD / "qrels.gz")
    result = tune(data, metric="ndcg@10", search=Certified(gap=0), oracle=False, threads=2)
    proof = result.certificate
    assert proof is not None
    assert (proof.is_optimal, proof.exact, proof.gap) == (True, True, 0.0)
    assert result.score == pytest.approx(value, abs=5e-9)
    assert all(weight >= 0.0 for weight in result.weights.values())
