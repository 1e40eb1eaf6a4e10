"""Tuning: from candidate lists and a metric to weights, and what is known about them."""

from hulltune.tuning.api import rerank, score, tune
from hulltune.tuning.options import Progress, TuneOptions
from hulltune.tuning.oracle import Oracle, best_reachable
from hulltune.tuning.reranker import Reranker
from hulltune.tuning.result import TuneResult
from hulltune.tuning.tune import tune_problem

__all__ = [
    "Oracle",
    "Progress",
    "Reranker",
    "TuneOptions",
    "TuneResult",
    "best_reachable",
    "rerank",
    "score",
    "tune",
    "tune_problem",
]
