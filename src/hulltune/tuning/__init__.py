"""Tuning: weights from data and a metric, and a result that describes them."""

from hulltune.tuning.oracle import Oracle, best_reachable
from hulltune.tuning.reranker import Reranker
from hulltune.tuning.reranking import rerank, score
from hulltune.tuning.result import TuneResult
from hulltune.tuning.tune import Progress, Run, tune

__all__ = [
    "Oracle",
    "Progress",
    "Reranker",
    "Run",
    "TuneResult",
    "best_reachable",
    "rerank",
    "score",
    "tune",
]
