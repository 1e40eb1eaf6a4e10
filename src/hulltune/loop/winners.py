"""Which outputs matter near some weights: those that win on the lines through them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.lines.result import CorpusEnvelopes
from hulltune.search.interface import Problem
from hulltune.search.list_surfaces import winners_along
from hulltune.search.problem import ListProblem

Floats = NDArray[np.float64]


def winning_outputs(problem: Problem, weights: Floats, others: Floats | None = None) -> set[tuple[int, str]]:
    """The outputs (sentence, text) that win anywhere on a line through ``weights``: along each feature that makes a
    difference, and on through ``others``.

    If this set stays the same when hypotheses are added, so does every error surface along these lines: a search that
    starts here sees nothing new. O(a line search for each feature).
    """
    directions = list(np.eye(len(weights)))
    if others is not None and np.any(weights != others):
        directions.append(weights - others)
    intervals = np.repeat([[-math.inf, math.inf]], len(directions), axis=0)
    if isinstance(problem, ListProblem):
        winners = winners_along(problem, weights, np.array(directions), intervals)
        if winners is not None:
            owners = np.searchsorted(problem.corpus.sentence_edges, winners, side="right") - 1
            pairs = zip(owners.tolist(), winners.tolist(), strict=True)
            return {(sentence, problem.text(candidate)) for sentence, candidate in pairs}
    found: Any = problem.search(weights, np.array(directions), intervals)
    if isinstance(found, CorpusEnvelopes):
        starts = problem.corpus.sentence_edges[:-1]
        sentences = np.concatenate([np.repeat(np.arange(len(starts)), np.diff(row)) for row in found.offsets])
        candidates = found.derivation_edges + starts[sentences]
    else:
        candidates = found.outputs
        sentences = np.concatenate([np.repeat(np.arange(len(row) - 1), np.diff(row)) for row in found.offsets])
    _, first = np.unique(candidates, return_index=True)
    return {(int(sentences[k]), problem.text(int(candidates[k]))) for k in first}
