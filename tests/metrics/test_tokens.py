from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jiwer.transformations import wer_default
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from hulltune.kernels.metrics import tokens
from hulltune.metrics._text import ReferenceVocabulary, pack
from tests.metrics.text_cases import lines


def split(texts: list[str], mode: int) -> list[list[str]]:
    """The tokens of the texts as the kernel sees them."""
    codes, offsets = pack(texts)
    modes = np.full(len(texts), mode, np.int8)
    vocabulary, ids, token_offsets = tokens.build_vocabulary(codes, offsets, modes)
    again, again_offsets = tokens.token_ids(codes, offsets, modes, vocabulary)
    assert np.array_equal(again[: again_offsets[-1]], ids)
    assert np.array_equal(again_offsets, token_offsets)
    text = "".join(texts)
    spelling = [text[vocabulary.starts[k] : vocabulary.ends[k]] for k in range(ids.max(initial=-1) + 1)]
    assert len(set(spelling)) == len(spelling)
    return [[spelling[k] for k in ids[a:b]] for a, b in itertools.pairwise(token_offsets)]


def test_is_space_agrees_with_python_on_every_character() -> None:
    characters = map(chr, range(sys.maxunicode + 1))
    assert [tokens.is_space(ord(c)) for c in characters if c.isspace() or ord(c) < 0x4000 or c == "\ufeff"] == [
        c.isspace() for c in map(chr, range(sys.maxunicode + 1)) if c.isspace() or ord(c) < 0x4000 or c == "\ufeff"
    ]


def test_mteval_tokens_are_sacrebleu_s_on_every_short_line() -> None:
    """All lines of up to 6 characters over one character of each class."""
    every = ["".join(line) for n in range(7) for line in itertools.product("a1.-( ", repeat=n)]
    tokenize = BLEU(tokenize="13a").tokenizer
    assert split(every, tokens.MTEVAL_13A) == [tokenize(line.rstrip()).split() for line in every]


def test_mteval_tokens_are_sacrebleu_s_on_every_ascii_character() -> None:
    signs = [chr(code) for code in range(1, 128) if chr(code) not in "\n&<"]
    every = [f"a{sign}b{sign}1{sign}2{sign} {sign}{sign}.{sign}" for sign in signs]
    tokenize = BLEU(tokenize="13a").tokenizer
    assert split(every, tokens.MTEVAL_13A) == [tokenize(line.rstrip()).split() for line in every]


@pytest.mark.parametrize("mode", [tokens.SPACES, tokens.MTEVAL_13A, tokens.JIWER_WORDS])
@pytest.mark.parametrize("words_in_a_line", [1, 7, 9000])
def test_a_vocabulary_grows(mode: int, words_in_a_line: int) -> None:
    """More distinct words, short and long, than the first table has room for: ids are in order of appearance."""
    random = np.random.default_rng(1)
    words = [("ein" * (1 + number % 4)) + str(number) for number in random.integers(0, 3 * tokens.FIRST_SLOTS, 9000)]
    texts = [" ".join(words[k : k + words_in_a_line]) for k in range(0, len(words), words_in_a_line)]
    codes, offsets = pack(texts)
    modes = np.full(len(texts), mode, np.int8)
    vocabulary, ids, _ = tokens.build_vocabulary(codes, offsets, modes)
    expected = {word: number for number, word in enumerate(dict.fromkeys(words))}
    assert ids.tolist() == [expected[word] for word in words]
    assert len(vocabulary.starts) == len(vocabulary.ends) == len(vocabulary.keys) == len(expected)
    assert split(texts, mode) == [text.split() for text in texts]


@given(st.lists(lines(), max_size=5))
def test_every_mode_splits_as_its_original_does(texts: list[str]) -> None:
    plain = [line for line in texts if not any(sign in line for sign in "\n&<")]
    tokenize = BLEU(tokenize="13a").tokenizer
    assert split(plain, tokens.MTEVAL_13A) == [tokenize(line.rstrip()).split() for line in plain]
    assert split(texts, tokens.SPACES) == [line.split() for line in texts]
    assert split(texts, tokens.CHARACTERS) == [list("".join(line.split())) for line in texts]
    assert split(texts, tokens.CHRF_WORDS) == [CHRF()._remove_punctuation(line) for line in texts]
    assert split(texts, tokens.JIWER_WORDS) == (wer_default(texts) if texts else [])


@pytest.mark.parametrize("length", [7, 8, 9, 30])
def test_tokens_that_differ_in_one_character_get_different_ids(length: int) -> None:
    """Both sides of the longest token that is its own key, and the first character that is not ASCII."""
    alphabet = "ab\x7f\x80é你😀"
    variants = ["x" * k + c + "x" * (length - k - 1) for k in range(length) for c in alphabet]
    vocabulary = ReferenceVocabulary(variants, tokens.SPACES)
    assert vocabulary.references.ids.tolist() == list(range(len(variants)))
    others = vocabulary.encode([v + "x" for v in variants] + [v[1:] for v in variants], tokens.SPACES)
    known = {variant: k for k, variant in enumerate(variants)}
    expected = [known.get(v + "x", -1) for v in variants] + [known.get(v[1:], -1) for v in variants]
    assert others.ids[: others.offsets[-1]].tolist() == expected
