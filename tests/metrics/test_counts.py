"""The counts behind error rates: those of jiwer and sacrebleu for the same outputs."""

from __future__ import annotations

from typing import Any

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

from hulltune.metrics import get_metric
from hulltune.metrics.counts import ErrorCounts, error_counts, percent_of
from hulltune.search.problem import exact_sum
from tests.metrics.text_cases import corpora, lines, numbers, transposed


def counts_of(name: str, references: list[list[str]], outputs: list[str]) -> ErrorCounts:
    metric = get_metric(name)
    found = error_counts(metric, metric.prepare(references).statistics(numbers(len(outputs)), outputs))
    assert found is not None
    return found


@given(st.lists(st.tuples(lines(30), lines(30)), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_counts_and_rates_of_wer_cer_and_mer_are_jiwer_s(drawn: list[tuple[str, str]]) -> None:
    """Empty references included: jiwer's rate without any reference word is the number of insertions."""
    outputs, references = [output for output, _ in drawn], [reference for _, reference in drawn]
    for name, unit in (("wer", "words"), ("mer", "words"), ("cer", "characters")):
        process: Any = getattr(jiwer, f"process_{unit}")
        whole = process(references, outputs)
        found = counts_of(name, [[reference] for reference in references], outputs)
        kinds = (found.hits, found.substitutions, found.deletions, found.insertions)
        assert kinds == (whole.hits, whole.substitutions, whole.deletions, whole.insertions)
        assert found.errors == whole.substitutions + whole.deletions + whole.insertions
        assert found.reference_length == whole.hits + whole.substitutions + whole.deletions
        assert found.percent == 100 * getattr(whole, name)
        single = [process([reference], [output]) for reference, output in zip(references, outputs, strict=True)]
        assert found.sentence_errors == sum(
            each.substitutions + each.deletions + each.insertions > 0 for each in single
        )
        assert (found.sentences, f"{found.unit}s") == (len(outputs), unit)


@given(corpora())
@settings(max_examples=100, deadline=None)
def test_counts_of_ter_are_sacrebleu_s(corpus: tuple[list[str], list[list[str]]]) -> None:
    outputs, references = corpus
    rows = TER()._extract_corpus_statistics(outputs, transposed(references))
    found = counts_of("ter", references, outputs)
    assert found.errors == sum(row[0] for row in rows)
    assert found.reference_length == exact_sum(np.array(rows))[1]
    assert found.percent == pytest.approx(TER().corpus_score(outputs, transposed(references)).score, rel=1e-12)
    assert found.sentence_errors == sum(row[0] > 0 for row in rows)
    assert found.hits is None


def test_the_counts_as_a_sentence() -> None:
    found = counts_of("wer", [["a b c d"], ["e"], [""]], ["a x c", "e", "y z"])
    assert str(found) == (
        "4 errors for 5 reference words: 1 substitution, 1 deletion, 2 insertions, 3 hits; "
        "2 of 3 sentences wrong (66.67 %)"
    )
    assert found.percent == 80.0
    ter = counts_of("ter", [["a b c", "a b"], ["d e", "d e"]], ["a", "d e"])
    assert str(ter) == "1 error for 4.5 reference words; 1 of 2 sentences wrong (50.00 %)"
    assert str(counts_of("cer", [["ab"]], ["ab"])) == (
        "0 errors for 2 reference characters: 0 substitutions, 0 deletions, 0 insertions, 2 hits; "
        "0 of 1 sentence wrong (0.00 %)"
    )


@pytest.mark.parametrize("name", ["bleu", "accuracy", "wer + cer", "2*wer"])
def test_other_metrics_have_no_counts(name: str) -> None:
    metric = get_metric(name)
    assert error_counts(metric, metric.prepare([["a"]]).statistics(numbers(1), ["a"])) is None


def test_no_sentences_have_no_errors() -> None:
    metric = get_metric("wer")
    found = error_counts(metric, np.zeros((0, 4), np.int64))
    assert found is not None
    assert (found.errors, found.percent, found.sentence_percent) == (0, 0.0, 0.0)


def test_rates_in_percent() -> None:
    assert percent_of(get_metric("wer").signature, 0.25) == 25.0
    assert percent_of(get_metric("CER").signature, 0.5) == 50.0
    assert percent_of(get_metric("ter").signature, 25.0) is None
    assert percent_of(get_metric("wer + cer").signature, 25.0) is None
