"""METEOR with exact, stem and synonym matches (Banerjee & Lavie 2005; Denkowski & Lavie 2011)."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError, unknown_name
from hulltune.metrics._common import (
    check_choice,
    check_flags,
    check_number,
    checked_references,
    checked_sentences,
    checked_statistics,
    ratio,
    signature,
)
from hulltune.metrics._meteor_alignment import align
from hulltune.metrics._meteor_words import EXACT, STEM, SYNONYM, Reference, TypePool, Words
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics

if TYPE_CHECKING:
    from hulltune.metrics.bounds import LinearBound, Ranges

_TOKENISERS: dict[str, Callable[[str], list[str]]] = {
    "space": str.split,
    "words": re.compile(r"\w+|[^\w\s]").findall,
}


def read_synonyms(path: str | Path) -> tuple[tuple[str, ...], ...]:
    """The groups of a synonym file: UTF-8, a group per line, words between whitespace, ``#`` for comments.

    A word may be in several groups; two words are synonyms if some group has both.
    """
    groups = []
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                words = line.split("#", 1)[0].split()
                if len(words) == 1:
                    raise InputError(f"{path}:{number}: the group has only {words[0]!r}; expected two or more")
                if words:
                    groups.append(tuple(words))
    except OSError as error:
        raise InputError(f"{path}: the synonym file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None
    return tuple(groups)


@dataclass(frozen=True, kw_only=True)
class Meteor(Metric):
    """(1 − γ (chunks / matches)^β) · P R / (α P + (1 − α) R) of summed matches; 0 without a match.

    P and R are the matches, each weighted by its module, over the words of outputs and references. The
    alignment has the most matches, then the heaviest modules, then the fewest chunks. With several references,
    the one with the best score of the sentence counts. The defaults of α, β, γ are those of 2005 (and of nltk).
    """

    name: ClassVar[str] = "meteor"
    higher_is_better = True
    columns = ("exact", "stem", "synonym", "chunks", "output_words", "reference_words")
    monotone = (1, 1, 1, -1, -1, -1)

    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5
    exact_weight: float = 1.0
    stem_weight: float = 1.0
    synonym_weight: float = 1.0
    stemmer: str | None = "english"
    synonyms: str | Path | None = None
    lowercase: bool = True
    tokenize: str = "space"
    variable_references: bool = False
    _groups: tuple[tuple[str, ...], ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        check_flags(self)
        check_number("meteor", "alpha", self.alpha, low=0.0, high=1.0)
        check_number("meteor", "beta", self.beta, low=0.0)
        check_number("meteor", "gamma", self.gamma, low=0.0, high=1.0)
        for option in ("exact_weight", "stem_weight", "synonym_weight"):
            check_number("meteor", option, getattr(self, option), low=0.0, high=1.0, open_low=True)
        check_choice("meteor", "tokenize", self.tokenize, _TOKENISERS)
        if self.stemmer is not None and self.stemmer not in (known := _snowball().algorithms()):
            raise unknown_name("stemmer of meteor", self.stemmer, known)
        if self.synonyms is not None:
            object.__setattr__(self, "_groups", read_synonyms(self.synonyms))

    @property
    def signature(self) -> str:
        """Name, parameters, modules with what they depend on, tokenisation and version."""
        options: dict[str, object] = {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}
        options |= {"exact": self.exact_weight, "stem": None, "synonym": None}
        if self.stemmer is not None:
            from importlib.metadata import version

            options["stem"] = f"{self.stem_weight}*{self.stemmer}-snowball-{version('snowballstemmer')}"
        if self.synonyms is not None:
            digest = hashlib.blake2b(repr(self._groups).encode(), digest_size=6).hexdigest()
            options["synonym"] = f"{self.synonym_weight}*{digest}"
        return signature("meteor", options | {"lowercase": self.lowercase, "tokenize": self.tokenize})

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Index the words of the references by form, stem and synonyms."""
        return _PreparedMeteor(self, checked_references("meteor", references, sources, ragged=self.variable_references))

    def score(self, statistics: Statistics) -> Floats:
        """The score between 0 and 1."""
        counts = checked_statistics(statistics, self)
        weighted = (
            self.exact_weight * counts[..., EXACT]
            + self.stem_weight * counts[..., STEM]
            + self.synonym_weight * counts[..., SYNONYM]
        )
        matches = counts[..., EXACT] + counts[..., STEM] + counts[..., SYNONYM]
        # P R / (α P + (1 − α) R) with P = w/o and R = w/r is w / (α r + (1 − α) o).
        mean = ratio(weighted, self.alpha * counts[..., 5] + (1.0 - self.alpha) * counts[..., 4], empty=0.0)
        fragmentation = ratio(counts[..., 3], matches, empty=0.0)
        return mean * (1.0 - self.gamma * fragmentation**self.beta)

    @property
    def least_loss(self) -> float:
        """Minus the greatest score, 1."""
        from hulltune.metrics.bounds import SAFETY

        return -(1.0 + SAFETY)

    def linear_bound(self, ranges: Ranges) -> LinearBound:
        """The loss at the best corner of the ranges, and −1 where that corner has no words to divide by.

        No score is above 1, because no more words can match than there are.
        """
        from hulltune.metrics.bounds import constant_bound, interval_bound

        corners = interval_bound(self, ranges).offsets
        words = self.alpha * ranges.low[:, 5] + (1.0 - self.alpha) * ranges.low[:, 4]
        return constant_bound(ranges, np.where(words > 0.0, corners, -1.0))


def _snowball() -> Any:
    """The package snowballstemmer, which has no types; imported only where a stemmer is asked for."""
    try:
        return importlib.import_module("snowballstemmer")
    except ImportError:
        raise InputError(
            "meteor: the stem module needs the package snowballstemmer; install it, or set stemmer=None"
        ) from None


class _PreparedMeteor(PreparedMetric):
    """METEOR bound to references.

    The kernel aligns exact and stem matches; synonyms, long references and hard cases go through ``align``.
    """

    def __init__(self, metric: Meteor, groups: list[tuple[str, ...]]) -> None:
        self._metric = metric
        stem = None if metric.stemmer is None else _snowball().stemmer(metric.stemmer).stemWord
        split = _TOKENISERS[metric.tokenize]
        self._words = Words(split, lowercase=metric.lowercase, stem=stem, groups=metric._groups)
        weights = (metric.exact_weight, metric.stem_weight, metric.synonym_weight)
        self._references = [[Reference(text, self._words, weights) for text in group] for group in groups]
        self._pool = TypePool()

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        numbers = checked_sentences(sentences, outputs, len(self._references))
        if not numbers:
            return np.zeros((0, 6), dtype=np.int64)
        pairs = [
            (words, reference)
            for number, words in zip(numbers, map(self._words.split, outputs), strict=True)
            for reference in self._references[number]
        ]
        rows = self._rows(pairs)
        if len(rows) == len(outputs):
            return rows
        sizes = np.array([len(self._references[number]) for number in numbers])
        best: Statistics = rows[_first_largest(self._metric.score(rows), sizes)]
        return best

    def _rows(self, pairs: list[tuple[list[str], Reference]]) -> Int64s:
        """The statistics of each output against one reference."""
        rows = np.zeros((len(pairs), 6), dtype=np.int64)
        rows[:, 4] = [len(words) for words, _ in pairs]
        rows[:, 5] = [reference.length for _, reference in pairs]
        rows[:, 3] = -1
        metric = self._metric
        if metric.synonyms is None and metric.stem_weight <= metric.exact_weight:
            self._fill_in_by_kernel(pairs, rows)
        for k in np.flatnonzero(rows[:, 3] < 0).tolist():
            rows[k, :4] = self._row_by_search(*pairs[k])
        return rows

    def _fill_in_by_kernel(self, pairs: list[tuple[list[str], Reference]], rows: Int64s) -> None:
        from hulltune.kernels.metrics.meteor import BUDGET, LONGEST, match_rows

        short = np.flatnonzero(rows[:, 5] <= LONGEST)
        types: list[int] = []
        for k in short.tolist():
            words, reference = pairs[k]
            known = reference.types
            for word in words:
                if word not in known:
                    reference.add_type(word, self._pool)
            types += [known[word] for word in words]
        offsets = np.concatenate([[0], np.cumsum(rows[short, 4])])
        alike = self._metric.stem_weight == self._metric.exact_weight
        numbers = np.array(types, dtype=np.int64)
        matched = match_rows(numbers, offsets, self._pool.classes, self._pool.forms, alike, BUDGET)
        rows[short, 0], rows[short, 1], rows[short, 3] = matched[:, 0], matched[:, 1], matched[:, 2]

    def _row_by_search(self, words: list[str], reference: Reference) -> list[int]:
        """Exact, stem and synonym matches and chunks."""
        alignment = align([reference.candidates(word) for word in words])
        row = [0, 0, 0, alignment.chunks]
        for _, _, module in alignment.matches:
            row[module] += 1
        if self._metric.synonyms is None and self._metric.stem_weight == self._metric.exact_weight:
            exact = reference.most_exact(words)  # the kernel counts exact matches this way, too
            row[EXACT], row[STEM] = exact, row[EXACT] + row[STEM] - exact
        return row


def _first_largest(scores: Floats, sizes: Int64s) -> Int64s:
    """The index of the first largest score in each group of consecutive scores; group k has sizes[k] scores."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    is_largest = scores == np.repeat(np.maximum.reduceat(scores, starts), sizes)
    places = np.where(is_largest, np.arange(len(scores)), len(scores))
    first: Int64s = np.minimum.reduceat(places, starts)
    return first
