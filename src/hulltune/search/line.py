"""The exact line search: envelopes of all sentences, their statistics, the error surface, and a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.forest.corpus import Corpus
from hulltune.forest.forest import feature_vector
from hulltune.lines.compute import decode, envelopes
from hulltune.lines.result import CorpusEnvelopes
from hulltune.lines.scoring import EdgeScorer
from hulltune.search.policies import Policy, choose
from hulltune.surface import ErrorSurface, Loss

Floats = NDArray[np.float64]
StatisticsOf = Callable[[NDArray[np.int64], Sequence[str]], NDArray[Any]]
"""From sentence numbers and as many output texts to rows of statistics (as PreparedMetric.statistics)."""


@dataclass(frozen=True, eq=False, repr=False)
class LineSearch:
    """Where a line search stepped to, and the surface it saw."""

    eta: float
    weights: Floats
    """origin + eta · direction."""
    loss: float
    current_loss: float | None
    """The loss at the origin, if the origin lies in the interval."""
    left: float
    right: float
    """The interval of equal loss around ``eta``."""
    surface: ErrorSurface

    @property
    def improved(self) -> bool:
        """Whether the step gains anything."""
        return self.current_loss is None or self.loss < self.current_loss

    def __repr__(self) -> str:
        return (
            f"LineSearch(eta={self.eta:.6g} in ({self.left:.6g}, {self.right:.6g}), loss={self.loss:.6g}, "
            f"current_loss={self.current_loss}, {len(self.surface)} intervals)"
        )


def line_search(
    corpus: Corpus,
    origin: Any,
    direction: Any,
    statistics: StatisticsOf,
    loss: Loss,
    *,
    policy: Policy | str = "middle",
    interval: tuple[float, float] = (-math.inf, math.inf),
    method: str = "auto",
    threads: int | None = None,
    scorer: EdgeScorer | None = None,
) -> LineSearch:
    """Minimise ``loss`` of the corpus statistics of the winning outputs along w = origin + η · direction, exactly.

    ``statistics`` is asked once for each distinct output of a sentence that wins anywhere on the line. The origin is
    left only for a strictly smaller loss.
    """
    policy = Policy(policy) if isinstance(policy, str) else policy
    start = feature_vector(origin, corpus.feature_names, "origin")
    along = feature_vector(direction, corpus.feature_names, "direction")
    statistics = _ask_once(statistics)
    found = envelopes(corpus, start, [along], interval=interval, method=method, threads=threads, scorer=scorer)
    surface = error_surface(found, statistics)
    losses = surface.losses(loss)
    current_loss = None
    if interval[0] <= 0.0 <= interval[1]:
        on_a_tie = 0.0 in interval or 0.0 in surface.breakpoints
        if on_a_tie:  # decoding decides it, by the one rule for ties
            here = error_surface(decode(corpus, start, threads=threads, scorer=scorer), statistics)
            current_loss = float(here.losses(loss)[0])
        else:
            current_loss = float(losses[np.searchsorted(surface.breakpoints, 0.0, side="right")])
    size = float(np.linalg.norm(along))
    scale = float(np.linalg.norm(start)) / size if size > 0.0 and np.any(start) else 1.0
    choice = choose(
        surface.breakpoints, losses, policy=policy, interval=interval, current_loss=current_loss, scale=scale
    )
    return LineSearch(
        eta=choice.eta,
        weights=start + choice.eta * along,
        loss=choice.loss,
        current_loss=current_loss,
        left=choice.left,
        right=choice.right,
        surface=surface,
    )


def _ask_once(statistics: StatisticsOf) -> StatisticsOf:
    """The same, remembering its answers: decoding at the origin meets outputs that the line has met."""
    known: dict[tuple[int, str], NDArray[Any]] = {}

    def remembered(sentences: NDArray[np.int64], outputs: Sequence[str]) -> NDArray[Any]:
        asked = list(zip(sentences.tolist(), outputs, strict=True))
        missing = [i for i, key in enumerate(asked) if key not in known]
        if len(missing) == len(asked):  # an answer of the wrong shape is the caller's to refuse
            rows = np.asarray(statistics(sentences, outputs))
            known.update(zip(asked, rows, strict=False))
            return rows
        if missing:
            rows = statistics(sentences[missing], [outputs[i] for i in missing])
            known.update(zip([asked[i] for i in missing], rows, strict=True))
        return np.stack([known[key] for key in asked])

    return remembered


def error_surface(found: CorpusEnvelopes, statistics: StatisticsOf, direction: int = 0) -> ErrorSurface:
    """The error surface along one direction, from statistics of each distinct output."""
    texts = found.outputs(direction)
    requests: dict[tuple[int, str], int] = {}
    rows = [
        requests.setdefault((sentence, text), len(requests))
        for sentence, outputs in enumerate(texts)
        for text in outputs
    ]
    if not requests:
        raise InputError("corpus: no sentence has a derivation, so there is nothing to tune")
    sentences = np.array([sentence for sentence, _ in requests], dtype=np.int64)
    table = np.asarray(statistics(sentences, [text for _, text in requests]))
    if table.ndim != 2 or len(table) != len(requests):
        raise InputError(
            f"statistics: expected a row for each of {len(requests)} outputs, got an array of shape {table.shape}"
        )
    offsets = found.offsets[direction]
    lefts = found.lefts[offsets[0] : offsets[-1]]
    return ErrorSurface.from_rows(offsets - offsets[0], lefts, np.array(rows, dtype=np.int64), table)
