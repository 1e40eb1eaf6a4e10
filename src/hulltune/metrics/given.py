"""The mean of a score that is known beforehand for every candidate: COMET, a reward, a human rating."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from hulltune.arrays import Int64s
from hulltune.errors import InputError
from hulltune.metrics._common import (
    check_choice,
    check_flags,
    checked_references,
    checked_sentences,
    parsed_json,
    signature,
)
from hulltune.metrics.base import PreparedMetric, References, Statistics
from hulltune.metrics.mean import MeanMetric
from hulltune.wording import counted

WEIGHTS = ("sentence", "tokens", "reference_tokens")
"""The weight of an output in the mean: 1, its number of words, or the number of words of its first reference."""


class ScoreTable(Mapping[tuple[int, str], float]):
    """A score for each (sentence, output text): immutable, every score finite, no pair with two scores."""

    def __init__(self, sentences: Sequence[int], outputs: Sequence[str], scores: Sequence[float]) -> None:
        if not len(sentences) == len(outputs) == len(scores):
            raise InputError(
                f"{counted(len(sentences), 'sentence')}, {counted(len(outputs), 'output')} and "
                f"{counted(len(scores), 'score')}; expected as many of each"
            )
        self._scores: dict[tuple[int, str], float] = {}
        for position, entry in enumerate(zip(sentences, outputs, scores, strict=True)):
            self._add(f"entry {position}", *entry)

    def _add(self, where: str, sentence: int, output: str, score: float) -> None:
        value = float(score)
        if not math.isfinite(value):
            raise InputError(f"{where}: the score is {value}; expected a finite number")
        if self._scores.setdefault((int(sentence), output), value) != value:
            known = self._scores[int(sentence), output]
            raise InputError(f"{where}: sentence {sentence} has the output {output!r} twice, with {known} and {value}")

    @classmethod
    def read(cls, path: str | Path) -> ScoreTable:
        """Read a file of JSON lines with sentence, output and score, or of ``.tsv`` lines: sentence, score, output."""
        parse = _parse_tsv if Path(path).suffix == ".tsv" else _parse_json
        table = cls([], [], [])
        try:
            with open(path, encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    if line.strip():
                        table._add(f"{path}:{number}", *parse(f"{path}:{number}", line.rstrip("\n")))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None
        return table

    def __getitem__(self, key: tuple[int, str]) -> float:
        return self._scores[key]

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        return f"ScoreTable({counted(len(self), 'score')})"

    def digest(self) -> str:
        """A short name of the content, the same in every run; O(n log n)."""
        content = hashlib.blake2b(digest_size=6)
        for (sentence, output), score in sorted(self._scores.items()):
            content.update(json.dumps([sentence, output, score]).encode())
        return content.hexdigest()


def _parse_json(where: str, line: str) -> tuple[int, str, float]:
    entry = parsed_json(where, line)
    if isinstance(entry, dict):
        sentence, output, score = (entry.get(key) for key in ("sentence", "output", "score"))
        numbers = not isinstance(sentence, bool) and not isinstance(score, bool)
        if numbers and isinstance(sentence, int) and isinstance(output, str) and isinstance(score, (int, float)):
            return sentence, output, float(score)
    raise InputError(f'{where}: expected {{"sentence": number, "output": text, "score": number}}')


def _parse_tsv(where: str, line: str) -> tuple[int, str, float]:
    fields = line.split("\t", 2)
    try:
        return int(fields[0]), fields[2], float(fields[1])
    except (ValueError, IndexError):
        raise InputError(f"{where}: expected sentence, score and output between tabs, got {line[:80]!r}") from None


@dataclass(frozen=True, kw_only=True)
class Given(MeanMetric):
    """The weighted mean of given scores: Σ weight · score / Σ weight; 0 where all weights are 0.

    ``scores`` is a ScoreTable or the path of its file. An output without a score is an error that names it.
    """

    name: ClassVar[str] = "given"
    # The scores belong to sentence numbers: two sentences with the same text may differ.
    storable: ClassVar[bool] = False

    scores: ScoreTable | str | Path
    weight: str = "sentence"
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        check_flags(self)
        check_choice("given", "weight", self.weight, WEIGHTS)
        if isinstance(self.scores, (str, Path)):
            object.__setattr__(self, "scores", ScoreTable.read(self.scores))
        elif not isinstance(self.scores, ScoreTable):
            raise InputError(f"given: scores is a {type(self.scores).__name__}; expected a file or a ScoreTable")

    @property
    def table(self) -> ScoreTable:
        """The scores."""
        assert isinstance(self.scores, ScoreTable)
        return self.scores

    @property
    def signature(self) -> str:
        """Name, a digest of the scores, weighting, direction and version."""
        return signature(
            "given",
            {
                "scores": self.table.digest(),
                "weight": self.weight,
                "higher_is_better": self.higher_is_better,
            },
        )

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Bind the references, which are needed only to weigh by their words."""
        least = 1 if self.weight == "reference_tokens" else 0
        groups = checked_references("given", references, sources, ragged=True, at_least=least)
        return _PreparedGiven(self, groups)


class _PreparedGiven(PreparedMetric):
    def __init__(self, metric: Given, groups: list[tuple[str, ...]]) -> None:
        self._table = metric.table
        self._weight = metric.weight
        self._reference_lengths = [float(len(group[0].split())) if group else 0.0 for group in groups]

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        numbers = checked_sentences(sentences, outputs, len(self._reference_lengths))
        rows = np.empty((len(outputs), 2))
        for row, (number, output) in enumerate(zip(numbers, outputs, strict=True)):
            score = self._table.get((number, output))
            if score is None:
                raise InputError(
                    f"given: no score for the output {output[:80]!r} of sentence {number}; "
                    "the table must hold every candidate, with exactly this text"
                )
            weight = self._weigh(number, output)
            rows[row] = score * weight, weight
        return rows

    def _weigh(self, number: int, output: str) -> float:
        if self._weight == "sentence":
            return 1.0
        return float(len(output.split())) if self._weight == "tokens" else self._reference_lengths[number]
