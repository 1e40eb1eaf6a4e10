"""The candidates of all sentences over the coordinates of a space, with their statistics as exact sums need them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.errors import InputError
from hulltune.search.certified.pool import Pool
from hulltune.search.certified.space import Space
from hulltune.search.problem import Problem

ROUNDING = 2.0**-48
"""Of the sum of absolute terms, for each of them: more than the rounding of their sum."""


HALVINGS = 5
"""How often faces are halved to find out who may win at all, before the metric is asked for their statistics."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What the kernels take. Rows are candidates, sentence by sentence. Only those are listed that may win somewhere;
    of those that tie all over the space the first, as decoding has it.

    ``statistics`` are whole numbers of ``grids``: a column's values are ``statistics · grid``, exactly (``exact``) or
    rounded once.
    """

    features: Floats
    magnitudes: Floats
    """(sentences, coordinates): the largest sum of absolute terms, times how much more than usual it may be rounded."""
    certain: Bools
    """For each sentence, whether the sign of every difference of two features is that of exact arithmetic."""
    statistics: Floats
    classes: Int32s
    """Equal for candidates of a sentence with equal statistics."""
    offsets: Int64s
    listed: Int32s
    """The candidates of each sentence that may win, by ``offsets``."""
    grids: Floats
    exact: bool
    whole: bool
    """Whether all statistics are whole numbers."""
    sizes: Floats
    """For each statistic the sum over sentences of its largest absolute value."""
    base: Floats
    """The statistics of sentences without candidates."""

    @property
    def sentences(self) -> int:
        """How many sentences have candidates."""
        return len(self.offsets) - 1


def candidates_of(problem: Problem, pool: Pool, space: Space) -> Candidates:
    """The candidates of a pool; asks the metric for the statistics of those that may win."""
    from hulltune.kernels import certify, choices

    filled = np.diff(pool.offsets) > 0
    starts = np.append(pool.offsets[:-1][filled], pool.offsets[-1])  # sentences without candidates own no rows
    active = np.flatnonzero(np.any(space.axes != 0.0, axis=1))
    columns = np.ascontiguousarray(pool.features.T[active], dtype=np.float64)
    features, magnitudes, certain = _projected(columns, space.axes[active], starts)
    magnitudes *= pool.rounding * max(1.0, len(active) / 32)  # longer sums round more
    listed = np.flatnonzero(_first_of_ties(columns, features, space.axes[active], starts) == np.arange(len(features)))
    possible = certify.possible_winners(
        features, magnitudes, certain, np.searchsorted(listed, starts), listed.astype(np.int32),
        space.faces.lows, space.faces.highs, HALVINGS,
    )  # fmt: skip
    listed = listed[possible]
    rows = problem.rows(pool.numbers[listed])
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


def _projected(columns: Floats, axes: Floats, starts: Int64s) -> tuple[Floats, Floats, Bools]:
    """The candidates over the coordinates; for each sentence and coordinate the largest sum of absolute terms, which is
    what rounding goes by; and for which sentences the signs of differences are certain.
    """
    from hulltune.kernels import choices

    features = np.zeros((columns.shape[1], axes.shape[1]))
    magnitudes = np.zeros((len(starts) - 1, axes.shape[1]))
    certain = np.ones(len(starts) - 1, dtype=bool)
    for k in range(axes.shape[1]):
        used = np.flatnonzero(axes[:, k])
        sizes = np.zeros(columns.shape[1])
        for j in used:  # one after the other: equal rows get equal sums, whatever stands beside them
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


def _first_of_ties(columns: Floats, features: Floats, axes: Floats, starts: Int64s) -> Int64s:
    """For each candidate the first of its sentence with the same score all over the space: that is the one to win.

    Beside equal features, these are features whose sums are equal, exactly, where weights are tied or fixed. Sums that
    are equal after rounding only stay apart, so that either may win.
    """
    from hulltune.kernels import choices

    firsts: Int64s = choices.first_of_equals(columns, starts)
    rounded = choices.first_of_equals(np.ascontiguousarray(features.T), starts)
    exact: dict[int, tuple[Fraction, ...]] = {}

    def sums(row: int) -> tuple[Fraction, ...]:
        if row not in exact:
            values = [Fraction(value) for value in columns[:, row].tolist()]
            terms = [[(value, axis) for value, axis in zip(values, each, strict=True) if axis] for each in weights]
            exact[row] = tuple(sum((value * axis for value, axis in each), Fraction(0)) for each in terms)
        return exact[row]

    weights = [[Fraction(weight) for weight in axis] for axis in axes.T.tolist()]
    distinct = np.flatnonzero(firsts == np.arange(len(firsts)))
    ends: dict[int, list[int]] = {}
    for row in distinct[rounded[distinct] != distinct].tolist():
        alike = ends.setdefault(int(rounded[row]), [int(rounded[row])])
        same = next((other for other in alike if sums(other) == sums(row)), None)
        if same is None:
            alike.append(row)
        else:
            firsts[row] = same
    return firsts


def _on_grid(table: Floats, rows: Int64s, offsets: Int64s) -> tuple[Floats, Floats, bool]:
    """The rows in whole numbers of a power of two for each column, such that all sums are exact."""
    values = np.asarray(table[rows], dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise InputError("statistics: expected finite numbers")
    totals = np.maximum.reduceat(np.abs(values), offsets[:-1], axis=0).sum(axis=0)
    whole = np.all(values == np.rint(values), axis=0) & (totals < 2.0**51)
    grids = np.where(whole, 1.0, np.ldexp(1.0, np.maximum(np.frexp(totals)[1] - 51, -1074)))
    snapped = np.rint(values / grids)
    return snapped, grids, bool(np.all(snapped * grids == values))
