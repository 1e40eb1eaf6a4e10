"""The state of a language model for a piece of a sentence: the words at its two ends."""

from __future__ import annotations

from collections.abc import Sequence

from hulltune.arrays import plain_sum
from hulltune.demo.language_model import END, START, LanguageModel

State = tuple[tuple[str, ...], tuple[str, ...]]
"""The first and the last order − 1 words of a piece; a shorter piece has all of its words in both."""

EMPTY: State = ((), ())


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
