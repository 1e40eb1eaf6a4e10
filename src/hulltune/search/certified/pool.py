"""Which candidates there are to choose from, with the features of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hulltune.arrays import Int64s
from hulltune.search.problem import Problem


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates of all sentences, in the order in which ties are broken.

    Those of sentence s are ``offsets[s]`` up to ``offsets[s + 1]``; ``numbers`` are their names for the problem.
    """

    offsets: Int64s
    numbers: Int64s
    features: NDArray[Any]
    """(candidates, features)."""
    rounding: float = 1.0
    """How many times more than those of a list the features may be rounded."""


def list_pool(problem: Problem) -> Pool:
    """All hypotheses of lists."""
    return Pool(*problem.choices(), problem.corpus.features.matrix())
