"""Comparison of two sets of weights: the sentences whose picks differ, what that changes, and which features decide."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError, unknown_name
from hulltune.formats.read import read
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import ErrorCounts, errors_by_sentence
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store, opened
from hulltune.names import CHANGE_ORDERS
from hulltune.search.constraints import Constraints
from hulltune.search.problem import Problem, exact_sum
from hulltune.search.strategy import Setting
from hulltune.tuning.evaluation import counts_by_name, paired_bootstrap
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_dataset, as_weights
from hulltune.tuning.picks import Pick, Reranked
from hulltune.tuning.result import Interval, TuneResult
from hulltune.tuning.text_tables import as_html, as_text, csv_text
from hulltune.wording import counted, nouns_of, score_text

BASELINE = "baseline"
"""The name that stands for the lists' own first choices, or for what the decoder's weights in the files pick."""
OLD, NEW = "old", "new"
"""The names of the two picks of a sentence in all answers."""


@dataclass(frozen=True)
class Change:
    """A sentence whose pick differs."""

    id: SentenceId
    sentence: int
    """The number of the sentence in the data, from 0."""
    old: Pick
    new: Pick
    gain: float | None
    """The gain in the score of the corpus if this sentence alone takes the new pick, positive where it is better; None
    without a metric. The gains of all sentences need not add up to the gain of all together.
    """
    errors: tuple[int, int] | None
    """The errors of the old and of the new pick; None if the metric is no error rate."""
    reasons: Mapping[str, tuple[float | None, float | None]]
    """For each feature that differs, the share of the evidence that it gives for the new pick, under the old weights
    and under the new ones (None for a baseline without weights): its part in the difference of the model scores,
    divided by the sum of all parts without their signs. Negative shares speak for the old pick. The features whose
    share grew most come first: these decided.
    """
    references: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two sets of weights, or a baseline and weights, and the sentences that they pick differently for."""

    old: str
    new: str
    metric: str | None
    """The metric's signature; None where picks are compared without a metric."""
    higher_is_better: bool | None
    sentences: int
    changes: tuple[Change, ...]
    """The sentences whose text changed, in the order of the data."""
    same_text: int
    """The number of other sentences with a new candidate or derivation, but with the same text and statistics."""
    old_score: float | None = None
    new_score: float | None = None
    gain: float | None = None
    """The difference of the scores, positive where the new one is better."""
    interval: Interval | None = None
    """The 95% interval of the gain."""
    counts: Mapping[str, ErrorCounts] = dataclasses.field(default_factory=dict)
    """The error counts of "old" and "new", where the metric is an error rate."""

    @property
    def better(self) -> int:
        """The number of sentences whose new pick is better."""
        return sum(change.gain is not None and change.gain > 0 for change in self.changes)

    @property
    def worse(self) -> int:
        """The number of sentences whose new pick is worse."""
        return sum(change.gain is not None and change.gain < 0 for change in self.changes)

    @property
    def noun(self) -> str:
        """What has a pick: a sentence, or a query."""
        return nouns_of(self.metric)[0]

    def __repr__(self) -> str:
        scores = ""
        if self.metric is not None and self.old_score is not None and self.new_score is not None:
            name = self.metric.partition("|")[0]
            scores = f"{name} {score_text(self.old_score)} → {score_text(self.new_score)}, "
        judged = "" if self.metric is None else f": {self.better:,} better, {self.worse:,} worse"
        changed = f"{len(self.changes):,} of {counted(self.sentences, self.noun)} changed"
        return f"Comparison({self.old} → {self.new}, {scores}{changed}{judged})"

    def summary(self, *, most: int | None = 20, colour: bool = False) -> str:
        """The comparison as text, with differences marked by signs, and by colours for a terminal; the changes are
        those of ``most`` sentences, or of all for None.
        """
        from hulltune.tuning.comparison_text import blocks_of

        return as_text(blocks_of(self, most=most, colour=colour))

    def _repr_html_(self) -> str:
        from hulltune.tuning.comparison_text import blocks_of

        return as_html(blocks_of(self))

    def sorted(self, by: str) -> Comparison:
        """The comparison with its changes in the order of the "data", "best" first or "worst" first."""
        if by not in CHANGE_ORDERS:
            raise unknown_name("order", by, CHANGE_ORDERS)
        sign = {"data": 0, "best": -1, "worst": 1}[by]
        changes = sorted(self.changes, key=lambda change: (sign * (change.gain or 0.0), change.sentence))
        return dataclasses.replace(self, changes=tuple(changes))

    def to_dict(self) -> dict[str, Any]:
        """The comparison as a dictionary that JSON can hold."""
        record = dataclasses.asdict(self)
        return {**record, "better": self.better, "worse": self.worse}

    def tsv(self) -> str:
        """The changes as a table, a sentence a line, with headings; fields with tabs or quotes are quoted."""
        rows = []
        for change in self.changes:
            old, new = change.old, change.new
            errors = (None, None) if change.errors is None else change.errors
            reasons = " ".join(f"{name}={_reason(*shares)}" for name, shares in change.reasons.items())
            picks = (old.index, new.index, old.score, new.score, old.text, new.text)
            rows.append([change.id, change.gain, *errors, *picks, " ||| ".join(change.references), reasons])
        return csv_text([COLUMNS, *rows], "\t")


COLUMNS = (
    "id", "gain", "old_errors", "new_errors", "old_index", "new_index", "old_score", "new_score", "old_text",
    "new_text", "references", "reasons",
)  # fmt: skip
"""The headings of ``Comparison.tsv``."""


def _reason(*shares: float | None) -> str:
    """The shares of a feature under the old and the new weights: "-0.2500>0.5000", or one of them."""
    return ">".join(f"{share:.4f}" for share in shares if share is not None)


def compare(
    data: DataLike,
    old: WeightsLike,
    new: WeightsLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric | None = "bleu",
    threads: int | None = None,
    store: Store | str | Path | None = None,
    questions: str | Path | None = None,
) -> Comparison:
    """Compare what two sets of weights pick: the sentences whose picks differ, what that does to the metric, and which
    features decided it.

    ``old`` or ``new`` may be "baseline": the lists' own first choices (of forests, what the decoder's weights in the
    files pick). Without a ``metric`` (None) no references are needed, and picks are compared without judging them.
    ``store`` keeps statistics across runs. ``questions`` is the file for the questions of a metric that waits for
    answers.

    >>> from hulltune import compare
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> changes = compare(task.lists, "baseline", task.optimum, metric="wer")
    >>> changes.better, changes.worse, round(changes.gain, 4)
    (13, 0, 0.0712)
    """
    chosen = None if metric is None else get_metric(metric)
    dataset = read(data) if chosen is None else as_dataset(data, references, chosen)
    with ExitStack() as stack:
        kept = stack.enter_context(opened(store))
        problem = None if chosen is None else Problem.of(dataset, chosen, store=kept, questions=questions)
        equal = None if problem is None or problem.orders is None else Setting.of(problem, Constraints(), None).first
        sides = [
            _ComparedWeights.of(dataset, weights, name, threads, equal) for weights, name in ((old, OLD), (new, NEW))
        ]
        return _compared(dataset, problem, *sides)


@dataclass(frozen=True, eq=False)
class _ComparedWeights:
    """One side of a comparison: its name, its weights (None for first choices alone), and its picks."""

    name: str
    weights: Floats | None
    picks: Sequence[Pick]
    is_baseline: bool = False

    @staticmethod
    def of(
        dataset: Dataset, weights: WeightsLike, side: str, threads: int | None, equal: Floats | None
    ) -> _ComparedWeights:
        """A side. Where answers are orders, the baseline is that of the ``equal`` weights."""
        name = side
        if isinstance(weights, str) and weights == BASELINE:
            if equal is None:
                return _baseline(dataset, threads)
            name, weights = "equal weights", equal.tolist()
        if isinstance(weights, (str, os.PathLike)):
            name = os.fspath(weights)
        elif isinstance(weights, TuneResult):
            name = "tuned"
        vector = feature_vector(as_weights(weights), dataset.feature_names, f"{side} weights")
        return _ComparedWeights(name, vector, Reranked.of(dataset, vector, threads=threads).picks)

    def statistics(self, problem: Problem) -> NDArray[Any]:
        """The statistics of the picks, a row for each sentence."""
        if self.is_baseline or self.weights is None:
            return problem.baseline(self.weights).statistics
        return problem.picks(self.weights).statistics

    def deciding(self, dataset: Dataset, sentence: int) -> Floats | None:
        """The weights that decided the pick of a sentence; None for a first choice of a list."""
        return None if self.is_baseline and dataset.first_choices[sentence] >= 0 else self.weights


def _baseline(dataset: Dataset, threads: int | None) -> _ComparedWeights:
    own = Reranked.first_choices(dataset).picks
    are_forests = (dataset.first_choices < 0) & (np.diff(dataset.corpus.sentence_edges) > 0)
    if not are_forests.any():
        return _ComparedWeights(BASELINE, None, own, is_baseline=True)
    if dataset.model is None:
        raise InputError(f"{BASELINE}: forests have no first choice of their own; give the decoder's weights instead")
    model = np.array([dataset.model.get(name, 0.0) for name in dataset.feature_names])
    decoded = Reranked.of(dataset, model, threads=threads).picks
    picks = [best if is_forest else first for is_forest, best, first in zip(are_forests, decoded, own, strict=True)]
    return _ComparedWeights(BASELINE, model, picks, is_baseline=True)


def _compared(dataset: Dataset, problem: Problem | None, old: _ComparedWeights, new: _ComparedWeights) -> Comparison:
    pairs = list(zip(old.picks, new.picks, strict=True))
    differ = np.array([one.text != other.text for one, other in pairs], dtype=bool)
    moved = np.array([one.index != other.index or one.features != other.features for one, other in pairs], dtype=bool)
    scored: dict[str, Any] = {}
    gains, errors = None, None
    if problem is not None:
        before, after = old.statistics(problem), new.statistics(problem)
        differ |= (before != after).any(axis=1)
        gains, errors = _gains(problem.metric, before, after), _errors(problem.metric, before, after)
        scored = _scores(problem.metric, before, after)
    shown = dataset.references if problem is None or problem.orders is None else None  # no texts, but judgements
    references = shown or ((),) * len(dataset)
    changes = []
    places = {name: place for place, name in enumerate(dataset.feature_names)}
    for sentence in np.flatnonzero(differ).tolist():
        one, other = pairs[sentence]
        changes.append(
            Change(
                id=dataset.names[sentence],
                sentence=sentence,
                old=one,
                new=other,
                gain=None if gains is None else gains[sentence],
                errors=None if errors is None else errors[sentence],
                reasons=_reasons(one, other, places, *(side.deciding(dataset, sentence) for side in (old, new))),
                references=references[sentence],
            )
        )
    return Comparison(
        old=old.name,
        new=new.name,
        metric=None if problem is None else problem.metric.signature,
        higher_is_better=None if problem is None else problem.metric.higher_is_better,
        sentences=len(dataset),
        changes=tuple(changes),
        same_text=int(np.count_nonzero(moved & ~differ)),
        **scored,
    )


def _scores(metric: Metric, before: NDArray[Any], after: NDArray[Any]) -> dict[str, Any]:
    """The fields of a Comparison on the whole corpus."""
    totals = exact_sum(before), exact_sum(after)
    return {
        "old_score": float(metric.score(totals[0])),
        "new_score": float(metric.score(totals[1])),
        "gain": float(metric.loss(totals[0])) - float(metric.loss(totals[1])),
        "interval": paired_bootstrap(metric, before, after),
        "counts": counts_by_name(metric, old=before, new=after),
    }


def _gains(metric: Metric, before: NDArray[Any], after: NDArray[Any]) -> list[float]:
    """The gain of the corpus if one sentence alone changes, for each sentence."""
    total = exact_sum(before)
    differ = (before != after).any(axis=1)
    gains = np.zeros(len(before))
    if differ.any():
        changed = metric.loss(total + (after - before)[differ])
        gains[differ] = float(metric.loss(total)) - changed
    return gains.tolist()


def _errors(metric: Metric, before: NDArray[Any], after: NDArray[Any]) -> list[tuple[int, int]] | None:
    """The errors of the old and of the new pick of each sentence, if the metric is an error rate."""
    old, new = errors_by_sentence(metric, before), errors_by_sentence(metric, after)
    return None if old is None or new is None else list(zip(old.tolist(), new.tolist(), strict=True))


def _reasons(
    old: Pick, new: Pick, places: Mapping[str, int], before: Floats | None, after: Floats | None
) -> dict[str, tuple[float | None, float | None]]:
    """The shares of the evidence for the new pick, by feature, those that grew most first; see Change. ``places`` are
    those of the features in the weights.
    """
    differences = {
        name: new.features.get(name, 0.0) - old.features.get(name, 0.0) for name in {**old.features, **new.features}
    }
    found = {name: difference for name, difference in differences.items() if difference}
    columns = np.array([places[name] for name in found], dtype=np.int64)
    steps = np.array(list(found.values()))
    nothing = np.zeros(len(steps))
    first, last = (nothing if weights is None else _shares(weights[columns] * steps) for weights in (before, after))
    order = np.lexsort((columns, first - last)).tolist()
    listed = list(found)
    return {
        listed[k]: (None if before is None else float(first[k]), None if after is None else float(last[k]))
        for k in order
    }


def _shares(parts: Floats) -> Floats:
    whole = math.fsum(np.abs(parts).tolist())  # rounded once: the order of additions would change the last bit
    shares: Floats = parts / whole if whole else parts
    return shares
