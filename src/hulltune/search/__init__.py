"""Search: the problem in shards, line search and its policies, constraints, and a class for each strategy."""

from typing import TYPE_CHECKING, Any

from hulltune.search.certified.certificate import Certificate
from hulltune.search.climb import Climb
from hulltune.search.constraints import Constraints
from hulltune.search.coordinate import Coordinate
from hulltune.search.gradient import GradientClimb
from hulltune.search.line import LineSearch, line_search
from hulltune.search.line_cma import LineCma
from hulltune.search.policies import Policy
from hulltune.search.powell import Powell
from hulltune.search.problem import Problem
from hulltune.search.pruning import EnvelopeShare, Pruning, prune
from hulltune.search.strategies import STRATEGIES, get_strategy
from hulltune.search.strategy import Strategy

if TYPE_CHECKING:
    from hulltune.search.certified.strategy import Certified

__all__ = [
    "STRATEGIES",
    "Certificate",
    "Certified",
    "Climb",
    "Constraints",
    "Coordinate",
    "EnvelopeShare",
    "GradientClimb",
    "LineCma",
    "LineSearch",
    "Policy",
    "Powell",
    "Problem",
    "Pruning",
    "Strategy",
    "get_strategy",
    "line_search",
    "prune",
]


def __getattr__(name: str) -> Any:
    if name != "Certified":
        raise AttributeError(f"module 'hulltune.search' has no attribute {name!r}")
    from hulltune.search.certified.strategy import Certified  # a dozen modules that other searches do not need

    return Certified
