"""Constraints on weights: fixed, bounded, signed, tied, and their scale."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError, unknown_name
from hulltune.names import SCALES
from hulltune.search.directions import inverse_units

Value = TypeVar("Value")

SIGNS = ("+", "-", "any")
FARTHEST_WEIGHT = 1e6
"""The limit of a weight on a fixed scale, in units of its feature or of the start, so that none goes to infinity."""


@dataclass(frozen=True)
class Constraints:
    """Constraints by feature name. They restrict the interval of every line search; nothing is clipped afterwards.

    A name may stand for several features: a pattern such as ``lm*``, or the name of a block, ``TM0`` for ``TM0_0``,
    ``TM0_1`` and so on. What is said of a feature by its own name goes before that.

    >>> from hulltune import Constraints
    >>> Constraints(fix={"am": 1.0}, min={"lm": 0.0}, max={"lm": 20.0}, tie=[["forward", "backward"]]).fix
    {'am': 1.0}
    """

    fix: Mapping[str, float] = field(default_factory=dict)
    """Weights that do not change."""
    free: Sequence[str] | None = None
    """The only weights that are tuned; others that are not fixed stay at the start, or at 0 if there is none."""
    min: Mapping[str, float] = field(default_factory=dict)
    max: Mapping[str, float] = field(default_factory=dict)
    sign: Mapping[str, str] = field(default_factory=dict)
    """"+" for a weight of at least 0, "-" for one of at most 0, "any" for either: where answers are orders, a weight of
    which nothing else is said has the sign "+" (see ``for_orders``).
    """
    tie: Sequence[Sequence[str]] = ()
    """Groups of features that share one weight."""
    scale: str = "l1"
    """The norm of the weights where only their direction matters: "l1" or "l2" norm 1, or "none" to leave them.

    A weight that is fixed, or bounded by anything but 0, sets the scale itself; weights are then left as they are.
    """

    def __post_init__(self) -> None:
        for what in ("fix", "min", "max", "sign"):
            if not isinstance(getattr(self, what), Mapping):
                raise InputError(f"{what}: expected values by name, such as {{'lm': 1.0}}, got {getattr(self, what)!r}")
        if self.scale not in SCALES:
            raise unknown_name("scale", self.scale, SCALES)

    def holding(self, names: Sequence[str], start: Mapping[str, float] | Sequence[float] | None) -> Constraints:
        """The constraints with all weights but the free ones fixed: at the value in ``fix``, at the start, or at 0."""
        if self.free is None:
            return self
        free = {name for key in self.free for name in features_of(key, names, "free")}
        for name in free:
            if name in self.fix:
                raise InputError(f"free, fix: {name!r} cannot be both")
        values = np.zeros(len(names)) if start is None else feature_vector(start, tuple(names), "start")
        held = {name: float(value) for name, value in zip(names, values, strict=True) if name not in free}
        return replace(self, free=None, fix={**held, **by_feature(self.fix, names, "fix")})

    def among(self, names: Sequence[str]) -> Constraints:
        """The constraints without what is said of features that are not among these."""

        def kept(given: Mapping[str, Value]) -> dict[str, Value]:
            return {key: value for key, value in given.items() if _matching(key, names)}

        groups = [[key for key in group if _matching(key, names)] for group in self.tie]
        return replace(
            self,
            fix=kept(self.fix),
            free=None if self.free is None else [key for key in self.free if _matching(key, names)],
            min=kept(self.min),
            max=kept(self.max),
            sign=kept(self.sign),
            tie=[group for group in groups if group],
        )

    def for_orders(self, names: Sequence[str]) -> Constraints:
        """The constraints with the sign "+" for each feature of which nothing is said.

        Search engines take no other weights, and rankers whose scores are made comparable need none: free signs gain
        on the queries that are tuned on, and nothing on others.
        """
        said = {name for what in ("sign", "min", "max", "fix") for name in by_feature(getattr(self, what), names, what)}
        return replace(self, sign={**self.sign, **{name: "+" for name in names if name not in said}})

    def compile(self, names: Sequence[str]) -> CompiledConstraints:
        """The constraints over these features, checked against each other."""
        assert self.free is None  # see ``holding``
        column = {name: k for k, name in enumerate(names)}
        lower, upper = np.full(len(names), -math.inf), np.full(len(names), math.inf)
        for name, sign in by_feature(self.sign, names, "sign").items():
            if sign not in SIGNS:
                raise InputError(f"sign: the sign of {name!r} is {sign!r}; expected '+', '-' or 'any'")
            if sign != "any":
                (lower if sign == "+" else upper)[column[name]] = 0.0
        for what, values, bound, tighter in (
            ("min", self.min, lower, max),
            ("max", self.max, upper, min),
        ):
            for name, value in by_feature(values, names, what).items():
                k = column[name]
                bound[k] = tighter(float(bound[k]), _number(value, what, name))
        for name, value in by_feature(self.fix, names, "fix").items():
            k = column[name]
            number = _number(value, "fix", name)
            if not lower[k] <= number <= upper[k]:
                raise InputError(f"{name!r} is fixed at {number:g}, outside its bounds [{lower[k]:g}, {upper[k]:g}]")
            lower[k] = upper[k] = number
        for k, name in enumerate(names):
            if lower[k] > upper[k] or lower[k] == math.inf or upper[k] == -math.inf:
                raise InputError(f"{name!r}: no weight lies between {lower[k]:g} and {upper[k]:g}")
        groups = self._groups(column)
        for group in groups:
            if len(group) == 1:
                continue
            low, high = float(lower[group].max()), float(upper[group].min())
            if low > high:
                tied = ", ".join(names[k] for k in group)
                raise InputError(f"tie: no weight fits all of {tied}: at least {low:g} and at most {high:g}")
            lower[group], upper[group] = low, high
        return CompiledConstraints(tuple(names), lower, upper, groups, self.scale)

    def _groups(self, column: Mapping[str, int]) -> tuple[Int64s, ...]:
        taken: dict[int, str] = {}
        groups = []
        for names in self.tie:
            if not names:
                raise InputError("tie: got a group of no features; expected two or more names")
            members = sorted({column[name] for key in names for name in features_of(key, tuple(column), "tie")})
            for k in members:
                if k in taken:
                    raise InputError(f"tie: a feature stands in two groups ({taken[k]} and {', '.join(names)})")
                taken[k] = ", ".join(names)
            groups.append(np.array(members, dtype=np.int64))
        groups += [np.array([k], dtype=np.int64) for k in column.values() if k not in taken]
        return tuple(sorted(groups, key=lambda group: int(group[0])))


def features_of(key: str, names: Sequence[str], what: str) -> list[str]:
    """The features that a name stands for: itself, those that match a pattern, or the numbered ones of a block."""
    matching = _matching(key, names)
    if not matching:
        raise unknown_name(f"feature in {what}:", key, names)
    return matching


def _matching(key: str, names: Sequence[str]) -> list[str]:
    if key in names:
        return [key]
    return [name for name in names if fnmatchcase(name, key) or re.fullmatch(re.escape(key) + r"_[0-9]+", name)]


def by_feature(given: Mapping[str, Value], names: Sequence[str], what: str) -> dict[str, Value]:
    """Values by feature from values by name, which may stand for several features."""
    found = {name: value for key, value in given.items() for name in features_of(key, names, what)}
    return {**found, **{name: value for name, value in given.items() if name in found}}


@dataclass(frozen=True, eq=False)
class CompiledConstraints:
    """Bounds per feature, and groups of features that move together."""

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    groups: tuple[Int64s, ...]
    scale: str

    @property
    def free_groups(self) -> tuple[Int64s, ...]:
        """The groups whose weight can change."""
        return tuple(group for group in self.groups if self.lower[group[0]] < self.upper[group[0]])

    @cached_property
    def tied_groups(self) -> tuple[Int64s, ...]:
        """The groups of more than one feature."""
        return tuple(group for group in self.groups if len(group) > 1)

    @cached_property
    def only_direction_matters(self) -> bool:
        """Whether weights may be multiplied by any positive number: all bounds are 0 or infinite."""
        return bool(
            np.all(np.isinf(self.lower) | (self.lower == 0)) and np.all(np.isinf(self.upper) | (self.upper == 0))
        )

    def restrict(self, directions: Floats) -> Floats:
        """Directions (one, or one a row) with 0 for fixed weights, and for tied weights their mean."""
        restricted = np.where(self.lower < self.upper, directions, 0.0)
        for group in self.tied_groups:
            restricted[..., group] = restricted[..., group].mean(axis=-1, keepdims=True)
        return restricted

    def interval(self, weights: Floats, direction: Floats, reach: Floats | None = None) -> tuple[float, float] | None:
        """The range of η in which weights + η · direction keeps all bounds; None if there is no room to move.

        Weights without a bound stay within ±``reach``, unless only their direction matters.
        """
        intervals, open_ = self.intervals(weights, direction[None, :], reach)
        return (float(intervals[0, 0]), float(intervals[0, 1])) if open_[0] else None

    def intervals(self, weights: Floats, directions: Floats, reach: Floats | None = None) -> tuple[Floats, Bools]:
        """The range of η for each row of directions (see ``interval``): (directions, 2), and whether there is room."""
        from hulltune.kernels.directions.intervals import intervals_within

        lower, upper = self.lower, self.upper
        if reach is not None and not self.only_direction_matters:
            lower = np.where(np.isinf(lower), -reach, lower)
            upper = np.where(np.isinf(upper), reach, upper)
        return intervals_within(np.array(weights, dtype=np.float64), np.array(directions, order="C"), lower, upper)

    def allow(self, weights: Floats) -> Bools:
        """Whether each row of weights keeps all constraints."""
        kept: Bools = np.all((self.lower <= weights) & (weights <= self.upper), axis=1)
        for group in self.tied_groups:
            kept &= np.ptp(weights[:, group], axis=1) == 0.0
        return kept

    def violation(self, weights: Floats) -> str | None:
        """The first violation of a constraint by ``weights``, in words; None if there is none."""
        if self.allow(weights[None])[0]:
            return None
        for k, name in enumerate(self.names):
            if not self.lower[k] <= weights[k] <= self.upper[k]:
                wanted = (
                    f"exactly {self.lower[k]:g}"
                    if self.lower[k] == self.upper[k]
                    else (f"between {self.lower[k]:g} and {self.upper[k]:g}")
                )
                return f"the weight of {name!r} is {weights[k]:g}; its constraints ask for {wanted}"
        for group in self.groups:
            if np.ptp(weights[group]) != 0.0:
                return f"the weights of {', '.join(self.names[k] for k in group)} are tied, but differ"
        return None

    def normalised(self, weights: Floats) -> Floats:
        """The weights with norm 1 (see ``Constraints.scale``) where only their direction matters."""
        if self.scale == "none" or not self.only_direction_matters:
            return weights
        size = float(np.abs(weights).sum() if self.scale == "l1" else np.sqrt((weights**2).sum()))
        if not (size > 0.0 and math.isfinite(size)) or abs(size - 1.0) < 2.0**-40:  # scaling again only rounds again
            return weights
        return weights / size

    def start(self, units: Floats) -> Floats:
        """Equal weights over scaled features (1 / unit each), as far as the constraints allow."""
        sizes = inverse_units(units)
        for group in self.tied_groups:
            sizes[group] = sizes[group].mean()
        sizes = np.where(self.upper <= 0.0, 0.0 - sizes, sizes)  # 0 − size, so that no weight is −0
        return np.clip(sizes, self.lower, self.upper)


def _number(value: Any, what: str, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what}: {name!r} is {value!r}; expected a number") from None
    if math.isnan(number) or (what == "fix" and math.isinf(number)):
        raise InputError(f"{what}: {name!r} is {number}; expected a finite number")
    return number
