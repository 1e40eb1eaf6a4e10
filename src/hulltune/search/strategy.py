"""What every strategy of search takes and gives: the setting it works in, what it tells on the way, what it finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.search.certified.certificate import Certificate
from hulltune.search.constraints import FARTHEST_WEIGHT, CompiledConstraints, Constraints
from hulltune.search.directions import check_units, feature_units, inverse_units
from hulltune.search.problem import Problem

Start = Mapping[str, float] | Sequence[float] | None


@dataclass(frozen=True, eq=False)
class Setting:
    """A problem with all that a search needs to know: constraints, the units of features, and the first weights."""

    problem: Problem
    constraints: CompiledConstraints
    units: Floats
    first: Floats
    model: Floats | None = None
    """The weights of the decoder, where no start was given that would stand for them."""

    @property
    def compared(self) -> Floats:
        """The weights whose choice is the baseline of what has no first choice of its own."""
        return self.first if self.model is None else self.model

    @cached_property
    def reach(self) -> Floats:
        """How far each weight may go where no constraint ends it."""
        sizes = np.maximum(np.where(self.units > 0.0, inverse_units(self.units), 1.0), np.abs(self.first))
        return FARTHEST_WEIGHT * sizes

    @staticmethod
    def of(
        problem: Problem, constraints: Constraints, start: Start, model: Mapping[str, float] | None = None
    ) -> Setting:
        """The setting of a problem, from the start and the decoder's own weights, if they are known."""
        compiled = constraints.holding(problem.feature_names, start).compile(problem.feature_names)
        units = feature_units(problem.corpus)
        check_units(units, problem.feature_names)
        own = None
        if model is not None and start is None:
            own = np.array([model.get(name, 0.0) for name in problem.feature_names])
        return Setting(problem, compiled, units, _first_weights(problem, compiled, units, start), own)


def _first_weights(problem: Problem, constraints: CompiledConstraints, units: Floats, start: Start) -> Floats:
    """The weights given, if they are within the constraints; otherwise equal ones over scaled features."""
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
    """How far a search is, in losses."""

    done: int
    starts: int
    line_searches: int
    loss: float
    bound: float | None = None
    """A loss that no weights are below, as far as it is proven; None if nothing is."""
    boxes: int = 0


Report = Callable[[Status], None]


@dataclass(frozen=True, eq=False)
class Found:
    """The weights that a search ends with, and how it came there."""

    weights: Floats
    start: Floats
    start_loss: float
    loss: float
    line_searches: int
    history: tuple[Mapping[str, float], ...]
    interrupted: bool
    certificate: Certificate | None = None


class Strategy(ABC):
    """A way to search weights. Its options are its fields; ``name`` is what it is called in a string."""

    name: ClassVar[str]

    @abstractmethod
    def find(self, setting: Setting, *, seed: int, threads: int, report: Report | None = None) -> Found:
        """The best weights that the strategy finds. The seed alone decides them: threads change only the time."""
