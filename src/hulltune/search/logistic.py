"""Logistic regression of relevance on the features of documents: quick weights to start from.

On queries that were not tuned on it is as good as anything, so that it is a start, and what a search has to beat.
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.data.features import Features

MOST_DOCUMENTS = 1 << 18
"""The most documents that are looked at; more change nothing that the first digits would show."""
MOST_FEATURES = 1000
"""With more features a system of equations takes longer than lines."""
STEPS = 30
RIDGE = 1.0
"""The weight of the penalty on squared weights of standardised features, beside the likelihood of all documents."""
DIGITS = 4
"""Digits that are kept: sums of many numbers differ in the last ones from processor to processor."""


def logistic_weights(features: Features, relevant: Int64s, units: Floats) -> Floats | None:
    """Weights under which relevant documents are likely, by Newton's method; None if nothing can be learned.

    ``relevant`` are numbers of documents, and ``units`` typical differences of the features (0 for one that does not
    matter). O(documents · features²) a step.
    """
    used = np.flatnonzero(units > 0.0)
    count = features.shape[0]
    is_relevant = np.zeros(count, dtype=np.bool_)
    is_relevant[relevant] = True
    every = np.arange(0, count, -(-count // MOST_DOCUMENTS))
    if not 0 < len(used) <= MOST_FEATURES or not 0 < is_relevant[every].sum() < len(every):
        return None
    columns = np.column_stack([column[every] for column in features.some_columns(used)]).astype(np.float64)
    means, spreads = columns.mean(axis=0), columns.std(axis=0)
    varies = spreads > 0.0
    if not varies.any():
        return None
    found = _newton((columns[:, varies] - means[varies]) / spreads[varies], is_relevant[every])
    weights = np.zeros(len(units))
    weights[used[varies]] = found / spreads[varies]
    if not np.all(np.isfinite(weights)) or not np.any(weights):
        return None
    sizes = np.floor(np.log10(np.where(weights != 0.0, np.abs(weights), 1.0)))
    rounded: Floats = np.round(weights * 10.0 ** (DIGITS - sizes)) / 10.0 ** (DIGITS - sizes)
    return rounded


def _newton(standard: Floats, relevant: Bools) -> Floats:
    """The weights of standardised features, without that of the constant."""
    inputs = np.column_stack([standard, np.ones(len(standard))])
    weights = np.zeros(inputs.shape[1])
    ridge = np.append(np.full(standard.shape[1], RIDGE), 0.0)
    for _ in range(STEPS):
        chances = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -40.0, 40.0)))
        gradient = inputs.T @ (relevant - chances) - ridge * weights
        curvature = (inputs * (chances * (1.0 - chances))[:, None]).T @ inputs + np.diag(ridge + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.max(np.abs(step)) < 1e-8:
            break
    found: Floats = weights[:-1]
    return found
