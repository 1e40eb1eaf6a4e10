"""The outputs that matter near some weights: those that win on lines through them."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats
from hulltune.search.problem import Problem


def winning_outputs(problem: Problem, weights: Floats, others: Floats | None = None) -> set[tuple[int, str]]:
    """The outputs (sentence, text) that win anywhere on a line through ``weights``: along each feature, and through
    ``others``.

    If this set stays equal when hypotheses are added, so does every error surface along these lines, and a search that
    starts here sees nothing new. Costs a line search for each feature.
    """
    directions = list(np.eye(len(weights)))
    if others is not None and np.any(weights != others):
        directions.append(weights - others)
    intervals = np.repeat([[-math.inf, math.inf]], len(directions), axis=0)
    lines = problem.search(weights, np.array(directions), intervals)
    winners = np.unique(np.concatenate([line.outputs for line in lines])).astype(np.int64)
    sentences, texts = problem.outputs.described(winners)
    return set(zip(sentences.tolist(), texts, strict=True))
