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
    Over lists that is 2^-46 of the scores. Over forests it is 2^-36: derivations that nobody has seen may lead by less.
    Where weights are fixed or tied, candidates may tie everywhere: if their scores are equal as decimals, the first
    counts as the winner, though decoding may round them one unit of its grid apart at some weights.
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
    """Whether all statistics are whole numbers, and all candidates those of lists or of one line. Otherwise a gap of 0
    holds up to rounding: of sums of other statistics, and of the scores by which forests are searched for candidates.
    """

    @property
    def is_optimal(self) -> bool:
        """Whether the value is proven to be the best there is, to the bit; False where the proof is not ``exact``."""
        return self.gap == 0.0 and self.exact
