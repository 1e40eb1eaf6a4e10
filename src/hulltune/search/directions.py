"""Directions to search along: one feature at a time, at random, and those that earlier steps suggest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from hulltune.arrays import Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures
from hulltune.errors import InputError

DUST = 2.0**-40
"""Of the largest range of a feature: a smaller one is what rounding leaves of equal sums."""
FINEST = 2.0**-500
"""The unit of a feature lies between this and its inverse: then its weight, and the square of that, is a double."""


def feature_units(corpus: Corpus) -> Floats:
    """A typical difference of each feature between candidates of a sentence: the mean of its range over the hypotheses
    of a list, or over all derivations of a forest, among the sentences in which it differs at all.

    0 for a feature that never differs within a sentence, whose weight changes nothing. Duplicates and the order of
    sentences do not change it, and neither do sentences that a rare feature has no part in. O(edges × features).
    """
    width = len(corpus.feature_names)
    edges = corpus.sentence_edges
    starts = edges[:-1][np.diff(edges) > 0]
    if not len(starts):
        return np.zeros(width)
    if corpus.nodes > len(corpus):
        return np.array([_mean_of_positive(column) for column in _forest_ranges(corpus).T])
    values = corpus.features.matrix()
    units = np.empty(width)
    for k in range(width):
        column = np.asarray(values[:, k], dtype=np.float64)
        with np.errstate(over="ignore"):  # beyond all doubles: check_units refuses it
            ranges = np.maximum.reduceat(column, starts) - np.minimum.reduceat(column, starts)
        units[k] = _mean_of_positive(ranges)
    return units


def check_units(units: Floats, names: Sequence[str]) -> None:
    """Refuse features whose weights would leave the range of doubles, in the start or on the way."""
    for name, unit in zip(names, units.tolist(), strict=True):
        if unit and not FINEST < unit < 1.0 / FINEST:
            what = "little" if unit < 1.0 else "much"
            raise InputError(
                f"feature {name!r} differs by {unit:.3g} within sentences, too {what} for its weight to be a double; "
                "scale the feature"
            )


def inverse_units(units: Floats) -> Floats:
    """The size of a weight with which a feature counts as much as others; 0 where it never differs."""
    return np.divide(1.0, units, out=np.zeros_like(units), where=units > FINEST)


def _mean_of_positive(ranges: Floats) -> float:
    most = float(ranges.max(initial=0.0))
    positive = ranges[ranges > most * DUST]
    try:
        return math.fsum(positive.tolist()) / len(positive) if len(positive) else most
    except OverflowError:
        return math.inf


def _forest_ranges(corpus: Corpus) -> Floats:
    """Per sentence and feature, its range over derivations. Sparse rows are unpacked a sentence at a time, and only
    the features that a sentence has.
    """
    from hulltune.kernels.feature_ranges import feature_ranges

    graph = corpus.node_offsets, corpus.edge_offsets, corpus.tail_offsets, corpus.tails
    features = corpus.features
    if isinstance(features, DenseFeatures):
        found: Floats = feature_ranges(*graph, 0, len(corpus), np.ascontiguousarray(features.values.T))
        return found
    ranges = np.zeros((len(corpus), features.width))
    for sentence in range(len(corpus)):
        rows = features.rows(int(corpus.sentence_edges[sentence]), int(corpus.sentence_edges[sentence + 1]))
        present, place = np.unique(rows.columns, return_inverse=True)
        columns = np.zeros((len(present), rows.shape[0]))
        edges = np.repeat(np.arange(rows.shape[0]), np.diff(rows.offsets))
        np.add.at(columns, (place, edges), rows.values)
        ranges[sentence, present] = feature_ranges(*graph, sentence, sentence + 1, columns)[0]
    return ranges


def axes(groups: tuple[Int64s, ...], units: Floats) -> list[Floats]:
    """One direction for each group of features that differ at all, a unit long."""
    directions = []
    for group in groups:
        size = inverse_units(units[group]).mean()
        if size > 0.0:
            direction = np.zeros(len(units))
            direction[group] = size
            directions.append(direction)
    return directions


def random_directions(count: int, units: Floats, rng: Generator) -> Floats:
    """Gaussian directions, of equal size in every feature once it is scaled (Cer et al. 2008)."""
    return rng.standard_normal((count, len(units))) * inverse_units(units)
