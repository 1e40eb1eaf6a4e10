from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from hulltune.errors import InputError
from hulltune.metrics.chrf import ChrF, ChrFPlusPlus
from tests.metrics.text_cases import corpora, numbers, real_nbest, transposed

options = st.fixed_dictionaries(
    {
        "char_order": st.integers(1, 7),
        "word_order": st.integers(0, 3),
        "beta": st.integers(1, 3),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    }
)


@given(corpora(), options)
@settings(max_examples=150, deadline=None)
def test_statistics_and_score_are_sacrebleu_s(
    corpus: tuple[list[str], list[list[str]]], chosen: dict[str, Any]
) -> None:
    outputs, references = corpus
    metric, theirs = ChrF(**chosen), CHRF(**chosen)
    expected = theirs._extract_corpus_statistics(outputs, transposed(references))
    found = metric.prepare(references).statistics(numbers(len(outputs)), outputs)
    assert found.dtype == np.int64
    assert found.tolist() == expected
    assert metric.score(found.sum(axis=0)) == theirs.corpus_score(outputs, transposed(references)).score


counts = st.integers(0, 20) | st.integers(0, 10**7)


@given(st.lists(st.lists(counts, min_size=24, max_size=24), min_size=1, max_size=20), options)
@settings(max_examples=200, deadline=None)
def test_scores_are_sacrebleu_s_to_the_last_bit(drawn: list[list[int]], chosen: dict[str, Any]) -> None:
    chosen |= {"char_order": 6, "word_order": 2}
    rows = [[count for k in range(0, 24, 3) for count in (row[k], row[k + 1], min(row[k : k + 3]))] for row in drawn]
    expected = [CHRF(**chosen)._compute_f_score(row) for row in rows]
    assert ChrF(**chosen).score(np.array(rows)).tolist() == expected
    assert ChrF(**chosen).score(np.array(rows, np.float64)).tolist() == expected


def test_a_beta_that_is_no_integer() -> None:
    row = [9, 8, 7, 6, 5, 4]
    expected = CHRF(char_order=2, beta=0.7)._compute_f_score(row)  # type: ignore[arg-type]  # an int there
    assert ChrF(char_order=2, beta=0.7).score(np.array(row)) == expected


@pytest.mark.parametrize("name", ["fr_en", "de_en"])
def test_real_outputs(name: str) -> None:
    sentences, outputs, references = real_nbest(name, every=61)
    own = transposed([references[k] for k in sentences])
    for metric, theirs in ((ChrF(), CHRF()), (ChrFPlusPlus(), CHRF(word_order=2))):
        found = metric.prepare(references).statistics(sentences, outputs)
        assert found.tolist() == theirs._extract_corpus_statistics(outputs, own)
        assert metric.score(found.sum(axis=0)) == theirs.corpus_score(outputs, own).score


def test_signature_columns_and_direction() -> None:
    assert ChrFPlusPlus().signature.startswith("chrf++|beta:2|case:mixed|eff:yes|nc:6|nw:2|space:no|version:hulltune-")
    assert ChrF().signature.startswith("chrf|beta:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:hulltune-")
    assert ChrF(char_order=1, word_order=1).columns == (
        *("output_char_1", "reference_char_1", "matches_char_1"),
        *("output_word_1", "reference_word_1", "matches_word_1"),
    )
    assert ChrF().higher_is_better


def test_no_outputs() -> None:
    assert ChrFPlusPlus().prepare([["", "a"]]).statistics(numbers(0), []).shape == (0, 24)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"char_order": 0}, "char_order is 0, expected an integer from 1"),
        ({"word_order": -1}, "word_order is -1"),
        ({"beta": 0}, "beta is 0; expected a number above 0"),
    ],
)
def test_bad_options(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ChrF(**bad)


def test_a_sentence_with_fewer_references_counts_as_in_sacrebleu() -> None:
    outputs = ["abcd ef", "abc"]
    documents: list[Any] = [["abcd", "ab"], ["cd ef", None]]
    found = ChrF(variable_references=True).prepare([["abcd", "cd ef"], ["ab"]]).statistics(numbers(2), outputs)
    assert found.tolist() == CHRF()._extract_corpus_statistics(outputs, documents)
