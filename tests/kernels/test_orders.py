"""Changes of an order's value along a line, beside sorting all documents between any two places where two meet."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.kernels.orders.changes import (
    COARSE_BITS,
    FINE_BITS,
    FIRST,
    PRECISION,
    SUM,
    Judged,
    Measure,
    order_changes,
    sums_along,
)


def worth(measure: Measure, shares: dict[int, float], order: list[int]) -> int:
    """The value of an order of the documents of a query, by the definition of its measure."""
    depth, total, seen = len(measure.discounts), 0, 0
    for rank, document in enumerate(order[:depth], start=1):
        if document not in shares:
            continue
        seen += 1
        if measure.kind == FIRST and seen > 1:
            break
        factor = seen / rank if measure.kind == PRECISION else measure.discounts[rank - 1]
        total += int(np.rint(shares[document] * factor * 2.0**FINE_BITS))
    unit = 1 << (FINE_BITS - COARSE_BITS)
    return (total + unit // 2) // unit


@st.composite
def queries(draw: st.DrawFn) -> tuple[list[list[tuple[int, int]]], list[list[int]]]:
    """Documents of some queries, as lines (slope, height) with many ties, and the relevant ones of each."""
    few = st.integers(-3, 3) | st.integers(-40, 40)
    lines = draw(st.lists(st.lists(st.tuples(few, few), min_size=1, max_size=60), min_size=1, max_size=3))
    return lines, [sorted(draw(st.sets(st.sampled_from(range(len(each)))))) for each in lines]


@pytest.mark.parametrize("kind", [SUM, PRECISION, FIRST])
@given(
    queries(),
    st.sampled_from([1, 2, 3, 5, 40]),
    st.sampled_from([(-np.inf, np.inf), (0.0, 1.0), (-2.5, np.inf), (-1.0, -0.25)]),
)
def test_every_interval_has_the_value_of_its_order(
    kind: int,
    case: tuple[list[list[tuple[int, int]]], list[list[int]]],
    depth: int,
    interval: tuple[float, float],
) -> None:
    lines, relevant = case
    offsets = np.cumsum([0, *map(len, lines)])
    documents = [first + each for first, some in zip(offsets, relevant, strict=False) for each in some]
    judged = Judged(offsets, np.cumsum([0, *map(len, relevant)]), np.array(documents, dtype=np.int64))
    shares = 1.0 / (3.0 + np.arange(len(documents))) if kind == SUM else np.full(len(documents), 0.25)
    measure = Measure(kind, shares.astype(np.float64), 1.0 / np.log2(np.arange(2.0, depth + 2.0)))
    slopes, heights = (np.array([line[k] for some in lines for line in some], dtype=np.float64) for k in (0, 1))
    low, high = interval
    exponents, both = np.zeros((3, len(lines)), dtype=np.int64), np.array([[low, high], [-high, -low]])
    counts, *rest = order_changes(judged, measure, 0, len(lines), np.array([heights, slopes, -slopes]), exponents, both)
    found: list[Any] = rest
    surfaces = []
    for line, count in enumerate(counts.tolist()):  # there, and back
        places, owners, changes = (each[line, :count] for each in found[:3])
        assert np.all((places > both[line, 0]) & (places < both[line, 1]))
        starts = found[3][line : line + 1]
        breakpoints, sums = sums_along(places, np.argsort(places), owners.astype(np.int64), changes, starts)
        assert np.all(np.diff(breakpoints) > 0)
        assert np.all(np.diff(sums[:, 0]) != 0)
        surfaces.append((breakpoints, sums[:, 0]))
    meetings = {
        Fraction(a[1] - b[1], b[0] - a[0]) for some in lines for a, b in itertools.combinations(some, 2) if a[0] != b[0]
    }
    ends = [max(Fraction(-1000), Fraction(low)) if low > -np.inf else Fraction(-1000)]
    ends += sorted(each for each in meetings if low < each < high)
    ends += [Fraction(high) if high < np.inf else Fraction(1000)]
    pieces = list(itertools.pairwise(ends))
    for left, right in pieces[:: max(len(pieces) // 60, 1)]:
        eta = (left + right) / 2
        expected, entry = 0, 0
        for some, mine in zip(lines, relevant, strict=True):
            scores = [slope * eta + height for slope, height in some]
            order = sorted(range(len(some)), key=lambda document: -scores[document])
            expected += worth(measure, dict(zip(mine, shares[entry:], strict=False)), order)
            entry += len(mine)
        for sign, (breakpoints, values) in zip((1.0, -1.0), surfaces, strict=True):
            assert values[np.searchsorted(breakpoints, sign * float(eta))] == expected, eta
