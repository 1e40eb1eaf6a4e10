"""Whitened random directions: features that rise and fall together within sentences are weighed as one.

Where features are correlated, most random directions are alike: they move the model score by what the features have in
common. Directions drawn with the inverse of their covariance move every independent part of the score equally far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from hulltune.arrays import Floats, Int64s
from hulltune.data.features import DenseFeatures, Features
from hulltune.kernels.directions.matrices import inverse_of_lower, lower_factor, product, rounded, square_sum
from hulltune.search.directions import Axis, some_axes
from hulltune.search.problem import Problem, row_sums
from hulltune.search.shards import WHOLE_LINE
from hulltune.threads import ALONE, Workers

MOST_WHITENED = 256
"""The most free weights that are whitened: of more, the covariance and its factor take longer than they save."""
MOST_PRODUCTS = 1 << 27
"""The most products in a covariance, some 50 ms; of larger data every second, third … sentence is taken."""
RIDGE = 0.05
"""The share of the mean variance that is added to every variance: what hardly varies is not blown up for ever."""
GRAIN, COARSEST = 2.0**8, 2.0**15
"""The resolution of scaled features (1 / GRAIN), and the largest multiple of it: sums of products are then exact."""
MOST_ROWS = 1 << 20
AT_ONCE = 1 << 17
"""The most feature values that are unpacked at a time: 1 MB stays in a cache, and leaves parts for many threads."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """Random directions over the free weights, of which each axis holds one or a group that is tied.

    ``factor`` turns independent normal numbers, a row, into coefficients of the axes whose covariance is the inverse of
    that of the features. It is None where axes are independent, which they also count as if they are too many. Sums
    are exact, so neither the processor changes a bit, nor the order of sentences unless there are too many for all to
    be taken.
    """

    axes: Sequence[Axis]
    width: int
    factor: Floats | None = None

    @staticmethod
    def is_worthwhile(axes: Sequence[Axis]) -> bool:
        """Whether there are axes to weigh against each other, and not too many."""
        return 1 < len(axes) <= MOST_WHITENED

    @staticmethod
    def of(
        axes: Sequence[Axis], width: int, offsets: Int64s, features: Features, *, workers: Workers = ALONE
    ) -> Whitening:
        """The whitening by candidates' features: those of sentence i are rows ``offsets[i]`` up to ``offsets[i + 1]``.

        ``workers`` share the parts of the sentences. O(rows × axes²), at most MOST_PRODUCTS, and O(axes³).
        """
        covariance = _covariance(axes, offsets, features, workers)
        mean = math.fsum(np.diag(covariance).tolist()) / len(axes)
        factor = lower_factor(covariance / mean + RIDGE * np.eye(len(axes))) if mean > 0.0 else None
        if factor is None:
            return Whitening(axes, width)
        root = inverse_of_lower(factor)
        return Whitening(axes, width, rounded(root / math.sqrt(square_sum(root) / len(axes))))

    @cached_property
    def columns(self) -> Int64s:
        """The features of all axes, one axis after the other."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *(group for group, _ in self.axes)])

    @cached_property
    def owners(self) -> Int64s:
        """The axis of each of ``columns``."""
        return np.repeat(np.arange(len(self.axes)), [len(group) for group, _ in self.axes])

    @cached_property
    def sizes(self) -> Floats:
        """The weight that each axis stands for: 1 / unit of its feature."""
        return np.array([size for _, size in self.axes])

    def draw(self, count: int, rng: Generator) -> Floats:
        """Random directions: (count, features). The mean square of the scaled weights is 1."""
        normal = rng.standard_normal((count, len(self.axes)))
        return self.directions(normal if self.factor is None else product(normal, self.factor))

    def directions(self, coefficients: Floats) -> Floats:
        """The directions with these coefficients of the axes, a row each: (rows, features)."""
        made = np.zeros((len(coefficients), self.width))
        made[:, self.columns] = (coefficients * self.sizes)[:, self.owners]
        return made


def rivals(
    problem: Problem, weights: Floats, units: Floats, *, workers: Workers = ALONE
) -> tuple[Int64s, Int64s, Features]:
    """Outputs to compare around ``weights``: offsets by sentence, the outputs, and their features.

    For lists these are all hypotheses. For forests they are the outputs that win on a line through the weights along an
    axis, each with the features of its best derivation there.
    """
    if problem.is_lists:
        return *problem.choices(), problem.corpus.features
    lines = np.array(some_axes(units))
    found = problem.derivations(weights, lines, np.repeat(WHOLE_LINE, len(lines), axis=0), workers=workers)
    order = np.lexsort((-row_sums(found.sums, weights), found.outputs, found.sentences))
    best = order[np.append(True, np.diff(found.outputs[order]) != 0)[: len(order)]]
    # The numbers of outputs depend on the threads; the order of sentences and derivations does not.
    best = best[np.lexsort((best, found.sentences[best]))]
    sizes = np.bincount(found.sentences[best], minlength=len(problem.corpus))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return offsets, found.outputs[best].astype(np.int64), DenseFeatures(found.sums[best])


def _covariance(axes: Sequence[Axis], offsets: Int64s, features: Features, workers: Workers) -> Floats:
    """The covariance of the axes' features within sentences, times a number, as a matrix of exact sums.

    Features are rounded to a grid, and so are their means over a sentence: products and sums are then whole numbers,
    and the parts of the sentences may be added up in any order.
    """
    sizes = np.diff(offsets)
    used = np.flatnonzero(sizes > 1)
    rows = int(sizes[used].sum())
    used = used[:: max(1, math.ceil(rows * len(axes) ** 2 / MOST_PRODUCTS), math.ceil(rows / MOST_ROWS))]
    columns = np.concatenate([group for group, _ in axes])
    lengths = np.array([len(group) for group, _ in axes])
    firsts, per_unit = np.cumsum(lengths) - lengths, np.array([[size] for _, size in axes])
    at_once = max(1, AT_ONCE // (len(columns) * int(sizes.max(initial=1))))

    def products(some: Int64s) -> Floats:
        counts = sizes[some]
        starts = np.cumsum(counts) - counts
        edges = np.repeat(offsets[some] - starts, counts) + np.arange(int(counts.sum()))
        values = features.take(edges).some_columns(columns)
        scaled = (np.add.reduceat(values, firsts, axis=0) * per_unit).T
        scaled -= np.repeat(scaled[starts], counts, axis=0)  # differences, of which the grid may be fine
        whole = np.clip(np.rint(scaled * GRAIN), -COARSEST, COARSEST)
        means = np.rint(np.add.reduceat(whole, starts, axis=0) / counts[:, None])
        whole -= np.repeat(means, counts, axis=0)
        own: Floats = whole.T.copy() @ whole  # a product with itself is a call that may take a hundred times as long
        return own

    parts = [used[first : first + at_once] for first in range(0, len(used), at_once)]
    return sum(workers.map(products, parts), np.zeros((len(axes), len(axes))))
