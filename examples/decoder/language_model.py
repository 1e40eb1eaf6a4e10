"""A smoothed n-gram model: interpolated Kneser–Ney (Kneser & Ney 1995; Chen & Goodman 1999).

A scorer applies it to pieces of sentences, as a chart has them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from hulltune.arrays import plain_sum
from hulltune.errors import InputError

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
"""Marks of the sentence's start and end, and the word that stands for all unseen words."""

History = tuple[str, ...]
State = tuple[tuple[str, ...], tuple[str, ...]]
"""The first and the last order − 1 words of a piece; a shorter piece has all of its words in both."""

EMPTY: State = ((), ())


class LanguageModel:
    """p(word | the last order − 1 words), for every word of ``vocabulary``: the words seen, END and UNKNOWN.

    The highest order counts n-grams. A lower order counts the different words seen before an n-gram, because it is used
    only where longer ones are rare. Each order takes an absolute discount from its counts and gives the saved
    probability to the next lower order; the lowest is uniform. So the probabilities after any history sum to 1, and
    none is 0. A sentence starts after order − 1 START marks.
    """

    def __init__(self, sentences: Iterable[Sequence[str]], *, order: int = 3, discount: float | None = None) -> None:
        if order < 1:
            raise InputError(f"order: expected at least 1, got {order}")
        self.order = order
        counts: Counter[History] = Counter()
        words: dict[str, None] = {}
        for sentence in sentences:
            padded = (START,) * (order - 1) + tuple(sentence) + (END,)
            words.update(dict.fromkeys(sentence))
            counts.update(padded[end - order : end] for end in range(order, len(padded) + 1))
        if not counts:
            raise InputError("sentences: expected at least one to estimate a language model from, got none")
        for mark in (START, END, UNKNOWN):
            if mark in words:
                raise InputError(f"sentences: {mark!r} is a mark of the model; expected words")
        self.vocabulary = (*words, END, UNKNOWN)
        self._known = frozenset(self.vocabulary)
        self._levels: list[_Level] = []
        while True:  # from the highest order to the lowest
            self._levels.append(_Level(counts, discount))
            if len(next(iter(counts))) == 1:
                break
            counts = Counter(ngram[1:] for ngram in counts)
        self._levels.reverse()
        self._remembered: dict[History, float] = {}

    def log_probability(self, history: Sequence[str], word: str) -> float:
        """The natural logarithm of p(word | history), cached. Only the last order − 1 words of the history count."""
        ngram = (*history[max(0, len(history) - self.order + 1) :], word)
        value = self._remembered.get(ngram)
        if value is None:
            known = tuple(token if token in self._known or token == START else UNKNOWN for token in ngram)
            value = self._remembered[ngram] = math.log(self._probability(known[:-1], known[-1]))
        return value

    def sentence_log_probability(self, words: Sequence[str]) -> float:
        """The natural logarithm of p(sentence), with the end of the sentence."""
        history: History = (START,) * (self.order - 1)
        total = 0.0
        for word in (*words, END):
            total += self.log_probability(history, word)
            history = (*history, word)
        return total

    def _probability(self, history: History, word: str) -> float:
        probability = 1.0 / len(self.vocabulary)
        for length in range(len(history) + 1):
            probability = self._levels[length].interpolate(history[len(history) - length :], word, probability)
        return probability


class _Level:
    """The counts of n-grams of one length, and for each history the number of words and of different words after it."""

    def __init__(self, counts: Counter[History], discount: float | None) -> None:
        self.counts = counts
        self.total: defaultdict[History, int] = defaultdict(int)
        self.kinds: defaultdict[History, int] = defaultdict(int)
        for ngram, count in counts.items():
            self.total[ngram[:-1]] += count
            self.kinds[ngram[:-1]] += 1
        if discount is not None and not 0.0 < discount < 1.0:
            raise InputError(f"discount: expected a number between 0 and 1, got {discount}")
        self.discount = _usual_discount(counts) if discount is None else discount

    def interpolate(self, history: History, word: str, lower: float) -> float:
        """The discounted probability of the word, plus its share of the saved probability."""
        total = self.total.get(history, 0)
        if total == 0:
            return lower
        seen = max(self.counts.get((*history, word), 0) - self.discount, 0.0)
        return (seen + self.discount * self.kinds[history] * lower) / total


def _usual_discount(counts: Counter[History]) -> float:
    """n1 / (n1 + 2 n2), where n1 and n2 n-grams were seen once and twice, kept within 0.1 and 0.9."""
    once = sum(count == 1 for count in counts.values())
    twice = sum(count == 2 for count in counts.values())
    return min(max(once / (once + 2.0 * twice), 0.1), 0.9) if once else 0.5


class Scorer:
    """A scorer that joins pieces of sentences and scores the n-grams that become complete.

    A word is scored once order − 1 words before it are known, so the first order − 1 words of a piece wait until it
    is joined with what precedes it. The scores of all joins add up to the model's score of the sentence.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._width = model.order - 1
        self._estimates: dict[tuple[str, ...], float] = {}
        self._joins: dict[tuple[str | State, ...], tuple[State, float]] = {}

    def join(self, parts: tuple[str | State, ...]) -> tuple[State, float]:
        """The state of the parts (words and pieces) in a row, and the log-probability of the n-grams they complete.

        O(order × parts); cached.
        """
        joined = self._joins.get(parts)
        if joined is None:
            joined = self._joins[parts] = self._join(parts, ())
        return joined

    def finish(self, piece: State) -> float:
        """The log-probability of the first words of a whole sentence, and of its end."""
        marks = (START,) * self._width
        return self._join((piece, END), marks)[1]

    def estimate(self, piece: State) -> float:
        """An estimate of the score of the words that wait, by the shorter n-grams that are known; cached."""
        first = piece[0]
        estimate = self._estimates.get(first)
        if estimate is None:
            estimate = plain_sum(self._model.log_probability(first[:place], word) for place, word in enumerate(first))
            self._estimates[first] = estimate
        return estimate

    def _join(self, parts: Sequence[str | State], before: tuple[str, ...]) -> tuple[State, float]:
        width, model = self._width, self._model
        history, score = before, 0.0
        first: tuple[str, ...] = ()
        for part in parts:
            words, last = ((part,), ()) if isinstance(part, str) else part
            for word in words:
                if len(history) == width:
                    score += model.log_probability(history, word)
                if len(first) < width:
                    first = (*first, word)
                history = (*history, word)[-width:] if width else ()
            if last and len(words) == width:
                history = last
        return (first, history if not before else ()), score
