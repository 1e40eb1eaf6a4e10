"""Words for METEOR: forms, stems, synonym groups, and the positions of a reference that a word may match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hulltune.arrays import Int64s
from hulltune.metrics._meteor_alignment import Candidate

EXACT, STEM, SYNONYM = range(3)


class Words:
    """A splitter of texts into words, which also knows the stem and the synonym groups of a word; stems are cached."""

    def __init__(
        self,
        split: Callable[[str], list[str]],
        *,
        lowercase: bool,
        stem: Callable[[str], str] | None,
        groups: Iterable[Sequence[str]],
    ) -> None:
        self._split = split
        self._lowercase = lowercase
        self._stem = stem
        self._stems: dict[str, str] = {}
        self._groups: dict[str, list[int]] = {}
        for number, group in enumerate(groups):
            for word in group:
                self._groups.setdefault(word.lower() if lowercase else word, []).append(number)

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        return self._split(text.lower() if self._lowercase else text)

    def keys(self, word: str) -> tuple[Sequence[object], Sequence[object], Sequence[object]]:
        """The keys of a word in each module: two words match by a module if they share a key of it."""
        if self._stem is None:
            return (word,), (), self._groups.get(word, ())
        stem = self._stems.get(word)
        if stem is None:
            stem = self._stems[word] = self._stem(word)
        return (word,), (stem,), self._groups.get(word, ())


class TypePool:
    """Numbers for pairs (reference, word), with the positions of the word's class and of its form as bits."""

    def __init__(self) -> None:
        self._masks = np.zeros((1024, 2), dtype=np.int64)
        self._count = 0

    def add(self, in_class: int, of_form: int) -> int:
        """The number of a new entry."""
        if self._count == len(self._masks):
            self._masks = np.concatenate([self._masks, np.zeros_like(self._masks)])
        self._masks[self._count] = in_class, of_form
        self._count += 1
        return self._count - 1

    @property
    def classes(self) -> Int64s:
        """The positions of each entry's class."""
        return self._masks[: self._count, 0]

    @property
    def forms(self) -> Int64s:
        """The positions of each entry's form."""
        return self._masks[: self._count, 1]


class Reference:
    """An indexed reference; the positions that a word may match are computed once."""

    def __init__(self, text: str, words: Words, weights: tuple[float, float, float]) -> None:
        tokens = words.split(text)
        self.length = len(tokens)
        self._words = words
        # Deficits are integers so that equal sums are equal whatever their order.
        self._deficits = tuple(round(1_000_000 * (max(weights) - weight)) for weight in weights)
        self._by_key: tuple[dict[Any, list[int]], ...] = ({}, {}, {})
        for position, token in enumerate(tokens):
            for module, keys in enumerate(words.keys(token)):
                for key in keys:
                    self._by_key[module].setdefault(key, []).append(position)
        self._candidates: dict[str, tuple[Candidate, ...]] = {}
        self.types: dict[str, int] = {}
        """The number in the pool of each word asked for so far."""

    def candidates(self, word: str) -> tuple[Candidate, ...]:
        """The positions that ``word`` may match, each with its heaviest module (the first among equals)."""
        known = self._candidates.get(word)
        if known is None:
            best: dict[int, Candidate] = {}
            for module, keys in enumerate(self._words.keys(word)):
                for key in keys:
                    for position in self._by_key[module].get(key, ()):
                        candidate = (position, module, self._deficits[module])
                        if position not in best or candidate[2] < best[position][2]:
                            best[position] = candidate
            known = self._candidates[word] = tuple(best[position] for position in sorted(best))
        return known

    def add_type(self, word: str, pool: TypePool) -> int:
        """Give ``word`` a number in the pool; only for modules exact and stem."""
        candidates = self.candidates(word)
        in_class = sum(1 << position for position, _, _ in candidates)
        of_form = sum(1 << position for position in self._by_key[EXACT].get(word, ()))
        number = self.types[word] = pool.add(in_class, of_form)
        return number

    def most_exact(self, words: Sequence[str]) -> int:
        """The largest number of exact matches that ``words`` can have."""
        positions = self._by_key[EXACT]
        return sum(min(count, len(positions.get(word, ()))) for word, count in Counter(words).items())
