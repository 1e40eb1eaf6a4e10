"""The data of the figures, computed and tested apart from the drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest, feature_vector
from hulltune.errors import InputError
from hulltune.lines.derivations import kbest
from hulltune.lines.result import Envelope
from hulltune.lines.scoring import EdgeScorer
from hulltune.semirings.hull import Hull, HullSemiring

RIVALS = 12
"""The number of best derivations of a forest at each of five points that a picture shows beside the winners."""
MANY = 8
"""With more breakpoints than this, those far from the middle one are left out of view."""


@dataclass(frozen=True, eq=False)
class CandidateLines:
    """The lines of candidates along a direction, and those that win somewhere."""

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

    @property
    def level(self) -> tuple[float, float]:
        """A line (slope, intercept) to subtract from all candidates for a picture: it changes nothing about who wins.

        It is 0 unless all lines are far steeper than they differ, when they would look like one.
        """
        spread, mean = float(np.ptp(self.slopes)), float(self.slopes.mean())
        return (mean, float(self.intercepts.mean())) if abs(mean) > 3 * spread > 0 else (0.0, 0.0)

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
    """The lines behind an envelope: all candidates of an n-best list; of a lattice or hypergraph, the derivations that
    win somewhere, and some of the others that come near (see ``_rivals``).

    ``names`` are for the candidates of a list; by default they are called by their words.
    """
    forest = found.forest
    if not len(found):
        raise InputError("the forest has no derivation, so there is nothing to draw")
    if not forest.is_list:
        if names is not None:
            raise InputError(f"names: only for the candidates of an n-best list, got {forest!r}")
        return _derivation_lines(found, origin, direction)
    lines = edge_lines(forest, origin, direction)
    outputs = names or [" ".join(derivation_words(found, [edge])) for edge in range(forest.edges)]
    if len(outputs) != forest.edges:
        raise InputError(f"names: got {len(outputs)}, expected one for each of {forest.edges} candidates")
    return CandidateLines(
        names=tuple(outputs),
        slopes=lines[1],
        intercepts=lines[0],
        winners=tuple(int(found.edges(index)[0]) for index in range(len(found))),
        breakpoints=found.breakpoints,
    )


def edge_lines(forest: Forest, origin: object, direction: object) -> Floats:
    """The intercepts (row 0) and slopes (row 1) of all edges of a forest, on a grid on which their sums are exact."""
    rows = [feature_vector(vector, forest.feature_names, "weights") for vector in (origin, direction)]
    scores, exponents = EdgeScorer(Corpus.pack([forest])).scores(0, 1, np.stack(rows))
    lines: Floats = np.ldexp(scores, exponents)
    return lines


def _derivation_lines(found: Envelope, origin: object, direction: object) -> CandidateLines:
    """The derivations that win somewhere, from left to right, and then their rivals."""
    intercepts, slopes = list(found.intercepts.tolist()), list(found.slopes.tolist())
    names = [" ".join(found.tokens(index)) for index in range(len(found))]
    lines = edge_lines(found.forest, origin, direction)
    for edges in _rivals(found, origin, direction):
        intercept, slope = lines[:, list(edges)].sum(axis=1).tolist()
        if not any(_near(intercept, b) and _near(slope, m) for b, m in zip(intercepts, slopes, strict=True)):
            intercepts.append(intercept)
            slopes.append(slope)
            names.append(" ".join(derivation_words(found, edges)))
    return CandidateLines(
        tuple(names), np.array(slopes), np.array(intercepts), tuple(range(len(found))), found.breakpoints
    )


def _near(one: float, other: float) -> bool:
    """Whether two numbers fall on one spot of a picture."""
    return abs(one - other) <= 1e-6 * max(1.0, abs(one))


def _rivals(found: Envelope, origin: object, direction: object) -> list[tuple[int, ...]]:
    """The best derivations at five points of the view: those that come nearest to winning."""
    forest = found.forest
    start, step = (feature_vector(vector, forest.feature_names, "weights") for vector in (origin, direction))
    derivations: dict[tuple[int, ...], None] = {}
    for eta in np.linspace(*view_around(found.breakpoints), 5).tolist():
        best = kbest(Corpus.pack([forest]), start + eta * step, RIVALS)
        derivations.update((tuple(each.edges), None) for each in best[0])
    return list(derivations)


def derivation_words(found: Envelope, edges: Sequence[int]) -> tuple[str, ...]:
    """The output of a derivation."""
    from hulltune.lines.output import derivation_tokens

    tokens = derivation_tokens(found.forest, np.array(edges, dtype=np.int32))
    return found.forest.vocabulary.words(tokens.tolist())


def view_around(breakpoints: Floats, *, margin: float = 0.35) -> tuple[float, float]:
    """An interval of the line that holds all breakpoints, of many those around the middle, with room on both sides."""
    if not len(breakpoints):
        return -1.0, 1.0
    low, high = float(breakpoints[0]), float(breakpoints[-1])
    if len(breakpoints) > MANY:
        middle = float(np.median(breakpoints))
        reach = 2.5 * float(np.median(np.abs(breakpoints - middle)))
        low, high = max(low, middle - reach), min(high, middle + reach)
    room = margin * (high - low) if high > low else max(1.0, abs(high))
    return low - room, high + room


@dataclass(frozen=True)
class InsideStep:
    """The inside value of a node under the convex hull semiring: the ⊕ of its edges, each a ⊗ of its own line and the
    values of its tails.
    """

    node: int
    formulas: tuple[str, ...]
    """Each edge in words, such as "“good” ⊗ node 1"."""
    products: tuple[Hull, ...]
    """The value of each edge."""
    value: Hull


def inside_steps(forest: Forest, origin: object, direction: object) -> tuple[InsideStep, ...]:
    """The inside algorithm under the convex hull semiring, node by node: the last value is the forest's envelope."""
    lines = edge_lines(forest, origin, direction)
    semiring, values, steps = HullSemiring(), list[Hull](), []
    for node in range(forest.nodes):
        formulas, products = [], []
        for edge in range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1])):
            tails = forest.edge_tails(edge).tolist()
            product = Hull.from_lines([(float(lines[1, edge]), float(lines[0, edge]))])
            for tail in tails:
                product = semiring.times(product, values[tail])
            formulas.append(" ⊗ ".join([f"“{edge_words(forest, edge)}”", *(f"node {tail}" for tail in tails)]))
            products.append(product)
        values.append(semiring.sum(products))
        steps.append(InsideStep(node, tuple(formulas), tuple(products), values[-1]))
    return tuple(steps)


def edge_words(forest: Forest, edge: int) -> str:
    """The words that an edge puts out, ε for none; of two or more tails each is shown in brackets, at its place."""
    labels = forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]].tolist()
    tails = forest.edge_tails(edge).tolist()
    words = [f"[{tails[-1 - label]}]" if label < 0 else forest.vocabulary.words([label])[0] for label in labels]
    if len(tails) < 2:
        words = [word for word, label in zip(words, labels, strict=True) if label >= 0]
    return " ".join(words) or "ε"
