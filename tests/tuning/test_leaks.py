"""Features that know the answer or number the data are named, all at once; ordinary ones are not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from hulltune import tune
from hulltune.errors import InputError, Note
from hulltune.metrics import get_metric
from tests.tuning.corpora import QUICK, random_lists, random_rankings


def samples(lists: int = 20, **columns: Any) -> list[dict[str, Any]]:
    """Records of five samples a list, with a label, two honest scores, and columns made by functions of (list, sample,
    label).
    """
    rng = np.random.default_rng(3)
    records = []
    for number in range(lists):
        candidates = []
        for sample in range(5):
            correct = float(rng.random() < 0.4)
            features = {
                "correct": correct,
                "reward": float(rng.normal() + correct),
                "tokens": float(rng.integers(20, 90)),
            }
            features |= {name: float(make(number, sample, correct)) for name, make in columns.items()}
            candidates.append({"text": f"answer {sample}", "features": features})
        records.append({"id": number, "candidates": candidates})
    return records


def notes_of(data: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tune(data, **{**QUICK, **options})
    return [str(each.message) for each in caught if issubclass(each.category, Note)]


def test_all_suspected_columns_are_named_in_one_note() -> None:
    records = samples(
        is_wrong=lambda number, sample, correct: 1 - correct,
        verified=lambda number, sample, correct: 3 * correct if correct else sample / 10,
        sample_idx=lambda number, sample, correct: sample,
        row=lambda number, sample, correct: 5 * number + sample,
        question=lambda number, sample, correct: 7919 * number % 1000,
        answer_id=lambda number, sample, correct: (7919 * number + 104729 * sample) % 99991,
    )
    (note,) = notes_of(records, metric="mean:column=correct")
    assert note == (
        "features that will hardly be known when the weights are used: is_wrong (a copy of correct), verified (alone "
        "gives the best picks there are), sample_idx (the place in the list), row (the place in the list), question (a "
        "number of the list), answer_id (an id); --ignore is_wrong,verified,sample_idx,row,question,answer_id leaves "
        "them out"
    )


def test_honest_columns_are_not_suspected() -> None:
    assert notes_of(samples(), metric="mean:column=correct") == []
    assert notes_of(random_lists(3, sentences=40)) == []
    assert notes_of(random_rankings(3, queries=20), metric="ndcg") == []


def test_few_sentences_say_nothing() -> None:
    records = samples(5, is_wrong=lambda number, sample, correct: 1 - correct)
    assert notes_of(records, metric="mean:column=correct") == []


@pytest.mark.parametrize("column", ["cer", "word_error", "valLoss", "WER", "total-cost", "edit_distance", "nll"])
def test_a_column_of_errors_asks_which_way_is_better(column: str) -> None:
    expected = (
        f"mean:column={column}: is a smaller number better? write mean:column={column},higher_is_better=false for "
        "errors and costs, and higher_is_better=true for what should grow"
    )
    with pytest.raises(InputError) as refused:
        get_metric(f"mean:column={column}")
    assert str(refused.value) == expected
    for better in (False, True):
        metric = get_metric(f"mean:column={column},higher_is_better={str(better).lower()}")
        assert metric.higher_is_better is better


@pytest.mark.parametrize(
    "column", ["correct", "reward", "comet", "certainty", "glossary", "Werner", "terms", "words_per_line"]
)
def test_other_columns_should_grow(column: str) -> None:
    assert get_metric(f"mean:column={column}").higher_is_better is True
