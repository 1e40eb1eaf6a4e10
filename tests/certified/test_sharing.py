"""Certified search in parts of any size, by any number of threads: the same to the bit."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune.certified import boxes as boxes_module
from hulltune.certified import candidates as candidates_module
from hulltune.certified.boxes import Box, cut
from hulltune.certified.cells import ends_around
from hulltune.kernels.certify.winners import THINNEST
from hulltune.search.problem import Line
from tests.certified.small_problems import certified, proof_of, small_problem

METRICS = ["wer", "bleu", "chrf", "0.5*chrf - 0.5*ter"]
Floats = NDArray[np.float64]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tie", [[], [["f0", "f1"]]])
def test_certificates_do_not_depend_on_threads_and_shares(
    monkeypatch: pytest.MonkeyPatch, metric: str, tie: list[list[str]]
) -> None:
    """Candidates in parts of any size, boxes in shares of any size: the same weights, proof and history to the bit."""

    def found(threads: int) -> list[Any]:
        problem = small_problem(9, metric, sentences=25, candidates=9, features=4, whole=False, length=9)
        best = certified(problem, threads=threads, tie=tie)
        assert proof_of(best).boxes > 40
        return [best.weights.tolist(), best.loss, best.history, replace(proof_of(best), seconds=0.0)]

    expected = found(1)
    for at_once, least, threads in ((1, 100, 1), (7, 300, 3)):
        monkeypatch.setattr(candidates_module, "AT_ONCE", at_once)
        monkeypatch.setattr(boxes_module, "FEW", least)
        monkeypatch.setattr(boxes_module, "AT_ONCE", max(least, 1 << 8))
        assert found(threads) == expected


Ends = tuple[list[float], list[float]]


def slow_parts(box: Box) -> list[Ends]:
    """The parts of a box, in plain Python."""
    low, high, spreads = box.low.tolist(), box.high.tolist(), box.spreads.tolist()
    axes = range(len(low))
    if not any(spreads[k] > 0.0 and not low[k] < high[k] for k in axes):
        faces = []
        for k in axes:
            ends = ((low[k], low[k] < 0.0), (high[k], high[k] > 0.0)) if spreads[k] > 0.0 else ()
            faces += [(put(low, k, end), put(high, k, end)) for end, outward in ends if outward]
        return faces
    wide = [high[k] - low[k] > THINNEST * max(abs(low[k]), abs(high[k])) for k in axes]
    promises = [hope if is_wide else 0.0 for hope, is_wide in zip(box.hopes.tolist(), wide, strict=True)]
    if not max(promises) > 0.0:
        promises = [(high[k] - low[k]) * spreads[k] if wide[k] else 0.0 for k in axes]
    k = promises.index(max(promises))
    if not promises[k] > 0.0:
        return []
    least, most = min(abs(low[k]), abs(high[k])), max(abs(low[k]), abs(high[k]))
    middle = low[k] + (high[k] - low[k]) / 2.0
    if low[k] < 0.0 < high[k]:
        middle = 0.0
    elif most > 4.0 * max(least, 1.0):
        middle = math.copysign(math.sqrt(max(least, 1.0) * most), low[k] + high[k])
    return [(low, put(high, k, middle)), (put(low, k, middle), high)]


def put(values: list[float], place: int, value: float) -> list[float]:
    return [*values[:place], value, *values[place + 1 :]]


numbers = st.sampled_from([0.0, 0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 1e300, 1e-300, 1.0 + 2.0**-40, 5e-324])


@st.composite
def boxes_of(draw: st.DrawFn, width: int) -> Box:
    ends = [sorted(draw(st.tuples(numbers, numbers))) for _ in range(width)]
    amounts = st.lists(st.sampled_from([0.0, 1.0, 2.0, 1e300, 5e-324]), min_size=width, max_size=width)
    return Box(
        low=np.array([low for low, _ in ends]),
        high=np.array([high for _, high in ends]),
        bound=0.0,
        base=np.zeros(1),
        sentences=np.zeros(0, dtype=np.int32),
        offsets=np.zeros(1, dtype=np.int64),
        candidates=np.zeros(0, dtype=np.int32),
        spreads=np.array(draw(amounts)),
        hopes=np.array(draw(amounts)),
    )


@given(st.integers(1, 4).flatmap(lambda width: st.lists(boxes_of(width), max_size=4)))
@settings(deadline=None)
def test_boxes_are_cut_as_in_plain_python(boxes: list[Box]) -> None:
    found = cut(boxes)
    expected = [(place, *ends) for place, box in enumerate(boxes) for ends in slow_parts(box)]
    got = list(zip(found.numbers.tolist(), found.lows.tolist(), found.highs.tolist(), strict=True))
    assert got == expected
    assert len(found) == len(expected)
    for first in range(len(found)):
        some = found[first : first + 2]
        again = [(some.parents[number], low, high) for number, low, high in zip(
            some.numbers.tolist(), some.lows.tolist(), some.highs.tolist(), strict=True)]  # fmt: skip
        assert again == [(boxes[number], low, high) for number, low, high in expected[first : first + 2]]


places = st.one_of(st.sampled_from([-1.0, -0.0, 0.0, 1e-9, -1e-9, 2.0, -np.inf]), st.floats(-3, 3))


@given(st.lists(places, max_size=12), st.sampled_from([-np.inf, -5.0]), st.sampled_from([np.inf, 5.0]),
       st.sampled_from([0.0, 1e-9, 1.0]))  # fmt: skip
@settings(deadline=None)
def test_the_ends_around_a_place_are_those_of_all(lefts: list[float], low: float, high: float, size: float) -> None:
    line = Line(low, np.array([low, *lefts]), np.zeros(len(lefts) + 1, dtype=np.int32))
    all_ends = np.concatenate([[low], line.changes[line.changes > low], [high]])
    line = Line(low, np.maximum(line.lefts, low), line.outputs)
    found = ends_around(line, high, -size, size).tolist()
    pairs = list(zip(all_ends[:-1].tolist(), all_ends[1:].tolist(), strict=True))
    expected = [pair for pair in pairs if pair[0] <= size and pair[1] >= -size]
    got = list(pairwise(found))
    assert [pair for pair in got if pair[0] <= size and pair[1] >= -size] == expected
    assert set(got) <= set(pairs)
