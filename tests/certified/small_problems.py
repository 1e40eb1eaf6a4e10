"""Small problems for certified search, and the best there is in them by brute force."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.certified.candidates import Candidates, candidates_of
from hulltune.certified.certify import Certified
from hulltune.certified.clock import Clock
from hulltune.certified.pools import pool_of
from hulltune.certified.space import Space, space_of
from hulltune.metrics.base import Metric
from hulltune.search.certificate import Certificate
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from hulltune.search.problem import Problem
from hulltune.search.strategy import Found, Setting
from hulltune.threads import Workers
from hulltune.tuning.inputs import as_dataset

Floats = NDArray[np.float64]
EXACT = Certified(gap=0.0)
WORDS = ["ba", "be", "bi", "bo", "bu"]


def small_problem(
    seed: int,
    metric: str | Metric = "wer",
    *,
    sentences: int = 3,
    candidates: int = 3,
    features: int = 3,
    whole: bool = True,
    length: int = 4,
) -> Problem:
    """Random lists; features are small whole numbers, so that ties abound, or reals."""
    rng = np.random.default_rng(seed)
    records: list[dict[str, Any]] = []
    for _ in range(sentences):
        reference = rng.choice(WORDS, length)
        listed = []
        for _ in range(int(rng.integers(1, candidates + 1))):
            text = " ".join(np.where(rng.random(length) < 0.5, reference, rng.choice(WORDS, length)))
            values = rng.integers(-4, 5, features) if whole else rng.normal(size=features)
            listed.append({"text": text, "features": {f"f{k}": float(v) for k, v in enumerate(values)}})
        records.append({"id": len(records), "refs": [" ".join(reference)], "candidates": listed})
    return Problem.of(as_dataset(records), metric)


def candidate(text: str, **features: float) -> dict[str, Any]:
    return {"text": text, "features": features}


def records_of(*lists: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A sentence for each list, all with the reference "a b"."""
    return [{"id": k, "refs": ["a b"], "candidates": listed} for k, listed in enumerate(lists)]


def problem_of(*lists: list[dict[str, Any]], metric: str | Metric = "wer") -> Problem:
    return Problem.of(as_dataset(records_of(*lists)), metric)


def prepared(problem: Problem, threads: int = 1, **constraints: Any) -> tuple[Space, Candidates]:
    """The space of a problem of lists within constraints, and its candidates."""
    space = space_of(Constraints(**constraints).compile(problem.feature_names), feature_units(problem.corpus))
    return space, candidates_of(problem, pool_of(problem, space, Clock()), space, Clock(), Workers(threads))


def certified(
    problem: Problem, search: Certified = EXACT, *, start: Any = None, threads: int = 1, **constraints: Any
) -> Found:
    """What a certified search finds within constraints."""
    setting = Setting.of(problem, Constraints(**constraints), start)
    return search.find(setting, seed=1, threads=threads)


def proof_of(found: Found) -> Certificate:
    assert found.certificate is not None
    return found.certificate


def bound_of(problem: Problem, found: Found) -> float:
    """The loss that no weights are below."""
    return -proof_of(found).bound if problem.metric.higher_is_better else proof_of(found).bound


def losses_at(problem: Problem, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The loss of each row of weights, and whether it is far from every tie of candidates with other statistics."""
    features = np.asarray(problem.corpus.features.values, dtype=np.float64)
    edges = problem.corpus.sentence_edges
    rows = problem.rows(np.arange(len(features)))
    totals: Any = 0
    clear = np.ones(len(points), dtype=bool)
    for s in range(len(problem.corpus)):
        first, last = edges[s], edges[s + 1]
        scores = points @ features[first:last].T
        best = np.argmax(scores, axis=1)
        statistics = problem.table[rows[first:last]]
        totals = totals + statistics[best]
        other = np.any(statistics[None, :, :] != statistics[best][:, None, :], axis=2)
        rival = np.where(other, scores, -np.inf).max(axis=1)
        clear &= scores.max(axis=1) - rival > 1e-9 * np.abs(points).max(axis=1)
    return np.asarray(problem.metric.loss(totals)), clear


def best_in_plane(problem: Problem, far: float = 1e5) -> float:
    """The least loss over weights (1, u, v): every cell of the arrangement holds the centre of three of its corners."""
    features = np.asarray(problem.corpus.features.values, dtype=np.float64)
    edges = problem.corpus.sentence_edges
    lines = [[-far, 1.0, 0.0], [far, 1.0, 0.0], [-far, 0.0, 1.0], [far, 0.0, 1.0]]
    for s in range(len(problem.corpus)):
        for i, j in combinations(range(edges[s], edges[s + 1]), 2):
            line = features[i] - features[j]
            if np.any(line[1:] != 0.0):
                lines.append((line / np.abs(line[1:]).max() * np.sign(line[1:][np.flatnonzero(line[1:])[0]])).tolist())
    distinct = np.unique(np.round(np.array(lines), 12), axis=0)
    corners = []
    for a, b in combinations(distinct, 2):
        corner = np.cross(a, b)
        if abs(corner[0]) > 1e-9:
            corners.append(corner[1:] / corner[0])
    points = np.unique(np.round(np.array(corners), 9), axis=0)
    points = points[np.all(np.abs(points) <= far * (1 + 1e-9), axis=1)]
    triples = np.array(list(combinations(range(len(points)), 3)))
    centres = points[triples].mean(axis=1)
    losses, clear = losses_at(problem, np.column_stack([np.ones(len(centres)), centres]))
    return float(losses[clear].min())
