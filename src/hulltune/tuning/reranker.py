"""A reranker with the interface of scikit-learn: options in the constructor, then fit, predict and score."""

from __future__ import annotations

import inspect
from typing import Any

from hulltune.errors import unknown_name
from hulltune.metrics.base import Metric
from hulltune.tuning.inputs import DataLike, ReferencesLike
from hulltune.tuning.reranking import rerank, score
from hulltune.tuning.result import TuneResult
from hulltune.tuning.tune import tune

_OPTIONS = tuple(
    name for name, parameter in inspect.signature(tune).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY
)


class Reranker:
    """Picks the best candidate of each list by a weighted sum of its features.

    Options are those of ``tune``. After ``fit``, ``weights_`` has the weights by feature, and ``result_`` the
    TuneResult.
    """

    weights_: dict[str, float]
    result_: TuneResult

    def __init__(self, metric: str | Metric = "bleu", **options: Any) -> None:
        self._options: dict[str, Any] = {"metric": metric}
        self.set_params(**options)

    def fit(self, lists: DataLike, references: ReferencesLike = None) -> Reranker:
        """Tune the weights."""
        self.result_ = tune(lists, references, **self._options)
        self.weights_ = dict(self.result_.weights)
        return self

    def predict(self, lists: DataLike) -> list[str]:
        """The best text of each list."""
        return rerank(lists, self._fitted())

    def score(self, lists: DataLike, references: ReferencesLike = None) -> float:
        """The metric of the texts that ``predict`` returns."""
        return score(lists, self._fitted(), references, metric=self._options["metric"])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options that were given."""
        return dict(self._options)

    def set_params(self, **options: Any) -> Reranker:
        """Change options; they take effect at the next ``fit``."""
        for name in options:
            if name not in _OPTIONS:
                raise unknown_name("option of Reranker", name, _OPTIONS)
        self._options.update(options)
        return self

    def _fitted(self) -> dict[str, float]:
        if not hasattr(self, "weights_"):
            raise RuntimeError("this Reranker has no weights yet: call fit first")
        return self.weights_

    def __repr__(self) -> str:
        return f"Reranker({', '.join(f'{name}={value!r}' for name, value in self._options.items())})"
