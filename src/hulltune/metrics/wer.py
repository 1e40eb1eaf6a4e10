"""Word, character and match error rate (WER, CER, MER), equal to jiwer's."""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.errors import InputError
from hulltune.kernels.metrics.packed import Tokens
from hulltune.metrics import _text
from hulltune.metrics.base import References, Statistics
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.checks import VERSION, check_choice, check_flags, signature

NORMALIZATIONS = ("none", "lower", "lower-nopunct")
"""The normalisations of references and outputs before they are compared.

``none``: nothing. ``lower``: str.lower(). ``lower-nopunct``: str.lower(), then every character of a Unicode
category P* (punctuation) is deleted, without leaving a blank: "it's" becomes "its", "e-mail" becomes "email".
"""


@dataclass(frozen=True, kw_only=True)
class EditRate(_text.TextMetric):
    """The base of WER, CER and MER: counts of hits, substitutions, deletions and insertions of an alignment.

    Among alignments with the fewest edits, the one that rapidfuzz (and so jiwer) picks counts. Among several
    references, the one with the fewest edits counts, the first of equals. An empty reference is allowed: all of
    the output is then an insertion. Rates are fractions, as in jiwer, and may exceed 1. Words are jiwer's: split
    at blanks and at runs of white space; a single tab or line break inside a line belongs to its word.
    """

    higher_is_better = False
    columns = ("hits", "substitutions", "deletions", "insertions")

    normalization: str = "none"
    variable_references: bool = False

    unit: ClassVar[str] = "word"
    insertions_count: ClassVar[bool] = False
    """Whether insertions count into the length that edits are divided by."""

    def __post_init__(self) -> None:
        check_flags(self)
        check_choice(self.name, "normalization", self.normalization, NORMALIZATIONS)

    @property
    def signature(self) -> str:
        """Name, normalisation, unit and version."""
        return signature(self.name, {"norm": self.normalization, "unit": self.unit})

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedEditRate:
        """Normalise and split the references."""
        return PreparedEditRate(self, references)

    def _scores(self, rows: Statistics) -> Floats:
        """Edits divided by length for each row; where the length is 0, the number of edits, as in jiwer."""
        from hulltune.kernels.metrics.scores import error_rates

        return error_rates(rows, self.insertions_count)

    @property
    def as_ratio(self) -> Ratio:
        """Edits divided by length."""
        edits = np.array([0.0, 1.0, 1.0, 1.0])
        return Ratio(edits, np.array([1.0, 1.0, 1.0, 1.0 if self.insertions_count else 0.0]))

    def normalised(self, lines: Sequence[str]) -> Sequence[str]:
        """The lines after the chosen normalisation."""
        if self.normalization == "none":
            return lines
        if self.normalization == "lower":
            return list(map(str.lower, lines))
        table = _punctuation()
        return [line.lower().translate(table) for line in lines]


@dataclass(frozen=True, kw_only=True)
class Wer(EditRate):
    """Word error rate: (substitutions + deletions + insertions) / words of the reference."""

    name: ClassVar[str] = "wer"
    version = VERSION


@dataclass(frozen=True, kw_only=True)
class Mer(EditRate):
    """Match error rate: edits / (hits + edits), never above 1 (Morris, Maier and Green, 2004)."""

    name: ClassVar[str] = "mer"
    version = VERSION
    insertions_count: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Cer(EditRate):
    """Character error rate: WER over characters, with inner blanks, without outer white space."""

    name: ClassVar[str] = "cer"
    version = VERSION
    unit: ClassVar[str] = "character"


class PreparedEditRate(_text.PreparedText):
    """WER, CER or MER bound to references."""

    def __init__(self, metric: EditRate, references: References) -> None:
        from hulltune.kernels.metrics.tokens import JIWER_WORDS

        super().__init__(metric, references)
        self.metric = metric
        lines = metric.normalised(self._lines)
        by_character = metric.unit == "character"
        self._symbols = _Characters(lines) if by_character else _text.ReferenceVocabulary(lines, JIWER_WORDS)

    def encoded(self, lines: Sequence[str]) -> Tokens:
        """The normalised lines as ids of words (or characters) of the references; −1 for one that no reference has."""
        return self._symbols.encode(self.metric.normalised(lines))

    def references_of(self, sentence: int) -> list[Int32s]:
        """The references of a sentence, each as ids of ``encoded``."""
        ids, offsets = self._symbols.references
        return [ids[offsets[k] : offsets[k + 1]] for k in range(self._offsets[sentence], self._offsets[sentence + 1])]

    def _statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Int64s:
        from hulltune.kernels.metrics.edits import edit_statistics

        encoded = self.encoded(outputs)
        rows, too_long = edit_statistics(
            encoded, sentences, self._symbols.references, self._offsets, self._symbols.size
        )
        if too_long.any():
            self._align_long(np.flatnonzero(too_long), sentences, encoded, rows)
        return rows

    def _align_long(
        self,
        which: Int64s,
        sentences: Int64s,
        encoded: Tokens,
        rows: Int64s,
    ) -> None:
        """Fill the rows of outputs that are too long for the kernel, with rapidfuzz."""
        references = _Slices(self._symbols.references)
        outputs = _Slices(encoded)
        for k in which.tolist():
            first, last = self._offsets[sentences[k] : sentences[k] + 2]
            # min() keeps the first of equals, as the kernel does.
            rows[k] = min(
                (_aligned(references[r], outputs[k]) for r in range(first, last)),
                key=lambda row: sum(row[1:]),
            )


class _Characters:
    """Characters as ids, −1 for a character that no reference has."""

    def __init__(self, references: Sequence[str]) -> None:
        lines = _text.pack(list(map(str.strip, references)))
        known, ids = np.unique(lines.ids, return_inverse=True)
        self.size = len(known)
        # One entry per code point, and a last one for all code points beyond.
        self._id_of = np.full(int(known.max(initial=-1)) + 2, -1, np.int32)
        self._id_of[known] = np.arange(len(known))
        self.references = Tokens(ids.astype(np.int32), lines.offsets)

    def encode(self, lines: Sequence[str]) -> Tokens:
        packed = _text.pack(list(map(str.strip, lines)))
        return Tokens(self._id_of[np.minimum(packed.ids, len(self._id_of) - 1)], packed.offsets)


class _Slices:
    """Lines of ids as strings of one character per id, which rapidfuzz compares fastest."""

    def __init__(self, lines: Tokens) -> None:
        self._offsets = lines.offsets
        used = lines.ids[: lines.offsets[-1]]
        if int(used.max(initial=0)) >= sys.maxunicode:
            raise InputError(f"more than {sys.maxunicode} distinct words in the references; use fewer sentences")
        codes = (used + 1).astype("<u4")
        self._text = codes.tobytes().decode("utf-32-le", "surrogatepass")

    def __getitem__(self, line: int) -> str:
        return self._text[self._offsets[line] : self._offsets[line + 1]]


def _aligned(reference: str, output: str) -> tuple[int, int, int, int]:
    """(hits, substitutions, deletions, insertions) by rapidfuzz."""
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise InputError("wer, cer and mer of long lines need rapidfuzz: pip install rapidfuzz") from None
    tags = Counter(operation[0] for operation in Levenshtein.editops(reference, output).as_list())
    substitutions, deletions = tags["replace"], tags["delete"]
    return len(reference) - substitutions - deletions, substitutions, deletions, tags["insert"]


@cache
def _punctuation() -> dict[int, None]:
    """The table for str.translate that deletes punctuation."""
    every = range(sys.maxunicode + 1)
    return dict.fromkeys(code for code in every if unicodedata.category(chr(code)).startswith("P"))
