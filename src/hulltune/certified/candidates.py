"""Candidates: features over the coordinates of a space, and statistics on a grid that makes their sums exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s, decimals
from hulltune.certified.clock import Clock
from hulltune.certified.pools import Pool
from hulltune.certified.space import Space
from hulltune.errors import InputError
from hulltune.memory import check_memory
from hulltune.search.problem import Problem
from hulltune.threads import ALONE, Workers

if TYPE_CHECKING:
    from hulltune.kernels.certify.winners import Contestants

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
    """What is known of candidates. Statistics are multiples of ``grids``, exactly (``exact``) or rounded once.

    ``listed`` has only the candidates that may win somewhere, and of those that tie all over the space only the first,
    which is the one that decoding picks.
    """

    known: Contestants
    """Features, statistics in multiples of the grids, and more; a row for each candidate, sentence by sentence."""
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


def candidates_of(problem: Problem, pool: Pool, space: Space, clock: Clock, workers: Workers = ALONE) -> Candidates:
    """The candidates of a pool; asks the metric for the statistics of those that may win. Threads share sentences."""
    from hulltune.kernels.certify import choices
    from hulltune.kernels.certify.winners import Contestants

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
    parts = _parts(starts)

    def project(part: slice) -> tuple[Floats, Floats, Bools, Int64s]:
        clock.look()
        return _projected(pool, space, active, starts[part.start : part.stop + 1])

    features, magnitudes, certain, listed = map(np.concatenate, zip(*workers.map(project, parts), strict=True))
    rows = _rows(problem, pool.numbers[listed], clock, workers)
    clock.look()
    offsets = np.searchsorted(listed, starts).astype(np.int64)
    values = np.asarray(problem.table[rows], dtype=np.float64)
    multiples, grids, largest = _on_grids(values, offsets)

    def first_of_equals(part: slice) -> Int64s:
        begin, end = offsets[part.start], offsets[part.stop]
        own = np.ascontiguousarray(multiples[begin:end].T)
        found: Int64s = choices.first_of_equals(own, offsets[part.start : part.stop + 1] - begin) + begin
        return found

    statistics, classes = np.zeros((len(pool.numbers), len(grids))), np.zeros(len(pool.numbers), dtype=np.int32)
    statistics[listed], classes[listed] = multiples, np.concatenate(workers.map(first_of_equals, parts))
    base = np.zeros(len(grids))
    if not filled.all():
        outputs = np.where(filled, pool.numbers[np.minimum(pool.offsets[:-1], len(pool.numbers) - 1)], -1)
        empty = problem.picked(outputs).statistics[~filled]
        base = np.rint(np.asarray(empty, dtype=np.float64).sum(axis=0) / grids)
    return Candidates(
        known=Contestants(features, magnitudes, certain, statistics, classes),
        offsets=offsets,
        listed=listed.astype(np.int32),
        grids=grids,
        exact=bool(np.all(multiples * grids == values)),
        whole=bool(np.all(grids == 1.0)),
        sizes=(largest + np.abs(base)) * grids,
        base=base,
    )


def _parts(starts: Int64s) -> list[slice]:
    """Sentences in parts of about AT_ONCE candidates."""
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], AT_ONCE)).tolist()
    return [slice(first, last) for first, last in pairwise(np.unique([*cuts, len(starts) - 1]).tolist())]


def _projected(pool: Pool, space: Space, active: Int64s, starts: Int64s) -> tuple[Floats, Floats, Bools, Int64s]:
    """The candidates from ``starts[0]`` up to ``starts[-1]`` over the coordinates of the space (see Contestants), and
    those that may win somewhere on its faces; of those that tie, the first. ``active`` features are in some coordinate.
    """
    from hulltune.kernels.certify import winners

    begin, starts = int(starts[0]), starts - starts[0]
    columns, axes = pool.features.rows(begin, begin + int(starts[-1])).some_columns(active), space.axes[active]
    features, magnitudes, certain = _over_coordinates(columns, axes, starts)
    firsts = _first_of_ties(columns, features, magnitudes, axes, starts)
    magnitudes *= pool.rounding * max(1.0, len(active) / 32)  # longer sums round more
    listed = np.flatnonzero(firsts == np.arange(len(features)))
    may_win = winners.possible_winners(
        features, magnitudes, certain, np.searchsorted(listed, starts).astype(np.int64), listed.astype(np.int32),
        space.lows, space.highs, HALVINGS,
    )  # fmt: skip
    return features, magnitudes, certain, listed[may_win] + begin


def _rows(problem: Problem, outputs: Int64s, clock: Clock, workers: Workers) -> Int64s:
    """The rows of outputs in the problem's table, some at a time. A metric that waits is asked for all at once."""
    if problem.metric.waits:
        return problem.rows(outputs)
    at_once = AT_ONCE * workers.count
    parts = []
    for first in range(0, len(outputs), at_once):
        clock.look()
        parts.append(problem.rows(outputs[first : first + at_once], workers=workers))
    return np.concatenate(parts)


def _over_coordinates(columns: Floats, axes: Floats, starts: Int64s) -> tuple[Floats, Floats, Bools]:
    """The features over the coordinates; for each sentence and coordinate the largest sum of absolute terms, which
    limits the rounding; and for each sentence whether the signs of differences are certain.
    """
    from hulltune.kernels.certify import choices

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
    exactly equal, as decimals (see arrays.decimals). Decoding rounds both to one score at nearly all weights; where it
    rounds them a unit of its grid apart, the weights are nearer to a tie than a certificate counts. Sums that are equal
    only after rounding stay apart: either candidate may win.
    """
    from hulltune.kernels.certify import choices

    firsts: Int64s = choices.first_of_equals(columns, starts)
    distinct = np.flatnonzero(firsts == np.arange(len(firsts)))
    weights = [[Fraction(weight) for weight in axis] for axis in axes.T.tolist()]

    @cache
    def exact(row: int) -> tuple[Fraction, ...]:
        values = decimals(columns[:, row])
        terms = (zip(axis, values, strict=True) for axis in weights)
        return tuple(sum((weight * value for weight, value in each if weight), Fraction(0)) for each in terms)

    steps = np.repeat(np.where(magnitudes > 0.0, magnitudes, 1.0), np.diff(starts), axis=0) * NEAR
    # Sums that rounding tells apart have equal multiples of one of two grids, of which one is shifted by half a step.
    for shift in (0.0, 0.5):
        near = choices.first_of_equals(np.ascontiguousarray(np.rint(features / steps + shift).T), starts)
        groups: dict[int, list[int]] = {}
        for row in distinct[near[distinct] != distinct].tolist():
            alike = groups.setdefault(int(near[row]), [int(near[row])])
            same = next((other for other in alike if exact(other) == exact(row)), None)
            if same is None:
                alike.append(row)
            else:
                firsts[row] = min(int(firsts[row]), int(firsts[same]))
    return firsts


def _on_grids(values: Floats, offsets: Int64s) -> tuple[Floats, Floats, Floats]:
    """Statistics as multiples of grids so coarse that all their sums are exact; the grids, a power of two for each
    statistic; and the sum over sentences of its largest absolute value, in multiples of the grid.

    The values of sentence s are rows from ``offsets[s]`` on.
    """
    if not np.all(np.isfinite(values)):
        raise InputError("statistics: expected finite numbers")
    largest = np.maximum.reduceat(np.abs(values), offsets[:-1], axis=0)
    totals = largest.sum(axis=0)
    whole = np.all(values == np.rint(values), axis=0) & (totals < 2.0**51)
    grids = np.where(whole, 1.0, np.ldexp(1.0, np.maximum(np.frexp(totals)[1] - 51, -1074)))
    return np.rint(values / grids), grids, np.rint(largest / grids).sum(axis=0)
