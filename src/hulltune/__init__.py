"""hulltune: tune the weights of linear models exactly, against the metric you report.

Everything public is here, and nothing heavy is imported until it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hulltune._version import __version__
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.certified import Certified
    from hulltune.data import Corpus, Dataset, Forest, ForestBuilder, Vocabulary
    from hulltune.formats import read, read_references, read_weights, write, write_weights
    from hulltune.inference import inside, outside
    from hulltune.lines import (
        CorpusEnvelopes,
        DerivationLists,
        EdgeScorer,
        Envelope,
        Segment,
        decode,
        envelope,
        envelopes,
        kbest,
        sample,
    )
    from hulltune.loop import CommandDecoder, DecoderError, Jobs, LoopProgress, LoopResult, tune_loop
    from hulltune.options import Looping, Reading, Tuning
    from hulltune.search import (
        Certificate,
        Climb,
        Constraints,
        Coordinate,
        GradientClimb,
        LineCma,
        Policy,
        Powell,
        Problem,
    )
    from hulltune.semirings import Hull
    from hulltune.surface import ErrorSurface
    from hulltune.tuning import (
        Comparison,
        LineSearch,
        MetricPlane,
        MetricSurface,
        Pick,
        Progress,
        Reranker,
        Sensitivity,
        TuneResult,
        best_reachable,
        compare,
        count_errors,
        line_search,
        metric_plane,
        metric_surface,
        pick,
        prune,
        rerank,
        score,
        tune,
    )

if TYPE_CHECKING:  # after tuning: before it, mypy would take the function ``tune`` for the module of this name
    from hulltune.report.figures import plot_plane, plot_sensitivity, plot_surface
    from hulltune.report.html import inline_report, write_report
    from hulltune.report.teaching import plot_envelope, plot_inside, plot_plus, plot_times

_ROOMS = (
    *("options", "semirings", "data", "formats", "inference", "lines", "search", "surface", "tuning", "loop"),
    *("report.figures", "report.html", "report.teaching", "certified"),
)
"""Where public names are, nearly in the order in which rooms import each other: a name costs what its room needs."""

__all__ = [
    "Certificate",
    "Certified",
    "Climb",
    "CommandDecoder",
    "Comparison",
    "Constraints",
    "Coordinate",
    "Corpus",
    "CorpusEnvelopes",
    "Dataset",
    "DecoderError",
    "DerivationLists",
    "EdgeScorer",
    "Envelope",
    "ErrorSurface",
    "Forest",
    "ForestBuilder",
    "GradientClimb",
    "Hull",
    "InputError",
    "Jobs",
    "LineCma",
    "LineSearch",
    "LoopProgress",
    "LoopResult",
    "Looping",
    "MetricPlane",
    "MetricSurface",
    "Pick",
    "Policy",
    "Powell",
    "Problem",
    "Progress",
    "Reading",
    "Reranker",
    "Segment",
    "Sensitivity",
    "TuneResult",
    "Tuning",
    "Vocabulary",
    "__version__",
    "best_reachable",
    "compare",
    "count_errors",
    "decode",
    "envelope",
    "envelopes",
    "inline_report",
    "inside",
    "kbest",
    "line_search",
    "metric_plane",
    "metric_surface",
    "outside",
    "pick",
    "plot_envelope",
    "plot_inside",
    "plot_plane",
    "plot_plus",
    "plot_sensitivity",
    "plot_surface",
    "plot_times",
    "prune",
    "read",
    "read_references",
    "read_weights",
    "rerank",
    "sample",
    "score",
    "tune",
    "tune_loop",
    "write",
    "write_report",
    "write_weights",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for room in _ROOMS:
            found = vars(importlib.import_module(f"hulltune.{room}")).get(name)
            # Rooms also have names that they only use, and modules named like functions.
            if getattr(found, "__module__", "").startswith(f"hulltune.{room}"):
                return found
    raise AttributeError(f"module 'hulltune' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
