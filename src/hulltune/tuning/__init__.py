"""Tuning: from candidate lists and a metric to weights, and what is known about them."""

from hulltune.tuning.result import TuneResult
from hulltune.tuning.tune import Progress, TuneOptions, tune_problem

__all__ = ["Progress", "TuneOptions", "TuneResult", "tune_problem"]
