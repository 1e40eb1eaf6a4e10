"""Translation edit rate (Snover et al., 2006), equal to sacrebleu's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError
from hulltune.metrics import _text
from hulltune.metrics.base import References, Statistics
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.checks import VERSION, check_flags, signature


@dataclass(frozen=True, kw_only=True)
class Ter(_text.TextMetric):
    """TER: edits and block shifts, divided by the mean length of the references; options are sacrebleu's.

    The statistics are the edits to the nearest reference and the mean number of words of the references, as
    float64: a sum of means is exact where the number of references is 1, 2 or 4. The score is 0 for no edits,
    100 for as many edits as words; without any reference words it is 0 or 100.
    """

    name: ClassVar[str] = "ter"
    version = VERSION
    higher_is_better = False
    columns = ("edits", "reference_length")

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False
    variable_references: bool = False

    def __post_init__(self) -> None:
        check_flags(self)

    @property
    def signature(self) -> str:
        """Name, parameters, tokenisation and version, in sacrebleu's spelling."""
        return signature(
            self.name,
            {
                "case": "mixed" if self.case_sensitive else "lc",
                "tok": "tercom",
                "norm": self.normalized,
                "punct": not self.no_punct,
                "asian": self.asian_support,
            },
        )

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedTer:
        """Tokenise the references."""
        return PreparedTer(self, references)

    def _scores(self, rows: Statistics) -> Floats:
        """100 * edits / reference length of each row."""
        from hulltune.kernels.metrics.scores import ter_scores

        return ter_scores(rows)

    @property
    def as_ratio(self) -> Ratio:
        """Edits divided by reference length."""
        return Ratio(np.array([1.0, 0.0]), np.array([0.0, 1.0]), scale=100.0)

    def tokenised(self, lines: Sequence[str]) -> Sequence[str]:
        """The lines, rewritten so that splitting them at white space gives tercom's tokens."""
        if not (self.normalized or self.no_punct):
            return lines if self.case_sensitive else list(map(str.lower, lines))
        try:
            from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer
        except ImportError:
            raise InputError("ter: normalized and no_punct need sacrebleu: pip install sacrebleu") from None
        tokenize = TercomTokenizer(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )
        return [tokenize(line.rstrip()) for line in lines]


class PreparedTer(_text.PreparedText):
    """TER bound to references."""

    def __init__(self, metric: Ter, references: References) -> None:
        from hulltune.kernels.metrics.tokens import SPACES

        super().__init__(metric, references)
        self._metric = metric
        # Twice, because sacrebleu does so: normalising "..5" again cuts off the last point too.
        self._vocabulary = _text.ReferenceVocabulary(metric.tokenised(metric.tokenised(self._lines)), SPACES)

    def _statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Floats:
        from hulltune.kernels.metrics.ter import ter_statistics

        tokenised = self._vocabulary.encode(self._metric.tokenised(outputs))
        return ter_statistics(tokenised, sentences, self._vocabulary.references, self._offsets)
