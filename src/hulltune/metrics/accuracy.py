"""Accuracy, or exact match: the share of outputs that are equal to one of their references."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.metrics.base import ByOutput, Known, Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.checks import (
    VERSION,
    check_choice,
    checked_references,
    checked_statistics,
    ratio,
    signature,
)
from hulltune.metrics.given import ByCandidate, quality

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LATEX_FRACTION = re.compile(r"([+-]?)\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\{(.*)\}")
_LONGEST_NUMBER = 400


def _whitespace(text: str) -> str:
    return " ".join(text.split())


def _numeric(text: str) -> str:
    """A number in lowest terms ("0.50", "1/2" and "\\frac{1}{2}" are one answer); any other text as it is."""
    bare = text.strip().removesuffix(".").strip("$ ")
    if boxed := _BOXED.fullmatch(bare):
        bare = boxed[1].strip("$ ")
    percent = bare.endswith(("%", r"\%"))
    bare = bare.removesuffix("%").removesuffix("\\").strip("$ ").replace("\N{MINUS SIGN}", "-")
    bare = _LATEX_FRACTION.sub(r"\1\2/\3", bare)
    value = _fraction(bare)
    if value is None:
        return text
    return f"{value}%" if percent else str(value)


def _fraction(text: str) -> Fraction | None:
    """The exact value of ``text`` if it is a decimal or a quotient of two; commas may mark thousands."""
    if len(text) > _LONGEST_NUMBER:
        return None
    parts = text.split("/")
    values = []
    for part in parts:
        digits = part.strip()
        if "," in digits and re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", digits):
            digits = digits.replace(",", "")
        if not _DECIMAL.fullmatch(digits):
            return None
        values.append(Fraction(digits))
    if len(values) == 1:
        return values[0]
    return values[0] / values[1] if len(values) == 2 and values[1] else None


STEPS: dict[str, Callable[[str], str]] = {
    "whitespace": _whitespace,
    "lower": str.lower,
    "punctuation": lambda text: text.translate(_PUNCTUATION),
    "articles": lambda text: _ARTICLES.sub(" ", text),
    "numeric": _numeric,
}
"""The named steps of a normalisation."""

PRESETS: dict[str, tuple[str, ...]] = {
    "qa": ("lower", "punctuation", "articles", "whitespace"),
    "math": ("whitespace", "numeric"),
}
"""Names for common sequences: ``qa`` is the order of the SQuAD evaluation (Rajpurkar et al. 2016)."""


@dataclass(frozen=True, kw_only=True)
class Accuracy(Metric):
    """The share of outputs that equal any of their references after ``normalize``.

    ``normalize`` names steps or presets, which are applied in order to outputs and references; none by
    default. Sentences may have different numbers of references (accepted answers). With a ``column`` of the candidates
    (1 or true for a right one, 0 or false for a wrong one) there is nothing to compare, and no reference is needed.
    """

    name: ClassVar[str] = "accuracy"
    version = VERSION
    higher_is_better = True
    columns = ("correct", "count")

    normalize: tuple[str, ...] | str = ()
    column: str | None = None

    def __post_init__(self) -> None:
        if self.column is not None and self.normalize:
            raise InputError("accuracy: normalize is for texts, and column says what is right; give one of them")
        names = self.normalize.split("+") if isinstance(self.normalize, str) else list(self.normalize)
        steps: list[str] = []
        for name in filter(None, names):
            check_choice("accuracy", "normalize", name, [*STEPS, *PRESETS])
            steps.extend(PRESETS.get(name, (name,)))
        object.__setattr__(self, "normalize", tuple(steps))

    @property
    def needs_references(self) -> bool:  # type: ignore[override]  # follows from the options
        """Whether outputs are compared with references."""
        return self.column is None

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]  # follows from the options
        """The column that says what is right."""
        return () if self.column is None else (self.column,)

    @property
    def signature(self) -> str:
        """Name, normalisation or column, and version."""
        if self.column is not None:
            return signature("accuracy", {"column": self.column})
        return signature("accuracy", {"normalize": "+".join(self.normalize) or None})

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Normalise the accepted answers."""
        if self.column is not None:
            return self.prepare_with(Known(range(len(references))), references, sources)
        groups = checked_references("accuracy", references, sources, ragged=True)
        answers = [set(map(self._normalised, group)) for group in groups]
        return ByOutput(
            lambda sentence, output: (int(self._normalised(output) in answers[sentence]), 1),
            sentences=len(answers),
            columns=2,
        )

    def _normalised(self, text: str) -> str:
        for step in self.normalize:
            text = STEPS[step](text)
        return text

    def prepare_with(
        self, known: Known, references: References, sources: Sequence[str] | None = None
    ) -> PreparedMetric:
        """Bind the accepted answers, or the column that says what is right."""
        if self.column is None:
            return self.prepare(references, sources)
        values = quality(known, self.column)
        if not np.all((values == 0) | (values == 1)):
            other = float(values[(values != 0) & (values != 1)][0])
            raise InputError(
                f"accuracy: column {self.column!r} has {other:g}; expected 0 or 1 (mean:column={self.column} averages "
                "any numbers)"
            )
        return ByCandidate(values)

    def score(self, statistics: Statistics) -> Floats:
        """The share of correct outputs, between 0 and 1; 0 if there are no outputs."""
        counts = checked_statistics(statistics, self)
        return ratio(counts[..., 0], counts[..., 1], empty=0.0)

    @property
    def as_ratio(self) -> Ratio:
        """Minus the share of correct outputs."""
        return Ratio(np.array([-1.0, 0.0]), np.array([0.0, 1.0]), best=-1.0)
