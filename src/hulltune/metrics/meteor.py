"""METEOR with exact, stem and synonym matches (Banerjee & Lavie 2005; Denkowski & Lavie 2011)."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.features import ranges
from hulltune.errors import InputError, unknown_name
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.kernels.metrics.packed import KeyedLines
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.checks import (
    VERSION,
    check_choice,
    check_flags,
    check_number,
    checked_numbers,
    checked_references,
    checked_statistics,
    ratio,
    signature,
)

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
    their forms, those that are left by their stems, and then by synonyms, each time the longest runs first (see
    kernels/metrics/meteor.py). With several references, the one with the best score of the sentence counts. The
    defaults of α, β, γ are those of 2005 (and of nltk).
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
        self._references = self._words.keyed(list(chain.from_iterable(groups)))
        self._sizes = np.array(list(map(len, groups)), dtype=np.int64)
        self._firsts = np.cumsum(self._sizes) - self._sizes

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        from hulltune.kernels.metrics.meteor import meteor_statistics

        numbers = checked_numbers(sentences, outputs, len(self._sizes))
        offsets, references = ranges(self._firsts[numbers], self._sizes[numbers])
        lines = np.repeat(np.arange(len(outputs)), self._sizes[numbers])
        table = meteor_statistics(self._words.keyed(outputs), lines, self._references, references)
        if len(table) == len(outputs):
            return table
        best: Statistics = table[_first_largest(self._metric.score(table), offsets)]
        return best


class _Words:
    """Splits texts into words, and knows the keys of each word that it has met (see KeyedLines)."""

    def __init__(self, metric: Meteor) -> None:
        self._lowercase = metric.lowercase
        self._split = _TOKENISERS[metric.tokenize]
        self._stem: Callable[[str], str] | None = None
        if metric.stemmer is not None:
            self._stem = _snowball().stemmer(metric.stemmer).stemWord
        self._groups: dict[str, list[int]] = {}
        for number, group in enumerate(metric._groups):
            for word in group:
                self._groups.setdefault(word.lower() if metric.lowercase else word, []).append(number)
        self._most_groups = max(map(len, self._groups.values()), default=0)
        self._forms: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._keys = np.empty((0, 2 + self._most_groups), dtype=np.int32)

    def keyed(self, texts: Sequence[str]) -> KeyedLines:
        """The words of texts by their keys."""
        lines = [self._split(text.lower() if self._lowercase else text) for text in texts]
        words = list(chain.from_iterable(lines))
        new = [word for word in dict.fromkeys(words) if word not in self._forms]
        if new:
            self._keys = np.concatenate([self._keys, np.array(list(map(self._keys_of, new)), dtype=np.int32)])
        forms = np.fromiter(map(self._forms.__getitem__, words), np.int64, len(words))
        return KeyedLines(self._keys[forms], np.cumsum([0, *map(len, lines)]))

    def _keys_of(self, word: str) -> list[int]:
        """The numbers of the form, the stem and the synonym groups of a new word."""
        form = self._forms.setdefault(word, len(self._forms))
        stem = -1 if self._stem is None else self._stems.setdefault(self._stem(word), len(self._stems))
        groups = self._groups.get(word, [])
        return [form, stem, *groups, *[-1] * (self._most_groups - len(groups))]


def _first_largest(scores: Floats, offsets: Int64s) -> Int64s:
    """The index of the first largest score in each group of consecutive scores, which offsets separate."""
    starts = offsets[:-1]
    is_largest = scores == np.repeat(np.maximum.reduceat(scores, starts), np.diff(offsets))
    places = np.where(is_largest, np.arange(len(scores)), len(scores))
    first: Int64s = np.minimum.reduceat(places, starts)
    return first
