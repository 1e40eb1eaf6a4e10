"""Lists with very many features: stored as sparse rows, they answer as the same lists with a matrix, to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Constraints, Dataset, InputError, memory, read, rerank, score, tune, write
from hulltune.certified import Certified, candidates, space
from hulltune.data.features import DenseFeatures, SparseFeatures, as_sparse
from hulltune.formats import rows as rows_module
from hulltune.loop.hypotheses import Hypotheses, keep
from hulltune.search import climbing, random_climb, steps
from hulltune.search.coordinate import Coordinate
from hulltune.search.gradient import GradientClimb
from hulltune.search.powell import Powell
from hulltune.search.problem import Problem
from hulltune.search.random_climb import Climb
from hulltune.tuning import evaluation
from hulltune.tuning.oracle import best_reachable
from hulltune.tuning.reranking import rank
from hulltune.tuning.surfaces import metric_surface

WIDTH = 200
"""More features than are always stored as a matrix."""


def records(sentences: int = 12, size: int = 8, *, seed: int = 1) -> list[dict[str, Any]]:
    """Lists whose hypotheses have three of the features, and two that all have; some come twice."""
    rng = np.random.default_rng(seed)
    found = []
    for sentence in range(sentences):
        reference = [f"w{k}" for k in rng.integers(30, size=6)]
        candidates = []
        for _ in range(size):
            words = [word if rng.random() < 0.7 else f"w{rng.integers(30)}" for word in reference]
            features = {f"f{k}": round(float(rng.normal()), 2) for k in rng.choice(WIDTH, size=3, replace=False)}
            features |= {"lm": round(float(rng.normal()), 2), "tm": round(float(rng.normal()), 2)}
            candidates.append({"text": " ".join(words), "features": features, "score": float(rng.normal())})
        candidates.append(candidates[int(rng.integers(size))])
        found.append({"id": sentence, "refs": [" ".join(reference)], "candidates": candidates})
    return found


def both(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Dataset]) -> tuple[Dataset, Dataset]:
    """The data as they are stored, as sparse rows, and with a matrix."""
    sparse = make()
    with monkeypatch.context() as patch:
        patch.setattr(rows_module, "stays_dense", lambda *sizes: True)
        dense = make()
    assert isinstance(sparse.corpus.features, SparseFeatures)
    assert isinstance(dense.corpus.features, DenseFeatures)
    return sparse, dense


def assert_same(one: Dataset, other: Dataset) -> None:
    """Check that all is equal but the way that features are stored."""
    assert one.feature_names == other.feature_names
    assert list(one.ids) == list(other.ids)
    assert one.texts() == other.texts()
    np.testing.assert_array_equal(one.corpus.features.toarray(), other.corpus.features.toarray())
    np.testing.assert_array_equal(one.corpus.edge_ids, other.corpus.edge_ids)
    assert one.copies is not None
    assert other.copies is not None
    np.testing.assert_array_equal(one.copies, other.copies)
    np.testing.assert_array_equal(one.first_choices, other.first_choices)
    assert one.omitted == other.omitted


def moses_lines(lists: Sequence[dict[str, Any]]) -> str:
    lines = []
    for each in lists:
        for one in each["candidates"]:
            features = " ".join(f"{name}={value}" for name, value in one["features"].items())
            lines.append(f"{each['id']} ||| {one['text']} ||| {features} ||| {one['score']}\n")
    return "".join(lines)


def made(kind: str, folder: Path) -> Callable[[], Dataset]:
    """A function that reads the lists from a file or from memory."""
    lists = records()
    if kind == "records":
        return lambda: read(lists, missing=0)
    path = folder / f"lists.{kind}"
    if kind == "moses":
        path.write_text(moses_lines(lists), encoding="utf-8")
    elif kind == "out-of-order.moses":
        path.write_text(
            "".join(sorted(moses_lines(lists).splitlines(True), key=lambda line: line[::-1])), encoding="utf-8"
        )
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in lists), encoding="utf-8")
    return lambda: read(path, missing=0)


@pytest.mark.parametrize("kind", ["records", "moses", "out-of-order.moses", "jsonl"])
def test_readers_store_many_features_as_sparse_rows(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = made(kind, tmp_path)
    assert len(make().feature_names) > 64
    sparse, dense = both(monkeypatch, make)
    assert_same(sparse, dense)
    assert sparse.duplicates > 0
    assert sparse.corpus.features.dtype == np.float64
    if kind == "moses":
        assert read(tmp_path / "lists.moses", missing=0, dtype=np.float32).corpus.features.dtype == np.float32


SEARCHES = {
    "random": Climb(restarts=3),
    "coordinate": Coordinate(restarts=1, max_rounds=2),
    "powell": Powell(restarts=0, max_rounds=1),
    "certified": Certified(time=20.0),
}


@pytest.mark.parametrize("name", list(SEARCHES))
def test_tuning_does_not_depend_on_the_storage(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sparse, dense = both(monkeypatch, lambda: read(records(), missing=0))
    constraints = Constraints(free=["lm", "f0", "f1"]) if name == "certified" else Constraints(sign={"lm": "+"})
    start = {name: 0.25 + k % 5 for k, name in enumerate(sparse.feature_names)} if name == "certified" else None
    one, other = (
        tune(lists, metric="wer", search=SEARCHES[name], constraints=constraints, start=start, threads=2)
        for lists in (sparse, dense)
    )
    unlike = ("seconds", "timings", "certificate")
    assert {k: v for k, v in one.to_dict().items() if k not in unlike} == {
        k: v for k, v in other.to_dict().items() if k not in unlike
    }
    if one.certificate is not None and other.certificate is not None:
        assert one.certificate.bound == other.certificate.bound


def test_a_gradient_climbs_on_sparse_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse, dense = both(monkeypatch, lambda: read(records(), missing=0))
    one, other = (tune(lists, metric="wer", search=GradientClimb(restarts=2), threads=1) for lists in (sparse, dense))
    assert one.score <= one.baseline
    assert one.score == pytest.approx(other.score, abs=0.05)  # sums of products round in another order


def test_all_else_does_not_depend_on_the_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse, dense = both(monkeypatch, lambda: read(records(), missing=0))
    unseen = [read(records(6, seed=5), missing=0) for _ in range(2)]
    unseen[1] = replace(
        unseen[1],
        corpus=replace(
            unseen[1].corpus, features=DenseFeatures(np.asfortranarray(unseen[1].corpus.features.toarray()))
        ),
    )
    rng = np.random.default_rng(3)
    weights = dict(zip(sparse.feature_names, rng.normal(size=len(sparse.feature_names)).tolist(), strict=True))
    assert rerank(sparse, weights) == rerank(dense, weights)
    assert score(sparse, weights) == score(dense, weights)
    one, other = rank(sparse, weights, best=5), rank(dense, weights, best=5)
    assert one.texts == other.texts
    np.testing.assert_array_equal(one.scores, other.scores)
    assert best_reachable(sparse, metric="wer") == best_reachable(dense, metric="wer")
    results = [tune(lists, metric="wer", search=Climb(restarts=1), folds=3, threads=1) for lists in (sparse, dense)]
    assert results[0].folds == results[1].folds
    results = [
        tune(lists, metric="wer", search=Climb(restarts=1), heldout=held, threads=1)
        for lists, held in zip((sparse, dense), unseen, strict=True)
    ]
    assert results[0].heldout == results[1].heldout


def test_only_some_axes_and_features_of_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_climb, "MOST_AXES", 10)
    monkeypatch.setattr(evaluation, "MOST_REMOVED", 50)
    lists = read(records(), missing=0)
    found = tune(lists, metric="wer", search=Climb(restarts=0, directions=4), threads=1)
    assert len(found.without) == 5
    monkeypatch.setattr(climbing, "MOST_NUMBERS", 1000)
    with pytest.raises(InputError, match=r"search: a line for each of 1\d\d weights.*hold others with free or fix"):
        tune(lists, metric="wer", search=Coordinate(restarts=0))
    monkeypatch.setattr(space, "MOST_MOVING", 100)
    with pytest.raises(InputError, match=r"certify: 1\d\d weights are free; expected at most 100"):
        tune(lists, metric="wer", search=Certified(time=1.0))


def test_a_wide_search_in_parts_is_that_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = read(records(), missing=0)
    whole = tune(lists, metric="wer", search=Climb(restarts=1), threads=1)
    monkeypatch.setattr(steps, "AT_ONCE", 1)
    parts = tune(lists, metric="wer", search=Climb(restarts=1), threads=1)
    assert whole.weights == parts.weights
    assert whole.history == parts.history


def test_features_of_sparse_rows() -> None:
    sparse = read(records(), missing=0).corpus.features
    assert isinstance(sparse, SparseFeatures)
    dense = DenseFeatures(np.asfortranarray(sparse.toarray()))
    some = np.array([5, 0, 17])
    np.testing.assert_array_equal(sparse.some_columns(some), dense.some_columns(some))
    rng = np.random.default_rng(1)
    np.testing.assert_allclose(sparse.times(w := rng.normal(size=sparse.width)), dense.times(w), rtol=1e-12)
    pull = rng.normal(size=sparse.shape[0])
    starts = np.array([0, 3, sparse.shape[0] // 2])
    summed = sparse.weighted_sum(pull, starts)
    np.testing.assert_allclose(summed, dense.weighted_sum(pull, starts), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(summed, pull @ sparse.toarray(), rtol=1e-9, atol=1e-12)
    names = [f"f{k}" for k in range(sparse.width)]
    for mine, theirs in zip(sparse.by_name(names), dense.by_name(names), strict=True):
        assert mine == {name: value for name, value in theirs.items() if value}
    np.testing.assert_array_equal(as_sparse(dense).toarray(), sparse.toarray())


MANY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import hulltune
lists = hulltune.read(sys.argv[1])
from hulltune.search.random_climb import Climb
result = hulltune.tune(lists, sys.argv[2], metric="wer", search=Climb(restarts=0, max_rounds=1), threads=1)
print(len(result.weights), lists.corpus.edges, result.score <= result.start_score)
"""


def test_many_features_do_not_take_their_matrix(tmp_path: Path) -> None:
    """4,000 hypotheses of 60,000 features: 1.4 GB as a matrix, of which the limit has room for two with all else."""
    rng = np.random.default_rng(2)
    path, references = tmp_path / "many.moses", tmp_path / "many.ref"
    with open(path, "w", encoding="utf-8") as file:
        for row in range(4000):
            names = np.unique(rng.integers(60_000, size=20)).tolist()
            pairs = " ".join(
                f"f{name}={value:.2f}" for name, value in zip(names, rng.normal(size=len(names)), strict=True)
            )
            file.write(f"{row // 100} ||| a{row % 7} b{row % 3} ||| {pairs} ||| 0\n")
    references.write_text("a1 b1\n" * 40, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", MANY, str(path), str(references)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    features, edges, not_worse = done.stdout.split()
    assert int(features) > 40_000
    assert int(edges) > 3_000
    assert not_worse == "True"


def test_a_loop_joins_sparse_lists(tmp_path: Path) -> None:
    parts = [replace(read(records(seed=seed), missing=0), references=None) for seed in (1, 2)]
    hypotheses = Hypotheses()
    for number, part in enumerate(parts):
        folder = tmp_path / str(number)
        folder.mkdir()
        hypotheses = hypotheses.added(keep(part, folder, count=12)[0])
    union = hypotheses.union
    assert isinstance(union.corpus.features, SparseFeatures)
    assert union.corpus.edges == sum(part.corpus.edges for part in parts)
    assert set(union.feature_names) == set(parts[0].feature_names) | set(parts[1].feature_names)
    column = union.feature_names.index("lm")
    total = sum(part.corpus.features.toarray()[:, part.feature_names.index("lm")].sum() for part in parts)
    assert union.corpus.features.toarray()[:, column].sum() == pytest.approx(total)


def test_records_say_that_their_features_are_sparse() -> None:
    candidates = [{"text": "a", "features": {"x": 1}}, {"text": "b", "features": {"y": 2}}]
    with pytest.raises(InputError, match="lacks feature 'x'"):
        read([{"candidates": candidates}])
    assert read([{"candidates": candidates, "sparse": True}]).corpus.features.toarray().tolist() == [[1, 0], [0, 2]]
    with pytest.raises(InputError, match='records:0: "sparse" is 1; expected true or false'):
        read([{"candidates": candidates, "sparse": 1}])


def test_surfaces_of_sparse_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lists.jsonl"
    write(read(records(), missing=0), path, "jsonl")
    sparse, dense = both(monkeypatch, lambda: read(path))
    rng = np.random.default_rng(3)
    weights = rng.normal(size=len(sparse.feature_names))
    one, other = (metric_surface(Problem.of(lists, "wer"), weights, "f0") for lists in (sparse, dense))
    np.testing.assert_array_equal(one.breakpoints, other.breakpoints)
    np.testing.assert_array_equal(one.scores, other.scores)


def test_certified_search_tells_the_memory_of_its_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = read(records(), missing=0)
    monkeypatch.setattr(candidates, "CHECKED", 1000)
    monkeypatch.setattr(memory, "memory_left", lambda: 20_000)
    start = dict.fromkeys(lists.feature_names, 1.0)
    message = r"certify: a matrix of \d+ candidates and 1\d\d features \(those not held at 0\) needs about \d+ kB"
    with pytest.raises(InputError, match=message):
        tune(lists, metric="wer", search=Certified(), constraints=Constraints(free=["lm", "tm"]), start=start)
    found = tune(lists, metric="wer", search=Certified(), constraints=Constraints(free=["lm", "tm"]))  # others at 0
    assert found.certificate is not None


def test_forest_formats_take_sparse_rows_or_say_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = read(records(3), missing=0)
    for form in ("forest", "openfst-text"):
        folder = tmp_path / form
        write(lists, folder if form != "forest" else tmp_path / "all.forest", form)
    again = read(tmp_path / "all.forest")
    assert again.corpus.edges == lists.corpus.edges
    monkeypatch.setattr("hulltune.formats.slf.MOST_FEATURES", 20)
    with pytest.raises(InputError, match=r"\d+ features, but SLF names all of them on every link; expected at most 20"):
        write(lists, tmp_path / "slf", "slf")
