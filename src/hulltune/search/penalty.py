"""Penalties on weights: the distance from reference weights, over scaled features, in the unit of the metric."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from hulltune.arrays import Floats
from hulltune.search.constraints import CompiledConstraints


@dataclass(frozen=True, eq=False)
class Penalty:
    """``strength`` times the squared distance of scaled weights from a reference, added to the loss.

    Where only the direction of the weights matters, both are first brought to the length √n of n weights of size 1,
    so that the squared distance is 2n(1 − cos) of the angle between them. Elsewhere the distance is measured in units
    of the reference's typical (root mean square) scaled weight, or as it is if the reference is 0. Either way a
    distance of 1 is one typical weight changed by its own size, and ``strength`` is what that must gain.
    """

    strength: float
    units: Floats
    reference: Floats
    """The scaled reference weights: of length 1 if only the direction matters, else divided by the typical size."""
    angle: bool
    size: float
    """The number n of weights that differ for an angle, else the typical size of the scaled reference weights."""

    @staticmethod
    def of(strength: float, constraints: CompiledConstraints, units: Floats, reference: Floats) -> Penalty:
        """The penalty on the distance from ``reference``."""
        scaled = reference * units
        length = math.sqrt(math.fsum((scaled * scaled).tolist()))
        if constraints.only_direction_matters and length > 0.0:
            return Penalty(strength, units, scaled / length, True, max(float(np.count_nonzero(units)), 1.0))
        free = (constraints.lower < constraints.upper) & (units > 0.0)
        squares = scaled[free] ** 2
        typical = math.sqrt(math.fsum(squares.tolist()) / len(squares)) if len(squares) else 0.0
        typical = typical if typical > 0.0 else 1.0
        return Penalty(strength, units, scaled / typical, False, typical)

    def with_strength(self, strength: float) -> Penalty:
        """The penalty on the distance from the reference, with another strength."""
        return replace(self, strength=strength)

    def __call__(self, weights: Floats) -> float:
        """The penalty of weights."""
        return float(self.at(self.along(weights, np.zeros((1, len(weights)))), np.zeros((1, 1)))[0, 0])

    def along(self, origin: Floats, directions: Floats) -> Floats:
        """The penalty along each line, as the coefficients (a, b, c, d, e, f) of a function of η: with the quadratic
        q = c + 2dη + eη² it is 2f(1 − (a + bη)/√q) for an angle, and f·q otherwise. O(weights) a line.
        """
        # Every product is of sums in a fixed order, whatever the processor and the number of lines.
        start, lines = origin * self.units, directions * self.units
        if not self.angle:
            start, lines = start / self.size - self.reference, lines / self.size
        rows = np.empty((len(lines), 6))
        rows[:, 0] = _dot(start, self.reference)
        rows[:, 2] = _dot(start, start)
        for number, line in enumerate(lines):
            rows[number, 1], rows[number, 3] = _dot(line, self.reference), _dot(start, line)
            rows[number, 4] = _dot(line, line)
        rows[:, 5] = self.strength * (self.size if self.angle else 1.0)
        return rows

    def at(self, rows: Floats, points: Floats) -> Floats:
        """The penalty at points of lines, a row of them for each."""
        a, b, c, d, e, factor = (rows[:, k, None] for k in range(6))
        with np.errstate(all="ignore"):
            quadratic = c + (2.0 * d + e * points) * points
            if not self.angle:
                return np.asarray(factor * np.maximum(quadratic, 0.0))
            cosine = np.where(quadratic > 0.0, (a + b * points) / np.sqrt(quadratic), 0.0)
            return np.asarray(2.0 * factor * (1.0 - np.clip(cosine, -1.0, 1.0)))

    def least(self, rows: Floats) -> Floats:
        """A bound of the penalty on each whole line: its value at the only flat point, and far out."""
        a, b, c, d, e, factor = rows.T
        with np.errstate(all="ignore"):
            flat = (b * c - a * d) / (a * e - b * d) if self.angle else -d / e
            values = [
                self.at(rows, np.where(np.isfinite(flat), flat, 0.0)[:, None])[:, 0],
                self.at(rows, 0 * a[:, None])[:, 0],
            ]
            if self.angle:
                far = np.where(e > 0.0, np.abs(b) / np.sqrt(e), 1.0)
                values.append(2.0 * factor * (1.0 - np.clip(far, -1.0, 1.0)))
            least = np.minimum.reduce(values)
            # Roundings of the values above are far below this share.
            return np.where(np.isfinite(least), np.maximum(least * (1.0 - 1e-9) - 1e-12 * factor, 0.0), 0.0)


def _dot(a: Floats, b: Floats) -> float:
    return math.fsum((a * b).tolist())
