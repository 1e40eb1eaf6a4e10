"""The driver: it asks all shards, tells them what only it knows, and decides."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.search.cluster.answered import answered
from hulltune.search.cluster.bins import Guess, best_steps, can_be_bounded
from hulltune.search.cluster.fleets import ClusterError, Failed, Fleet, Refused
from hulltune.search.cluster.protocol import Along, Everything, Question, Telling, Total, Unknown
from hulltune.search.directions import feature_units
from hulltune.search.elsewhere import Lines, Steps
from hulltune.search.problem import Problem, exact_sum
from hulltune.search.shards import Runner
from hulltune.search.steps import steps_along

MOST_WHOLE = 2000
"""The most sentences whose workers send all changes at once: so many lists of 100 take 8 MB a round, and bins 0.8 MB.

Over two processes of one machine these are about equally fast; all changes are faster for fewer lists, bins for more
(docs/scaling.md).
"""

TYPICAL = 256
"""The number of sentences that tell the units of features, from which the first bins of lines are guessed."""


class Driver:
    """A searcher whose sentences are held by the workers of a fleet."""

    def __init__(
        self, problem: Problem, fleet: Fleet, parts: Sequence[tuple[int, int]], *, most_whole: int = MOST_WHOLE
    ) -> None:
        """Ask a fleet about a problem: shard k holds the sentences from ``parts[k][0]`` to before ``parts[k][1]``.

        Workers of more sentences than ``most_whole`` send sums over bins, not all their changes.
        """
        self.fleet = fleet
        self._in_bins = len(problem.corpus) > most_whole and can_be_bounded(problem.metric)
        self._units: Floats | None = None
        self._memory = problem.memory
        self._first_sentences = [first for first, _ in parts]
        self._first_edges = problem.corpus.sentence_edges[self._first_sentences].tolist()
        self._rows: dict[tuple[int, str], int] = {}
        self._telling = threading.Lock()

    def total(self, problem: Problem, weights: Floats, runner: Runner) -> NDArray[Any]:
        """The summed statistics of the winners under ``weights``."""
        return exact_sum(np.concatenate(self._ask(Total(weights))))

    def best_steps(self, problem: Problem, lines: Lines, runner: Runner) -> Steps:
        """The best step along each line."""
        along = Along(np.vstack([lines.origin, lines.directions]), lines.intervals)
        if self._in_bins and problem.penalty is None and lines.policy.smoothing == "none":
            found = best_steps(problem.metric, lines, along, self._ask, self._guess(problem, lines))
            if found is not None:
                return found
            self._in_bins = False  # statistics are real numbers, whose sums over bins would be rounded
        part, changes = answered(problem, self._ask(Everything(along)), runner)
        return steps_along(part, changes, lines, runner)

    def _guess(self, problem: Problem, lines: Lines) -> Guess:
        """Where the winners of lines change: about the place where the weights, in units of features, are shortest, and
        in a distance that is their length there in units of the direction.

        Winners change where the differences of scores along a line make up for those at the origin. If differences of
        features are like Gaussian numbers, such places are like a Cauchy variable with this centre and spread.
        """
        if self._units is None:
            count = len(problem.corpus)
            some = np.unique(np.linspace(0, count - 1, min(count, TYPICAL)).astype(np.int64))
            self._units = feature_units(problem.corpus.take(some))
        origin, directions = lines.origin * self._units, lines.directions * self._units
        with np.errstate(all="ignore"):
            length, lengths = np.linalg.norm(origin), np.linalg.norm(directions, axis=1)
            cosines = np.clip(directions / lengths[:, None] @ (origin / length), -1.0, 1.0)
            centres, spreads = -cosines * length / lengths, np.sqrt(1.0 - cosines**2) * length / lengths
        usable = (spreads > 0.0) & (spreads < np.inf) & np.isfinite(centres)
        return Guess(np.where(usable, centres, 0.0), np.where(usable, spreads, lines.scales))

    def _ask(self, question: Question) -> list[Any]:
        """The answers of all shards; those that miss statistics are told them and asked again."""
        answers = _checked(self.fleet.ask(question))
        while any(isinstance(answer, Unknown) for answer in answers):
            line = min(answer.line for answer in answers if isinstance(answer, Unknown))
            asking = [k for k, answer in enumerate(answers) if isinstance(answer, Unknown) and answer.line == line]
            tellings = self._told(asking, [answers[k] for k in asking])
            again = _checked(self.fleet.ask(question, asking, tellings))
            for shard, answer in zip(asking, again, strict=True):
                answers[shard] = answer
        return answers

    def _told(self, shards: Sequence[int], unknown: Sequence[Unknown]) -> list[Telling]:
        """The statistics that shards ask for, which the metric is asked for at once, as in one process."""
        edges = [self._first_edges[shard] for shard in shards]
        firsts = [self._first_sentences[shard] for shard in shards]
        numbers = np.concatenate(
            [np.where(each.numbers >= 0, each.numbers + e, -1) for each, e in zip(unknown, edges, strict=True)]
        )
        sentences = np.concatenate([each.sentences + first for each, first in zip(unknown, firsts, strict=True)])
        texts = [text for each in unknown for text in each.texts]
        rows = np.empty(len(texts), dtype=np.int64)
        listed = numbers >= 0
        rows[listed] = self._memory.rows(numbers[listed])
        keys = [(int(sentences[k]), texts[k]) for k in np.flatnonzero(~listed).tolist()]
        with self._telling:
            rows[~listed] = self._rows_of(keys)
        ends = np.cumsum([len(each) for each in unknown])[:-1]
        table = self._memory.table
        return [Telling(each, table[part]) for each, part in zip(unknown, np.split(rows, ends), strict=True)]

    def _rows_of(self, keys: Sequence[tuple[int, str]]) -> list[int]:
        """The row of each text of a sentence; the metric is asked for the new ones."""
        new = [key for key in dict.fromkeys(keys) if key not in self._rows]
        if new:
            asked = self._memory.ask(np.array([sentence for sentence, _ in new]), [text for _, text in new])
            self._rows.update(zip(new, asked.tolist(), strict=True))
        return [self._rows[key] for key in keys]


def _checked(answers: list[Any]) -> list[Any]:
    """The answers, unless one is a refusal or a fault."""
    for answer in answers:
        if isinstance(answer, Refused):
            raise InputError(answer.message)
        if isinstance(answer, Failed):
            raise ClusterError(f"cluster: a worker failed: {answer.message.strip().splitlines()[-1]}")
    return answers
