"""The exact line search: the error surface along one line, and a step to its best interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.lines.compute import check_intervals
from hulltune.metrics.base import Metric
from hulltune.names import POLICIES
from hulltune.search.problem import Problem
from hulltune.search.steps import Policy, policy_of, smooth
from hulltune.surface import ErrorSurface
from hulltune.threads import Workers
from hulltune.tuning.inputs import DataLike, ReferencesLike, as_problem
from hulltune.wording import counted


@dataclass(frozen=True, eq=False, repr=False)
class LineSearch:
    """The step of a line search, and the error surface along its line."""

    eta: float
    weights: Floats
    """origin + eta · direction."""
    loss: float
    current_loss: float | None
    """The loss at the origin, if the origin lies in the interval."""
    left: float
    right: float
    """``left`` and ``right`` are the ends of the interval of equal loss around ``eta``."""
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
    data: Problem | DataLike,
    origin: Any,
    direction: Any,
    *,
    metric: str | Metric = "bleu",
    references: ReferencesLike = None,
    policy: Policy | str = "middle",
    interval: tuple[float, float] = (-math.inf, math.inf),
    threads: int | None = None,
) -> LineSearch:
    """Minimise the loss of the winning outputs along w = origin + η · direction, exactly.

    The search leaves the origin only for a strictly smaller loss, which decoding with the new weights confirms: the
    loss of the result is that of decoding. ``data``, ``references`` and ``metric`` are as in ``tune``. For more than
    one search, give a Problem: it keeps tables that depend on the features alone, and the statistics of every output
    met, so that a search costs no more than within ``tune``.

    >>> from hulltune import line_search
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> found = line_search(task.lists, {"forward": 1.0}, {"backward": 1.0}, metric="wer")
    >>> found.loss < found.current_loss, found.improved
    (True, True)
    """
    problem = as_problem(data, references, metric)
    policy = policy_of(policy)
    start = feature_vector(origin, problem.feature_names, "origin")
    along = feature_vector(direction, problem.feature_names, "direction")
    ends = check_intervals(interval, 1)
    if not problem.corpus.edges:
        raise InputError("corpus: no sentence has a derivation, so there is nothing to tune")
    workers = Workers(threads)
    (surface,) = problem.surfaces(start, along[None, :], ends, workers=workers)
    losses = surface.losses(problem.metric.loss)
    low, high = ends[0].tolist()
    current_loss = problem.loss(start, workers=workers) if low <= 0.0 <= high else None
    size = float(np.linalg.norm(along))
    scale = float(np.linalg.norm(start)) / size if size > 0.0 and np.any(start) else 1.0
    while True:
        eta, place, left, right = _step(surface, losses, policy, (low, high), current_loss, scale)
        if place < 0:
            assert current_loss is not None  # of an origin outside of the interval, some interval is always better
            weights, loss = start, current_loss
            break
        weights = start + eta * along
        # Decoding decides: near a breakpoint, rounding may put the weights on its other side.
        loss = problem.loss(weights, workers=workers)
        if loss <= losses[place]:
            break
        losses[place] = loss
    return LineSearch(
        eta=eta, weights=weights, loss=loss, current_loss=current_loss, left=left, right=right, surface=surface
    )


def _step(
    surface: ErrorSurface,
    losses: Floats,
    policy: Policy,
    interval: tuple[float, float],
    current_loss: float | None,
    scale: float,
) -> tuple[float, int, float, float]:
    """The point to step to, its interval among those of the surface, and the ends of equal loss around it; 0 and −1
    where no loss is below the current one.
    """
    from hulltune.kernels.surfaces.steps import Intervals, choose_steps, intervals_between

    intervals = Intervals(*intervals_between(surface.breakpoints, *interval, scale))
    smoothed = smooth(losses, policy.smoothing, policy.window)
    here = int(np.searchsorted(surface.breakpoints, 0.0, side="right"))
    current = math.inf
    if current_loss is not None:
        current = current_loss if policy.smoothing == "none" else float(smoothed[here])
    currents, scales = np.array([current]), np.array([scale])
    etas, chosen, ends = choose_steps(intervals, smoothed, currents, scales, POLICIES.index(policy.name))
    eta, place = float(etas[0]), int(chosen[0])
    if place < 0:
        if current_loss is None:
            raise InputError(f"interval: no point of {interval} is far enough from all breakpoints")
        unlike = np.flatnonzero(smoothed != smoothed[here])
        before, after = unlike[unlike < here], unlike[unlike > here]
        left = float(intervals.rights[before[-1]]) if len(before) else interval[0]
        return 0.0, -1, left, float(intervals.lefts[after[0]]) if len(after) else interval[1]
    left, right = ends[0].tolist()
    if eta == 0.0:
        # The origin lies on a tie, which decoding breaks badly: beside it the same interval has a smaller loss.
        eta = right / 2 if right < math.inf else left / 2 if left > -math.inf else scale
    return eta, place, left, right
