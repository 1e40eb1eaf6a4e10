from __future__ import annotations

import sys
from typing import Any

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jiwer import transforms
from rapidfuzz.distance import Levenshtein

from hulltune.errors import InputError
from hulltune.metrics.wer import Cer, EditRate, Mer, Wer
from tests.metrics.text_cases import corpora, lines, numbers, real_nbest

SPLITTING = [transforms.RemoveMultipleSpaces(), transforms.Strip(), transforms.ReduceToListOfListOfWords()]
WORDS = transforms.Compose(SPLITTING)


def found(metric: EditRate, references: list[list[str]], outputs: list[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    rows = metric.prepare(references).statistics(numbers(len(outputs)), outputs)
    assert rows.dtype == np.int64
    return np.asarray(rows)


def counts(result: Any) -> list[int]:
    return [result.hits, result.substitutions, result.deletions, result.insertions]


pairs = st.lists(st.tuples(lines(30), lines(30)), min_size=1, max_size=5)


@given(pairs)
@settings(max_examples=100, deadline=None)
def test_normalisations_are_jiwer_s_transforms(drawn: list[tuple[str, str]]) -> None:
    outputs, references = [output for output, _ in drawn], [reference for _, reference in drawn]
    own = [[reference] for reference in references]
    punctuation: Any = transforms.RemovePunctuation()  # type: ignore[no-untyped-call]  # untyped there
    for name, steps in (
        ("lower", [transforms.ToLowerCase()]),
        ("lower-nopunct", [transforms.ToLowerCase(), punctuation]),
    ):
        transform = transforms.Compose([*steps, *SPLITTING])
        expected = jiwer.process_words(references, outputs, transform, transform)
        assert found(Wer(normalization=name), own, outputs).sum(axis=0).tolist() == counts(expected)


def operations(reference: list[str], output: list[str]) -> list[int]:
    """(hits, substitutions, deletions, insertions) of rapidfuzz's alignment."""
    tags = [operation.tag for operation in Levenshtein.editops(reference, output)]
    substitutions, deletions = tags.count("replace"), tags.count("delete")
    return [len(reference) - substitutions - deletions, substitutions, deletions, tags.count("insert")]


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_alignments_are_rapidfuzz_s_on_both_sides_of_64_words(data: st.DataObject) -> None:
    """Few distinct words: many alignments are equally good, and which one is taken decides the counts."""
    word = st.sampled_from("abc")
    length = data.draw(st.integers(0, 20) | st.integers(55, 75))
    reference = data.draw(st.lists(word, min_size=length, max_size=length))
    output = data.draw(st.lists(st.sampled_from("abcx"), max_size=90))
    rows = found(Wer(), [[" ".join(reference)]], [" ".join(output)])
    assert rows[0].tolist() == operations(reference, output)


def test_long_random_lines() -> None:
    random = np.random.default_rng(3)
    for length in (63, 64, 65, 66, 130, 400):
        reference = [str(k) for k in random.integers(0, 9, length)]
        output = [str(k) for k in random.integers(0, 9, length + 5)]
        rows = found(Wer(), [[" ".join(reference)]], [" ".join(output)])
        assert rows[0].tolist() == operations(reference, output)


@given(corpora(most_words=80))
@settings(max_examples=150, deadline=None)
def test_of_several_references_the_one_with_fewest_edits_counts(
    corpus: tuple[list[str], list[list[str]]],
) -> None:
    outputs, references = corpus
    rows = found(Wer(), references, outputs)
    for row, output, own in zip(rows.tolist(), outputs, references, strict=True):
        each = [operations(WORDS([reference])[0], WORDS([output])[0]) for reference in own]
        assert row == min(each, key=lambda counted: sum(counted[1:]))


def test_empty_references_and_outputs() -> None:
    rows = found(Wer(), [[""], [" "], ["a b"], ["a"]], ["x y z", "", "", "a"])
    assert rows.tolist() == [[0, 0, 0, 3], [0, 0, 0, 0], [0, 0, 2, 0], [1, 0, 0, 0]]
    assert Wer().score(rows).tolist() == [3.0, 0.0, 1.0, 0.0]
    assert Mer().score(rows).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert Wer().score(rows.sum(axis=0)) == 5 / 3
    assert Wer().prepare([[""]]).statistics(numbers(0), []).shape == (0, 4)
    assert found(Cer(), [[""]], [" ab "]).tolist() == [[0, 0, 0, 2]]


def test_real_speech_recognition_outputs() -> None:
    sentences, outputs, references = real_nbest("asr_tts", every=7)
    own = [references[k][0] for k in sentences]
    words, characters = jiwer.process_words(own, outputs), jiwer.process_characters(own, outputs)
    for metric, result, rate in (
        (Wer(), words, words.wer),
        (Mer(), words, words.mer),
        (Cer(), characters, characters.cer),
    ):
        total = metric.prepare(references).statistics(sentences, outputs).sum(axis=0)
        assert total.tolist() == counts(result)
        assert metric.score(total) == rate


def test_signature_and_direction() -> None:
    assert Wer().signature.startswith("wer|norm:none|unit:word|version:hulltune-")
    assert Cer(normalization="lower").signature.startswith("cer|norm:lower|unit:character|version:hulltune-")
    assert not Mer().higher_is_better
    assert Mer().columns == ("hits", "substitutions", "deletions", "insertions")


def test_without_rapidfuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    assert found(Wer(), [["a b"]], ["a c"]).tolist() == [[1, 1, 0, 0]]
    long = " ".join("ab" * 40)
    with pytest.raises(InputError, match="long lines need rapidfuzz: pip install rapidfuzz"):
        found(Wer(), [[long]], [long.replace("a", "c")])


def test_a_sentence_with_fewer_references() -> None:
    rows = Wer(variable_references=True).prepare([["a b", "c"], ["a"]]).statistics(numbers(2), ["c d", "b"])
    assert rows.tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
