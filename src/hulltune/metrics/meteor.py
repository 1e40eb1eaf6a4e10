"""METEOR with exact, stem and synonym matches (Banerjee & Lavie 2005; Denkowski & Lavie 2011)."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError, unknown_name
from hulltune.metrics._common import (
    check_choice,
    check_number,
    checked_references,
    checked_sentences,
    ratio,
    signature,
)
from hulltune.metrics._meteor_alignment import Candidate, align
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics

_EXACT, _STEM, _SYNONYM = range(3)
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
                    raise InputError(
                        f"{path}:{number}: the group has only {words[0]!r}; expected two or more"
                    )
                if words:
                    groups.append(tuple(words))
    except OSError as error:
        raise InputError(f"{path}: the synonym file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8: {error.reason} at byte {error.start}") from None
    return tuple(groups)


@dataclass(frozen=True, kw_only=True)
class METEOR(Metric):
    """(1 − γ (chunks / matches)^β) · P R / (α P + (1 − α) R) of summed matches; 0 without a match.

    P and R are the matches, each weighted by its module, over the words of outputs and references. The
    alignment has the most matches, among those the heaviest modules, among those the fewest chunks. With
    several references the one with the best score of the sentence counts. The defaults of α, β, γ are those
    of 2005 (and of nltk).
    """

    name: ClassVar[str] = "meteor"
    higher_is_better = True
    columns = ("exact", "stem", "synonym", "chunks", "output_words", "reference_words")

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
    _groups: tuple[tuple[str, ...], ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
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
        return _PreparedMETEOR(self, checked_references("meteor", references, sources))

    def score(self, statistics: Statistics) -> NDArray[np.float64]:
        """The score between 0 and 1."""
        counts = np.asarray(statistics)
        weighted = (
            self.exact_weight * counts[..., _EXACT]
            + self.stem_weight * counts[..., _STEM]
            + self.synonym_weight * counts[..., _SYNONYM]
        )
        matches = counts[..., _EXACT] + counts[..., _STEM] + counts[..., _SYNONYM]
        # P R / (α P + (1 − α) R) with P = w/o and R = w/r is w / (α r + (1 − α) o).
        mean = ratio(weighted, self.alpha * counts[..., 5] + (1.0 - self.alpha) * counts[..., 4], empty=0.0)
        fragmentation = ratio(counts[..., 3], matches, empty=0.0)
        return mean * (1.0 - self.gamma * fragmentation**self.beta)


def _snowball() -> Any:
    """The stemmers: a module without types, imported only where a stem module is asked for."""
    try:
        return importlib.import_module("snowballstemmer")
    except ImportError:
        raise InputError(
            "meteor: the stem module needs the package snowballstemmer; install it, or set stemmer=None"
        ) from None


class _Words:
    """How a text becomes words, and a word its stem and groups; stems are remembered."""

    def __init__(self, metric: METEOR) -> None:
        self._split = _TOKENISERS[metric.tokenize]
        self._lowercase = metric.lowercase
        self._stems: dict[str, str] | None = None if metric.stemmer is None else {}
        self._stem = None if metric.stemmer is None else _snowball().stemmer(metric.stemmer).stemWord
        self.groups: dict[str, list[int]] = {}
        for number, group in enumerate(metric._groups):
            for word in group:
                self.groups.setdefault(word.lower() if metric.lowercase else word, []).append(number)

    def split(self, text: str) -> list[str]:
        return self._split(text.lower() if self._lowercase else text)

    def stem(self, word: str) -> str | None:
        if self._stems is None:
            return None
        stem = self._stems.get(word)
        if stem is None:
            stem = self._stems[word] = cast(Callable[[str], str], self._stem)(word)
        return stem


class _Reference:
    """One reference, indexed: the possible matches of a word are found once and remembered."""

    def __init__(self, text: str, words: _Words, weights: tuple[float, float, float]) -> None:
        tokens = words.split(text)
        self.length = len(tokens)
        self._words = words
        # Deficits are integers so that equal sums are equal whatever their order.
        self._deficits = tuple(round(1_000_000 * (max(weights) - weight)) for weight in weights)
        self._by_key: tuple[dict[Any, list[int]], ...] = ({}, {}, {})
        for position, token in enumerate(tokens):
            for module, keys in enumerate(self._keys(token)):
                for key in keys:
                    self._by_key[module].setdefault(key, []).append(position)
        self._known: dict[str, tuple[Candidate, ...]] = {}

    def _keys(self, word: str) -> tuple[Sequence[object], Sequence[object], Sequence[object]]:
        stem = self._words.stem(word)
        return (word,), () if stem is None else (stem,), self._words.groups.get(word, ())

    def candidates(self, word: str) -> tuple[Candidate, ...]:
        """The positions that ``word`` may match, each with its heaviest module (the first among equals)."""
        known = self._known.get(word)
        if known is None:
            best: dict[int, Candidate] = {}
            for module, keys in enumerate(self._keys(word)):
                for key in keys:
                    for position in self._by_key[module].get(key, ()):
                        candidate = (position, module, self._deficits[module])
                        if position not in best or candidate[2] < best[position][2]:
                            best[position] = candidate
            known = self._known[word] = tuple(best[position] for position in sorted(best))
        return known


class _PreparedMETEOR(PreparedMetric):
    def __init__(self, metric: METEOR, groups: list[tuple[str, ...]]) -> None:
        self._metric = metric
        self._words = _Words(metric)
        weights = (metric.exact_weight, metric.stem_weight, metric.synonym_weight)
        self._references = [[_Reference(text, self._words, weights) for text in group] for group in groups]

    def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
        numbers = checked_sentences(sentences, outputs, len(self._references))
        if not numbers:
            return np.zeros((0, 6), dtype=np.int64)
        rows = []
        for number, output in zip(numbers, outputs, strict=True):
            words = self._words.split(output)
            rows.append([self._row(words, reference) for reference in self._references[number]])
        counts = np.array(rows, dtype=np.int64)
        best = self._metric.score(counts).argmax(axis=1)
        chosen: Statistics = counts[np.arange(len(rows)), best]
        return chosen

    def _row(self, words: list[str], reference: _Reference) -> list[int]:
        """The statistics of one output against one reference."""
        alignment = align([reference.candidates(word) for word in words])
        row = [0, 0, 0, alignment.chunks, len(words), reference.length]
        for _, _, module in alignment.matches:
            row[module] += 1
        return row
