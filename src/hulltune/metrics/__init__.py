"""Metrics: additive statistics per output, and scores of their sums. Everything is imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hulltune.metrics.accuracy import Accuracy as Accuracy
    from hulltune.metrics.aer import Aer as Aer
    from hulltune.metrics.ask import Ask as Ask
    from hulltune.metrics.base import ByOutput as ByOutput
    from hulltune.metrics.base import Metric as Metric
    from hulltune.metrics.base import PreparedMetric as PreparedMetric
    from hulltune.metrics.bleu import Bleu as Bleu
    from hulltune.metrics.chrf import ChrF as ChrF
    from hulltune.metrics.chrf import ChrFPlusPlus as ChrFPlusPlus
    from hulltune.metrics.combination import Combination as Combination
    from hulltune.metrics.fmeasure import FMeasure as FMeasure
    from hulltune.metrics.given import ColumnRatio as ColumnRatio
    from hulltune.metrics.given import Given as Given
    from hulltune.metrics.given import ScoreTable as ScoreTable
    from hulltune.metrics.memory import Memory as Memory
    from hulltune.metrics.memory import TextMemory as TextMemory
    from hulltune.metrics.meteor import Meteor as Meteor
    from hulltune.metrics.questions import NotYet as NotYet
    from hulltune.metrics.questions import Question as Question
    from hulltune.metrics.questions import Unanswered as Unanswered
    from hulltune.metrics.questions import export_questions as export_questions
    from hulltune.metrics.questions import import_answers as import_answers
    from hulltune.metrics.registry import get_metric as get_metric
    from hulltune.metrics.registry import metric_names as metric_names
    from hulltune.metrics.registry import register_metric as register_metric
    from hulltune.metrics.store import Store as Store
    from hulltune.metrics.ter import Ter as Ter
    from hulltune.metrics.wer import Cer as Cer
    from hulltune.metrics.wer import Mer as Mer
    from hulltune.metrics.wer import Wer as Wer

_MODULES = {
    "accuracy": ("Accuracy",),
    "aer": ("Aer",),
    "ask": ("Ask",),
    "base": ("ByOutput", "Metric", "PreparedMetric"),
    "bleu": ("Bleu",),
    "chrf": ("ChrF", "ChrFPlusPlus"),
    "combination": ("Combination",),
    "fmeasure": ("FMeasure",),
    "given": ("ColumnRatio", "Given", "ScoreTable"),
    "memory": ("Memory", "TextMemory"),
    "meteor": ("Meteor",),
    "questions": ("NotYet", "Question", "Unanswered", "export_questions", "import_answers"),
    "registry": ("get_metric", "metric_names", "register_metric"),
    "store": ("Store",),
    "ter": ("Ter",),
    "wer": ("Cer", "Mer", "Wer"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import the module of a public name when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
