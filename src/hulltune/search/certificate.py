"""The certificate: the result of a certified search as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Ends = tuple[float | None, float | None]
"""The two ends of an interval; None for no end."""


@dataclass(frozen=True)
class Certificate:
    """A proof that no weights of the region score better than ``bound`` on the tuning set; ``value`` is reached.

    Weights that tie candidates, or are nearer to a tie than rounding can tell, do not count as weights of the region.
    """

    value: float
    bound: float
    gap: float
    """The distance between value and bound; 0 if the value is the best there is."""
    region: Mapping[str, Ends]
    """For each weight, the range that is covered. Where only directions matter, all weights of these signs."""
    cell: Mapping[str, Ends]
    """For each free weight, the range in which no output changes while the other weights stay."""
    boxes: int
    seconds: float
    metric: str
    """The metric's signature."""
    stopped: str
    """The reason why the search ended: "gap", "time", "memory", "rounding" or "interrupt"."""
    exact: bool = True
    """Whether all statistics are whole numbers. Sums of other numbers round, and a gap of 0 holds up to rounding."""

    @property
    def is_optimal(self) -> bool:
        """Whether the value is proven to be the best there is, to the bit; always False for sums that round."""
        return self.gap == 0.0 and self.exact
