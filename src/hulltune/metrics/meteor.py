"""METEOR with exact, stem and synonym matches (Banerjee & Lavie 2005; Denkowski & Lavie 2011)."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError, unknown_name
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.checks import (
    VERSION,
    check_choice,
    check_flags,
    check_number,
    checked_references,
    checked_sentences,
    checked_statistics,
    ratio,
    signature,
)
from hulltune.metrics.meteor_alignment import Options, align

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
    for number, line in numbered_lines(path, Problems()):
        words = line.split("#", 1)[0].split()
        if len(words) == 1:
            raise InputError(f"{path}:{number}: the group has only {words[0]!r}; expected two or more")
        if words:
            groups.append(tuple(words))
    return tuple(groups)


@dataclass(frozen=True, kw_only=True)
class Meteor(Metric):
    """(1 − γ (chunks / matches)^β) · P R / (α P + (1 − α) R) of summed matches; 0 without a match.

    P and R are the matches, each weighted by its module, over the words of outputs and references. Words are aligned by
    their forms, those that are left by their stems, and then by synonyms, each time the longest runs first
    (meteor_alignment). With several references, the one with the best score of the sentence counts. The defaults of
    α, β, γ are those of 2005 (and of nltk).
    """

    name: ClassVar[str] = "meteor"
    version = VERSION
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
        exact, stem, synonym, chunks, output_words, reference_words = np.moveaxis(counts, -1, 0)
        weighted = self.exact_weight * exact + self.stem_weight * stem + self.synonym_weight * synonym
        # P R / (α P + (1 − α) R) with P = w/o and R = w/r is w / (α r + (1 − α) o).
        mean = ratio(weighted, self.alpha * reference_words + (1.0 - self.alpha) * output_words, empty=0.0)
        fragmentation = ratio(chunks, exact + stem + synonym, empty=0.0)
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
    """METEOR bound to references."""

    def __init__(self, metric: Meteor, groups: list[tuple[str, ...]]) -> None:
        self._metric = metric
        self._words = _Words(metric)
        self._references = [[_Reference(text, self._words) for text in group] for group in groups]

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        numbers = checked_sentences(sentences, outputs, len(self._references))
        rows = [
            reference.statistics(words)
            for number, words in zip(numbers, map(self._words.split, outputs), strict=True)
            for reference in self._references[number]
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, len(self._metric.columns))
        if len(table) == len(outputs):
            return table
        sizes = np.array([len(self._references[number]) for number in numbers])
        best: Statistics = table[_first_largest(self._metric.score(table), sizes)]
        return best


class _Words:
    """Splits texts into words, and knows what a word has in common with others. Stems are remembered."""

    def __init__(self, metric: Meteor) -> None:
        self._lowercase = metric.lowercase
        self._split = _TOKENISERS[metric.tokenize]
        stemmer = None if metric.stemmer is None else _snowball().stemmer(metric.stemmer)
        self._stem: Callable[[str], str] | None = None if stemmer is None else cache(stemmer.stemWord)
        self._groups: dict[str, list[int]] = {}
        for number, group in enumerate(metric._groups):
            for word in group:
                self._groups.setdefault(word.lower() if metric.lowercase else word, []).append(number)

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        return self._split(text.lower() if self._lowercase else text)

    def keys(self, word: str) -> tuple[Sequence[object], ...]:
        """The form, the stem and the synonym groups of a word: two words match in a stage if they share a key of it."""
        return (word,), () if self._stem is None else (self._stem(word),), self._groups.get(word, ())


class _Reference:
    """The positions of the words of a reference; what another word may match there is looked up once."""

    def __init__(self, text: str, words: _Words) -> None:
        self._words = words
        tokens = words.split(text)
        self._length = len(tokens)
        self._by_key: tuple[dict[object, list[int]], ...] = ({}, {}, {})
        for position, token in enumerate(tokens):
            for by_key, keys in zip(self._by_key, words.keys(token), strict=True):
                for key in keys:
                    by_key.setdefault(key, []).append(position)
        self._options: dict[str, Options] = {}

    def statistics(self, words: Sequence[str]) -> list[int]:
        """The columns of the metric for an output."""
        matches, chunks = align([self._options_of(word) for word in words], len(self._by_key))
        return [*matches, chunks, len(words), self._length]

    def _options_of(self, word: str) -> Options:
        options = self._options.get(word)
        if options is None:
            places = [
                {place for key in keys for place in by_key.get(key, ())}
                for by_key, keys in zip(self._by_key, self._words.keys(word), strict=True)
            ]
            options = self._options[word] = tuple(map(sorted, places))
        return options


def _first_largest(scores: Floats, sizes: Int64s) -> Int64s:
    """The index of the first largest score in each group of consecutive scores; group k has sizes[k] scores."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    is_largest = scores == np.repeat(np.maximum.reduceat(scores, starts), sizes)
    places = np.where(is_largest, np.arange(len(scores)), len(scores))
    first: Int64s = np.minimum.reduceat(places, starts)
    return first
