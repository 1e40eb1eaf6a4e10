"""The envelope of one forest in exact arithmetic: the convex hull semiring over whole numbers.

No number is rounded before the answer is: weights, features and ends of the interval are the decimals that they are
written as. It is slow, and what the fast methods, which round each edge's score once, are measured against.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from hulltune.arrays import Floats, decimals
from hulltune.data.features import DenseFeatures, Features, offsets_of
from hulltune.data.forest import Forest
from hulltune.geometry.hulls import rounded
from hulltune.geometry.predicates import Number
from hulltune.inference import inside
from hulltune.lines.result import Envelope
from hulltune.semirings import Hull, HullSemiring, TropicalSemiring

Derivation = list[int]


def exact_envelope(forest: Forest, origin: Floats, direction: Floats, interval: tuple[float, ...]) -> Envelope:
    """The envelope of all derivations for η in ``interval``, with correctly rounded breakpoints.

    Segments too thin for a double between their ends are left out. O(edges) for each segment, beside the hulls of all
    nodes (see semirings/hull.py).
    """
    intercepts, intercept_unit = _whole_scores(forest.features, origin)
    slopes, slope_unit = _whole_scores(forest.features, direction)
    edges = list(zip(slopes, intercepts, strict=True))
    hull = inside(forest, HullSemiring(), [Hull.from_lines([line]) for line in edges], method="generic")[-1]
    unit = intercept_unit / slope_unit
    low, high = (end if math.isinf(end) else Fraction(str(end)) for end in interval)
    ends = [-math.inf, *(point * unit for point in hull.breakpoints), math.inf]
    lefts: list[float] = []
    found: list[tuple[Fraction, Fraction, Derivation]] = []
    for line, (left, right) in zip(hull.lines, pairwise(ends), strict=False):
        if right <= low or left >= high or (lefts and rounded(left) >= interval[1]):
            continue
        start = rounded(left) if left > low else interval[0]
        if lefts and start <= lefts[-1]:  # no double lies on the segment before: this one takes its place
            start = lefts.pop()
            found.pop()
        lefts.append(start)
        winner = _winner(forest, edges, _inside(max(left, low), min(right, high)) / unit)
        found.append((line[0] * slope_unit, line[1] * intercept_unit, winner))
    return Envelope(
        forest=forest,
        interval=(interval[0], interval[1]),
        breakpoints=np.array(lefts[1:]),
        slopes=np.array([rounded(slope) for slope, _, _ in found]),
        intercepts=np.array([rounded(intercept) for _, intercept, _ in found]),
        _derivation_offsets=offsets_of([len(winner) for _, _, winner in found]),
        _derivation_edges=np.array([edge for _, _, winner in found for edge in winner], dtype=np.int32),
    )


def _whole_scores(features: Features, weights: Floats) -> tuple[list[int], Fraction]:
    """The score of each edge, as a whole number of a unit, and this unit."""
    factors, weight_unit = _wholes(weights)
    numbers, unit = _wholes(features.values.ravel())
    scores = [0] * features.shape[0]
    if isinstance(features, DenseFeatures):
        places = ((edge, column) for edge in range(features.shape[0]) for column in range(features.shape[1]))
    else:
        rows = np.repeat(np.arange(features.shape[0]), np.diff(features.offsets)).tolist()
        places = ((edge, column) for edge, column in zip(rows, features.columns.tolist(), strict=True))
    for (edge, column), number in zip(places, numbers, strict=True):
        scores[edge] += factors[column] * number
    return scores, weight_unit * unit


def _wholes(values: Any) -> tuple[list[int], Fraction]:
    """Decimals as whole numbers of a unit, and this unit."""
    exact = decimals(values)
    denominator = math.lcm(1, *(value.denominator for value in exact))
    return [int(value * denominator) for value in exact], Fraction(1, denominator)


def _inside(left: Number, right: Number) -> Number:
    """A point between two ends."""
    if left == -math.inf:
        return Fraction(0) if right == math.inf else right - 1
    return left + 1 if right == math.inf else (left + right) / 2


def _winner(forest: Forest, edges: Sequence[tuple[int, int]], point: Fraction) -> Derivation:
    """The best derivation at a point inside a segment; of equals, the first: from the root down, the first edge."""
    scores = [slope * point.numerator + intercept * point.denominator for slope, intercept in edges]
    best = inside(forest, TropicalSemiring(), scores, method="generic")
    found, stack = [], [forest.root]
    while stack:
        node = stack.pop()
        for edge in range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1])):
            tails = forest.edge_tails(edge)
            if scores[edge] + sum(best[tail] for tail in tails) == best[node]:
                break
        found.append(edge)
        stack += reversed(tails)
    return found
