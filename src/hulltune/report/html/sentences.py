"""The sentences of a page: their outputs that win somewhere, what each does to the metric, and where each wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.data.dataset import SentenceId
from hulltune.data.forest import Forest
from hulltune.metrics.counts import errors_by_sentence
from hulltune.report.figure_data import edge_words
from hulltune.report.html.handles import PageLine, PagePlane
from hulltune.report.html.winners import Searched, Winners
from hulltune.search.problem import Problem

AT_ONCE = 250
"""The sentences that are searched and described together."""
LONGEST = 20_000
"""The most characters of a text on a page; what is cut off is said there."""
MOST_EDGES = 48
"""A forest with more edges is not drawn: nobody could read it."""
MOST_NODES = 32


@dataclass(frozen=True)
class Graph:
    """A forest with places: column 0 is left of all nodes, where edges without tails begin.

    ``edges[i]`` has the head, the tails and the words of edge i.
    """

    kind: str
    """"lattice" or "hypergraph"."""
    columns: tuple[int, ...]
    """The column of each node: the length of the longest way to it."""
    rows: tuple[float, ...]
    """The place of each node in its column, around 0."""
    edges: tuple[tuple[int, tuple[int, ...], str], ...]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A derivation of a sentence that wins somewhere on the page, or that the baseline picks."""

    text: str
    edges: Int64s
    """Its edges, numbered within the sentence."""
    features: Floats
    """The features that the page shows, and last the part of all others in the model score."""
    effect: float
    """The gain in the score of the corpus if this sentence alone takes it instead of the pick at the weights."""
    errors: int | None
    """Its errors, where the metric is an error rate."""


@dataclass(frozen=True, eq=False)
class PageSentence:
    """A sentence with its candidates: the pick at the weights is the first."""

    id: SentenceId
    sentence: int
    """Its number in the data, from 0."""
    references: tuple[str, ...]
    source: str | None
    candidates: tuple[Candidate, ...]
    baseline: int
    """The candidate that the baseline picks."""
    along: tuple[tuple[Int64s, Int64s], ...]
    """For each line: the intervals at which winners begin, increasing, and these winners."""
    over: tuple[NDArray[np.uint16], ...]
    """For each plane, the winner in every cell, row by row."""
    graph: Graph | None = None


class Sentences:
    """The sentences of a problem that have something to choose from, those first that matter most along the lines."""

    def __init__(
        self,
        searched: Searched,
        weights: Floats,
        compared: Floats | None,
        lines: Sequence[PageLine],
        planes: Sequence[PagePlane],
        shown: Sequence[int],
    ) -> None:
        """Prepare the sentences; ``compared`` are the weights of the baseline of forests, ``shown`` the features whose
        values the page has.
        """
        problem = searched.problem
        self.problem, self.weights, self.lines, self.planes = problem, weights, lines, planes
        self.columns = np.array(shown, dtype=np.int64)
        self.rest = weights.copy()
        self.rest[self.columns] = 0.0
        self.home = searched.at(weights)
        self.picks = problem.picks(weights)
        self.total = self.picks.total
        self.loss = float(problem.metric.loss(self.total))
        self.baseline = problem.baseline(compared)
        self._decoded = self.home if compared is None or problem.has_own_choice else searched.at(compared)
        self._winners = [line.winners for line in lines if line.winners is not None]  # all: these are no orders
        self._starts = [line.starts(winners.lefts) for line, winners in zip(lines, self._winners, strict=True)]
        self._derivations = _Derivations(problem)
        self.order = self._by_importance()

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[PageSentence]:
        """The sentences, those that matter most first."""
        for first in range(0, len(self.order), AT_ONCE):
            yield from self._batch(self.order[first : first + AT_ONCE])

    def effects(self, sentences: Int64s, outputs: Int64s) -> Floats:
        """The gain in the score of the corpus if a sentence alone takes another output, for each pair of these."""
        statistics = self.problem.table[self.problem.rows(outputs)]
        changed = self.problem.metric.loss(self.total + (statistics - self.picks.statistics[sentences]))
        gains: Floats = self.loss - np.asarray(changed, dtype=np.float64)
        return gains

    def _by_importance(self) -> Int64s:
        """The sentences by the largest effect of an output that wins in view of a line, or that the baseline picks."""
        filled = np.unique(self.home.owners)
        owners, outputs = [filled], [self.baseline.outputs[filled]]
        for line, winners in zip(self.lines, self._winners, strict=True):
            low, high = line.surface.view()
            seen = (winners.lefts < high) & (winners.rights > low)
            owners.append(winners.owners[seen])
            outputs.append(winners.outputs[seen].astype(np.int64))
        _, firsts = np.unique(np.concatenate(outputs), return_index=True)  # an output belongs to one sentence
        some, which = np.concatenate(owners)[firsts], np.concatenate(outputs)[firsts]
        largest = np.zeros(len(self.problem.corpus))
        np.maximum.at(largest, some, np.abs(self.effects(some, which)))
        order: Int64s = filled[np.argsort(-largest[filled], kind="stable")]
        return order

    def _batch(self, chosen: Int64s) -> Iterator[PageSentence]:
        """Some sentences: searched along the rows of the planes, and described, all at once."""
        increasing = np.sort(chosen)
        searched = Searched(self.problem, increasing, threads=1)
        cells = [self._cells(plane, plane.winners(searched, self.weights)) for plane in self.planes]
        place = {sentence: number for number, sentence in enumerate(increasing.tolist())}
        numbered = [self._numbered(sentence, [each[place[sentence]] for each in cells]) for sentence in chosen.tolist()]
        candidates = self._described(chosen, [found for found, *_ in numbered])
        for sentence, own, (_, baseline, along, over) in zip(chosen.tolist(), candidates, numbered, strict=True):
            dataset = self.problem.dataset
            yield PageSentence(
                id=dataset.names[sentence],
                sentence=sentence,
                references=tuple(_cut(text) for text in self.problem.references[sentence]),
                source=None if dataset.sources is None else dataset.sources[sentence],
                candidates=own,
                baseline=baseline,
                along=along,
                over=over,
                graph=None if self.problem.outputs.is_list[sentence] else drawn_graph(self.problem.corpus[sentence]),
            )

    def _cells(self, plane: PagePlane, rows: Sequence[Winners]) -> NDArray[np.int64]:
        """The derivations that win in the cells of a plane: (sentences, rows, columns)."""
        found = []
        for winners in rows:
            is_first = winners.lefts == winners.low
            begins = np.where(is_first, 0, np.searchsorted(plane.middles, winners.lefts, side="left"))
            ends = np.append(begins[1:], 0)
            ends[np.append(is_first[1:], True)] = len(plane.middles)
            ids = self._derivations.of(winners, 0, len(winners.lefts))
            found.append(np.repeat(ids, ends - begins).reshape(-1, len(plane.middles)))
        return np.stack(found, axis=1)

    def _numbered(
        self, sentence: int, cells: Sequence[NDArray[np.int64]]
    ) -> tuple[list[int], int, tuple[tuple[Int64s, Int64s], ...], tuple[NDArray[np.uint16], ...]]:
        """The derivations of a sentence in the order in which they are met, and where they win by their number."""
        numbers: dict[int, int] = {}

        def numbered(ids: Int64s) -> Int64s:
            return np.array([numbers.setdefault(one, len(numbers)) for one in ids.tolist()], dtype=np.int64)

        numbered(self._derivations.of(self.home, *self.home.of(sentence)))
        if self.problem.outputs.is_list[sentence]:
            (baseline,) = numbered(self.baseline.outputs[sentence : sentence + 1]).tolist()
        else:
            (baseline,) = numbered(self._derivations.of(self._decoded, *self._decoded.of(sentence))).tolist()
        along = []
        for line, found, begins in zip(self.lines, self._winners, self._starts, strict=True):
            first, last = found.of(sentence)
            starts, winners = begins[first:last], numbered(self._derivations.of(found, first, last))
            # Of segments that begin at one interval, the last wins there; past the last interval there is none.
            kept = np.append(starts[1:] != starts[:-1], True) & (starts <= len(line.edges))
            along.append((starts[kept], winners[kept]))
        over = []
        for ids in cells:
            flat = ids.reshape(-1)
            runs = np.flatnonzero(np.append(True, flat[1:] != flat[:-1]))
            lengths = np.diff(np.append(runs, len(flat)))
            over.append(np.repeat(numbered(flat[runs]).astype(np.uint16), lengths).reshape(ids.shape))
        return list(numbers), baseline, tuple(along), tuple(over)

    def _described(self, sentences: Int64s, found: Sequence[Sequence[int]]) -> Iterator[tuple[Candidate, ...]]:
        """The candidates of each sentence, by the ids of their derivations."""
        problem, corpus = self.problem, self.problem.corpus
        sizes = [len(ids) for ids in found]
        owners = np.repeat(sentences, sizes)
        pairs = [self._derivations.known(one) for ids in found for one in ids]
        outputs = np.array([output for output, _ in pairs], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum([len(edges) for _, edges in pairs])])[:-1].astype(np.int64)
        values = corpus.features.take(np.concatenate([edges for _, edges in pairs]))
        shown = np.vstack([values.some_columns(self.columns), values.times(self.rest)])
        sums = np.add.reduceat(shown, starts, axis=1).T
        effects = self.effects(owners, outputs).tolist()
        errors = errors_by_sentence(problem.metric, problem.table[problem.rows(outputs)])
        texts = problem.outputs.described(outputs)[1]
        every = [
            Candidate(
                text=_cut(text),
                edges=edges - corpus.sentence_edges[owner],
                features=features,
                effect=effect,
                errors=None if errors is None else int(errors[number]),
            )
            for number, (owner, text, (_, edges), features, effect) in enumerate(
                zip(owners.tolist(), texts, pairs, sums, effects, strict=True)
            )
        ]
        ends = np.cumsum(sizes).tolist()
        for size, end in zip(sizes, ends, strict=True):
            yield tuple(every[end - size : end])


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"


class _Derivations:
    """Ids of derivations: that of a list's hypothesis is its edge, those of forests are given out as they are met."""

    def __init__(self, problem: Problem) -> None:
        self.is_list, self._next = problem.outputs.is_list, problem.corpus.edges
        self._ids: dict[bytes, int] = {}
        self._known: dict[int, tuple[int, Int64s]] = {}

    def of(self, winners: Winners, first: int, last: int) -> Int64s:
        """The ids of the derivations of the segments ``first`` up to ``last``."""
        starts = winners.offsets[first:last]
        ids: Int64s = winners.edges[starts].copy()
        for place in np.flatnonzero(~self.is_list[winners.owners[first:last]]).tolist():
            begin, end = winners.offsets[first + place : first + place + 2].tolist()
            edges = winners.edges[begin:end]
            key = edges.tobytes()
            number = self._ids.setdefault(key, self._next + len(self._ids))
            self._known.setdefault(number, (int(winners.outputs[first + place]), edges))
            ids[place] = number
        return ids

    def known(self, number: int) -> tuple[int, Int64s]:
        """The output and the edges of a derivation."""
        return self._known[number] if number >= self._next else (number, np.array([number], dtype=np.int64))


def drawn_graph(forest: Forest) -> Graph | None:
    """The drawing of a forest; None for a list, and for a forest that is too large."""
    if forest.is_list or forest.edges > MOST_EDGES or forest.nodes > MOST_NODES:
        return None
    edges = [
        (node, tuple(forest.edge_tails(edge).tolist()), edge_words(forest, edge))
        for node in range(forest.nodes)
        for edge in range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1]))
    ]
    columns = [0] * forest.nodes
    for head, tails, _ in edges:  # tails come before their heads
        columns[head] = max(columns[head], 1 + max((columns[tail] for tail in tails), default=0))
    kind = "lattice" if forest.arity <= 1 else "hypergraph"
    return Graph(kind, tuple(columns), _rows(columns, edges), tuple(edges))


def _rows(columns: list[int], edges: list[tuple[int, tuple[int, ...], str]]) -> tuple[float, ...]:
    """The nodes of each column in the order of the mean place of their tails, centred."""
    rows = [0.0] * len(columns)
    for column in range(1, max(columns) + 1):
        members = [node for node, place in enumerate(columns) if place == column]
        means = {}
        for node in members:
            tails = [rows[tail] for head, tails, _ in edges if head == node for tail in tails]
            means[node] = sum(tails) / len(tails) if tails else 0.0
        for place, node in enumerate(sorted(members, key=lambda node: (means[node], node))):
            rows[node] = place - (len(members) - 1) / 2
    return tuple(rows)
