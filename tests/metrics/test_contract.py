"""What holds for every metric: odd references, outputs, statistics and options are told, and batches do not matter."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics import checks
from hulltune.metrics.checks import checked_references
from hulltune.metrics.registry import get_metric
from hulltune.metrics.wer import Wer

NAMES = ["bleu", "chrf", "chrf++", "ter", "wer", "cer", "mer", "meteor", "fmeasure", "aer", "accuracy"]
REFERENCES = [["0-0 1-1 2-2"], ["1-0"], ["0-0 2-1"]]  # links, and so words for the others
OUTPUTS = ["0-0 1-1", "", "2-1 0-0 1-0 1-1", "1-0"]


def every(name: str, *also: str) -> pytest.MarkDecorator:
    """A test for each metric, and for some others."""
    return pytest.mark.parametrize(name, [*NAMES, *also])


@every("name", "ask")
def test_statistics_of_a_wrong_shape(name: str) -> None:
    with pytest.raises(InputError, match=r"got statistics of shape \(2, 99\), expected \d+ in the last axis"):
        get_metric(name).score(np.ones((2, 99), dtype=np.int64))


@every("name")
def test_bad_outputs(name: str) -> None:
    prepared = get_metric(name).prepare([["0-0"], ["1-1"]])
    bad: list[tuple[Any, Any, str]] = [
        ([0], [None], "output 0 is None, expected a string"),
        ([0], "0", "expected a list of texts, got the text '0'"),
        ([0.0], ["0-0"], "sentence numbers: expected whole numbers, got float64"),
        ([0, 2], ["a", "b"], "sentence number 2 is out of range: there are references for 2 sentences"),
        ([-1], ["a"], "sentence number -1 is out of range"),
        ([0], ["a", "b"], "1 sentence number for 2 outputs; expected one for each"),
    ]
    for sentences, outputs, message in bad:
        with pytest.raises(InputError, match=message):
            prepared.statistics(np.array(sentences), outputs)


@every("name")
def test_bad_references(name: str) -> None:
    bad: list[tuple[Any, str]] = [
        (None, "references is None"),
        (["a"], r"references\[0\] is a string; .* write \[\[text\], …\]"),
        ([["0-0"], []], "sentence 1 has no reference"),
        ([["0-0"], [None]], "reference 0 of sentence 1 is None; expected a string"),
    ]
    if name == "aer":
        bad.append(([["0-0", "0-1"]], "sentence 0 has 2 references; expected 1"))
    elif name != "accuracy":  # which accepts any of several answers
        bad.append(([["a", "b"], ["a"]], "sentence 1 has 1 reference but sentence 0 has 2; .*variable_references"))
    for references, message in bad:
        with pytest.raises(InputError, match=message):
            get_metric(name).prepare(references)
    if name in ("accuracy", "aer", "fmeasure"):
        with pytest.raises(InputError, match="1 source for 2 sentences"):
            get_metric(name).prepare([["0-0"], ["1-1"]], ["x"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bleu", {"tokenize": "13"}, "unknown tokenize of bleu '13'; did you mean '13a'"),
        ("bleu", {"smooth_method": "expo"}, "did you mean 'exp'"),
        ("bleu", {"smooth_value": 1.0}, "'exp' has no value"),
        ("bleu", {"smooth_method": "floor", "smooth_value": -1.0}, "expected a number of at least 0"),
        ("bleu", {"max_ngram_order": 0}, "max_ngram_order is 0, expected an integer from 1"),
        ("chrf", {"char_order": 0}, "char_order is 0, expected an integer from 1"),
        ("chrf", {"word_order": -1}, "word_order is -1"),
        ("chrf", {"beta": 0}, "beta is 0; expected a number above 0"),
        ("wer", {"normalization": "lowr"}, "unknown normalization of wer 'lowr'; did you mean 'lower'"),
        ("meteor", {"alpha": 1.5}, "alpha is 1.5; expected a number at least 0 and at most 1"),
        ("meteor", {"gamma": float("nan")}, "gamma is nan"),
        ("meteor", {"stem_weight": 0}, "stem_weight is 0; expected a number above 0"),
        ("meteor", {"stemmer": "englsh"}, "unknown stemmer of meteor 'englsh'; did you mean 'english'"),
        ("meteor", {"tokenize": "13a"}, "unknown tokenize of meteor '13a'"),
        ("meteor", {"synonyms": "nowhere.txt"}, "nowhere.txt: no such file"),
        ("fmeasure", {"items": "bioo"}, "unknown items of fmeasure 'bioo'; did you mean 'bio'"),
        ("fmeasure", {"beta": -1}, "beta is -1; expected a number at least 0"),
        ("fmeasure", {"exclude": ("TOP",)}, "exclude is an option of items='brackets', not of items='words'"),
        ("fmeasure", {"malformed": "emty"}, "did you mean 'empty'"),
        ("accuracy", {"normalize": "article"}, "did you mean 'articles'"),
        *(
            (name, {"variable_references": "no"}, f"{name}: variable_references is 'no'; expected True or False")
            for name in ("bleu", "chrf", "ter", "wer", "meteor", "fmeasure")  # the text "no" would count as yes
        ),
    ],
)
def test_bad_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_metric(name, **options)


@every("name", "0.5*bleu - 0.5*ter")
def test_no_outputs_and_no_references(name: str) -> None:
    metric = get_metric(name)
    width = len(metric.columns)
    nothing = np.zeros(0, dtype=np.int64)
    for references in ([], [["0-0"]]):
        assert metric.prepare(references).statistics(nothing, []).shape == (0, width)
    assert metric.score(np.zeros((0, width), dtype=np.int64)).shape == (0,)


@every("name", "0.5*bleu - 0.5*ter")
def test_batches_do_not_matter_and_scores_are_vectorised(name: str) -> None:
    metric = get_metric(name)
    prepared = metric.prepare(REFERENCES)
    sentences, outputs = np.arange(12) % 3, OUTPUTS * 3
    single = np.concatenate([prepared.statistics(sentences[k : k + 1], outputs[k : k + 1]) for k in range(12)])
    many = prepared.statistics(np.tile(sentences, 300), outputs * 300)
    assert np.array_equal(many, np.tile(single, (300, 1)))
    sums = np.cumsum(single, axis=0)
    assert metric.score(sums.reshape(2, 3, 2, -1)).ravel().tolist() == [float(metric.score(row)) for row in sums]


@every("name")
def test_signature_direction_and_equality(name: str) -> None:
    metric, same = get_metric(name), get_metric(name)
    assert metric == same
    assert hash(metric) == hash(same)
    assert metric.signature.startswith(f"{metric.name}|")
    assert metric.signature == metric.stored_as
    assert "|version:hulltune-" in metric.signature
    assert metric.higher_is_better == (name not in ("ter", "wer", "cer", "mer", "aer"))
    row = metric.prepare(REFERENCES).statistics(np.array([0]), OUTPUTS[:1])
    assert metric.loss(row).tolist() == [-score if metric.higher_is_better else score for score in metric.score(row)]


def test_a_version_is_not_inherited() -> None:
    class Changed(Wer):
        """The code of a subclass is other code, which a store must not take for that of WER."""

    assert Wer().stored_as is not None
    assert Changed().stored_as is None


texts = st.text(max_size=3)
odd = st.sampled_from([None, 3, "text", b"bytes", (), [], {}, [None], ["a", 2], ("a",), {"a": 1}, ["a", "b"]])
groups = st.one_of(st.lists(texts, max_size=2), st.tuples(texts), odd)


@given(
    st.one_of(st.lists(groups, max_size=4), st.lists(st.lists(texts, min_size=1, max_size=1)), odd),
    st.booleans(),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([0, 1, 2]),
)
def test_passes_over_all_references_decide_as_a_look_at_one_after_the_other(
    references: Any, ragged: bool, at_most: int | None, at_least: int
) -> None:
    def found() -> object:
        try:
            return checked_references("m", references, ragged=ragged, at_most=at_most, at_least=at_least)
        except InputError as error:
            return str(error)

    quick = found()
    with mock.patch.object(checks, "_are_plain", return_value=False):
        assert quick == found()


@pytest.mark.parametrize("wrong", [["b", None], "b", None, ["b", "c"], []])
def test_one_wrong_group_among_many_is_named(wrong: Any) -> None:
    references: list[Any] = [["a"]] * 1000
    references[700] = wrong
    with pytest.raises(InputError, match="700"):
        checked_references("m", references)
