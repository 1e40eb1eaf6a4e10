"""Oracles: the best score that any choice of outputs reaches, a property of the data, with a bound beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.data.copies import taken
from hulltune.errors import InputError
from hulltune.kernels.outputs.output import PackedDerivations
from hulltune.lines.derivations import kbest
from hulltune.metrics.base import Metric
from hulltune.metrics.wer import Cer, Wer
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units, some_axes
from hulltune.search.orders import Orders
from hulltune.search.problem import Problem, exact_sum
from hulltune.search.steps import Position, best_step
from hulltune.search.strategy import Setting
from hulltune.threads import Workers
from hulltune.tuning.best_choice import Choice, best_choice
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
    if problem.orders is not None:
        return _best_orders(problem, problem.orders)
    workers, metric = Workers(threads), problem.metric
    is_rate = isinstance(metric, (Wer, Cer)) and not problem.is_lists
    pool = (_nearest_pool if is_rate else _pool)(problem, weights, k, threads)
    filled = np.diff(pool.offsets) > 0
    empty = np.where(filled, pool.outputs[np.minimum(pool.offsets[:-1], len(pool.outputs) - 1)], -1)
    others = exact_sum(problem.picked(empty).statistics[~filled])

    def best_of(statistics: NDArray[Any], offsets: Int64s) -> Choice:
        starts = np.append(offsets[:-1][filled], offsets[-1])
        return best_choice(metric, statistics, starts, others, workers=workers)

    statistics = taken(problem.table, pool.rows, workers)
    choice = best_of(statistics, pool.offsets)
    bound = None
    if pool.ideal is not None:
        bound = best_of(*pool.with_ideal(statistics)).bound
    elif problem.is_lists:
        bound = choice.bound
    is_exact = choice.loss == bound
    texts = np.full(len(filled), "", dtype=object)
    texts[filled] = pool.some_texts(problem, choice.candidates)
    return Oracle(
        score=metric.score_of(choice.loss),
        metric=metric.signature,
        kind=f"exact, {pool.among}" if is_exact else pool.kind,
        exact=is_exact,
        bound=None if bound is None else metric.score_of(bound),
        texts=tuple(texts.tolist()),
    )


def _best_orders(problem: Problem, orders: Orders) -> Oracle:
    """The best orders, by grade: no measure of an order can be better."""
    statistics, firsts = orders.best()
    score = float(problem.metric.score(exact_sum(statistics)))
    texts = tuple(problem.text(document) for document in firsts.tolist())
    return Oracle(score, problem.metric.signature, "exact, all documents by grade", True, score, texts)


@dataclass(frozen=True, eq=False)
class _OraclePool:
    """Outputs to choose from: their offsets by sentence, their rows in the problem's table, and a description."""

    offsets: Int64s
    rows: Int64s
    outputs: Int64s
    """The number of each output; −1 − i for number i of ``texts``."""
    texts: list[str]
    among: str
    kind: str
    """The description of a choice that is not proven to be the best."""
    ideal: Sequence[Sequence[Nearest]] | None = None
    """For each sentence the fewest edits from each reference, whose best choice nothing can beat; none for a list, all
    of whose outputs are there. None if some output may be better than these.
    """

    @staticmethod
    def of(
        problem: Problem, outputs: Int64s, near: Int64s, texts: list[str], threads: int | None, **described: Any
    ) -> _OraclePool:
        """The pool of numbered outputs and of ``texts``, which are those of the sentences ``near``."""
        rows = [problem.rows(outputs, workers=Workers(threads)), problem.memory.ask(near, texts)]
        order, offsets = _by_sentence(np.append(problem.outputs.sentences(outputs), near), len(problem.corpus))
        numbers = np.append(outputs, -1 - np.arange(len(texts)))
        return _OraclePool(offsets, np.concatenate(rows)[order], numbers[order], texts, **described)

    def some_texts(self, problem: Problem, places: Int64s) -> list[str]:
        """The texts of some outputs."""
        numbers = self.outputs[places]
        texts = np.empty(len(places), dtype=object)
        texts[numbers >= 0] = problem.outputs.described(numbers[numbers >= 0])[1]
        texts[numbers < 0] = [self.texts[-1 - number] for number in numbers[numbers < 0].tolist()]
        return texts.tolist()

    def with_ideal(self, statistics: NDArray[Any]) -> tuple[NDArray[Any], Int64s]:
        """The statistics of the outputs of lists, and of ``ideal`` ones for all other sentences; with their offsets."""
        assert self.ideal is not None
        counts = np.array([len(near) for near in self.ideal])
        edits, lengths = (
            np.array([(each.edits, each.length) for near in self.ideal for each in near], dtype=np.int64)
            .reshape(-1, 2)
            .T
        )
        # Hits, substitutions, deletions and insertions: any with these sums will do, because a rate uses only the sums.
        right, wrong = np.maximum(lengths - edits, 0), np.minimum(edits, lengths)
        ideal = np.stack([right, wrong, np.zeros_like(edits), edits - wrong], axis=1)
        places = np.repeat(np.arange(len(counts)), np.diff(self.offsets))
        of_lists = counts[places] == 0
        order, offsets = _by_sentence(
            np.append(places[of_lists], np.repeat(np.arange(len(counts)), counts)), len(counts)
        )
        return np.concatenate([statistics[of_lists], ideal])[order], offsets


def _by_sentence(sentences: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """The order that sorts outputs by their sentences, and the offsets of each sentence then."""
    offsets = np.append(0, np.cumsum(np.bincount(sentences, minlength=count))).astype(np.int64)
    return np.argsort(sentences, kind="stable"), offsets


def _pool(problem: Problem, weights: Any, k: int, threads: int | None) -> _OraclePool:
    """Every hypothesis of a list. Of a forest, the outputs nearest to its references, and the k best distinct ones
    under the weights; without weights, the outputs of a short search, and the k best under its last weights.
    """
    if problem.is_lists:
        offsets, outputs = problem.choices()
        rows = problem.rows(outputs, workers=Workers(threads))
        return _OraclePool(offsets, rows, outputs, [], "all candidates", "greedy, all candidates")
    met: Int64s = np.empty(0, dtype=np.int64)
    among = f"the {k} best"
    if weights is None:
        met, weights = _short_search(problem, threads)
        among = f"a short search and its {k} best"
    outputs = np.concatenate([_best_outputs(problem, weights, k, threads), met])
    # In the order of arrival: the numbers of outputs depend on what was met before.
    outputs = outputs[np.sort(np.unique(outputs, return_index=True)[1])]
    near, texts = np.empty(0, dtype=np.int64), list[str]()
    # A metric without references may know the outputs of the data alone, so it is not asked for others.
    if problem.metric.needs_references and all(problem.references):
        near, texts = _distinct(_nearest(problem, Wer(), threads))
    among = f"near the references, {among}" if texts else among
    return _OraclePool.of(problem, outputs, near, texts, threads, among=among, kind=f"greedy, {among}")


def _best_outputs(problem: Problem, weights: Any, k: int, threads: int | None) -> Int64s:
    """All hypotheses of lists, and the ``k`` best distinct outputs of forests; those of one sentence in order."""
    if problem.is_lists:
        return problem.choices()[1]
    own = problem.sentences
    found = kbest(own.corpus, weights, k, distinct=True, threads=threads, scorer=own.scorer)
    derivations = PackedDerivations(found.offsets, found.edge_offsets, found.edges)
    best = own.outputs.of_derivations(own.graphs, (0, len(own.corpus)), derivations)
    edges = np.flatnonzero(np.repeat(own.corpus.is_list, np.diff(own.corpus.sentence_edges)))
    of_forests = np.repeat(~own.corpus.is_list, np.diff(found.offsets))
    return np.concatenate([own.outputs_of_edges(edges).astype(np.int64), best[of_forests]])


def _nearest_pool(problem: Problem, weights: Any, k: int, threads: int | None) -> _OraclePool:
    """For an error rate, the outputs of forests with the fewest edits from each reference; the k best distinct ones of
    forests that cannot be searched for these; and every hypothesis of a list.
    """
    corpus, metric = problem.corpus, problem.metric
    assert isinstance(metric, (Wer, Cer))
    if weights is None:
        weights = Constraints().compile(corpus.feature_names).start(feature_units(corpus))
    nearest = _nearest(problem, metric, threads)
    searched = np.array([bool(found) for found in nearest])
    left = problem.subset(np.flatnonzero(~searched))
    outputs = _best_outputs(left, weights, k, threads) if left.corpus.edges else np.empty(0, dtype=np.int64)
    everything = "all derivations" if searched.any() else "all candidates"
    kind = f"outputs nearest to each reference, {everything}"
    if not left.is_lists:
        sentences = counted(int(searched.sum()), "sentence")
        kind = f"all derivations of {sentences}, the {k} best distinct outputs of the others"
    near, texts = _distinct(nearest)
    ideal = nearest if left.is_lists else None
    return _OraclePool.of(problem, outputs, near, texts, threads, among=everything, kind=kind, ideal=ideal)


def _nearest(problem: Problem, metric: Wer | Cer, threads: int | None) -> list[tuple[Nearest, ...]]:
    """The outputs of forests with the fewest edits from each reference; none for lists."""
    forests = np.flatnonzero(np.diff(problem.corpus.node_offsets) > 1)
    return nearest_outputs(problem.corpus, metric.prepare(problem.references), forests, threads=threads)


def _distinct(nearest: Sequence[Sequence[Nearest]]) -> tuple[Int64s, list[str]]:
    """The sentences and texts of the nearest outputs, each text of a sentence once."""
    pairs = dict.fromkeys((sentence, each.text) for sentence, near in enumerate(nearest) for each in near)
    return np.array([sentence for sentence, _ in pairs], dtype=np.int64), [text for _, text in pairs]


def _short_search(problem: Problem, threads: int | None) -> tuple[Int64s, Floats]:
    """The outputs that win somewhere along the axes, from equal weights over scaled features and from the best of some
    steps on; and the last weights. Nothing of it is random, and no constraints or starts of a run matter.
    """
    workers = Workers(threads)
    units = feature_units(problem.corpus, workers=workers)
    free = Constraints(scale="none").compile(problem.feature_names)
    setting = Setting(problem, free, units, free.start(units), workers=workers)
    position = Position(setting.first, setting.loss(setting.first))
    axes = some_axes(units)
    lines = axes[:: -(-len(axes) // AXES)] if axes else []
    met: list[Int64s] = [np.empty(0, dtype=np.int64)]
    everywhere = np.tile([-np.inf, np.inf], (len(lines), 1))
    for _ in range(STEPS if lines else 0):
        found = problem.search(position.weights, np.array(lines), everywhere, workers=workers)
        met += [line.outputs.astype(np.int64) for line in found]
        moved, _ = best_step(setting, position, lines)
        if not moved.loss < position.loss:
            break
        position = moved
    return np.concatenate(met), position.weights
