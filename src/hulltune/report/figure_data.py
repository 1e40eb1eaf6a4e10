"""The data of the figures, computed and tested apart from the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.corpus import Corpus
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.lines.compute import envelope
from hulltune.lines.result import Envelope
from hulltune.lines.scoring import EdgeScorer
from hulltune.surface import ErrorSurface


@dataclass(frozen=True, eq=False)
class CandidateLines:
    """The lines of all candidates of a list along a direction, and those that win somewhere."""

    names: tuple[str, ...]
    slopes: Floats
    intercepts: Floats
    winners: tuple[int, ...]
    """The winning candidates from left to right."""
    breakpoints: Floats

    @property
    def obscured(self) -> tuple[int, ...]:
        """The candidates that win nowhere."""
        return tuple(i for i in range(len(self.names)) if i not in self.winners)

    def scores(self, etas: Floats) -> Floats:
        """The scores of all candidates (rows) at the points ``etas`` (columns)."""
        return self.slopes[:, None] * etas + self.intercepts[:, None]

    @property
    def dual_points(self) -> Floats:
        """The candidates as points (slope, −intercept): the winners are the vertices of the lower hull."""
        return np.column_stack([self.slopes, -self.intercepts])


def candidate_lines(
    found: Envelope, origin: object, direction: object, *, names: Sequence[str] | None = None
) -> CandidateLines:
    """The lines behind the envelope of an n-best list."""
    forest = found.forest
    if not forest.is_list:
        raise InputError(f"figures of single candidates need an n-best list, got {forest!r}")
    rows = [feature_vector(vector, forest.feature_names, "weights") for vector in (origin, direction)]
    scores, exponents = EdgeScorer(Corpus.pack([forest])).scores(0, 1, np.stack(rows))
    lines = np.ldexp(scores, exponents)
    outputs = names or [" ".join(envelope_tokens(found, edge)) for edge in range(forest.edges)]
    return CandidateLines(
        names=tuple(outputs),
        slopes=lines[1],
        intercepts=lines[0],
        winners=tuple(int(found.edges(index)[0]) for index in range(len(found))),
        breakpoints=found.breakpoints,
    )


def envelope_tokens(found: Envelope, edge: int) -> tuple[str, ...]:
    """The tokens of one candidate of a list."""
    from hulltune.lines.output import derivation_tokens

    tokens = derivation_tokens(found.forest, np.array([edge], dtype=np.int32))
    return found.forest.vocabulary.words(tokens.tolist())


def view_around(breakpoints: Floats, *, margin: float = 0.35) -> tuple[float, float]:
    """An interval of the line that holds all breakpoints, with some room on both sides."""
    if not len(breakpoints):
        return -1.0, 1.0
    low, high = float(breakpoints[0]), float(breakpoints[-1])
    room = margin * (high - low) if high > low else max(1.0, abs(high))
    return low - room, high + room


@dataclass(frozen=True, eq=False)
class Steps:
    """A piecewise constant function on an interval of the line: ``values[i]`` from ``edges[i]`` to ``edges[i + 1]``."""

    edges: Floats
    values: Floats


def surface_steps(surface: ErrorSurface, losses: Floats, view: tuple[float, float]) -> Steps:
    """The losses on those intervals of a surface that are in view."""
    first = int(np.searchsorted(surface.breakpoints, view[0], side="right"))
    last = int(np.searchsorted(surface.breakpoints, view[1], side="left"))
    edges = np.concatenate([[view[0]], surface.breakpoints[first:last], [view[1]]])
    return Steps(edges, losses[first : last + 1])


def four_candidates() -> tuple[Envelope, CandidateLines]:
    """The textbook example: four candidates, three of which win somewhere while one is obscured."""
    from hulltune.data.forest import Forest

    features = [[-1.0, 1.2], [-0.25, 2.0], [0.45, 1.2], [1.0, 1.1]]
    forest = Forest.from_nbest(["y1", "y2", "y3", "y4"], features, feature_names=["direction", "origin"])
    origin, direction = [0.0, 1.0], [1.0, 0.0]
    found = envelope(forest, origin, direction)
    return found, candidate_lines(found, origin, direction)
