"""Features that may know the answer, or only number the data: columns of a table that were not left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.search.problem import Problem

LEAST_LISTS = 10
"""The fewest sentences that tell a leak from luck."""
COPIED = 1.0 - 1e-9
"""The least correlation of a copy, which may have another scale or sign."""
MOSTLY = 0.9
"""The share of lists that has a number of its own, if a column numbers the lists."""
ID = re.compile(r"(^|[_\W])(id|idx|index|uid|key|hash)\d*$", re.IGNORECASE)
"""The end of a name that says "id"."""


def leak_warning(problem: Problem, features: Sequence[int], perfect: Sequence[int]) -> str | None:
    """A sentence that names all suspected features of lists with the reasons, and how to leave them out; or None.

    ``features`` are looked at. ``perfect`` are those that alone reach the best score there is.
    """
    if len(problem.corpus) < LEAST_LISTS or not problem.is_lists:
        return None
    names, found = problem.feature_names, dict(_of_lists(problem, features))
    found |= {k: "alone gives the best picks there are" for k in perfect if k not in found}
    if not found:
        return None
    told = ", ".join(f"{names[k]} ({found[k]})" for k in sorted(found))
    left_out = ",".join(names[k] for k in sorted(found))
    return f"features that will hardly be known when the weights are used: {told}; --ignore {left_out} leaves them out"


def _of_lists(problem: Problem, features: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The suspected features of lists, with the reasons."""
    dataset, offsets = problem.dataset, problem.corpus.sentence_edges
    columns = problem.corpus.features.some_columns(np.asarray(features, dtype=np.int64))
    for k, values in zip(features, columns, strict=True):
        copied = next((name for name, other in dataset.qualities.items() if _is_copy(values, other)), None)
        if copied is not None:
            yield k, f"a copy of {copied}"
        elif (reason := _numbering(values, offsets[1:-1], problem.feature_names[k])) is not None:
            yield k, reason


def _is_copy(values: Floats, other: Floats) -> bool:
    """Whether one column follows from the other by a line."""
    if not (np.ptp(values) > 0.0 and np.ptp(other) > 0.0):
        return False
    return bool(abs(np.corrcoef(values, other)[0, 1]) >= COPIED)


def _numbering(values: Floats, starts: Int64s, name: str) -> str | None:
    """What a column numbers, if it does; ``starts`` are the first candidates of all lists but the first."""
    if np.any(values != np.rint(values)):
        return None
    inside = np.ones(max(len(values) - 1, 0), dtype=np.bool_)
    inside[starts[(starts > 0) & (starts < len(values))] - 1] = False
    steps = np.diff(values)[inside]
    if len(steps) < LEAST_LISTS:
        return None
    if np.all(steps == 1.0):
        return "the place in the list"
    different = len(np.unique(values))
    if np.all(steps == 0.0) and different >= max(MOSTLY * (len(starts) + 1), LEAST_LISTS):
        return "a number of the list"
    return "an id" if ID.search(name) and different >= MOSTLY * len(values) else None
