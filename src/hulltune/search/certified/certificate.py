"""What a certified search proves, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Ends = tuple[float | None, float | None]
"""Where something begins and ends; None for no end."""


@dataclass(frozen=True)
class Certificate:
    """No weights of the region score better than ``bound`` on the tuning set; ``value`` is reached.

    Weights that tie candidates, or are nearer to a tie than rounding can tell, do not count as weights of the region.
    """

    value: float
    bound: float
    gap: float
    """How far apart the two are; 0 if the value is the best there is."""
    region: Mapping[str, Ends]
    """For each weight what is covered. Where only directions matter, all weights of these signs."""
    cell: Mapping[str, Ends]
    """For each free weight how far it may move, the others held, before any output changes."""
    boxes: int
    seconds: float
    metric: str
    """The metric's signature."""
    stopped: str
    """Why the search ended: "gap", "time", "memory", "rounding" or "interrupt"."""
    exact: bool = True
    """Whether all statistics are whole numbers. The sums of others round, and a gap of 0 is one up to that."""

    @property
    def is_optimal(self) -> bool:
        """Whether the value is proven to be the best there is, to the bit: never so for sums that round."""
        return self.gap == 0.0 and self.exact

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Certificate:
        """From what ``dataclasses.asdict`` made, by way of JSON."""
        ends = {key: {name: tuple(pair) for name, pair in data[key].items()} for key in ("region", "cell")}
        return Certificate(**{**data, **ends})
