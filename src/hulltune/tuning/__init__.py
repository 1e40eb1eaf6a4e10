"""Tuning: weights from data and a metric, and a result that describes them."""

from hulltune.tuning.comparison import Change, Comparison, compare
from hulltune.tuning.line import LineSearch, line_search
from hulltune.tuning.oracle import Oracle, best_reachable
from hulltune.tuning.picks import Pick, Reranked
from hulltune.tuning.pruning import EnvelopeShare, Pruning, prune
from hulltune.tuning.reranker import Reranker
from hulltune.tuning.reranking import count_errors, pick, rerank, score
from hulltune.tuning.result import TuneResult
from hulltune.tuning.sensitivity import Sensitivity
from hulltune.tuning.strategies import STRATEGIES, get_strategy
from hulltune.tuning.surfaces import MetricPlane, MetricSurface, metric_plane, metric_surface
from hulltune.tuning.tune import Progress, tune
from hulltune.tuning.verdict import Verdict

__all__ = [
    "STRATEGIES",
    "Change",
    "Comparison",
    "EnvelopeShare",
    "LineSearch",
    "MetricPlane",
    "MetricSurface",
    "Oracle",
    "Pick",
    "Progress",
    "Pruning",
    "Reranked",
    "Reranker",
    "Sensitivity",
    "TuneResult",
    "Verdict",
    "best_reachable",
    "compare",
    "count_errors",
    "get_strategy",
    "line_search",
    "metric_plane",
    "metric_surface",
    "pick",
    "prune",
    "rerank",
    "score",
    "tune",
]
