"""chrF and chrF++ (Popović 2015, 2017), equal to sacrebleu's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.features import gather_rows
from hulltune.kernels.metrics.packed import Tokens
from hulltune.metrics import _text
from hulltune.metrics.base import References, Statistics
from hulltune.metrics.bounds import SAFETY, LinearBound, Ranges, Ratio
from hulltune.metrics.checks import VERSION, check_flags, check_number, signature

if TYPE_CHECKING:
    from hulltune.kernels.metrics.ngrams import Tries


@dataclass(frozen=True, kw_only=True)
class ChrF(_text.TextMetric):
    """chrF: the F-score of character n-grams, and of word n-grams if ``word_order`` is not 0 (chrF++ has 2).

    Option names and meanings are sacrebleu's. The statistics are, for each order, the n-grams of the output,
    those of the reference and the matches. With several references, the one with the best sentence score counts,
    the first of equals. The score is 0 to 100.
    """

    name: ClassVar[str] = "chrf"
    version = VERSION
    higher_is_better = True

    char_order: int = 6
    word_order: int = 0
    beta: float = 2
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False
    variable_references: bool = False
    columns: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_flags(self)
        _text.check_order("char_order", self.char_order, least=1, most=100)
        _text.check_order("word_order", self.word_order, least=0, most=100)
        check_number(self.name, "beta", self.beta, low=0.0, open_low=True)
        orders = [f"char_{n + 1}" for n in range(self.char_order)]
        orders += [f"word_{n + 1}" for n in range(self.word_order)]
        columns = tuple(f"{kind}_{order}" for order in orders for kind in ("output", "reference", "matches"))
        object.__setattr__(self, "columns", columns)

    @property
    def signature(self) -> str:
        """Name, parameters and version, in sacrebleu's spelling."""
        return signature(
            self.name,
            {
                "beta": _text.spelled(self.beta),
                "case": "lc" if self.lowercase else "mixed",
                "eff": not self.eps_smoothing,
                "nc": self.char_order,
                "nw": self.word_order,
                "space": self.whitespace,
            },
        )

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedChrF:
        """Pack the references, O(characters); the n-grams of one are gathered when its sentence is first asked for."""
        return PreparedChrF(self, references)

    def _scores(self, rows: Statistics) -> Floats:
        """ChrF of each row, 0 to 100."""
        from hulltune.kernels.metrics.scores import chrf_eps_scores, chrf_scores

        compute = chrf_eps_scores if self.eps_smoothing else chrf_scores
        return compute(rows, self.char_order + self.word_order, float(self.beta))

    @property
    def least_loss(self) -> float:
        """Minus the greatest chrF, 100."""
        return -100.0 * (1.0 + SAFETY)

    def linear_bound(self, ranges: Ranges) -> LinearBound:
        """A lower bound of minus chrF.

        F is concave in precision and recall, so its tangent plane is above it; precision and recall are means of
        ratios. With ε-smoothing, chrF itself is a mean of ratios.
        """
        orders, width = self.char_order + self.word_order, len(self.columns)
        known = np.all(ranges.low.reshape(len(ranges), orders, 3)[..., :2] > 0.0, axis=(1, 2))
        weight = float(self.beta) ** 2
        if self.eps_smoothing:
            in_precision = in_recall = np.zeros(0)
        else:
            in_precision, in_recall = self._tangent(ranges, weight)
        slopes, offsets = np.zeros((len(ranges), width)), np.zeros(len(ranges))
        for n in range(orders):
            matches, output, reference = (np.eye(width)[3 * n + k] for k in (2, 0, 1))
            if self.eps_smoothing:
                parts = [(np.ones(len(ranges)), Ratio(-matches, output + weight * reference, scale=1.0 + weight))]
            else:
                parts = [(in_precision, Ratio(-matches, output)), (in_recall, Ratio(-matches, reference))]
            for factor, part in parts:
                bound = part.linear_bound(ranges)
                slopes += 100.0 / orders * factor[:, None] * bound.slopes
                offsets += 100.0 / orders * factor * bound.offsets
        slopes[~known] = 0.0
        return LinearBound(slopes, np.where(known, offsets, -100.0 * (1.0 + SAFETY)))

    def _tangent(self, ranges: Ranges, weight: float) -> tuple[Floats, Floats]:
        """The derivatives of F by precision and by recall at ``ranges.at``: the tangent plane, which goes through 0."""
        counts = ranges.at.reshape(len(ranges), -1, 3)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = (np.nan_to_num(counts[..., 2] / counts[..., k]).mean(axis=1) for k in (0, 1))
        precision, recall = np.maximum(precision, 1e-9), np.maximum(recall, 1e-9)
        below = (weight * precision + recall) ** 2
        return (1.0 + weight) * recall**2 / below, (1.0 + weight) * weight * precision**2 / below


@dataclass(frozen=True, kw_only=True)
class ChrFPlusPlus(ChrF):
    """chrF++: chrF with word unigrams and bigrams."""

    name: ClassVar[str] = "chrf++"
    version = VERSION
    word_order: int = 2


class PreparedChrF(_text.PreparedText):
    """chrF bound to references: an output costs O(references * order * characters)."""

    def __init__(self, metric: ChrF, references: References) -> None:
        from hulltune.kernels.metrics import tokens
        from hulltune.kernels.metrics.ngrams import Tries

        super().__init__(metric, references)
        self._metric = metric
        lines = self._cased(self._lines)
        each = np.arange(len(lines) + 1, dtype=np.int64)
        characters = self._characters(lines)
        self._character_lengths = characters.lengths
        self._character_tries: Tries = Tries(characters, each, metric.char_order)
        self._vocabulary = _text.ReferenceVocabulary(lines if metric.word_order else [], tokens.CHRF_WORDS)
        words = self._vocabulary.references
        self._word_lengths = words.lengths
        self._word_tries: Tries = Tries(words, each if metric.word_order else each[:1], metric.word_order)

    def _statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Int64s:
        from hulltune.kernels.metrics.ngrams import Grams, chrf_statistics

        metric = self._metric
        outputs = self._cased(outputs)
        characters = self._characters(outputs)
        words = self._vocabulary.encode(outputs if metric.word_order else [])
        groups = gather_rows(self._offsets, np.unique(sentences))[1]
        of_words = self._word_tries.of(groups if metric.word_order else groups[:0])
        return chrf_statistics(
            sentences,
            self._offsets,
            Grams(characters, self._character_tries.of(groups), self._character_lengths, metric.char_order),
            Grams(words, of_words, self._word_lengths, metric.word_order),
            float(metric.beta),
            metric.eps_smoothing,
        )

    def _cased(self, lines: Sequence[str]) -> Sequence[str]:
        return list(map(str.lower, lines)) if self._metric.lowercase else lines

    def _characters(self, lines: Sequence[str]) -> Tokens:
        from hulltune.kernels.metrics.tokens import characters

        return Tokens(*characters(*_text.pack(lines), self._metric.whitespace))
