"""Oracles: the best score that any choice of outputs reaches, exact for WER and CER, greedy for other metrics."""

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
from hulltune.metrics.registry import get_metric
from hulltune.metrics.statistics import for_data
from hulltune.metrics.wer import Cer, Wer
from hulltune.search.problem import Picks, Problem
from hulltune.tuning.evaluation import oracle
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_dataset, as_weights
from hulltune.tuning.nearest import Nearest, nearest_outputs
from hulltune.wording import counted

NBEST = 100


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

    WER and CER are exact, by dynamic programming over all derivations (see nearest_outputs). With several references of
    different lengths the chosen outputs decide on the length, too; then the result may miss the best, and ``bound``
    limits by how much. Other metrics, MER included (its length depends on the alignment), have the n-best oracle: a
    greedy search over the ``k`` best distinct outputs under ``weights``, or over all candidates if all sentences are
    lists.
    """
    chosen = get_metric(metric)
    dataset = as_dataset(data, references, chosen)
    assert dataset.references is not None
    chosen = for_data(chosen, dataset)
    if not chosen.needs_references:  # its scores belong to ids and candidates, not to texts alone
        problem = Problem.of(dataset, chosen)
        if problem.is_lists:
            return _greedy(problem, "all candidates")
    vector = None if weights is None else as_weights(weights)
    return _best(dataset.corpus, dataset.references, chosen, vector, k, threads)


def _best(corpus: Corpus, references: References, metric: Metric, weights: Any, k: int, threads: int | None) -> Oracle:
    if isinstance(metric, (Wer, Cer)):
        return _error_rate(corpus, references, metric, weights, k, threads)
    candidates = _Candidates(corpus, weights, k, threads)
    problem = _problem(candidates.of(np.arange(len(corpus))), metric, references)
    return _greedy(problem, "all candidates" if candidates.are_all else f"the {k} best distinct outputs")


def _greedy(problem: Problem, searched: str) -> Oracle:
    best = oracle(problem, problem.baseline())
    return Oracle(
        score=float(problem.metric.score(best.total)),
        metric=problem.metric.signature,
        kind=f"greedy, {searched}",
        exact=False,
        bound=None,
        texts=tuple(problem.text(output) for output in best.outputs.tolist()),
    )


def oracle_around(problem: Problem, tuned: Picks, weights: Floats, *, threads: int) -> tuple[float, str]:
    """The best score of picks that is found from the ``tuned`` ones on, and a description of the outputs searched.

    For lists these are all candidates. For forests they are the outputs met in the search and the NBEST best distinct
    ones under ``weights``; for WER and CER over lattices, all derivations.
    """
    kind = "all candidates"
    if not problem.is_lists:
        is_lattices = int(np.diff(problem.corpus.tail_offsets).max(initial=0)) <= 1
        if isinstance(problem.metric, (Wer, Cer)) and is_lattices:
            found = _best(problem.corpus, problem.references, problem.metric, weights, NBEST, threads)
            if found.exact:
                return found.score, found.kind
        problem.meet(weights, k=NBEST, threads=threads)
        kind = f"outputs met in the search, and the {NBEST} best"
    return float(problem.metric.score(oracle(problem, tuned).total)), kind


def _error_rate(
    corpus: Corpus, references: References, metric: Wer | Cer, weights: Any, k: int, threads: int | None
) -> Oracle:
    is_list = np.diff(corpus.node_offsets) == 1
    prepared = metric.prepare(references)
    nearest = nearest_outputs(corpus, prepared, np.flatnonzero(~is_list), threads=threads)
    texts: list[Sequence[str]] = [tuple(dict.fromkeys(each.text for each in found)) for found in nearest]
    searched = np.array([bool(found) for found in nearest])
    others = np.flatnonzero(~searched)
    for sentence, found in zip(others.tolist(), _Candidates(corpus, weights, k, threads).of(others), strict=True):
        texts[sentence] = found or ("",)
    problem = _problem(texts, metric, references)
    rows = problem.rows(np.arange(problem.corpus.edges))  # before reading the table: asking for rows may grow it
    edits, lengths = problem.table[rows, 1:].sum(axis=1), problem.table[rows, :3].sum(axis=1)
    offsets = problem.corpus.sentence_edges
    best = problem.picked(_lowest_ratio(offsets, edits, lengths))
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
    chosen = flat[_lowest_ratio(ends, flat[:, 0], flat[:, 1])].sum(axis=0)
    hits = max(int(chosen[1] - chosen[0]), 0)  # any statistics with these sums will do: the rate uses only the sums
    return float(metric.score(np.array([hits, min(chosen[0], chosen[1]), 0, max(chosen[0] - chosen[1], 0)])))


def _lowest_ratio(offsets: Int64s, edits: Int64s, lengths: Int64s) -> Int64s:
    """The candidate of each sentence (−1 where it has none) such that Σ edits / Σ lengths is lowest (Dinkelbach 1967).

    At the lowest rate λ, every sentence takes the least of edits − λ · length; λ falls in each round.
    """
    filled = np.flatnonzero(np.diff(offsets) > 0)
    chosen = np.full(len(offsets) - 1, -1, dtype=np.int64)
    if not len(filled):
        return chosen
    chosen[filled] = offsets[:-1][filled]
    starts, sizes = offsets[:-1][filled], np.diff(offsets)[filled]
    top, bottom, rate = 0, 1, None  # the first round goes by the edits alone
    while True:
        costs = edits * bottom - lengths * top  # whole numbers: no rounding
        lowest = np.flatnonzero(costs == np.repeat(np.minimum.reduceat(costs, starts), sizes))
        best = lowest[np.searchsorted(lowest, starts)]
        total, length = int(edits[best].sum()), int(lengths[best].sum())
        if rate is not None and total * bottom >= top * length:
            return chosen
        chosen[filled] = best
        if length == 0:
            return chosen
        top, bottom, rate = total, length, total / length


class _Candidates:
    """Texts to choose from: every hypothesis of a list, or the k best distinct outputs of a forest."""

    def __init__(self, corpus: Corpus, weights: Any, k: int, threads: int | None) -> None:
        self._corpus, self._weights, self._k, self._threads = corpus, weights, k, threads
        self._is_list = np.diff(corpus.node_offsets) == 1
        self.are_all = bool(self._is_list.all())

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
        elif weights is None:
            raise InputError(
                f"weights: sentence {int(sentences[0])} is a forest, and the {k} best outputs of a forest depend on "
                "the weights; give some"
            )
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
