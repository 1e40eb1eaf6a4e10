"""Semirings: the semiring alone decides what inference over a forest computes."""

from hulltune.semirings.axioms import AxiomError, check_axioms
from hulltune.semirings.base import Semiring
from hulltune.semirings.expectation import Expectation, ExpectationSemiring
from hulltune.semirings.hull import Hull, HullSemiring
from hulltune.semirings.kbest import KBestSemiring
from hulltune.semirings.numbers import BooleanSemiring, CountingSemiring, RealSemiring
from hulltune.semirings.polygon import Polygon, PolygonSemiring
from hulltune.semirings.scores import LogSemiring, TropicalSemiring
from hulltune.semirings.viterbi import Derivation, ViterbiSemiring

__all__ = [
    "AxiomError",
    "BooleanSemiring",
    "CountingSemiring",
    "Derivation",
    "Expectation",
    "ExpectationSemiring",
    "Hull",
    "HullSemiring",
    "KBestSemiring",
    "LogSemiring",
    "Polygon",
    "PolygonSemiring",
    "RealSemiring",
    "Semiring",
    "TropicalSemiring",
    "ViterbiSemiring",
    "check_axioms",
]
