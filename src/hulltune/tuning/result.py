"""The result of tuning, as plain data that can be saved and loaded."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hulltune.errors import InputError
from hulltune.formats.result_files import NOT_SAVED, Saved
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import ErrorCounts
from hulltune.metrics.registry import get_metric
from hulltune.search.certificate import Certificate
from hulltune.search.problem import Problem
from hulltune.tuning.picks import Pick, Reranked
from hulltune.tuning.sensitivity import Sensitivity
from hulltune.tuning.text_tables import as_html, as_text
from hulltune.wording import counted, nouns_of, score_text, tells_orders

if TYPE_CHECKING:
    from hulltune.formats.read import DataLike
    from hulltune.formats.references import ReferencesLike
    from hulltune.report.picture import Picture
    from hulltune.tuning.inputs import WeightsLike
    from hulltune.tuning.surfaces import MetricPlane, MetricSurface
    from hulltune.tuning.verdict import Verdict

MOST_PANELS = 12
"""The most weights in a picture of the sensitivity."""
MOST_INLINE = 2_000_000
"""The most candidates or edges of data that a notebook searches again to show a result."""


@dataclass(frozen=True)
class Interval:
    """A 95% interval of a gain, positive where the score is better, from ``samples`` bootstrap samples."""

    low: float
    high: float
    samples: int
    seed: int


@dataclass(frozen=True)
class HeldOut:
    """Scores on sentences that were not tuned on."""

    sentences: int
    baseline: float
    score: float
    gain: Interval
    """The interval of the gain over the baseline, positive where the tuned weights are better."""
    start: float | None = None
    """The score of the start weights, in folds of those that each fold started from; None if the metric waits for
    answers, which is not asked for more outputs.
    """
    gain_over_start: Interval | None = None
    """The interval of the gain over the start weights."""
    single: float | None = None
    """The score of the best single feature, in folds of that which is the best on the others; None where the metric
    waits for answers, or there is but one feature.
    """
    gain_over_single: Interval | None = None
    """The interval of the gain over the best single feature."""
    rrf: float | None = None
    """The score of reciprocal rank fusion (k = 60) without weights; None unless the data are runs of rankers."""
    gain_over_rrf: Interval | None = None
    """The interval of the gain over reciprocal rank fusion."""
    counts: Mapping[str, ErrorCounts] = dataclasses.field(default_factory=dict)
    """The error counts of "baseline", "start" and "tuned", where the metric is an error rate."""

    def compared(self) -> dict[str, tuple[float, Interval]]:
        """The scores that the tuned weights are compared with, as far as they are known, and the gains over them."""
        pairs = {
            "baseline": (self.baseline, self.gain),
            "start": (self.start, self.gain_over_start),
            "single": (self.single, self.gain_over_single),
            "rrf": (self.rrf, self.gain_over_rrf),
        }
        return {name: (score, gain) for name, (score, gain) in pairs.items() if score is not None and gain is not None}


@dataclass(frozen=True)
class Single:
    """The best single feature on the data that were tuned on: its weight alone is not 0."""

    feature: str
    sign: int
    """The better sign of its weight: 1 or −1."""
    score: float


@dataclass(frozen=True)
class Unjudged:
    """The share of the first ``depth`` documents of all queries that nobody has judged, and that so count as bad."""

    depth: int
    baseline: float
    tuned: float


@dataclass(frozen=True)
class Replicates:
    """Scores of runs with other seeds (Clark et al. 2011)."""

    seeds: tuple[int, ...]
    scores: tuple[float, ...]
    mean: float
    deviation: float
    heldout_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class Regularisation:
    """The penalty of a regularised run, in the unit of the metric, and how its strength was found."""

    strength: float
    """The score that a change of one typical weight by its own size must gain."""
    distance: float
    """The squared distance of the weights from their reference, in typical weights."""
    penalty: float
    """``strength`` times ``distance``: by so much the regularised score of the weights is worse than their score."""
    strengths: tuple[float, ...] = ()
    """The strengths that were compared by cross-validation; none if the strength was given."""
    scores: tuple[float, ...] = ()
    """The score of each of them on the folds that were not tuned on."""
    folds: int = 0


class TunedWeights(Saved):
    """Weights in a file, and the signature of the metric that they were tuned for."""

    weights: Mapping[str, float]
    metric: str

    def own_metric(self) -> Metric:
        """The metric of the result, if its name alone says what it is."""
        name = self.metric.partition("|")[0]
        try:
            found = get_metric(name)
        except InputError:
            found = None
        if found is None or found.signature != self.metric:
            raise InputError(f"metric: the result was tuned for {self.metric}; give metric=…, as in tune")
        return found


@dataclass(frozen=True, repr=False)
class TuneResult(TunedWeights):
    """Tuned weights, their scores and their history.

    Scores are in the metric's own unit and direction; gains are positive where the score is better, whatever the
    direction. ``summary`` tells it all as text, and notebooks show it as tables.

    A result can draw the metric around its weights. It remembers the problem that it was tuned on as long as it lives
    in memory; files and pickles do not keep it. Then, or to look at other data, give them to ``on``, as to ``tune``.
    """

    KIND: ClassVar = "hulltune result 1"
    CALLED: ClassVar = "a result"
    DERIVED: ClassVar = ("verdict",)
    weights: Mapping[str, float]
    start: Mapping[str, float]
    score: float
    """The score of the tuning set reranked with the weights: checked by reranking, not predicted."""
    baseline: float
    """The score before tuning: the first choice of each list, and the best output of each forest under the start, the
    decoder's weights, or the first weights of the search (see ``baseline_kind``).
    """
    start_score: float
    oracle: float | None
    """The score of the best picks found among ``oracle_kind``, a property of the data and the metric; None if they
    were not looked for.
    """
    metric: str
    """The metric's signature."""
    higher_is_better: bool
    seed: int
    sentences: int
    candidates: int
    """The number of hypotheses of lists, or of edges of forests."""
    line_searches: int
    seconds: float
    """The time that all took, reading included; ``timings`` has its parts."""
    version: str
    gain: Interval | None = None
    """The 95% interval of the gain over the baseline on the data that were tuned on: how much it varies with the
    sentences, and no proof that it holds on others (see ``verdict``).
    """
    without: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """For each feature, the gain if its weight is set to 0, negative where the feature helps; of more than 1,000
    features, for the hundred with the largest weights over scaled features.
    """
    others: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    """Other metrics by signature: the scores of the baseline and of the tuned weights."""
    heldout: HeldOut | None = None
    """Scores of the weights on held-out data."""
    folds: HeldOut | None = None
    """Scores of every sentence with weights that were tuned on the other folds."""
    single: Single | None = None
    """The best single feature; None where the metric waits for answers, or there is but one feature."""
    random: float | None = None
    """The expected score of a random candidate of each list, where the order of candidates means nothing: that of a
    metric that reads a column of them, or of accuracy.
    """
    replicates: Replicates | None = None
    history: tuple[Mapping[str, float], ...] = ()
    """Every improvement of the best score: start, line searches spent, score."""
    interrupted: bool = False
    certificate: Certificate | None = None
    """The proof of a certified search; None for other searches."""
    baseline_kind: str = "the lists' own first choice"
    """The description of the baseline. Forests have "the start weights' choice" or "the choice of the files' own
    scales"; lists among them keep their own first choice.
    """
    oracle_kind: str | None = None
    """How the best picks were looked for, and among which outputs: "exact, all candidates" or "exact, all derivations"
    where no picks are better, and otherwise "greedy, …".
    """
    oracle_bound: float | None = None
    """A score that no picks can beat, the oracle itself where it is exact; None if none is known."""
    ended: str | None = None
    """The reason why the search ended before all of its climbs were done; None if it did not."""
    sensitivity: Sensitivity | None = None
    """For each free weight, the range in which the score stays within a tolerance of the tuned one; None for a metric
    that waits for answers. Of more than 1,000 features, for those of ``without``.
    """
    timings: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """The seconds spent on reading, searching and describing."""
    start_kind: str = "equal weights over scaled features"
    """The description of the start: "the weights given", or how they were made."""
    counts: Mapping[str, ErrorCounts] = dataclasses.field(default_factory=dict)
    """The error counts of "baseline", "start" and "tuned", where the metric is an error rate."""
    regularisation: Regularisation | None = None
    """The penalty of a regularised run and how its strength was found; None for other runs. Scores of ``history`` are
    then less the penalty; all other scores are the metric's own.
    """
    normalisation: str | None = None
    """What was done to the scores of rankers, such as "minmax missing=0"; the weights belong to it."""
    positive: bool = False
    """Whether no weight was allowed below 0."""
    unjudged: Unjudged | None = None
    """Documents without judgements among the first ones; None where answers are no orders."""
    outputs: Reranked | None = dataclasses.field(default=None, compare=False, metadata=NOT_SAVED)
    """The texts of the tuning data that the weights pick; files do not keep them, so it is None after ``load``."""

    @property
    def picks(self) -> tuple[Pick, ...]:
        """The picks of the tuning data with their indices, scores and features; none after ``load``."""
        return () if self.outputs is None else self.outputs.picks

    @property
    def verdict(self) -> Verdict:
        """Whether the gain is established on sentences that were not tuned on, and against what; see Verdict."""
        from hulltune.tuning.verdict import verdict_of

        return verdict_of(self)

    @property
    def is_ranking(self) -> bool:
        """Whether the answers are orders of documents."""
        return tells_orders(self.metric)

    @property
    def nouns(self) -> tuple[str, str]:
        """What lists and their entries are called: sentences and candidates, or queries and documents."""
        return nouns_of(self.metric)

    def summary(self) -> str:
        """The result as text: the verdict, scores, gains, error counts, and what each feature is worth."""
        from hulltune.tuning.summary import blocks_of

        return as_text(blocks_of(self))

    def __repr__(self) -> str:
        name = self.metric.partition("|")[0]
        scores = f"{score_text(self.baseline)} → {score_text(self.score)}"
        for how, unseen in (("held out", self.heldout), ("folds", self.folds)):
            if unseen is not None:
                scores += f", {how} {score_text(unseen.baseline)} → {score_text(unseen.score)}"
        size = f"{counted(self.sentences, self.nouns[0])}, {counted(len(self.weights), 'weight')}"
        return f"TuneResult({name} {scores}, {size}{', interrupted' if self.interrupted else ''})"

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write a report that can be touched: one HTML file, which opens without a network; options are those of
        ``write_report``.
        """
        written: Path = import_module("hulltune").write_report(self, path, **options)
        return written

    def _repr_html_(self) -> str:
        from hulltune.tuning.summary import blocks_of

        tables = as_html(blocks_of(self))
        problem = self.__dict__.get("_problem")
        if problem is None or problem.metric.waits or problem.corpus.edges > MOST_INLINE:
            return tables
        try:
            page: str = import_module("hulltune").inline_report(self)
        except InputError:  # no weight is free to move
            return tables
        return f"{page}<details><summary>as tables</summary>{tables}</details>"

    # Surfaces, planes and pictures, from the data that were tuned on.

    def with_problem(self, problem: Problem) -> TuneResult:
        """The result itself, which remembers the problem from now on."""
        object.__setattr__(self, "_problem", problem)  # no field: it is neither compared, nor saved
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_problem"}

    @property
    def problem(self) -> Problem:
        """The problem that was tuned on."""
        found: Problem | None = self.__dict__.get("_problem")
        if found is None:
            raise InputError(
                "data: a result from a file does not have the data it was tuned on; give data=…, or on(data)"
            )
        return found

    def on(
        self, data: Problem | DataLike, references: ReferencesLike = None, metric: str | Metric | None = None
    ) -> TuneResult:
        """The result with other data to look at, or with those that it was tuned on after ``load``."""
        from hulltune.tuning.inputs import as_problem

        if not isinstance(data, Problem):
            data = as_problem(data, references, self.own_metric() if metric is None else metric)
        return dataclasses.replace(self).with_problem(data)

    def surface(self, feature: str | None = None, *, to: WeightsLike | None = None) -> MetricSurface:
        """The metric for every weight of a feature, or on the line from the tuned weights ``to`` others; exact."""
        from hulltune.tuning.surfaces import metric_surface

        return metric_surface(self.problem, self.weights, feature, to=to)

    def plane(self, across: str, up: str, **options: Any) -> MetricPlane:
        """The metric over the weights of two features, exact along every row, with its certified optimum; options are
        those of ``metric_plane``.
        """
        from hulltune.tuning.surfaces import metric_plane

        return metric_plane(self.problem, self.weights, (across, up), **options)

    def plot_surface(
        self, feature: str | None = None, *, to: WeightsLike | None = None, view: tuple[float, float] | None = None
    ) -> Picture:
        """A picture of ``surface``, which notebooks show; ``view`` are the ends of the part to draw."""
        return self.surface(feature, to=to).plot(view=view)

    def plot_plane(self, across: str, up: str, **options: Any) -> Picture:
        """A picture of ``plane``, which notebooks show."""
        return self.plane(across, up, **options).plot()

    def plot_sensitivity(self) -> Picture:
        """A picture of the metric along each free weight, around the range in which it is hardly worse; of more than
        MOST_PANELS weights, those with the narrowest ranges.
        """
        from hulltune.tuning.surfaces import picture_of

        if self.sensitivity is None or not self.sensitivity.ranges:
            raise InputError("sensitivity: this result has no ranges of weights to draw")
        names = self.sensitivity.narrowest(MOST_PANELS)
        return picture_of("plot_sensitivity", list(map(self.surface, names)), self.sensitivity, names)

    def fault(self) -> str | None:
        """The names that do not belong together in a file, in words."""
        if self.weights.keys() != self.start.keys():
            return "weights and start have other names"
        described = {*self.without, *(self.sensitivity.ranges if self.sensitivity else ())}
        unknown = sorted(described - self.weights.keys())
        return f"it tells of {unknown[0]!r}, which has no weight" if unknown else None
