"""Search: the problem in shards, line search and its policies, constraints, and a class for each strategy."""

from hulltune.search.certificate import Certificate
from hulltune.search.constraints import Constraints
from hulltune.search.coordinate import Coordinate
from hulltune.search.gradient import GradientClimb
from hulltune.search.line_cma import LineCma
from hulltune.search.powell import Powell
from hulltune.search.problem import Problem
from hulltune.search.random_climb import Climb
from hulltune.search.steps import Policy
from hulltune.search.strategy import Strategy

__all__ = [
    "Certificate",
    "Climb",
    "Constraints",
    "Coordinate",
    "GradientClimb",
    "LineCma",
    "Policy",
    "Powell",
    "Problem",
    "Strategy",
]
