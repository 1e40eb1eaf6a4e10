"""Oracles: the best score that any choice of outputs reaches, a property of the data, with a bound beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.lines.kbest import kbest
from hulltune.metrics.base import Metric, References
from hulltune.metrics.wer import Cer, Wer
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units, some_axes
from hulltune.search.problem import Problem, exact_sum, some_rows
from hulltune.search.steps import Policy, search_lines
from hulltune.threads import Workers
from hulltune.tuning.best_choice import best_choice
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_problem, as_weights
from hulltune.tuning.nearest_outputs import Nearest, nearest_outputs
from hulltune.wording import counted

NBEST = 100
STEPS, AXES = 3, 24
"""The most steps of a short search for outputs of forests, and the most axes that it searches for each."""


@dataclass(frozen=True)
class Oracle:
    """The best outputs that were found, and whether better ones may exist."""

    score: float
    metric: str
    """The metric's signature."""
    kind: str
    """The outputs that were searched, and the method."""
    exact: bool
    """Whether no choice of outputs can be better."""
    bound: float | None
    """A score that no choice of outputs can beat; None if none is known."""
    texts: tuple[str, ...]

    def __str__(self) -> str:
        bound = "" if self.exact or self.bound is None else f"; nothing can beat {self.bound:.4f}"
        return f"{self.score:.4f} ({self.kind}{bound})  {self.metric}"


def best_reachable(
    data: DataLike,
    references: ReferencesLike = None,
    metric: str | Metric = "bleu",
    *,
    weights: WeightsLike | None = None,
    k: int = NBEST,
    threads: int | None = None,
) -> Oracle:
    """The best score that one output for each sentence can reach, over all outputs of its list or forest.

    It is exact for lists with a metric that is a ratio of sums (WER, CER, TER, AER, accuracy and others), and for WER
    and CER over all derivations of forests, by dynamic programming (see nearest_outputs). Other metrics over lists have
    the best choice that a greedy search finds, with a ``bound`` beside it. Of forests, they search the outputs nearest
    to the references, and the ``k`` best distinct ones under ``weights``; without weights, those that win on lines of a
    short search from equal weights over scaled features, and the ``k`` best where it ends.

    With several references of different lengths, the outputs chosen from forests decide on the length of WER and CER,
    too; then the result may miss the best, and ``bound`` limits by how much.

    Nothing is random: the result depends on the data and the metric alone, and on ``weights`` and ``k`` if given.

    >>> from hulltune import best_reachable
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> reachable = best_reachable(task.lists, metric="wer")
    >>> round(reachable.score, 4), reachable.kind
    (0.1352, 'exact, all candidates')
    """
    vector = None if weights is None else as_weights(weights)
    return oracle_of(as_problem(data, references, metric), weights=vector, k=k, threads=threads)


def oracle_of(problem: Problem, *, weights: Any = None, k: int = NBEST, threads: int | None = None) -> Oracle:
    """The best score that one output for each sentence of a problem can reach; see ``best_reachable``."""
    if not problem.corpus.edges:
        raise InputError("corpus: no sentence has a derivation, so there is nothing to choose from")
    if isinstance(problem.metric, (Wer, Cer)) and not problem.is_lists:
        return _error_rate(problem, weights, k, threads)
    pool = _OraclePool.of(problem, weights, k, threads)
    filled = np.diff(pool.offsets) > 0
    starts = np.append(pool.offsets[:-1][filled], pool.offsets[-1])
    empty = np.where(filled, pool.outputs[np.minimum(pool.offsets[:-1], len(pool.outputs) - 1)], -1)
    others = exact_sum(problem.picked(empty).statistics[~filled])
    workers = Workers(threads)
    choice = best_choice(problem.metric, some_rows(problem.table, pool.rows, workers), starts, others, workers=workers)
    texts = np.full(len(filled), "", dtype=object)
    texts[filled] = pool.some_texts(problem, choice.candidates)
    complete = problem.is_lists
    return Oracle(
        score=problem.metric.score_of(choice.loss),
        metric=problem.metric.signature,
        kind=f"{'exact' if complete and choice.exact else 'greedy'}, {pool.kind}",
        exact=complete and choice.exact,
        bound=problem.metric.score_of(choice.bound) if complete and choice.bound is not None else None,
        texts=tuple(texts.tolist()),
    )


@dataclass(frozen=True, eq=False)
class _OraclePool:
    """Outputs to choose from: their offsets by sentence, their rows in the problem's table, and a description."""

    offsets: Int64s
    rows: Int64s
    outputs: Int64s
    """The number of each output; −1 − i for number i of ``texts``."""
    texts: list[str]
    kind: str

    @staticmethod
    def of(problem: Problem, weights: Any, k: int, threads: int | None) -> _OraclePool:
        """Every hypothesis of a list. Of a forest, the outputs nearest to its references, and the k best distinct ones
        under the weights; without weights, the outputs of a short search, and the k best under its last weights.
        """
        if problem.is_lists:
            offsets, outputs = problem.choices()
            return _OraclePool(offsets, problem.rows(outputs, workers=Workers(threads)), outputs, [], "all candidates")
        met: Int64s = np.empty(0, dtype=np.int64)
        among = f"the {k} best"
        if weights is None:
            met, weights = _short_search(problem, threads)
            among = f"a short search and its {k} best"
        offsets, best = problem.pool(weights, k=k, threads=threads)
        of_best = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        outputs, places = np.concatenate([best, met]), np.concatenate([of_best, problem.outputs.sentences(met)])
        # In the order of arrival: the numbers of outputs depend on what was met before.
        firsts = np.sort(np.unique(outputs, return_index=True)[1])
        outputs, places = outputs[firsts], places[firsts]
        near, texts = _near(problem, threads)
        rows = np.concatenate([problem.rows(outputs, workers=Workers(threads)), problem.memory.ask(near, texts)])
        places = np.concatenate([places, near])
        order = np.argsort(places, kind="stable")
        sizes = np.bincount(places, minlength=len(offsets) - 1)
        return _OraclePool(
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            rows=rows[order],
            outputs=np.concatenate([outputs, -1 - np.arange(len(texts))])[order],
            texts=texts,
            kind=f"near the references, {among}" if texts else among,
        )

    def some_texts(self, problem: Problem, places: Int64s) -> list[str]:
        """The texts of some outputs."""
        numbers = self.outputs[places]
        texts = np.empty(len(places), dtype=object)
        texts[numbers >= 0] = problem.outputs.described(numbers[numbers >= 0])[1]
        texts[numbers < 0] = [self.texts[-1 - number] for number in numbers[numbers < 0].tolist()]
        return texts.tolist()


def _short_search(problem: Problem, threads: int | None) -> tuple[Int64s, Floats]:
    """The outputs that win somewhere along the axes, from equal weights over scaled features and from the best of some
    steps on; and the last weights. Nothing of it is random, and no constraints or starts of a run matter.
    """
    workers = Workers(threads)
    units = feature_units(problem.corpus, workers=workers)
    free = Constraints().compile(problem.feature_names)
    weights = free.start(units)
    axes = some_axes(units)
    lines = axes[:: -(-len(axes) // AXES)] if axes else []
    met: list[Int64s] = [np.empty(0, dtype=np.int64)]
    loss = problem.loss(weights, workers=workers)
    for _ in range(STEPS if lines else 0):
        found = problem.search(weights, np.array(lines), np.tile([-np.inf, np.inf], (len(lines), 1)), workers=workers)
        met += [line.outputs.astype(np.int64) for line in found]
        moves = search_lines(problem, weights, loss, lines, free, Policy(), workers=workers)
        best = min(moves, key=lambda move: move.loss, default=None)
        if best is None or not best.loss < loss:
            break
        weights, loss = best.weights, problem.loss(best.weights, workers=workers)
    return np.concatenate(met), weights


def _near(problem: Problem, threads: int | None) -> tuple[Int64s, list[str]]:
    """The outputs of forests with the fewest edits from a reference: their sentences and texts, each text once.

    A metric without references may know the outputs of the data alone, so it is not asked for these.
    """
    if not problem.metric.needs_references or not all(problem.references):
        return np.empty(0, dtype=np.int64), []
    forests = np.flatnonzero(np.diff(problem.corpus.node_offsets) > 1)
    found = nearest_outputs(problem.corpus, Wer().prepare(problem.references), forests, threads=threads)
    pairs = dict.fromkeys((sentence, each.text) for sentence, near in enumerate(found) for each in near)
    return np.array([sentence for sentence, _ in pairs], dtype=np.int64), [text for _, text in pairs]


def _error_rate(problem: Problem, weights: Any, k: int, threads: int | None) -> Oracle:
    corpus, references, metric = problem.corpus, problem.references, problem.metric
    assert isinstance(metric, (Wer, Cer))
    if weights is None:
        weights = Constraints().compile(corpus.feature_names).start(feature_units(corpus))
    is_list = np.diff(corpus.node_offsets) == 1
    prepared = metric.prepare(references)
    nearest = nearest_outputs(corpus, prepared, np.flatnonzero(~is_list), threads=threads)
    texts: list[Sequence[str]] = [tuple(dict.fromkeys(each.text for each in found)) for found in nearest]
    searched = np.array([bool(found) for found in nearest])
    others = np.flatnonzero(~searched)
    for sentence, found in zip(others.tolist(), _CandidateTexts(corpus, weights, k, threads).of(others), strict=True):
        texts[sentence] = found or ("",)
    problem = _problem(texts, metric, references)
    rows = problem.rows(np.arange(problem.corpus.edges))  # before reading the table: asking for rows may grow it
    edits, lengths = problem.table[rows, 1:].sum(axis=1), problem.table[rows, :3].sum(axis=1)
    offsets = problem.corpus.sentence_edges
    tried = [problem.picked(chosen) for chosen in _lowest_ratios(offsets, edits, lengths)]
    best = min(tried, key=lambda picks: float(metric.score(picks.total)))
    score = float(metric.score(best.total))
    bound = None
    if np.all(searched | is_list):
        bound = _bound(metric, offsets, nearest, edits, lengths)
    everything = "all derivations" if searched.any() else "all candidates"
    kind = f"exact, {everything}" if score == bound else f"outputs nearest to each reference, {everything}"
    if bound is None:
        sentences = counted(int(searched.sum()), "sentence")
        kind = f"all derivations of {sentences}, the {k} best distinct outputs of the others"
    return Oracle(
        score=score,
        metric=metric.signature,
        kind=kind,
        exact=score == bound,
        bound=bound,
        texts=tuple(problem.text(output) for output in best.outputs.tolist()),
    )


def _bound(
    metric: Wer | Cer, offsets: Int64s, nearest: Sequence[Sequence[Nearest]], edits: Int64s, lengths: Int64s
) -> float:
    """The lowest rate if every sentence could take the fewest edits from any reference, with that reference's length.

    A sentence without ``nearest`` outputs is a list, whose candidates are all its outputs.
    """
    pairs: list[list[tuple[int, int]]] = []
    for sentence, found in enumerate(nearest):
        own = slice(int(offsets[sentence]), int(offsets[sentence + 1]))
        candidates = list(zip(edits[own].tolist(), lengths[own].tolist(), strict=True))
        pairs.append([(each.edits, each.length) for each in found] or candidates)
    ends = np.concatenate([[0], np.cumsum([len(each) for each in pairs])]).astype(np.int64)
    flat = np.array([pair for each in pairs for pair in each], dtype=np.int64).reshape(-1, 2)
    rates = []
    for places in _lowest_ratios(ends, flat[:, 0], flat[:, 1]):
        chosen = flat[places].sum(axis=0)
        hits = max(int(chosen[1] - chosen[0]), 0)  # any statistics with these sums will do: the rate uses only the sums
        rates.append(float(metric.score(np.array([hits, min(chosen[0], chosen[1]), 0, max(chosen[0] - chosen[1], 0)]))))
    return min(rates)


def _lowest_ratios(offsets: Int64s, edits: Int64s, lengths: Int64s) -> list[Int64s]:
    """The candidate of each sentence (−1 where it has none) such that Σ edits / Σ lengths is lowest (Dinkelbach 1967).

    At the lowest rate λ, every sentence takes the least of edits − λ · length; λ falls in each round. Where the fewest
    edits come with a length of 0, these candidates come first: what their rate is, the metric decides.
    """
    filled = np.flatnonzero(np.diff(offsets) > 0)
    chosen = np.full(len(offsets) - 1, -1, dtype=np.int64)
    if not len(filled):
        return [chosen]
    chosen[filled] = offsets[:-1][filled]
    starts, sizes = offsets[:-1][filled], np.diff(offsets)[filled]
    top, bottom, is_ratio = 0, 1, False  # the first round goes by the edits alone
    without_length: list[Int64s] = []
    while True:
        costs = edits * bottom - lengths * top  # whole numbers: no rounding
        lowest = np.flatnonzero(costs == np.repeat(np.minimum.reduceat(costs, starts), sizes))
        best = lowest[np.searchsorted(lowest, starts)]
        total, length = int(edits[best].sum()), int(lengths[best].sum())
        if is_ratio and total * bottom >= top * length:
            return [*without_length, chosen]
        chosen[filled] = best
        if length == 0:
            without_length = [chosen.copy()]
        top, bottom = (total, length) if length else (1, 0)  # a rate of ∞: next, the longest references
        is_ratio = True


class _CandidateTexts:
    """Texts to choose from: every hypothesis of a list, or the k best distinct outputs of a forest."""

    def __init__(self, corpus: Corpus, weights: Any, k: int, threads: int | None) -> None:
        self._corpus, self._weights, self._k, self._threads = corpus, weights, k, threads
        self._is_list = np.diff(corpus.node_offsets) == 1

    def of(self, sentences: Int64s) -> list[Sequence[str]]:
        """The texts of each of some sentences."""
        texts: dict[int, Sequence[str]] = {}
        for lists in (True, False):
            some = sentences[self._is_list[sentences] == lists]
            if len(some):
                texts.update(zip(some.tolist(), self._of_kind(some, lists), strict=True))
        return [texts[sentence] for sentence in sentences.tolist()]

    def _of_kind(self, sentences: Int64s, lists: bool) -> list[Sequence[str]]:
        part = self._corpus.take(sentences)
        weights, k = self._weights, self._k
        if lists:  # weights of 0 keep the order of the list
            weights, k = np.zeros(len(part.feature_names)), max(int(np.diff(part.sentence_edges).max()), 1)
        found = kbest(part, weights, k, distinct=True, threads=self._threads)
        bounds = found.offsets.tolist()
        return [found.texts[first:last] for first, last in pairwise(bounds)]


def _problem(texts: Sequence[Sequence[str]], metric: Metric, references: References) -> Problem:
    """A problem over lists of texts without features. A text is one word, so its spaces are kept."""
    vocabulary = Vocabulary()
    lists = [
        Forest.from_nbest([(text,) if text else () for text in each], np.zeros((len(each), 0)), vocabulary=vocabulary)
        for each in texts
    ]
    return Problem(Corpus.pack(lists), metric, references)
