"""The space of weights that are searched, as the surface of a cube: its coordinates and its faces.

Only the direction of weights matters to a decoder. So all weights of one direction are one point of the surface of a
cube: one coordinate is ±1, the others lie between −1 and 1. If some weights are fixed, they make up one coordinate
together, of which only the positive side exists. Weights of any size beside fixed ones are then directions, too, and no
range has to be chosen. Bounds of 0 cut faces in half. If there are other bounds, the box between them is the only face.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError
from hulltune.search.certificate import Ends
from hulltune.search.constraints import CompiledConstraints

REACH = 2.0**20
"""The limit of a weight without bounds beside a fixed one, in units in which both matter equally."""
MOST_MOVING = 1000
"""The most free weights: a cube has twice as many faces, and each is a vector of them."""


@dataclass(frozen=True, eq=False)
class Space:
    """Coordinates x, the weights that they stand for, and the faces that cover them.

    Weights are ``axes @ x``; with ``fixed``, divided by x[0], so that the fixed weights keep their values.
    """

    axes: Floats
    """(features, coordinates)."""
    fixed: bool
    """Whether coordinate 0 stands for the weights that do not change (``axes[:, 0]``)."""
    lows: Floats
    """The least coordinates of each face, the box to begin with: (faces, coordinates)."""
    highs: Floats
    constraints: CompiledConstraints
    moving: tuple[Int64s, ...]
    """The features of each coordinate but the fixed one."""

    def weights(self, point: Floats) -> Floats:
        """The weights of a point, clipped to the constraints, which rounding may leave."""
        weights = self.axes @ point
        if self.fixed:
            weights = weights / point[0]
        if self.moving:
            weights = np.clip(weights, self.constraints.lower, self.constraints.upper)
        return weights

    @property
    def is_a_line(self) -> bool:
        """Whether a single weight (or group of tied weights) moves beside fixed ones."""
        return self.fixed and len(self.lines) == 1

    @cached_property
    def lines(self) -> list[Floats]:
        """The directions in which weights can move."""
        return [self.axes[:, k].copy() for k in range(int(self.fixed), self.axes.shape[1])]

    @cached_property
    def scales(self) -> Floats:
        """The amount of each weight that is one unit of the lines; 0 for a weight that does not move."""
        sizes: Floats = np.abs(self.axes).max(axis=1)
        return sizes

    @cached_property
    def reach(self) -> Floats:
        """For each weight, the limit of the search where no constraint bounds it."""
        if not self.fixed:
            return REACH * self.scales
        ends = np.maximum(np.abs(self.lows), np.abs(self.highs)) / self.lows[:, :1]
        beyond: Floats = (np.abs(self.axes) * np.maximum(ends.max(axis=0), REACH)).max(axis=1)
        return beyond

    def region(self) -> dict[str, Ends]:
        """The weights that are covered: for each feature the lowest and the highest; None for no end."""
        ends: dict[str, Ends] = {}
        names, bounds = self.constraints.names, self.constraints
        for k, name in enumerate(names):
            low, high = float(bounds.lower[k]), float(bounds.upper[k])
            ends[name] = (low if math.isfinite(low) else None, high if math.isfinite(high) else None)
        if self.fixed:
            for number, group in enumerate(self.moving):
                size = float(self.axes[group[0], number + 1])
                lowest = float((self.lows[:, number + 1] / self.lows[:, 0]).min()) * size
                highest = float((self.highs[:, number + 1] / self.lows[:, 0]).max()) * size
                ends |= {names[k]: (lowest, highest) for k in group}
        return ends


def space_of(constraints: CompiledConstraints, units: Floats) -> Space:
    """The space of all weights within constraints. ``units`` are typical differences of the features (0 for none).

    A free weight whose feature never differs stays at the allowed value nearest to 0.
    """
    still = np.clip(np.zeros(len(constraints.names)), constraints.lower, constraints.upper)
    moving = tuple(group for group in constraints.free_groups if np.any(units[group] > 0.0))
    if not moving:
        raise InputError("certify: no weight is free, or no feature differs between candidates")
    if len(moving) > MOST_MOVING:
        raise InputError(
            f"certify: {len(moving):,} weights are free; expected at most {MOST_MOVING:,}, and few for a proof in good "
            "time (hold others with free or fix)"
        )
    for group in moving:
        still[group] = 0.0
    lower = np.array([constraints.lower[group[0]] for group in moving])
    upper = np.array([constraints.upper[group[0]] for group in moving])
    signed = bool(np.all(np.isinf(lower) | (lower == 0.0)) and np.all(np.isinf(upper) | (upper == 0.0)))
    origin_unit = float(np.abs(still) @ units)
    fixed = origin_unit > 0.0 or not signed
    axes = np.zeros((len(still), len(moving) + fixed))
    if fixed:
        axes[:, 0] = still
    for number, group in enumerate(moving):
        # Powers of two, so that the features over the coordinates are those of the data to the bit.
        axes[group, number + fixed] = _power_of_two((origin_unit or 1.0) / float(np.mean(units[group])))
    if signed:
        faces = _cube(np.where(lower == 0.0, 0.0, -1.0), np.where(upper == 0.0, 0.0, 1.0), fixed)
    else:
        scales = np.array([axes[group[0], k + 1] for k, group in enumerate(moving)])
        with np.errstate(over="ignore"):
            faces = _one_face(*(_scaled(bounds, scales, moving, constraints) for bounds in (lower, upper)))
    return Space(axes, fixed, *faces, constraints, moving)


def _cube(lower: Floats, upper: Floats, fixed: bool) -> tuple[Floats, Floats]:
    """The faces of the cube, where each coordinate goes from −1 or 0 to 0 or 1."""
    if fixed:
        lower, upper = np.append(1.0 / REACH, lower), np.append(1.0, upper)
    lows, highs = [], []
    for k in range(len(lower)):
        for side in (-1.0, 1.0):
            if lower[k] <= side <= upper[k]:
                low, high = lower.copy(), upper.copy()
                low[k] = high[k] = side
                lows.append(low)
                highs.append(high)
    if not lows:
        raise InputError("certify: the signs leave no weight but 0")
    return np.array(lows), np.array(highs)


def _one_face(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """The box between the bounds. Ends without a bound lie far beyond all others."""
    sizes = np.abs(np.concatenate([lower, upper]))
    far = REACH * max(1.0, float(sizes[np.isfinite(sizes)].max(initial=0.0)))
    low, high = np.where(np.isinf(lower), -far, lower), np.where(np.isinf(upper), far, upper)
    return np.append(1.0, low)[None], np.append(1.0, high)[None]


def _scaled(bounds: Floats, scales: Floats, moving: tuple[Int64s, ...], constraints: CompiledConstraints) -> Floats:
    """The bounds of weights as bounds of coordinates."""
    scaled: Floats = bounds / scales
    for k in np.flatnonzero(np.isinf(scaled) & np.isfinite(bounds)):
        name = constraints.names[moving[k][0]]
        raise InputError(f"certify: the bound {bounds[k]:g} of {name!r} overflows beside its feature; use a nearer one")
    return scaled


def _power_of_two(value: float) -> float:
    return math.ldexp(1.0, max(min(math.frexp(value)[1], 1000), -1000))
