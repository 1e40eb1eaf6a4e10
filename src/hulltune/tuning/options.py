"""What can be chosen about a run, what it stands on, and what it says of itself on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hulltune.defaults import RESTARTS
from hulltune.errors import InputError
from hulltune.search.certified.certificate import Certificate
from hulltune.search.certified.search import Limits
from hulltune.search.constraints import CompiledConstraints, Constraints
from hulltune.search.directions import check_units, feature_units
from hulltune.search.interface import Problem
from hulltune.search.optimise import SearchOptions
from hulltune.tuning.starts import first_weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Progress:
    """Where a run is: for a progress bar."""

    starts_done: int
    starts: int
    line_searches: int
    seconds: float
    best_score: float
    baseline: float
    bound: float | None = None
    """What no weights score better than, as far as it is proven; None if nothing is."""
    boxes: int = 0
    """Boxes of weights that a certified search has looked at."""


@dataclass(frozen=True)
class TuneOptions:
    """Everything that can be chosen about a run but its data."""

    constraints: Constraints = field(default_factory=Constraints)
    search: SearchOptions = field(default_factory=SearchOptions)
    restarts: int = RESTARTS
    """Climbs beside that from the start: a fifth from random weights, the others from around the best so far."""
    seed: int = 1
    threads: int | None = None
    samples: int = 1000
    """Bootstrap samples."""
    limits: Limits = Limits()  # noqa: RUF009  # frozen
    """When a certified search stops."""
    oracle: bool = True
    """Whether to look for the best picks, which asks the metric for every candidate."""

    def __post_init__(self) -> None:
        if self.restarts < 0:
            raise InputError(f"restarts: expected 0 or more, got {self.restarts}")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads: expected at least 1, got {self.threads}")
        if self.seed < 0:
            raise InputError(f"seed: expected a whole number of at least 0, got {self.seed}")


@dataclass(frozen=True)
class Step:
    """What a search reports of itself, in losses."""

    done: int
    starts: int
    line_searches: int
    loss: float
    bound: float | None = None
    boxes: int = 0


@dataclass(frozen=True, eq=False)
class Found:
    """The outcome of all climbs."""

    weights: Floats
    start: Floats
    start_loss: float
    loss: float
    line_searches: int
    history: tuple[Mapping[str, float], ...]
    interrupted: bool
    certificate: Certificate | None = None


@dataclass(frozen=True, eq=False)
class Ground:
    """What a search stands on: the constraints, the units of features, and the first weights."""

    constraints: CompiledConstraints
    units: Floats
    first: Floats
    model: Floats | None = None
    """The weights of the decoder, where no start was given that would stand for them."""

    @property
    def compared(self) -> Floats:
        """The weights whose choice is the baseline of what has no first choice of its own."""
        return self.first if self.model is None else self.model

    @staticmethod
    def of(
        problem: Problem,
        options: TuneOptions,
        start: Mapping[str, float] | Sequence[float] | None,
        model: Mapping[str, float] | None = None,
    ) -> Ground:
        """For a problem, from the options, and the start and the decoder's own weights, if they are known."""
        constraints = options.constraints.compile(problem.feature_names)
        units = feature_units(problem.corpus)
        check_units(units, problem.feature_names)
        own = None
        if model is not None and start is None:
            own = np.array([model.get(name, 0.0) for name in problem.feature_names])
        return Ground(constraints, units, first_weights(problem, constraints, units, start), own)
