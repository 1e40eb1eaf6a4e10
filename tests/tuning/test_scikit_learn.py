"""The Reranker among the tools of scikit-learn: its own checks, cross-validation, grid search and copies."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Climb, Coordinate, Reranker, read, score, tune
from hulltune.metrics import Given, Store
from tests.tuning.corpora import random_lists, random_records

pytest.importorskip("sklearn", minversion="1.6")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict, cross_val_score
from sklearn.utils import estimator_checks

FAST: dict[str, Any] = {"search": Climb(restarts=0), "oracle": False}


class OnMatrices(Reranker):
    """A Reranker for the numbers that scikit-learn's checks make up: a row is a list, a column a candidate.

    The features of a candidate are its number and its square; the candidate of the class is the right one.
    """

    def fit(self, X: Any, y: Any = None) -> OnMatrices:  # noqa: N803
        super().fit(self._records(X, y), None)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        return np.array([float(text) for text in super().predict(self._records(X, None))])

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        return super().score(self._records(X, y), None)

    def _records(self, X: Any, y: Any) -> list[dict[str, Any]]:  # noqa: N803
        matrix = np.asarray(X, dtype=np.float64)
        if matrix.ndim != 2:
            raise ValueError("Reshape your data: expected 2D array, got 1D array instead")
        classes = np.zeros(len(matrix)) if y is None else np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1)
        return [
            {
                "refs": [str(int(right) % matrix.shape[1])],
                "candidates": [
                    {"text": str(place), "features": {"value": float(v), "square": float(v) ** 2}}
                    for place, v in enumerate(row)
                ],
            }
            for row, right in zip(matrix, classes, strict=True)
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def test_scikit_learn_checks_what_it_can() -> None:
    with pytest.warns(SkipTestWarning, match="Can't test estimator Reranker which requires input"):
        results = estimator_checks.check_estimator(Reranker(metric="accuracy", **FAST))
    assert [each["status"] for each in results] == ["passed"]


OF_MATRICES = "validates a matrix, which is only the way here in which the checks can make lists"
EXPECTED = dict.fromkeys(
    (
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_fit2d_1feature",
    ),
    OF_MATRICES,
)


def test_all_checks_hold_for_lists_made_of_matrices() -> None:
    model = OnMatrices(metric="accuracy", **FAST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it inherits nothing of scikit-learn
        results = estimator_checks.check_estimator(model, on_fail=None, expected_failed_checks=EXPECTED)
    failed = {each["check_name"]: repr(each["exception"]) for each in results if each["status"] == "failed"}
    assert failed == {}
    passed = {each["check_name"] for each in results if each["status"] == "passed"}
    assert {
        "check_no_attributes_set_in_init",
        "check_estimators_unfitted",
        "check_fit_idempotent",
        "check_dict_unchanged",
        "check_get_params_invariance",
        "check_set_params",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_readonly_memmap_input",
        "check_parameters_default_constructible",
        "check_estimators_pickle",
        "check_fit_score_takes_y",
    } <= passed


def test_cross_validation_of_a_dataset_is_tuning_on_its_parts() -> None:
    lists, records = random_lists(5), random_records(5)
    folds = KFold(3)
    found = cross_val_score(Reranker(metric="wer", **FAST), lists, cv=folds)
    for value, (inside, outside) in zip(found, folds.split(np.arange(len(lists))), strict=True):
        weights = tune(lists.take(inside), metric="wer", **FAST)
        assert value == -score(lists.take(outside), weights, metric="wer")
    references = [record["refs"] for record in records]
    bare = [{"candidates": record["candidates"]} for record in records]
    assert cross_val_score(Reranker(metric="wer", **FAST), bare, references, cv=folds).tolist() == found.tolist()
    assert cross_val_score(Reranker(metric="wer", **FAST), read(bare), references, cv=folds).tolist() == found.tolist()


def test_cross_validation_of_a_frame_by_groups() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    rows = [(group, f"t{k}", *rng.normal(size=2), int(rng.integers(2))) for group in range(12) for k in range(4)]
    frame = pandas.DataFrame(rows, columns=["id", "text", "lm", "reward", "correct"])
    folds = GroupKFold(3)
    model = Reranker(metric=Given(column="correct"), **FAST)
    found = cross_val_score(model, frame, groups=frame["id"], cv=folds)
    for value, (inside, outside) in zip(found, folds.split(frame, groups=frame["id"]), strict=True):
        weights = tune(frame.iloc[inside], metric=model.get_params()["metric"], **FAST)
        assert value == score(frame.iloc[outside], weights, metric=model.get_params()["metric"])
    part = frame.iloc[outside]
    assert len(model.fit(frame.iloc[inside]).predict(part)) == part["id"].nunique()
    named = frame.assign(right=frame["text"].where(frame["correct"] == 1, "x"))
    by_row = Reranker(metric="accuracy", **FAST).fit(frame.drop(columns="correct"), ["t1"] * len(named))
    assert by_row.score(frame.drop(columns="correct"), ["t1"] * len(named)) == by_row.result_.score


def test_a_grid_search_takes_the_best_also_where_lower_is_better() -> None:
    lists = random_lists(6)
    search = GridSearchCV(
        Reranker(metric="wer", **FAST), {"search": [Coordinate(restarts=0), Climb(restarts=1)], "seed": [1, 2]}, cv=3
    )
    search.fit(lists)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == max(scores) <= 0
    assert search.predict(lists) == search.best_estimator_.predict(lists)
    predicted = cross_val_predict(Reranker(metric="wer", **FAST), lists, cv=3)
    assert len(predicted) == len(lists)
    assert set(predicted) <= set(lists.texts())


def test_copies(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        model = Reranker(metric="wer", store=store, **FAST)
        copy = clone(model)
        assert copy.get_params().keys() == model.get_params().keys()
        assert (vars(copy)["metric"], vars(copy)["search"]) == ("wer", vars(model)["search"])
        assert vars(copy)["store"].path == store.path
        copy.fit(random_lists(5))
        with pytest.raises(NotFittedError, match="call fit first"):
            model.predict(random_lists(5))
        assert pickle.loads(pickle.dumps(copy)).predict(random_lists(5)) == copy.predict(random_lists(5))
        copy.store.close()
