"""Metrics of numbers that are known beforehand for every candidate: the mean of a score (COMET, a reward, a human
rating), and the ratio of two sums of counts.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError
from hulltune.formats.numbers import sentence_id
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.metrics.base import Known, Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.checks import (
    check_choice,
    check_flags,
    checked_references,
    checked_sentences,
    checked_statistics,
    parsed_json,
    ratio,
    signature,
)
from hulltune.wording import counted

WEIGHTS = ("sentence", "tokens", "reference_tokens")
"""The weight of an output in the mean: 1, its number of words, or the number of words of its first reference."""


ERRORS = frozenset(
    [
        "cer",
        "wer",
        "mer",
        "ter",
        "loss",
        "losses",
        "error",
        "errors",
        "err",
        "cost",
        "costs",
        "nll",
        "perplexity",
        "ppl",
        "distance",
        "mse",
        "rmse",
        "mae",
        "edits",
        "mistakes",
    ]
)
"""Words in the names of columns whose numbers should mostly be small."""
_CAMEL = re.compile("(?<=[a-z])(?=[A-Z])")


class ScoreTable(Mapping[tuple[int | str, str], float]):
    """A score for each (sentence id, output text): immutable, every score finite, no pair with two scores."""

    def __init__(self, sentences: Sequence[int | str], outputs: Sequence[str], scores: Sequence[float]) -> None:
        if not len(sentences) == len(outputs) == len(scores):
            raise InputError(
                f"{counted(len(sentences), 'sentence')}, {counted(len(outputs), 'output')} and "
                f"{counted(len(scores), 'score')}; expected as many of each"
            )
        self._scores: dict[tuple[int | str, str], float] = {}
        for position, entry in enumerate(zip(sentences, outputs, scores, strict=True)):
            self._add(f"entry {position}", *entry)

    def _add(self, where: str, sentence: int | str, output: str, score: float) -> None:
        sentence = sentence if isinstance(sentence, str) else int(sentence)
        value = float(score)
        if not math.isfinite(value):
            raise InputError(f"{where}: the score is {value}; expected a finite number")
        if self._scores.setdefault((sentence, output), value) != value:
            known = self._scores[sentence, output]
            raise InputError(f"{where}: sentence {sentence} has the output {output!r} twice, with {known} and {value}")

    @classmethod
    def read(cls, path: str | Path) -> ScoreTable:
        """Read a file of JSON lines with sentence, output and score, or of ``.tsv`` lines: sentence, score, output."""
        parse = _parse_tsv if Path(path).suffix == ".tsv" else _parse_json
        table = cls([], [], [])
        for number, line in numbered_lines(path, Problems()):
            if line.strip():
                table._add(f"{path}:{number}", *parse(f"{path}:{number}", line))
        return table

    def __getitem__(self, key: tuple[int | str, str]) -> float:
        return self._scores[key]

    def __iter__(self) -> Iterator[tuple[int | str, str]]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        return f"ScoreTable({counted(len(self), 'score')})"

    def digest(self) -> str:
        """A short name of the content, the same in every run; O(n log n)."""
        content = hashlib.blake2b(digest_size=6)
        for (sentence, output), score in sorted(self._scores.items(), key=_numbers_first):
            content.update(json.dumps([sentence, output, score]).encode())
        return content.hexdigest()


def _numbers_first(entry: tuple[tuple[int | str, str], float]) -> tuple[bool, int | str, str]:
    (sentence, output), _ = entry
    return isinstance(sentence, str), sentence, output


def _parse_json(where: str, line: str) -> tuple[int | str, str, float]:
    entry = parsed_json(where, line)
    if isinstance(entry, dict):
        sentence, output, score = (entry.get(key) for key in ("sentence", "output", "score"))
        numbers = not isinstance(sentence, bool) and not isinstance(score, bool)
        if numbers and isinstance(sentence, (int, str)) and isinstance(output, str) and isinstance(score, (int, float)):
            return sentence, output, float(score)
    raise InputError(f'{where}: expected {{"sentence": id, "output": text, "score": number}}')


def _parse_tsv(where: str, line: str) -> tuple[int | str, str, float]:
    fields = line.split("\t", 2)
    try:
        return sentence_id(fields[0].strip()), fields[2], float(fields[1])
    except (ValueError, IndexError):
        raise InputError(f"{where}: expected sentence, score and output between tabs, got {line[:80]!r}") from None


class MeanMetric(Metric):
    """The weighted mean of a number for each output: Σ total / Σ weight; 0 where all weights are 0."""

    columns = ("total", "weight")

    def score(self, statistics: Statistics) -> Floats:
        """The weighted mean."""
        sums = checked_statistics(statistics, self)
        return ratio(sums[..., 0], sums[..., 1], empty=0.0)

    @property
    def as_ratio(self) -> Ratio:
        """The mean, turned so that smaller is better."""
        return Ratio(np.array([-1.0 if self.higher_is_better else 1.0, 0.0]), np.array([0.0, 1.0]), best=-np.inf)


@dataclass(frozen=True, kw_only=True)
class Given(MeanMetric):
    """The weighted mean of given scores: Σ weight · score / Σ weight; 0 where all weights are 0.

    The scores are in a ``column`` of the candidates (of a table, of JSON lines, or a feature of any format), which is
    then no feature: equal texts may have different ones. Or they are ``scores``, a ScoreTable or the path of its file,
    by sentence and text; there an output without a score is an error that names it. ``weight_column`` names a column
    with the weight of each candidate.
    """

    name: ClassVar[str] = "given"
    # No version, so nothing is stored: two sentences with the same text may have different scores.

    scores: ScoreTable | str | Path | None = None
    column: str | None = None
    weight: str = "sentence"
    weight_column: str | None = None
    higher_is_better: bool = None  # type: ignore[assignment]  # a column of errors asks; all others have True

    def __post_init__(self) -> None:
        direction: bool | None = self.higher_is_better
        if direction is None:
            if ERRORS & set(re.findall("[a-z]+", _CAMEL.sub(" ", self.column or "").lower())):
                how = f"mean:column={self.column}"
                raise InputError(
                    f"{how}: is a smaller number better? write {how},higher_is_better=false for errors and costs, and "
                    "higher_is_better=true for what should grow"
                )
            object.__setattr__(self, "higher_is_better", True)
        check_flags(self)
        check_choice("given", "weight", self.weight, WEIGHTS)
        if (self.scores is None) == (self.column is None):
            raise InputError(
                "mean, given: expected either a column of the candidates or a file of scores; "
                "write mean:column=NAME, or given:scores=FILE"
            )
        if self.weight_column is not None and (self.column is None or self.weight != "sentence"):
            raise InputError("mean: weight_column is for the numbers of a column, in the place of weight")
        if isinstance(self.scores, (str, Path)):
            object.__setattr__(self, "scores", ScoreTable.read(self.scores))
        elif self.scores is not None and not isinstance(self.scores, ScoreTable):
            raise InputError(f"given: scores is a {type(self.scores).__name__}; expected a file or a ScoreTable")

    @property
    def needs_references(self) -> bool:  # type: ignore[override]  # follows from the options
        """Whether outputs are weighed by the words of their references."""
        return self.weight == "reference_tokens"

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]  # follows from the options
        """The column, and that of the weights."""
        return tuple(name for name in (self.column, self.weight_column) if name is not None)

    @property
    def table(self) -> ScoreTable:
        """The scores."""
        assert isinstance(self.scores, ScoreTable)
        return self.scores

    @property
    def signature(self) -> str:
        """Name, the column or a digest of the scores, weighting, direction and version."""
        weight = self.weight if self.weight_column is None else f"column {self.weight_column}"
        options = {"weight": weight, "higher_is_better": self.higher_is_better}
        if self.column is not None:
            return signature("mean", {"column": self.column, **options})
        return signature("given", {"scores": self.table.digest(), **options})

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Bind the references, which are needed only to weigh by their words; sentences are known by number."""
        return self.prepare_with(Known(range(len(references or ()))), references, sources)

    def prepare_with(
        self, known: Known, references: References, sources: Sequence[str] | None = None
    ) -> PreparedMetric:
        """Bind the column or the ids of sentences, and references, which are needed only to weigh by their words."""
        least = 1 if self.needs_references else 0
        groups = checked_references("given", references, sources, ragged=True, at_least=least)
        lengths = np.array([float(len(group[0].split())) if group else 0.0 for group in groups])
        if self.column is None:
            return _ByText(self.table, known.ids, self.weight, lengths)
        values = quality(known, self.column)
        if self.weight_column is None:
            return ByCandidate(values, weight=self.weight, reference_lengths=lengths)
        weights = counts(known, self.weight_column)
        return ByCandidate(values * weights, weights)


@dataclass(frozen=True, kw_only=True)
class ColumnRatio(Metric):
    """The sum of one column of the picked candidates divided by the sum of others: corpus CER from the counts of edits
    and of characters, precision or F1 from the counts of items.

    ``errors`` names the column to be small, or ``hits`` the column to be large; ``of`` names the column, or several
    that are added (joined by +), to divide by. All are counts: 0 or more. The ratio of 0 to 0 is 0; of errors to 0,
    their number.
    """

    name: ClassVar[str] = "ratio"
    needs_references = False

    errors: str | None = None
    hits: str | None = None
    of: tuple[str, ...] | str = ()

    def __post_init__(self) -> None:
        names = self.of.split("+") if isinstance(self.of, str) else self.of
        object.__setattr__(self, "of", tuple(filter(None, names)))
        if (self.errors is None) == (self.hits is None) or not self.of:
            raise InputError(
                "ratio: expected a column of errors (or of hits) and a column to divide by; "
                "write ratio:errors=NAME,of=NAME"
            )

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]  # follows from the options
        """What is summed."""
        return ("hits" if self.errors is None else "errors", "of")

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # follows from the options
        """Whether hits are counted."""
        return self.errors is None

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]  # follows from the options
        """The columns."""
        return tuple(dict.fromkeys((str(self.errors or self.hits), *self.of)))

    @property
    def signature(self) -> str:
        """Name, columns and version."""
        return signature("ratio", {self.columns[0]: self.reads[0], "of": "+".join(self.of)})

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Refuse: texts alone have no counts."""
        return self.prepare_with(Known(()), references, sources)

    def prepare_with(
        self, known: Known, references: References, sources: Sequence[str] | None = None
    ) -> PreparedMetric:
        """Bind the columns."""
        part, *of = (counts(known, name) for name in (self.reads[0], *self.of))
        return ByCandidate(part, sum(of[1:], start=of[0]))

    def score(self, statistics: Statistics) -> Floats:
        """The ratio."""
        sums = checked_statistics(statistics, self)
        empty = 0.0 if self.higher_is_better else sums[..., 0]
        return np.where(sums[..., 1] == 0, empty, ratio(sums[..., 0], sums[..., 1], empty=0.0))

    @property
    def as_ratio(self) -> Ratio:
        """The ratio, turned so that smaller is better: 0 is the best of errors; of hits, no best is known."""
        sign, best = (-1.0, -np.inf) if self.higher_is_better else (1.0, 0.0)
        return Ratio(np.array([sign, 0.0]), np.array([0.0, 1.0]), best=best)


def quality(known: Known, column: str) -> Floats:
    """The numbers of all candidates in a column."""
    if column not in known.qualities:
        raise InputError(
            f"column {column!r}: is told by candidate, not by text; tune, score or rerank lists that have the column"
        )
    return known.qualities[column]


def counts(known: Known, column: str) -> Floats:
    """The numbers of all candidates in a column, which must not be negative: a sum of them is divided by."""
    values = quality(known, column)
    if len(values) and values.min() < 0:
        raise InputError(f"column {column!r}: has {values.min():g}; expected counts or weights, 0 or more")
    return values


class _ByText(PreparedMetric):
    """The scores of a table, times their weights, and the weights."""

    def __init__(self, table: ScoreTable, ids: Sequence[int | str], weight: str, reference_lengths: Floats) -> None:
        self._table, self._ids, self._weight, self._lengths = table, ids, weight, reference_lengths

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        numbers = checked_sentences(sentences, outputs, len(self._ids))
        scores = np.array([self._score(*pair) for pair in zip(numbers, outputs, strict=True)], dtype=np.float64)
        weights = _weights(self._weight, self._lengths, np.asarray(numbers, dtype=np.int64), outputs)
        return np.stack([scores * weights, weights], axis=1)

    def _score(self, number: int, output: str) -> float:
        """The score by the id of the sentence or, where ids are names, also by its place."""
        name = self._ids[number]
        score = self._table.get((name, output))
        if score is None and isinstance(name, str):
            place = int(name) if name.isascii() and name.isdigit() else number
            score = self._table.get((place, output))
        if score is None:
            raise InputError(
                f"given: no score for the output {output[:80]!r} of sentence {name}; "
                "the table must hold every candidate, with exactly this text"
            )
        return score


class ByCandidate(PreparedMetric):
    """Two numbers of each candidate, a total and a weight, whatever its text; a text that is no candidate does not
    count. Without ``weights`` each is 1; ``weight`` (see WEIGHTS) multiplies both.
    """

    def __init__(
        self,
        totals: Floats,
        weights: Floats | None = None,
        *,
        weight: str = "sentence",
        reference_lengths: Floats | None = None,
    ) -> None:
        self._totals = totals
        self._weights = np.broadcast_to(1.0, len(totals)) if weights is None else weights
        self._weight = weight
        self._lengths = np.empty(0) if reference_lengths is None else reference_lengths
        whole = weight != "reference_tokens" and all(map(_are_whole, (self._totals, self._weights)))
        self._type = np.int64 if whole else np.float64  # sums of integers are exact and fast

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """Nothing: texts alone have no numbers."""
        return self.statistics_of(np.full(len(outputs), -1, dtype=np.int64), sentences, outputs)

    def statistics_of(self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The totals and weights of candidates, times the weights of their texts."""
        factors = np.where(candidates >= 0, _weights(self._weight, self._lengths, sentences, outputs), 0.0)
        numbers = (self._totals[candidates], self._weights[candidates])
        return np.stack([factors * each for each in numbers], axis=1).astype(self._type)


def _are_whole(values: Floats) -> bool:
    return bool(np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**31))


def _weights(weight: str, reference_lengths: Floats, sentences: Int64s, outputs: Sequence[str]) -> Floats:
    """The weight of each output in the mean (see WEIGHTS)."""
    if weight == "sentence":
        return np.ones(len(outputs))
    if weight == "tokens":
        return np.array([float(len(output.split())) for output in outputs])
    return reference_lengths[sentences]
