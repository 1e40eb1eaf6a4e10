"""Surfaces, planes and pictures of a result, from the data that it was tuned on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.metrics.registry import get_metric
from hulltune.search.problem import Problem
from hulltune.tuning.sensitivity import Sensitivity

if TYPE_CHECKING:
    from hulltune.report.picture import Picture
    from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike
    from hulltune.tuning.planes import MetricPlane, View
    from hulltune.tuning.surfaces import MetricSurface

MOST_PANELS = 12
"""The most weights in a picture of the sensitivity."""
D = TypeVar("D", bound="Plotting")


class Plotting:
    """A result that can draw the metric around its weights.

    It remembers the problem that it was tuned on as long as it lives in memory; files and pickles do not keep it. Then,
    or to look at other data, give ``data`` (and ``references``, as in ``tune``).
    """

    weights: Mapping[str, float]
    metric: str
    sensitivity: Sensitivity | None

    def with_problem(self: D, problem: Problem) -> D:
        """The result itself, which remembers the problem from now on."""
        object.__setattr__(self, "_problem", problem)  # no field: it is neither compared, nor saved
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_problem"}

    def surface(
        self,
        feature: str | None = None,
        *,
        to: WeightsLike | None = None,
        data: DataLike | None = None,
        references: ReferencesLike = None,
        metric: str | Metric | None = None,
    ) -> MetricSurface:
        """The metric for every weight of a feature, or on the line from the tuned weights ``to`` others; exact."""
        from hulltune.tuning.surfaces import metric_surface

        return metric_surface(self.problem_of(data, references, metric), self.weights, feature, to=to)

    def plane(
        self,
        across: str,
        up: str,
        *,
        view: View | None = None,
        rows: int = 400,
        grid: tuple[int, int] | None = None,
        data: DataLike | None = None,
        references: ReferencesLike = None,
        metric: str | Metric | None = None,
    ) -> MetricPlane:
        """The metric over the weights of two features, exact along every row, with its certified optimum."""
        from hulltune.tuning.planes import metric_plane

        problem = self.problem_of(data, references, metric)
        return metric_plane(problem, self.weights, (across, up), view=view, rows=rows, grid=grid)

    def plot_surface(
        self, feature: str | None = None, *, view: tuple[float, float] | None = None, **options: Any
    ) -> Picture:
        """A picture of ``surface``, which notebooks show; ``view`` are the ends of the part to draw."""
        return self.surface(feature, **options).plot(view=view)

    def plot_plane(self, across: str, up: str, **options: Any) -> Picture:
        """A picture of ``plane``, which notebooks show."""
        return self.plane(across, up, **options).plot()

    def plot_sensitivity(
        self,
        *,
        data: DataLike | None = None,
        references: ReferencesLike = None,
        metric: str | Metric | None = None,
    ) -> Picture:
        """A picture of the metric along each free weight, around the range in which it is hardly worse; of more than
        MOST_PANELS weights, those with the narrowest ranges.
        """
        from hulltune.tuning.surfaces import picture_of

        if self.sensitivity is None or not self.sensitivity.ranges:
            raise InputError("sensitivity: this result has no ranges of weights to draw")
        problem = self.problem_of(data, references, metric)
        names = self.sensitivity.narrowest(MOST_PANELS)
        surfaces = [self.surface(name, data=problem) for name in names]
        return picture_of("plot_sensitivity", surfaces, self.sensitivity, names)

    def problem_of(self, data: Any, references: ReferencesLike, metric: str | Metric | None) -> Problem:
        """The problem to look at: that of the data given, or the one that was tuned on."""
        if isinstance(data, Problem):
            return data
        if data is not None:
            from hulltune.tuning.inputs import as_problem

            return as_problem(data, references, self.own_metric() if metric is None else metric)
        problem: Problem | None = self.__dict__.get("_problem")
        if problem is None:
            raise InputError("data: a result from a file does not have the data it was tuned on; give data=…")
        return problem

    def own_metric(self) -> Metric:
        """The metric of the result, if its name alone says what it is."""
        name = self.metric.partition("|")[0]
        try:
            found = get_metric(name)
        except InputError:
            found = None
        if found is None or found.signature != self.metric:
            raise InputError(f"metric: the result was tuned for {self.metric}; give metric=…, as in tune")
        return found
