"""A reranker with the interface of scikit-learn: options in the constructor, then fit, predict and score."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.errors import InputError, unknown_name
from hulltune.formats.read import read
from hulltune.metrics.registry import get_metric
from hulltune.options import Tuning, made_by_keyword
from hulltune.tuning.inputs import DataLike, ReferencesLike, as_references
from hulltune.tuning.reranking import rerank, score
from hulltune.tuning.result import TuneResult
from hulltune.tuning.tune import tune
from hulltune.wording import counted


class Reranker:
    """Picks the best candidate of each list by a weighted sum of its features.

    Options are those of ``tune``. After ``fit``, ``weights_`` has the weights by feature, and ``result_`` the
    TuneResult. X is anything that ``tune`` takes. For scikit-learn to split it (``cross_val_score``, ``GridSearchCV``),
    it is a Dataset, a sequence of records with candidates, or a data frame with groups by id. y has the references,
    those of X[i] at y[i]; it is None if the data carry them, or if the metric needs none.

    >>> from hulltune import Climb, Reranker
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> reranker = Reranker(metric="wer", search=Climb(restarts=2)).fit(task.lists)
    >>> len(reranker.predict(task.lists)), reranker.score(task.lists) == -reranker.result_.score
    (20, True)
    """

    weights_: dict[str, float]
    result_: TuneResult

    @made_by_keyword(Tuning)
    def __init__(self, options: dict[str, Any]) -> None:
        # As they are: scikit-learn copies an object by its options, and they are checked by ``fit``.
        vars(self).update(options)

    def fit(self, X: DataLike, y: ReferencesLike = None) -> Reranker:  # noqa: N803  # scikit-learn's name
        """Tune the weights."""
        self.result_ = tune(*_placed(X, y), **self.get_params())
        self.weights_ = dict(self.result_.weights)
        return self

    def predict(self, X: DataLike) -> list[str]:  # noqa: N803
        """The best text of each list."""
        weights = self._fitted()
        return rerank(_placed(X, None)[0], weights)

    def score(self, X: DataLike, y: ReferencesLike = None) -> float:  # noqa: N803
        """The metric of the texts that ``predict`` returns; its negative where lower is better.

        scikit-learn takes the higher of two scores for the better one: a search for options would choose the worst.
        """
        metric = get_metric(self.get_params()["metric"])
        data, references = _placed(X, y)
        value = score(data, self._fitted(), references, metric=metric)
        return value if metric.higher_is_better else -value

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name."""
        return {name: getattr(self, name) for name in _DEFAULTS}

    def set_params(self, **options: Any) -> Reranker:
        """Change options; they take effect at the next ``fit``."""
        for name in options:
            if name not in _DEFAULTS:
                raise unknown_name("option of Reranker", name, _DEFAULTS)
        for name, value in options.items():
            setattr(self, name, value)
        return self

    def _fitted(self) -> dict[str, float]:
        if not hasattr(self, "weights_"):
            message = "this Reranker has no weights yet: call fit first"
            if "sklearn" in sys.modules:
                from sklearn.exceptions import NotFittedError

                raise NotFittedError(message)
            raise InputError(message)
        return self.weights_

    def __sklearn_tags__(self) -> Any:
        """The description by which scikit-learn knows what the object takes."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, dict=True, string=True),
            no_validation=True,
        )

    def __repr__(self) -> str:
        given = {name: value for name, value in self.get_params().items() if not _is_default(name, value)}
        return f"Reranker({', '.join(f'{name}={value!r}' for name, value in given.items())})"


_DEFAULTS = {each.name: each.default for each in fields(Tuning)}


def _is_default(name: str, value: Any) -> bool:
    default = _DEFAULTS[name]
    return value is default or (isinstance(value, (str, int)) and type(value) is type(default) and value == default)


def _placed(data: DataLike, targets: ReferencesLike) -> tuple[DataLike, ReferencesLike]:
    """Data and references such that item i of one belongs to item i of the other, as scikit-learn splits them.

    The ids of records, of which some may be left out, say nothing then. Files keep theirs.
    """
    in_memory = targets is not None and not isinstance(targets, (str, os.PathLike))
    references = as_references(targets) if in_memory else None
    if isinstance(data, Dataset) and references is not None and len(references) == len(data):
        return replace(data, references=references), None
    if hasattr(data, "assign") and hasattr(data, "columns"):  # a data frame of pandas: a row a candidate
        if references is not None and len(references) == len(data):
            data, targets = data.assign(ref=[list(texts) for texts in references]), None
        found = read(data)
        named = np.setdiff1d(np.arange(len(found)), found.unnamed)
        return (found if len(named) == len(found) else found.take(named)), targets
    if isinstance(data, (list, tuple, np.ndarray)) and len(data) and all(_is_record(item) for item in data):
        records = [{name: value for name, value in item.items() if name != "id"} for item in data]
        if references is None:
            return records, targets
        if len(references) != len(records):
            raise InputError(
                f"y: references for {counted(len(references), 'list')}, and X has {len(records)}; expected one for each"
            )
        return [{**item, "refs": list(texts)} for item, texts in zip(records, references, strict=True)], None
    return data, targets


def _is_record(item: Any) -> bool:
    return isinstance(item, Mapping) and "candidates" in item
