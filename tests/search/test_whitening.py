"""Whitened directions: the inverse of the covariance within lists, over the weights that may move."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Constraints, Problem, read
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.search import whitening
from hulltune.search.directions import axes_of, feature_units
from hulltune.search.strategy import Setting
from hulltune.search.whitening import RIDGE, Whitening
from hulltune.tuning.inputs import as_dataset
from tests.tuning.corpora import random_forests, random_lists


def correlated(seed: int, *, sentences: int = 30, width: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and correlated features of lists of different sizes, some of which have one row or none."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 12, sentences)
    mixed = rng.standard_normal((int(sizes.sum()), width)) @ rng.standard_normal((width, width))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return offsets, mixed + np.repeat(rng.standard_normal((sentences, width)) * 9.0, sizes, axis=0)


def within(offsets: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The sum of products of differences from the mean of each list."""
    lists = [columns[a:b] - columns[a:b].mean(axis=0) for a, b in pairwise(offsets.tolist()) if b > a]
    apart = np.concatenate(lists)
    return np.asarray(apart.T @ apart)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_the_factor_is_a_root_of_the_inverse_covariance(seed: int, width: int) -> None:
    offsets, values = correlated(seed, width=width)
    sizes = np.random.default_rng(seed).uniform(0.2, 2.0, width)
    axes = [(np.array([k]), float(size)) for k, size in enumerate(sizes)]
    found = Whitening.of(axes, width, offsets, DenseFeatures(np.asfortranarray(values)))
    covariance = within(offsets, values * sizes)
    if not np.any(covariance):
        assert found.factor is None
        return
    assert found.factor is not None
    covariance = covariance / np.mean(np.diag(covariance)) + RIDGE * np.eye(width)
    inverse = np.linalg.inv(covariance)
    inverse *= width / np.trace(inverse)
    np.testing.assert_allclose(found.factor.T @ found.factor, inverse, atol=0.02 * np.max(np.abs(inverse)))


@given(st.integers(0, 10**6))
def test_neither_the_order_of_sentences_nor_sparse_rows_change_a_bit(seed: int) -> None:
    offsets, values = correlated(seed)
    axes = axes_of([np.array([0]), np.array([1, 3]), np.array([2])], np.array([1.0, 2.0, 0.5, 4.0]))
    found = Whitening.of(axes, 4, offsets, DenseFeatures(np.asfortranarray(values)))
    order = np.random.default_rng(seed).permutation(len(offsets) - 1)
    rows = np.concatenate([np.arange(offsets[k], offsets[k + 1]) for k in order])
    turned = np.concatenate([[0], np.cumsum(np.diff(offsets)[order])]).astype(np.int64)
    again = Whitening.of(axes, 4, turned, DenseFeatures(np.asfortranarray(values[rows])))
    count = len(values)
    columns = np.tile(np.arange(4, dtype=np.int32), count)
    sparse = SparseFeatures(np.arange(count + 1, dtype=np.int64) * 4, columns, values.ravel(), 4)
    for other in (again, Whitening.of(axes, 4, offsets, sparse)):
        assert found.factor is not None
        assert other.factor is not None
        assert np.array_equal(found.factor, other.factor)


def test_directions_move_only_what_is_free_and_tied_weights_together() -> None:
    problem = Problem.of(as_dataset(random_lists(3, sentences=20, features=6)), "wer")
    limits = Constraints(fix={"f0": 1.0}, tie=[["f1", "f4"]], sign={"f2": "+"})
    setting = Setting.of(problem, limits, None)
    drawn = setting.whitening.draw(50, np.random.default_rng(1))
    assert drawn.shape == (50, 6)
    assert not np.any(drawn[:, 0])
    assert np.array_equal(drawn[:, 1], drawn[:, 4])
    assert np.all(drawn[:, [1, 2, 3, 5]] != 0.0)
    scaled = drawn / np.concatenate([[1.0], np.ones(5)]) * setting.units
    assert 0.3 < np.mean(scaled[:, [2, 3, 5]] ** 2) < 3.0


def test_a_feature_and_its_noisy_copy_are_told_apart() -> None:
    """Most of a plain random direction is what both have in common; whitened, their difference moves as far."""
    rng = np.random.default_rng(2)
    records = []
    for sentence in range(50):
        candidates: list[dict[str, Any]] = []
        for k in range(20):
            x = float(rng.normal())
            candidates.append({"text": str(k), "features": {"x": x, "copy": x + 0.1 * float(rng.normal())}})
        records.append({"id": sentence, "refs": ["1"], "candidates": candidates})
    problem = Problem.of(as_dataset(records), "wer")
    setting = Setting.of(problem, Constraints(), None)
    drawn = setting.whitening.draw(2000, rng) * setting.units
    x, copy = drawn.T
    assert np.sum(x * copy) < -0.8 * np.sqrt(np.sum(x * x) * np.sum(copy * copy))


def test_forests_are_whitened_by_what_wins() -> None:
    forests, texts = random_forests(5, sentences=8)
    setting = Setting.of(Problem.of(as_dataset(forests, texts), "wer"), Constraints(), None)
    assert setting.whitening.factor is not None
    assert setting.whitening.factor.shape == (3, 3)


def test_very_many_features_stay_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whitening, "MOST_WHITENED", 2)
    problem = Problem.of(as_dataset(random_lists(3, features=3)), "wer")
    setting = Setting.of(problem, Constraints(), None)
    assert setting.whitening.factor is None
    rng = np.random.default_rng(4)
    expected = np.random.default_rng(4).standard_normal((7, 3)) / feature_units(problem.corpus)
    np.testing.assert_allclose(setting.whitening.draw(7, rng), expected)


def test_large_data_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    data = read(random_lists(6, sentences=60))
    whole = Setting.of(Problem.of(data, "wer"), Constraints(), None).whitening.factor
    monkeypatch.setattr(whitening, "MOST_PRODUCTS", 60 * 8 * 9 // 3)
    monkeypatch.setattr(whitening, "AT_ONCE", 100)
    part = Setting.of(Problem.of(data, "wer"), Constraints(), None).whitening.factor
    assert whole is not None
    assert part is not None
    assert not np.array_equal(part, whole)
    np.testing.assert_allclose(part, whole, atol=0.8)
