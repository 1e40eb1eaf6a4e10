from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from hulltune.errors import InputError
from hulltune.kernels.metrics import scores
from hulltune.metrics.bleu import TOKENIZERS, Bleu
from tests.metrics.text_cases import corpora, numbers, real_nbest, transposed

pytestmark = pytest.mark.usefixtures("sacrebleu_adds_in_turn")

SMOOTHINGS = [
    ("none", None),
    ("floor", None),
    ("floor", 0.01),
    ("add-k", None),
    ("add-k", 0.3),
    ("exp", None),
]


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    method, value = draw(st.sampled_from(SMOOTHINGS))
    return {
        "max_ngram_order": draw(st.integers(1, 6)),
        "smooth_method": method,
        "smooth_value": value,
        "lowercase": draw(st.booleans()),
        "effective_order": draw(st.booleans()),
        "tokenize": draw(st.sampled_from(["13a", "13a", "intl", "char", "none", "zh"])),
    }


@given(corpora(), options())
@settings(max_examples=150, deadline=None)
def test_statistics_and_score_are_sacrebleu_s(
    corpus: tuple[list[str], list[list[str]]], chosen: dict[str, Any]
) -> None:
    outputs, references = corpus
    metric = Bleu(**chosen)
    theirs = BLEU(force=True, **chosen)
    expected = theirs._extract_corpus_statistics(outputs, transposed(references))
    found = metric.prepare(references).statistics(numbers(len(outputs)), outputs)
    assert found.dtype == np.int64
    assert found.tolist() == expected
    assert metric.score(found.sum(axis=0)) == theirs.corpus_score(outputs, transposed(references)).score


counts = st.integers(0, 30) | st.integers(0, 10**7)


@given(
    st.lists(st.tuples(counts, counts, *[st.tuples(counts, counts)] * 4), min_size=1, max_size=20),
    st.sampled_from(SMOOTHINGS),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_scores_are_sacrebleu_s_to_the_last_bit(
    drawn: list[tuple[Any, ...]], smoothing: tuple[str, float | None], effective_order: bool
) -> None:
    method, value = smoothing
    rows = [
        [length, reference, *(min(pair) for pair in pairs), *(max(pair) for pair in pairs)]
        for length, reference, *pairs in drawn
    ]
    metric = Bleu(smooth_method=method, smooth_value=value, effective_order=effective_order)
    expected = [
        BLEU.compute_bleu(row[2:6], row[6:], row[0], row[1], method, value, effective_order).score for row in rows
    ]
    assert metric.score(np.array(rows)).tolist() == expected
    assert metric.score(np.array(rows, np.float64)).tolist() == expected


def realistic_rows(count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    random = np.random.default_rng(5)
    lengths = random.integers(200, 60_000, (count, 1))
    ngrams = lengths - np.arange(4) * (lengths // 20)
    matches = (ngrams * random.uniform([0.4, 0.2, 0.1, 0.02], [0.7, 0.4, 0.25, 0.2], (count, 4))).astype(np.int64)
    references = (lengths * random.uniform(0.8, 1.2, (count, 1))).astype(np.int64)
    return np.hstack([lengths, references, matches, ngrams])


def test_scores_of_many_realistic_rows_are_sacrebleu_s_to_the_last_bit() -> None:
    rows = realistic_rows(20_000)
    theirs = BLEU()
    expected = [theirs._compute_score_from_stats(row).score for row in rows.tolist()]
    assert np.array_equal(Bleu().score(rows), expected)
    shaped = Bleu().score(rows.reshape(20, 10, 100, 10))
    assert shaped.shape == (20, 10, 100)
    assert np.array_equal(shaped.ravel(), expected)


def test_logarithms_are_added_from_left_to_right() -> None:
    """As sum() does up to Python 3.11: with every Python, so that tuning takes the same path."""
    rows = realistic_rows(5_000)

    def expected(row: list[int]) -> float:
        logarithms = [math.log(100.0 * m / n) for m, n in zip(row[2:6], row[6:], strict=True)]
        total = ((logarithms[0] + logarithms[1]) + logarithms[2]) + logarithms[3]
        penalty = 1.0 if row[0] >= row[1] else math.exp(1 - row[1] / row[0])
        return penalty * math.exp(total / 4)

    found = scores.bleu_scores(rows, 4, scores.NO_SMOOTHING, 0.0, False)
    assert found.tolist() == [expected(row) for row in rows.tolist()]


def test_known_scores_of_the_decoders_first_choices() -> None:
    """The French-English list is said to score 18.66 in the decoder's own order, without a tokeniser."""
    sentences, outputs, references = real_nbest("fr_en")
    firsts = [int(np.argmax(sentences == k)) for k in range(len(references))]
    metric = Bleu(tokenize="none")
    rows = metric.prepare(references).statistics(sentences[firsts], [outputs[k] for k in firsts])
    assert float(metric.score(rows.sum(axis=0))) == pytest.approx(18.66, abs=0.005)


def test_signature_names_every_option() -> None:
    metric = Bleu(max_ngram_order=3, smooth_method="floor", lowercase=True, effective_order=True, tokenize="intl")
    assert metric.signature.startswith("bleu|order:3|case:lc|eff:yes|tok:intl[sacrebleu-")
    assert "|smooth:floor[0.1]|version:hulltune-" in metric.signature
    assert Bleu().signature.startswith("bleu|order:4|case:mixed|eff:no|tok:13a|smooth:exp|version:hulltune-")
    assert Bleu() == Bleu()
    assert hash(Bleu()) == hash(Bleu())


def test_columns_and_direction() -> None:
    assert Bleu(max_ngram_order=2).columns == (
        *("length", "reference_length"),
        *("matches_1", "matches_2", "ngrams_1", "ngrams_2"),
    )
    assert Bleu().loss(realistic_rows(3)).tolist() == (-Bleu().score(realistic_rows(3))).tolist()


def test_tokenisers_are_those_of_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = {"spBLEU-1K"}  # since sacrebleu 2.6
    assert set(TOKENIZERS) - newer == set(BLEU.TOKENIZERS) - newer
    monkeypatch.setattr(BLEU, "TOKENIZERS", set(BLEU.TOKENIZERS) - newer)
    with pytest.raises(InputError, match="tokenize='spBLEU-1K' needs a newer sacrebleu: pip install --upgrade"):
        Bleu(tokenize="spBLEU-1K")


@pytest.mark.skipif(importlib.util.find_spec("MeCab") is not None, reason="MeCab is installed")
def test_a_tokeniser_that_is_not_installed_says_what_to_install() -> None:
    with pytest.raises(InputError, match=r"tokenize='ja-mecab' cannot .* \(pip install 'sacrebleu\[ja\]'\)"):
        Bleu(tokenize="ja-mecab")


def test_without_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in tokenisers handle plain text; the error for other text says that sacrebleu is needed."""
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    prepared = Bleu().prepare([["It is (almost) 3.5, no?"]])
    assert prepared.statistics(numbers(1), ["It is 3.5, no!"])[0].tolist() == [6, 9, 5, 3, 1, 0, 6, 5, 4, 3]
    with pytest.raises(InputError, match="tokenize='13a' needs sacrebleu: pip install sacrebleu"):
        prepared.statistics(numbers(1), ["&quot;"])
    with pytest.raises(InputError, match="tokenize='zh' needs sacrebleu: pip install sacrebleu"):
        Bleu(tokenize="zh")


def test_metrics_are_made_without_numba() -> None:
    """Compiled code is loaded when statistics are asked for, not before."""
    modules = "bleu, chrf, ter, wer"
    code = f"import sys; from hulltune.metrics import {modules}; bleu.Bleu(); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
