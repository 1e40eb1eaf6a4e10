"""The METEOR kernel against the readable search, through the metric: every output both ways."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.kernels.metrics import meteor as kernel
from hulltune.metrics.meteor import Meteor, _PreparedMeteor


def both_ways(metric: Meteor, reference: str, outputs: list[str]) -> tuple[list[list[int]], list[list[int]]]:
    """The rows of the kernel, where it answers, and those of the search: exact, stem, synonym, chunks."""
    prepared = metric.prepare([[reference]])
    assert isinstance(prepared, _PreparedMeteor)
    (only,) = prepared._references[0]
    pairs = [(prepared._words.split(output), only) for output in outputs]
    rows = np.full((len(pairs), 6), -1, dtype=np.int64)
    rows[:, 2] = 0
    rows[:, 4] = [len(words) for words, _ in pairs]
    rows[:, 5] = only.length
    prepared._fill_in_by_kernel(pairs, rows)
    by_search = [prepared._row_by_search(*pair) for pair in pairs]
    answered = [k for k in range(len(pairs)) if rows[k, 3] >= 0]
    return rows[answered, :4].tolist(), [by_search[k] for k in answered]


forms = st.lists(st.sampled_from(["run", "runs", "cat", "cats", "the", "of"]), max_size=12).map(" ".join)


@given(forms, st.lists(forms, min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_kernel_equals_search(reference: str, outputs: list[str]) -> None:
    by_kernel, by_search = both_ways(Meteor(), reference, outputs)
    assert len(by_kernel) == len(outputs)
    assert by_kernel == by_search


@given(forms, st.lists(forms, min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_kernel_equals_search_where_modules_weigh_differently(reference: str, outputs: list[str]) -> None:
    by_kernel, by_search = both_ways(Meteor(stem_weight=0.5), reference, outputs)
    assert by_kernel == by_search


@given(forms, st.lists(forms, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_kernel_equals_search_without_stems(reference: str, outputs: list[str]) -> None:
    by_kernel, by_search = both_ways(Meteor(stemmer=None, stem_weight=0.5), reference, outputs)
    assert len(by_kernel) == len(outputs)
    assert by_kernel == by_search


def test_longer_sentences_with_common_words() -> None:
    draw = random.Random(7)
    vocabulary = ["the", "of", ",", "to", "a", *(f"w{k}" for k in range(30))]
    for _ in range(60):
        reference = [draw.choice(vocabulary) for _ in range(draw.randint(20, 62))]
        outputs = []
        for _ in range(3):
            output = reference[:]
            for _ in range(8):
                output.insert(draw.randrange(len(output)), output.pop(draw.randrange(len(output))))
            outputs.append(" ".join(output[: draw.randint(5, 62)]))
        by_kernel, by_search = both_ways(Meteor(), " ".join(reference), outputs)
        assert by_kernel == by_search
        assert len(by_kernel) == 3


def test_what_the_kernel_cannot_answer_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(2)
    reference, output = (" ".join(draw.choice("abc") for _ in range(40)) for _ in range(2))
    prepared = Meteor().prepare([[reference]])
    expected = prepared.statistics(np.array([0]), [output]).tolist()
    monkeypatch.setattr(kernel, "BUDGET", 3)
    assert both_ways(Meteor(), reference, [output]) == ([], [])
    searched = prepared.statistics(np.array([0]), [output]).tolist()
    # Whichever of the two answers: the counts are equal, and no beam has fewer chunks.
    assert [searched[0][k] for k in (0, 1, 2, 4, 5)] == [expected[0][k] for k in (0, 1, 2, 4, 5)]
    assert searched[0][3] >= expected[0][3]


@pytest.mark.parametrize("length", [62, 63, 200])
def test_long_references(length: int) -> None:
    words = [f"w{k}" for k in range(length)]
    swapped = " ".join(words[length // 2 :] + words[: length // 2])
    row = Meteor().prepare([[" ".join(words)]]).statistics(np.array([0]), [swapped])
    assert row.tolist() == [[length, 0, 0, 2, length, length]]


def test_a_stem_that_weighs_more_than_a_form_is_allowed() -> None:
    row = Meteor(exact_weight=0.5).prepare([["cat cats"]]).statistics(np.array([0]), ["cats cat"])
    assert row[0, 3] == 1
