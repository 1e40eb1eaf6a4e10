"""Candidates: features over the coordinates of a space, and statistics on a grid that makes their sums exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.errors import InputError
from hulltune.memory import check_memory
from hulltune.search.certified.clock import Clock
from hulltune.search.certified.pools import Pool
from hulltune.search.certified.space import Faces, Space
from hulltune.search.problem import Problem
from hulltune.search.shards import HERE, Runner

ROUNDING = 2.0**-48
"""A sum of n terms rounds by less than n times this share of the sum of their absolute values."""
NEAR = 2.0**-44
"""Sums that differ by less than half of this share of the largest sum of absolute values may be equal in truth."""
AT_ONCE = 1 << 12
"""Candidates handled by one call of a kernel, between two looks at the clock."""
CHECKED = 1 << 26
"""Matrices of candidates that need more bytes than this are made only if they fit into memory."""
HALVINGS = 5
"""Faces are halved this often to find the candidates that can win, before the metric is asked for their statistics."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Arrays for the kernels. Rows are candidates, sentence by sentence.

    ``listed`` has only those that may win somewhere, and of candidates that tie all over the space only the first,
    which is the one that decoding picks. ``statistics`` are whole multiples of ``grids``: a column's values are
    ``statistics · grid``, exactly (``exact``) or rounded once.
    """

    features: Floats
    magnitudes: Floats
    """(sentences, coordinates): the largest sum of absolute terms, times the rounding error of the pool."""
    certain: Bools
    """For each sentence, whether every difference of two features has the sign that exact arithmetic gives it."""
    statistics: Floats
    classes: Int32s
    """Equal numbers for candidates of a sentence with equal statistics."""
    offsets: Int64s
    listed: Int32s
    """The candidates of each sentence that may win, by ``offsets``."""
    grids: Floats
    exact: bool
    whole: bool
    """Whether all statistics are whole numbers."""
    sizes: Floats
    """For each statistic, the sum over sentences of its largest absolute value."""
    base: Floats
    """The statistics of sentences without candidates."""

    @property
    def sentences(self) -> int:
        """The number of sentences with candidates."""
        return len(self.offsets) - 1


def candidates_of(
    problem: Problem, pool: Pool, space: Space, clock: Clock | None = None, runner: Runner = HERE
) -> Candidates:
    """The candidates of a pool; asks the metric for the statistics of those that may win."""
    from hulltune.kernels import choices

    clock = clock or Clock()
    filled = np.diff(pool.offsets) > 0
    starts = np.append(pool.offsets[:-1][filled], pool.offsets[-1])  # sentences without candidates own no rows
    active = np.flatnonzero(np.any(space.axes != 0.0, axis=1))
    needed = 2 * 8 * len(active) * len(pool.numbers)
    if needed > CHECKED:
        check_memory(
            needed,
            f"certify: a matrix of {len(pool.numbers):,} candidates and {len(active):,} features (those not held at 0)",
            "hold more weights at 0 (fix), or use a part of the data",
        )
    columns = pool.features.some_columns(active)
    features, magnitudes, certain = _projected(columns, space.axes[active], starts)
    clock.look()
    firsts = _first_of_ties(columns, features, magnitudes, space.axes[active], starts)
    magnitudes *= pool.rounding * max(1.0, len(active) / 32)  # longer sums round more
    listed = np.flatnonzero(firsts == np.arange(len(features)))
    listed = listed[_possible(features, magnitudes, certain, starts, listed, space.faces, clock, runner)]
    rows = _rows(problem, pool.numbers[listed], clock, runner)
    clock.look()
    table, grids, exact = _on_grid(problem.table, rows, np.searchsorted(listed, starts))
    statistics = np.zeros((len(features), table.shape[1]))
    statistics[listed] = table
    classes = np.zeros(len(features), dtype=np.int32)
    classes[listed] = choices.first_of_equals(np.ascontiguousarray(table.T), np.searchsorted(listed, starts))
    base = np.zeros(table.shape[1])
    if not filled.all():
        nothing = np.where(filled, pool.numbers[np.minimum(pool.offsets[:-1], len(pool.numbers) - 1)], -1)
        empty = problem.picked(nothing).statistics[~filled]
        base = np.rint(np.asarray(empty, dtype=np.float64).sum(axis=0) / grids)
    sizes = np.maximum.reduceat(np.abs(statistics), starts[:-1], axis=0).sum(axis=0) + np.abs(base)
    return Candidates(
        features=features,
        magnitudes=magnitudes,
        certain=certain,
        statistics=statistics,
        classes=classes,
        offsets=np.searchsorted(listed, starts).astype(np.int64),
        listed=listed.astype(np.int32),
        grids=grids,
        exact=exact,
        whole=bool(np.all(grids == 1.0)),
        sizes=sizes * grids,
        base=base,
    )


def _possible(
    features: Floats,
    magnitudes: Floats,
    certain: Bools,
    starts: Int64s,
    listed: Int64s,
    faces: Faces,
    clock: Clock,
    runner: Runner,
) -> Bools:
    """Whether each listed candidate may win somewhere on the faces, some sentences at a time."""
    from hulltune.kernels import certify

    offsets = np.searchsorted(listed, starts).astype(np.int64)

    def possible(sentences: tuple[int, int]) -> Bools:
        clock.look()
        first, last = sentences
        begin, end = int(starts[first]), int(starts[last])
        here = listed[offsets[first] : offsets[last]]
        return certify.possible_winners(
            features[begin:end], magnitudes[first:last], certain[first:last],
            offsets[first : last + 1] - offsets[first], (here - begin).astype(np.int32),
            faces.lows, faces.highs, HALVINGS,
        )  # fmt: skip

    cuts = np.searchsorted(offsets, np.arange(0, len(listed), AT_ONCE)).tolist()
    parts = list(pairwise(np.unique([*cuts, len(starts) - 1]).tolist()))
    return np.concatenate([np.empty(0, dtype=bool), *runner.each(possible, parts)])


def _rows(problem: Problem, outputs: Int64s, clock: Clock, runner: Runner) -> Int64s:
    """The rows of outputs in the problem's table, some at a time. A metric that waits is asked for all at once."""
    if problem.metric.waits:
        return problem.rows(outputs)
    at_once = AT_ONCE * runner.parts
    parts = []
    for first in range(0, len(outputs), at_once):
        clock.look()
        parts.append(problem.rows(outputs[first : first + at_once], runner=runner))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _projected(columns: Floats, axes: Floats, starts: Int64s) -> tuple[Floats, Floats, Bools]:
    """The features over the coordinates; for each sentence and coordinate the largest sum of absolute terms, which
    limits the rounding; and for each sentence whether the signs of differences are certain.
    """
    from hulltune.kernels import choices

    features = np.zeros((columns.shape[1], axes.shape[1]))
    magnitudes = np.zeros((len(starts) - 1, axes.shape[1]))
    certain = np.ones(len(starts) - 1, dtype=bool)
    for k in range(axes.shape[1]):
        used = np.flatnonzero(axes[:, k])
        sizes = np.zeros(columns.shape[1])
        for j in used:  # one term after the other: a matrix product could round the sums of equal rows apart
            term = columns[j] * axes[j, k]
            features[:, k] += term
            sizes += np.abs(term)
        magnitudes[:, k] = np.maximum.reduceat(sizes, starts[:-1])
        if len(used) != 1 or np.frexp(axes[used[0], k])[0] not in (0.5, -0.5):
            errors = ROUNDING * max(len(used), 1) * magnitudes[:, k]
            sums = np.ascontiguousarray(features[:, k])
            certain &= choices.clearly_apart(sums, errors, np.ascontiguousarray(columns[used]), starts)
    if not np.all(np.isfinite(features)):
        raise InputError("certify: scores overflow; use smaller weights or rescale the features")
    return features, magnitudes, certain


def _first_of_ties(columns: Floats, features: Floats, magnitudes: Floats, axes: Floats, starts: Int64s) -> Int64s:
    """For each candidate, the first of its sentence with the same score all over the space: the one decoding picks.

    Candidates tie where their features are equal, or where weights are tied or fixed and the sums of features are
    exactly equal, as the numbers that the features mean (see kernels.exact_features). Sums that are equal only after
    rounding stay apart: either candidate may win.
    """
    from hulltune.kernels import choices

    firsts: Int64s = choices.first_of_equals(columns, starts)
    distinct = np.flatnonzero(firsts == np.arange(len(firsts)))
    sums = _ExactSums(columns, axes, starts)
    steps = np.repeat(np.where(magnitudes > 0.0, magnitudes, 1.0), np.diff(starts), axis=0) * NEAR
    # Sums that rounding tells apart have equal multiples of one of two grids, of which one is shifted by half a step.
    for shift in (0.0, 0.5):
        near = choices.first_of_equals(np.ascontiguousarray(np.rint(features / steps + shift).T), starts)
        groups: dict[int, list[int]] = {}
        for row in distinct[near[distinct] != distinct].tolist():
            alike = groups.setdefault(int(near[row]), [int(near[row])])
            same = next((other for other in alike if sums.of(other) == sums.of(row)), None)
            if same is None:
                alike.append(row)
            else:
                firsts[row] = min(int(firsts[row]), int(firsts[same]))
    return firsts


class _ExactSums:
    """The coordinates of candidates in rational numbers, computed when they are asked for."""

    def __init__(self, columns: Floats, axes: Floats, starts: Int64s) -> None:
        self._columns, self._starts = columns, starts
        self._weights = [[Fraction(weight) for weight in axis] for axis in axes.T.tolist()]
        self._meanings: dict[tuple[int, int], list[Fraction]] = {}
        self._sums: dict[int, tuple[Fraction, ...]] = {}

    def of(self, row: int) -> tuple[Fraction, ...]:
        """The coordinates of a candidate."""
        if row not in self._sums:
            sentence = int(np.searchsorted(self._starts, row, side="right")) - 1
            self._sums[row] = tuple(
                sum((axis * self._meaning(sentence, j, row) for j, axis in enumerate(each) if axis), Fraction(0))
                for each in self._weights
            )
        return self._sums[row]

    def _meaning(self, sentence: int, feature: int, row: int) -> Fraction:
        first, last = int(self._starts[sentence]), int(self._starts[sentence + 1])
        key = sentence, feature
        if key not in self._meanings:
            self._meanings[key] = meant(self._columns[feature, first:last])
        return self._meanings[key][row - first]


def meant(values: Floats) -> list[Fraction]:
    """The numbers that the values of a feature in a sentence mean, as kernels.exact_features says."""
    from hulltune.kernels.exact_features import DOUBLES, dense_meanings

    _, used, places, *_ = dense_meanings(values[None, :], np.array([0, len(values)]))
    if not len(used):
        return [Fraction(0)] * len(values)
    if places[0] == DOUBLES:
        return [Fraction(value) for value in values.tolist()]
    unit = 10 ** int(places[0])
    return [Fraction(round(Fraction(value) * unit), unit) for value in values.tolist()]


def _on_grid(table: Floats, rows: Int64s, offsets: Int64s) -> tuple[Floats, Floats, bool]:
    """The rows as multiples of a power of two for each column, small enough that all sums are exact."""
    values = np.asarray(table[rows], dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise InputError("statistics: expected finite numbers")
    totals = np.maximum.reduceat(np.abs(values), offsets[:-1], axis=0).sum(axis=0)
    whole = np.all(values == np.rint(values), axis=0) & (totals < 2.0**51)
    grids = np.where(whole, 1.0, np.ldexp(1.0, np.maximum(np.frexp(totals)[1] - 51, -1074)))
    snapped = np.rint(values / grids)
    return snapped, grids, bool(np.all(snapped * grids == values))
