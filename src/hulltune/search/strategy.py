"""Strategies of search: the base class, the setting that it takes, the status that it reports, and its result."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.search.certificate import Certificate
from hulltune.search.constraints import FARTHEST_WEIGHT, CompiledConstraints, Constraints
from hulltune.search.directions import Axis, axes_of, check_units, feature_units, inverse_units
from hulltune.search.penalty import Penalty
from hulltune.search.problem import Problem
from hulltune.search.steps import Policy
from hulltune.search.whitening import Whitening, rivals
from hulltune.threads import ALONE, Workers

LARGEST_START = 1e152
"""The largest weight to start with: its square is finite, and so is that of the farthest weight beside it."""

Start = Mapping[str, float] | Sequence[float] | None


@dataclass(frozen=True, eq=False)
class Setting:
    """A problem with the constraints, the units of the features, and the first weights."""

    problem: Problem
    constraints: CompiledConstraints
    units: Floats
    first: Floats
    model: Floats | None = None
    """The weights of the decoder itself, if they are known and no start was given."""
    reach: Floats | None = None
    """The limit of each weight where no constraint bounds it; none where only directions matter."""
    policy: Policy = field(default_factory=Policy)
    """The point of the best interval of a line to step to."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set to end the search with the best weights so far; Ctrl-C sets it."""
    workers: Workers = ALONE
    """The threads that share each part of the work."""
    penalty: Penalty | None = None
    """A penalty on weights that is added to all losses."""
    least_loss: float = -np.inf
    """A loss that no weights are below: a climb that reaches it ends, and with it the search."""
    start: Start = None
    """The start that was given, if one was; ``first`` follows from it."""

    @property
    def compared(self) -> Floats:
        """The weights of the baseline for sentences without a first choice of their own."""
        return self.first if self.model is None else self.model

    def loss(self, weights: Floats) -> float:
        """The loss of decoding with weights, and their penalty."""
        loss = self.problem.loss(weights, workers=self.workers)
        return loss if self.penalty is None else loss + self.penalty(weights)

    @cached_property
    def axes(self) -> list[Axis]:
        """The axis of each free weight, or free group of tied weights, that makes a difference."""
        return axes_of(self.constraints.free_groups, self.units)

    @cached_property
    def whitening(self) -> Whitening:
        """The way to draw random directions; over forests, from the outputs that win around the first weights."""
        if not Whitening.is_worthwhile(self.axes):
            return Whitening(self.axes, len(self.units))
        offsets, _, features = rivals(self.problem, self.first, self.units, workers=self.workers)
        return Whitening.of(self.axes, len(self.units), offsets, features, workers=self.workers)

    @staticmethod
    def of(
        problem: Problem,
        constraints: Constraints,
        start: Start,
        model: Mapping[str, float] | None = None,
        *,
        workers: Workers = ALONE,
    ) -> Setting:
        """The setting of a problem with constraints, a start if there is one, and the decoder's weights if known."""
        if problem.orders is not None:
            constraints = constraints.for_orders(problem.feature_names)
        compiled = constraints.holding(problem.feature_names, start).compile(problem.feature_names)
        units = feature_units(problem.corpus, workers=workers)
        check_units(units, problem.feature_names)
        own = None
        if model is not None and start is None:
            own = np.array([model.get(name, 0.0) for name in problem.feature_names])
        first = _first_weights(problem, compiled, units, start)
        for name, weight in zip(problem.feature_names, first.tolist(), strict=True):
            if abs(weight) > LARGEST_START:
                raise InputError(
                    f"the search would start with {name!r} at {weight:g}; expected at most {LARGEST_START:g} in size: "
                    "give another start or nearer constraints"
                )
        reach = FARTHEST_WEIGHT * np.maximum(np.where(units > 0.0, inverse_units(units), 1.0), np.abs(first))
        least = float(problem.metric.least_loss)
        return Setting(problem, compiled, units, first, own, reach, workers=workers, least_loss=least, start=start)


def _first_weights(problem: Problem, constraints: CompiledConstraints, units: Floats, start: Start) -> Floats:
    """The start, which must keep the constraints; without one, equal weights over scaled features."""
    if start is None:
        weights = constraints.start(units)
        if not np.any(weights):
            raise InputError("constraints: every weight is fixed at 0, or no feature differs between candidates")
        return weights
    weights = feature_vector(start, problem.feature_names, "start")
    violation = constraints.violation(weights)
    if violation is not None:
        raise InputError(f"start: {violation}")
    if not np.any(weights):
        raise InputError("start: all weights are 0, which ties all candidates; give at least one another value")
    return weights


@dataclass(frozen=True)
class Status:
    """The progress of a search; ``loss`` and ``bound`` are losses, whatever the metric."""

    done: int
    starts: int
    line_searches: int
    loss: float
    bound: float | None = None
    """A proven bound: no weights have a smaller loss. None if nothing is proven."""
    boxes: int = 0


Report = Callable[[Status], None]


@dataclass(frozen=True, eq=False)
class Found:
    """The weights that a search ends with, their loss, and its history."""

    weights: Floats
    start: Floats
    start_loss: float
    loss: float
    line_searches: int
    history: tuple[Mapping[str, float], ...]
    interrupted: bool
    certificate: Certificate | None = None
    ended: str | None = None
    """The reason why the search ended before all of its climbs were done; None if it did not."""


class Strategy(ABC):
    """A way to search weights. Its options are its fields; ``name`` stands for it in strings."""

    name: ClassVar[str]
    asks_by_the_clock: ClassVar[bool] = False
    """Whether it asks the metric itself, and looks at its clock in between: then nobody asks ahead."""

    @abstractmethod
    def find(self, setting: Setting, *, seed: int, threads: int, report: Report | None = None) -> Found:
        """The best weights that the strategy finds. They depend on the seed, but not on the number of threads."""
