from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from hulltune.metrics.chrf import ChrF, ChrFPlusPlus
from tests.metrics.text_cases import corpora, numbers, transposed

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


def test_signature_columns_and_direction() -> None:
    assert ChrFPlusPlus().signature.startswith("chrf++|beta:2|case:mixed|eff:yes|nc:6|nw:2|space:no|version:hulltune-")
    assert ChrF().signature.startswith("chrf|beta:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:hulltune-")
    assert ChrF(char_order=1, word_order=1).columns == (
        *("output_char_1", "reference_char_1", "matches_char_1"),
        *("output_word_1", "reference_word_1", "matches_word_1"),
    )
    assert ChrF().higher_is_better
