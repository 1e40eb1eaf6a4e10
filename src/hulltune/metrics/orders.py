"""Measures of orders: how high the relevant documents of a query stand among all its documents.

The answer of a query is the order of all its candidates by score, of equals the first. Judgements are references, one
for each judged document: "2 d17" says that the grade of document d17 is 2. So judged documents that no ranker returned
count in what there is to find. Or a ``column`` of the candidates has their grades. Grades above 0 are relevant; a
query without judgements does not count, and one without relevant documents has the value 0, as in trec_eval.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.data.dataset import Dataset
from hulltune.errors import InputError
from hulltune.kernels.orders.changes import COARSE_BITS, FIRST, PRECISION, SUM, Judged, Measure
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.checks import VERSION, check_number, checked_statistics, ratio, signature
from hulltune.metrics.combination import Combination

UNIT = 2.0**COARSE_BITS


@dataclass(frozen=True, eq=False)
class Judgements:
    """The grades of documents, query by query."""

    judged: Judged
    """The relevant documents among the candidates."""
    grades: Floats
    """The grade of each of them."""
    all_offsets: Int64s
    all_grades: Floats
    """The grades of all relevant documents of each query, candidates or not, the largest first."""
    counted: Bools
    """The queries with any judgement."""
    unknown: Int64s
    """The candidates without a judgement."""

    @staticmethod
    def of(dataset: Dataset, metric: Metric) -> Judgements:
        """The judgements of a dataset for a metric: in its references, or in a column of its candidates."""
        columns = {each.column for each in order_metrics(metric)}
        if len(columns) > 1:
            raise InputError(
                f"{metric.name}: grades from several places ({', '.join(sorted(c or 'judgements' for c in columns))}); "
                "expected one for all measures"
            )
        if not dataset.is_lists:
            raise InputError(f"{metric.name}: is for orders of the candidates of lists, and these are forests")
        column, edges = columns.pop(), dataset.corpus.sentence_edges
        if column is not None:
            grades = dataset.qualities[column]
            known, unknown = [grades[first:last] for first, last in itertools.pairwise(edges)], []
            counted = np.diff(edges) > 0
        else:
            references = dataset.references or ((),) * len(dataset)
            judged = [_grades_of(group, dataset.ids[query]) for query, group in enumerate(references)]
            texts = dataset.texts()
            owners = np.repeat(np.arange(len(dataset)), np.diff(edges)).tolist()
            grades = np.array([judged[query].get(text, 0.0) for query, text in zip(owners, texts, strict=True)])
            unknown = [
                k for k, (query, text) in enumerate(zip(owners, texts, strict=True)) if text not in judged[query]
            ]
            known = [np.array(list(each.values()), dtype=np.float64) for each in judged]
            counted = np.array([len(each) > 0 for each in known], dtype=np.bool_)
        relevant = np.flatnonzero(grades > 0.0)
        ordered = [-np.sort(-each[each > 0.0]) for each in known]
        return Judgements(
            Judged(edges, np.searchsorted(relevant, edges).astype(np.int64), relevant),
            grades[relevant],
            np.cumsum([0, *map(len, ordered)]),
            np.concatenate([*ordered, np.empty(0)]),
            counted,
            np.array(unknown, dtype=np.int64),
        )

    @property
    def longest(self) -> int:
        """The number of candidates of the query that has the most."""
        return int(np.diff(self.judged.document_offsets).max(initial=1))

    def per_entry(self, of_queries: Floats) -> Floats:
        """A number of each query, for each of its relevant candidates."""
        return np.repeat(of_queries, np.diff(self.judged.offsets))

    @property
    def relevant_counts(self) -> Floats:
        """The number of relevant documents of each query, at least 1, so that shares of it are numbers."""
        return np.maximum(np.diff(self.all_offsets), 1).astype(np.float64)


def _grades_of(group: Sequence[str], query: object) -> dict[str, float]:
    """The grade of each judged document of a query."""
    grades = {}
    for text in group:
        grade, _, document = text.partition(" ")
        try:
            value = float(grade)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or not document:
            raise InputError(
                f"query {query}: the reference {text[:60]!r} is no judgement; expected a grade and a document, such "
                "as '2 d17': give judgements with --qrels, or a column of the candidates (ndcg@10:column=grade)"
            )
        grades[document] = value
    return grades


def order_metrics(metric: Metric) -> tuple[OrderMetric, ...]:
    """The measures of orders in a metric, which is one of them, or a sum of some."""
    parts = metric.metrics if isinstance(metric, Combination) else (metric,)
    return tuple(part for part in parts if isinstance(part, OrderMetric))


class PreparedOrder(PreparedMetric):
    """What stands for a prepared metric where somebody asks for the statistics of one candidate: an error."""

    def __init__(self, name: str) -> None:
        self._name = name

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """Refuse: no candidate has a value by itself."""
        raise InputError(f"{self._name} is told by the order of all candidates of a query, not by one of them")


@dataclass(frozen=True, kw_only=True)
class OrderMetric(Metric):
    """The mean over queries of a measure of the first ``depth`` documents (of all, without a depth)."""

    answers = "order"
    version = VERSION
    higher_is_better = True
    columns = ("value", "queries")

    depth: int | None = None
    column: str | None = None
    """The column of the candidates that has their grades; None where judgements are references."""

    needs_depth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.depth is None and self.needs_depth:
            raise InputError(f"{self.name}: expected a number of documents after it, such as {self.name}@10")
        if self.depth is not None:
            check_number(self.name, "depth", self.depth, low=1)

    @property
    def needs_references(self) -> bool:  # type: ignore[override]  # follows from the options
        """Whether judgements come as references."""
        return self.column is None

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]  # follows from the options
        """The column."""
        return () if self.column is None else (self.column,)

    @property
    def signature(self) -> str:
        """Name and depth, where grades are from, the order of ties, and the version."""
        depth = "" if self.depth is None else f"@{self.depth}"
        grades = "judgements" if self.column is None else self.column
        return signature(f"{self.name}{depth}", {**self._parameters(), "grades": grades, "ties": "listed"})

    def _parameters(self) -> dict[str, Any]:
        """Further options for the signature."""
        return {}

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Nothing that could answer for one candidate."""
        return PreparedOrder(self.name)

    def score(self, statistics: Statistics) -> Floats:
        """The mean of the values of queries; 0 without any."""
        sums = checked_statistics(statistics, self)
        return ratio(sums[..., 0], sums[..., 1] * UNIT, empty=0.0)

    @property
    def as_ratio(self) -> Ratio:
        """The mean, turned so that smaller is better."""
        return Ratio(np.array([-1.0, 0.0]), np.array([0.0, UNIT]), best=-1.0)

    def measure(self, judgements: Judgements) -> Measure:
        """The measure as numbers, for these judgements."""
        depth = min(self.depth or judgements.longest, judgements.longest)
        return self._measure(judgements, depth)

    @abstractmethod
    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        """The measure of the first ``depth`` documents."""


@dataclass(frozen=True, kw_only=True)
class Ndcg(OrderMetric):
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002): Σ gain / log2(1 + rank) over the best sum.

    The gain is the grade, as in trec_eval; of ndcg_exp, 2^grade − 1 (Burges et al. 2005).
    """

    name: ClassVar[str] = "ndcg"
    version = VERSION

    exponential: bool = False

    def _parameters(self) -> dict[str, Any]:
        return {"gain": "2^grade-1" if self.exponential else "grade"}

    def _gains(self, grades: Floats) -> Floats:
        if not self.exponential:
            return grades
        if grades.max(initial=0.0) > 1000.0:
            raise InputError(f"ndcg_exp: a grade of {grades.max():g} has no gain 2^grade - 1; use ndcg, or grade less")
        return np.exp2(grades) - 1.0

    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        longest = int(np.diff(judgements.all_offsets).max(initial=1))
        discounts = 1.0 / np.log2(np.arange(2, max(depth, longest) + 2))
        gains = self._gains(judgements.all_grades)
        ideals = np.ones(len(judgements.counted))
        for query in np.flatnonzero(np.diff(judgements.all_offsets)):
            best = gains[judgements.all_offsets[query] : judgements.all_offsets[query + 1]][: self.depth]
            ideals[query] = math.fsum((best * discounts[: len(best)]).tolist())
        return Measure(SUM, self._gains(judgements.grades) / judgements.per_entry(ideals), discounts[:depth])


@dataclass(frozen=True, kw_only=True)
class ReciprocalRank(OrderMetric):
    """One over the rank of the first relevant document; 0 where it is not among the first ``depth``."""

    name: ClassVar[str] = "mrr"
    version = VERSION

    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        return Measure(FIRST, np.ones(len(judgements.grades)), 1.0 / np.arange(1.0, depth + 1.0))


@dataclass(frozen=True, kw_only=True)
class AveragePrecision(OrderMetric):
    """The precision at the rank of each relevant document, summed over those among the first ``depth``, by all there
    are.
    """

    name: ClassVar[str] = "map"
    version = VERSION

    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        return Measure(PRECISION, judgements.per_entry(1.0 / judgements.relevant_counts), np.ones(depth))


@dataclass(frozen=True, kw_only=True)
class PrecisionAt(OrderMetric):
    """The share of the first ``depth`` documents that is relevant; ranks that a short list does not fill count."""

    name: ClassVar[str] = "p"
    version = VERSION
    needs_depth = True

    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        return Measure(SUM, np.full(len(judgements.grades), 1.0 / float(self.depth or depth)), np.ones(depth))


@dataclass(frozen=True, kw_only=True)
class Recall(OrderMetric):
    """The share of all relevant documents that is among the first ``depth``."""

    name: ClassVar[str] = "recall"
    version = VERSION

    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        return Measure(SUM, judgements.per_entry(1.0 / judgements.relevant_counts), np.ones(depth))


@dataclass(frozen=True, kw_only=True)
class Success(OrderMetric):
    """Whether any relevant document is among the first ``depth``."""

    name: ClassVar[str] = "success"
    version = VERSION
    needs_depth = True

    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        return Measure(FIRST, np.ones(len(judgements.grades)), np.ones(depth))


@dataclass(frozen=True, kw_only=True)
class RankBiasedPrecision(OrderMetric):
    """Rank-biased precision (Moffat and Zobel 2008): (1 − p) Σ p^(rank − 1) over the relevant documents."""

    name: ClassVar[str] = "rbp"
    version = VERSION

    p: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.name, "p", self.p, low=0.0, high=1.0, open_low=True)
        if self.p == 1.0:
            raise InputError("rbp: p is 1; expected less, such as 0.8: the share of readers who go on to the next rank")

    def _parameters(self) -> dict[str, Any]:
        return {"p": f"{self.p:.17g}"}

    def _measure(self, judgements: Judgements, depth: int) -> Measure:
        return Measure(SUM, np.full(len(judgements.grades), 1.0 - self.p), np.power(self.p, np.arange(float(depth))))
