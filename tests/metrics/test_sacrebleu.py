"""BLEU, chrF and TER of real outputs, and of sentences with fewer references: statistics and scores are sacrebleu's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from hulltune.metrics.registry import get_metric
from tests.metrics.text_cases import numbers, real_nbest, transposed

pytestmark = pytest.mark.usefixtures("sacrebleu_adds_in_turn")

THEIRS: dict[str, Callable[[], Any]] = {
    "bleu": lambda: BLEU(force=True),
    "chrf": CHRF,
    "chrf++": lambda: CHRF(word_order=2),
    "ter": TER,
}


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("data", ["fr_en", "de_en"])
def test_real_outputs(name: str, data: str) -> None:
    every = {"bleu": 23, "ter": 61 if data == "fr_en" else 701}.get(name, 61)
    sentences, outputs, references = real_nbest(data, every=every)
    own = transposed([references[k] for k in sentences])
    metric, theirs = get_metric(name), THEIRS[name]()
    found = metric.prepare(references).statistics(sentences, outputs)
    assert found.tolist() == theirs._extract_corpus_statistics(outputs, own)
    assert metric.score(found.sum(axis=0)) == theirs.corpus_score(outputs, own).score


@pytest.mark.parametrize("name", THEIRS)
def test_a_sentence_with_fewer_references(name: str) -> None:
    outputs = ["a b c d e", "a b b"]
    documents: list[Any] = [["b a c d", "a b"], ["c d ef", None], ["a x c d e f", None]]
    references = [["b a c d", "c d ef", "a x c d e f"], ["a b"]]
    found = get_metric(name, variable_references=True).prepare(references).statistics(numbers(2), outputs)
    assert found.tolist() == THEIRS[name]()._extract_corpus_statistics(outputs, documents)
