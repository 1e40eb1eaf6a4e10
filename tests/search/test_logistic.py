"""Weights of a logistic regression, compared with those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from hulltune.data.features import DenseFeatures
from hulltune.search.logistic import RIDGE, logistic_weights


def documents(seed: int, count: int = 300, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Scores of documents, and the numbers of the relevant ones, which depend on the first two features."""
    dice = np.random.default_rng(seed)
    scores = np.asfortranarray(dice.normal(size=(count, width)) * [1.0, 50.0, 1e-3][:width])
    chances = 1.0 / (1.0 + np.exp(2.0 - scores[:, 0] - scores[:, 1] / 50.0))
    return scores, np.flatnonzero(dice.random(count) < chances)


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_those_of_scikit_learn(seed: int) -> None:
    learn = pytest.importorskip("sklearn.linear_model")
    scores, relevant = documents(seed)
    found = logistic_weights(DenseFeatures(scores), relevant, np.ones(3))
    assert found is not None
    labels = np.isin(np.arange(len(scores)), relevant)
    standard = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    model = learn.LogisticRegression(C=1.0 / RIDGE, tol=1e-10, max_iter=1000).fit(standard, labels)
    # Four digits after the first one are kept.
    np.testing.assert_allclose(found, model.coef_[0] / scores.std(axis=0), rtol=1e-4)


def test_features_that_do_not_matter_or_vary_have_no_weight() -> None:
    scores, relevant = documents(0)
    scores[:, 2] = 4.0
    found = logistic_weights(DenseFeatures(scores), relevant, np.array([1.0, 0.0, 1.0]))
    assert found is not None
    assert found[0] > 0.0
    assert found[1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("relevant", [[], list(range(300))])
def test_nothing_is_learned_without_both_kinds_of_documents(relevant: list[int]) -> None:
    scores, _ = documents(0)
    assert logistic_weights(DenseFeatures(scores), np.array(relevant, dtype=np.int64), np.ones(3)) is None


def test_features_that_separate_all_documents_have_finite_weights() -> None:
    scores = np.asfortranarray(np.arange(20.0)[:, None])
    found = logistic_weights(DenseFeatures(scores), np.arange(10, 20), np.ones(1))
    assert found is not None
    assert 0.0 < found[0] < 100.0
