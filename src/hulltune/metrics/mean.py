"""The weighted mean of one number per output: the base of ``given`` and ``ask``."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats
from hulltune.metrics._common import checked_statistics, ratio
from hulltune.metrics.base import Metric, Statistics
from hulltune.metrics.bounds import Ratio


class MeanMetric(Metric):
    """Σ total / Σ weight over the outputs; 0 where all weights are 0."""

    columns = ("total", "weight")

    def score(self, statistics: Statistics) -> Floats:
        """The weighted mean."""
        sums = checked_statistics(statistics, self)
        return ratio(sums[..., 0], sums[..., 1], empty=0.0)

    @property
    def as_ratio(self) -> Ratio:
        """The mean, turned so that smaller is better."""
        return Ratio(np.array([-1.0 if self.higher_is_better else 1.0, 0.0]), np.array([0.0, 1.0]), best=-np.inf)
