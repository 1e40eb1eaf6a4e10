"""Directions to search along (axes and random ones), and the units of features that they are scaled by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from hulltune.arrays import Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.errors import InputError
from hulltune.lines.scoring import forests_of
from hulltune.threads import ALONE, Workers

DUST = 2.0**-40
"""A range below this share of the feature's largest counts as 0: it is what rounding leaves of equal sums."""
FINEST = 2.0**-500
"""The least unit of a feature; 1 / FINEST is the largest. So a weight and its square are ordinary doubles."""
AT_ONCE = 1 << 14
"""Edges of forests whose features are looked at as one part of the work."""
MOST_AXES = 256
"""The most axes of a round where not all must be searched: with very many features, others have their turn later."""


def feature_units(corpus: Corpus, *, workers: Workers = ALONE) -> Floats:
    """The unit of each feature: a typical difference between candidates of a sentence.

    It is the mean, over the sentences in which the feature differs, of its range over the hypotheses of a list or the
    derivations of a forest. It is 0 for a feature that never differs within a sentence: its weight changes nothing.
    Duplicates do not change it, nor does the order of sentences, nor sentences without the feature.
    ``workers`` look at the features of a matrix, or at the sentences of forests. O(edges × features).
    """
    width = len(corpus.feature_names)
    edges = corpus.sentence_edges
    starts = edges[:-1][np.diff(edges) > 0]
    if not len(starts):
        return np.zeros(width)
    if corpus.nodes > len(corpus):
        return np.array([_mean_of_positive(column) for column in _forest_ranges(corpus, workers).T])
    if isinstance(corpus.features, SparseFeatures):
        return _units_of_rows(corpus, corpus.features.tidy())
    values = corpus.features.values

    def unit(feature: int) -> float:
        column = np.asarray(values[:, feature], dtype=np.float64)
        with np.errstate(over="ignore"):  # check_units refuses an infinite range
            ranges = np.maximum.reduceat(column, starts) - np.minimum.reduceat(column, starts)
        return _mean_of_positive(ranges)

    return np.array(workers.map(unit, range(width)))


def _units_of_rows(corpus: Corpus, rows: SparseFeatures) -> Floats:
    """The units of the features of lists with sparse rows. O(values)."""
    from hulltune.kernels.lists.features import used_features

    arrays = rows.offsets, rows.columns, rows.values
    with np.errstate(over="ignore"):  # check_units refuses an infinite range
        _, used, _, ranges = used_features(corpus.node_offsets, corpus.sentence_edges, *arrays, rows.width)
    by_feature = ranges[np.argsort(used, kind="stable")]
    ends = np.cumsum(np.bincount(used, minlength=rows.width))
    return np.array([_mean_of_positive(part) for part in np.split(by_feature, ends[:-1])])


def check_units(units: Floats, names: Sequence[str]) -> None:
    """Refuse features whose weights would leave the range of doubles, at the start or during the search."""
    for name, unit in zip(names, units.tolist(), strict=True):
        if unit and not FINEST < unit < 1.0 / FINEST:
            what = "little" if unit < 1.0 else "much"
            raise InputError(
                f"feature {name!r} differs by {unit:.3g} within sentences, too {what} for its weight to be a double; "
                "scale the feature"
            )


def inverse_units(units: Floats) -> Floats:
    """The weights with which all features count equally; 0 for a feature that never differs."""
    return np.divide(1.0, units, out=np.zeros_like(units), where=units > FINEST)


def _mean_of_positive(ranges: Floats) -> float:
    most = float(ranges.max(initial=0.0))
    positive = ranges[ranges > most * DUST]
    try:
        return math.fsum(positive.tolist()) / len(positive) if len(positive) else most
    except OverflowError:
        return math.inf


def _forest_ranges(corpus: Corpus, workers: Workers) -> Floats:
    """For each sentence and feature, the range over derivations: (sentences, features).

    Sparse rows are unpacked a sentence at a time, and only for the features that it has.
    """
    from hulltune.kernels.scores.magnitudes import feature_ranges

    graphs = forests_of(corpus)
    features = corpus.features
    ranges = np.zeros((len(corpus), features.shape[1]))

    def fill(some: slice) -> None:
        first, last = corpus.sentence_edges[[some.start, some.stop]].tolist()
        rows = features.rows(first, last)
        if isinstance(rows, DenseFeatures):
            columns = np.ascontiguousarray(rows.values.T)
            ranges[some] = feature_ranges(graphs, some.start, some.stop, columns)
            return
        present, place = np.unique(rows.columns, return_inverse=True)
        columns = np.zeros((len(present), rows.shape[0]))
        edges = np.repeat(np.arange(rows.shape[0]), np.diff(rows.offsets))
        np.add.at(columns, (place, edges), rows.values)
        ranges[some, present] = feature_ranges(graphs, some.start, some.stop, columns)

    workers.map(fill, corpus.parts(AT_ONCE if isinstance(features, DenseFeatures) else 1))
    return ranges


Axis: TypeAlias = tuple[Int64s, float]
"""A group of features that move together, and the size of their weights in a direction of unit length."""


def axes_of(groups: Iterable[Int64s], units: Floats) -> list[Axis]:
    """The axis of each group of features, if some feature of it differs at all."""
    sizes = inverse_units(units)
    pairs = [(group, float(sizes[group].mean() if len(group) > 1 else sizes[group[0]])) for group in groups]
    return [(group, size) for group, size in pairs if size > 0.0]


def directions_of(some: Iterable[Axis], units: Floats) -> list[Floats]:
    """The directions of some axes: a vector of all weights each."""
    directions = []
    for group, size in some:
        direction = np.zeros(len(units))
        direction[group] = size
        directions.append(direction)
    return directions


def some_axes(units: Floats) -> list[Floats]:
    """The axis of each feature that differs; of more than MOST_AXES so many, evenly spread over them."""
    found = axes_of(np.arange(len(units))[:, None], units)
    if len(found) > MOST_AXES:
        found = [found[k] for k in np.linspace(0, len(found) - 1, MOST_AXES).astype(int).tolist()]
    return directions_of(found, units)


def random_directions(count: int, units: Floats, rng: Generator) -> Floats:
    """Gaussian directions with equal variance in every scaled feature (Cer et al. 2008): (count, features)."""
    return rng.standard_normal((count, len(units))) * inverse_units(units)
