"""The exact line search: envelopes of all sentences, their statistics, the error surface, and a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest, feature_vector
from hulltune.errors import InputError
from hulltune.lines.compute import as_corpus, decode, envelopes
from hulltune.lines.result import CorpusEnvelopes
from hulltune.lines.scoring import EdgeScorer
from hulltune.search.policies import Policy, choose
from hulltune.surface import ErrorSurface, Loss
from hulltune.wording import counted

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
            f"current_loss={self.current_loss}, {counted(len(self.surface), 'interval')})"
        )


def line_search(
    corpus: Corpus | Forest,
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
    left only for a strictly smaller loss, which decoding with the new weights confirms.
    """
    corpus = as_corpus(corpus)
    if not isinstance(policy, Policy):
        policy = Policy(str(policy))
    start = feature_vector(origin, corpus.feature_names, "origin")
    along = feature_vector(direction, corpus.feature_names, "direction")
    statistics = _ask_once(statistics)
    found = envelopes(corpus, start, [along], interval=interval, method=method, threads=threads, scorer=scorer)
    surface = error_surface(found, statistics)
    losses = surface.losses(loss)
    ends = (float(found.intervals[0, 0]), float(found.intervals[0, 1]))

    def loss_at(weights: Floats) -> float:
        decoded = decode(corpus, weights, threads=threads, scorer=scorer)
        return float(error_surface(decoded, statistics).losses(loss)[0])

    current_loss = loss_at(start) if ends[0] <= 0.0 <= ends[1] else None
    size = float(np.linalg.norm(along))
    scale = float(np.linalg.norm(start)) / size if size > 0.0 and np.any(start) else 1.0
    closed = np.zeros(len(losses), dtype=bool)
    while True:
        choice = choose(
            surface.breakpoints,
            losses,
            policy=policy,
            interval=ends,
            current_loss=current_loss,
            scale=scale,
            closed=closed,
        )
        weights = start + choice.eta * along
        # Decoding has the last word: near a breakpoint, rounding of the weights may put them on its other side.
        if choice.eta == 0.0 or loss_at(weights) <= choice.loss + 1e-12 * abs(choice.loss):
            break
        closed[int(np.searchsorted(surface.breakpoints, choice.eta, side="right"))] = True
    return LineSearch(
        eta=choice.eta,
        weights=weights,
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
