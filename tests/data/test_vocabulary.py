"""Vocabularies of packed texts behave like vocabularies of Python strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError, Vocabulary
from hulltune.data import vocabulary as module
from hulltune.data.lists import packed_texts
from hulltune.data.vocabulary import Texts, joined_words

rows = st.lists(st.lists(st.sampled_from(["a", "", "b c"]), max_size=3), max_size=5)


@given(rows | st.lists(st.lists(st.sampled_from(["a", "", "b c"]), min_size=1, max_size=1), max_size=5))
def test_words_are_joined_to_texts(given_rows: list[list[str]]) -> None:
    offsets = np.cumsum([0, *map(len, given_rows)])
    words = [word for row in given_rows for word in row]
    assert joined_words(tuple(words), offsets) == [" ".join(row) for row in given_rows]


texts = st.lists(st.text(st.sampled_from("ab é日"), max_size=4), min_size=1, max_size=12)


@given(texts, texts, st.data(), st.booleans())
def test_packed_texts_are_decoded_when_asked_for(
    first: list[str], more: list[str], data: st.DataObject, few: bool
) -> None:
    """Alone, and after others were added, whether all are decoded at once or each by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 100 if few else 0)
        vocabulary = Vocabulary.packed(*packed_texts(first))
        numbers = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=20))
        assert vocabulary.words(numbers) == tuple(first[number] for number in numbers)
        assert vocabulary.words(np.array(numbers, dtype=np.int32)) == vocabulary.words(iter(numbers))
        found = vocabulary.ids(more)
        tokens = [*first, *(text for text in dict.fromkeys(more) if text not in first)]
        assert list(vocabulary.tokens) == tokens
        assert len(vocabulary) == len(tokens)
        assert found == [tokens.index(text) for text in more]  # of equal ones the first
        assert vocabulary.id(more[0]) == found[0]
        assert more[0] in vocabulary
        everything = range(len(tokens))
        assert vocabulary.words(everything) == tuple(tokens)
        assert [vocabulary[number] for number in everything] == tokens
        assert vocabulary[-1] == tokens[-1]
        assert Vocabulary.packed(*vocabulary.as_packed()).tokens == vocabulary.tokens


def test_a_number_that_is_none_of_them() -> None:
    for vocabulary in (Vocabulary(["a"]), Vocabulary.packed(*packed_texts(["a"]))):
        with pytest.raises(IndexError):
            vocabulary[1]
        with pytest.raises(IndexError):
            vocabulary[-2]


@pytest.mark.parametrize("asked", [[0, 1, 2], [2]])
def test_texts_that_are_no_utf8(monkeypatch: pytest.MonkeyPatch, asked: list[int]) -> None:
    monkeypatch.setattr(module, "FEW", 0)
    data, offsets = packed_texts(["é", "x" * 100, "é"])
    data[-1] = ord("x")
    with pytest.raises(InputError, match="not UTF-8: the packed file is damaged"):
        Vocabulary.packed(data, offsets).words(asked)


words = st.text(st.characters(codec="utf-8"), max_size=4)


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=9, unique=True), st.data(), st.booleans())
def test_code_points_of_texts_are_those_of_their_strings(tokens: list[str], data: st.DataObject, packed: bool) -> None:
    vocabulary = Vocabulary(tokens)
    if packed:
        vocabulary = Vocabulary.packed(*vocabulary.as_packed())
    labels = data.draw(st.lists(st.lists(st.integers(0, len(tokens) - 1), max_size=4), max_size=6))
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in labels])]).astype(np.int64)
    texts = Texts(vocabulary, offsets, np.array([label for each in labels for label in each], dtype=np.int32))
    expected = [" ".join(tokens[label] for label in each) for each in labels]
    assert texts.codes is not None
    codes, ends = texts.codes
    assert codes.tobytes() == "".join(expected).encode("utf-32-le")
    assert np.diff(ends).tolist() == [len(text) for text in expected]
    assert list(texts) == expected
    assert len(texts) == len(expected)
    assert texts[1:] == expected[1:]
    if packed and tokens != [""]:
        vocabulary.id("a word that is new")
        again = Texts(vocabulary, offsets, texts._labels)
        assert again.codes is not None
        assert again.codes[0].tolist() == codes.tolist()


@given(st.binary(max_size=8))
def test_bytes_have_code_points_if_python_can_decode_them(data: bytes) -> None:
    array = np.frombuffer(bytearray(data), dtype=np.uint8)
    vocabulary = Vocabulary.packed(array, np.array([0, len(data)]))
    codes = Texts(vocabulary, np.array([0, 1]), np.zeros(1, dtype=np.int32)).codes
    try:
        expected = data.decode("utf-8")
    except UnicodeDecodeError:
        assert codes is None
    else:
        assert codes is not None
        assert codes[0].tobytes() == expected.encode("utf-32-le")
