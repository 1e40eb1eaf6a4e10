"""The simulated task has the optimum that it claims, and lists for benchmarks have the size that they claim."""

from __future__ import annotations

import numpy as np
import pytest

from hulltune import Climb, InputError, rerank, score, tune
from hulltune.simulate import made_up_words, simulated_task
from tests.lists import all_texts, hypothesis


def edit_distance(a: list[str], b: list[str]) -> int:
    """The edit distance, by the table of the textbooks."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def test_the_known_weights_pick_the_fewest_errors_of_every_list() -> None:
    task = simulated_task(sentences=20, candidates=15, seed=3)
    picked = rerank(task.lists, task.optimum)
    for sentence, ((reference,), output) in enumerate(zip(task.references, picked, strict=True)):
        texts = [hypothesis(task.lists, sentence, rank) for rank in range(15)]
        fewest = min(edit_distance(reference.split(), text.split()) for text in texts)
        assert edit_distance(reference.split(), output.split()) == fewest


def test_the_features_are_what_they_are_said_to_be() -> None:
    task = simulated_task(sentences=10, candidates=20)
    column = dict(zip(task.lists.feature_names, task.lists.corpus.features.matrix().T, strict=True))
    errors = []
    for sentence, (reference,) in enumerate(task.references):
        texts = [hypothesis(task.lists, sentence, rank) for rank in range(20)]
        errors += [edit_distance(reference.split(), text.split()) for text in texts]
        assert column["length"][20 * sentence] == len(texts[0].split())
    total = sum(weight * column[name] for name, weight in task.optimum.items())
    assert np.array_equal(np.asarray(total), -2.0 * np.array(errors))
    assert task.lists.scores is not None
    for first in range(0, 200, 20):
        assert np.all(np.diff(task.lists.scores[first : first + 20]) <= 0)


def test_tuning_finds_the_optimum_of_the_simulated_task() -> None:
    task = simulated_task(sentences=40, candidates=20)
    known = score(task.lists, task.optimum, metric="wer")
    result = tune(task.lists, metric="wer", also=(), search=Climb(restarts=5))
    assert known == result.oracle
    assert result.score == known
    assert result.baseline > 1.5 * known
    unseen = simulated_task(sentences=40, candidates=20, seed=2)
    assert score(unseen.lists, result, metric="wer") < score(unseen.lists, {"forward": 1.0}, metric="wer")


def test_the_seed_decides_the_task() -> None:
    first, again, other = (simulated_task(sentences=3, candidates=3, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.lists.corpus.features.matrix(), again.lists.corpus.features.matrix())
    assert all_texts(first.lists) == all_texts(again.lists)
    assert all_texts(first.lists) != all_texts(other.lists)


def test_what_cannot_be_made() -> None:
    assert len(set(made_up_words(5000))) == 4970
    with pytest.raises(InputError, match="sentences: expected at least 1, got 0"):
        simulated_task(sentences=0)
