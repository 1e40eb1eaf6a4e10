"""Texts to compare metrics on: random ones with many repetitions, nasty ones, and real n-best lists."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

DATA = Path(__file__).parents[2] / "../shared/data"

# Few words, so that n-grams repeat and match; every kind of character that a tokeniser treats in its own way.
WORDS = [
    *("a", "b", "the", "The", "cat", "Straße", "İstanbul", "ΟΔΟΣ", "über-alles", "incomprehensibilities"),
    *("1.5", "1,000", "3-4", ".5", "..5", "1..", "...", "U.S.A.", "don't", "(hi)", "hi!", "!", "?!", "§", "€5"),
    *(
        "&quot;",
        "&amp;lt;",
        "<skipped>",
        "<s>",
        "AT&T",
        "你好",
        "世界",
        "、",
        "。",
        "カタカナ",
        "😀",
        "e\u0301",
        "\x00",
    ),
]
GAPS = [" ", " ", " ", "  ", "", "\t", "\n", "-\n", "\u3000", "\xa0", "\x1c", "\u2028", " \t"]


@st.composite
def _assembled(draw: st.DrawFn) -> str:
    pieces = draw(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=12))
    return "".join(word + gap for word, gap in pieces)


def _of_few_words(most: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from("abcde"), max_size=most).map(" ".join)


def lines(most_words: int = 12) -> st.SearchStrategy[str]:
    """A line of text: assembled from nasty words, any Unicode, or few words repeated; sometimes empty."""
    return st.one_of(_assembled(), st.text(max_size=30), _of_few_words(most_words), st.just(""))


@st.composite
def corpora(draw: st.DrawFn, *, most_words: int = 12) -> tuple[list[str], list[list[str]]]:
    """Outputs of a few sentences, and for each the same number of references, 1 to 4."""
    count = draw(st.integers(1, 4))
    references = draw(st.integers(1, 4))
    line = lines(most_words)
    outputs = draw(st.lists(line, min_size=count, max_size=count))
    own = st.lists(line, min_size=references, max_size=references)
    return outputs, draw(st.lists(own, min_size=count, max_size=count))


def transposed(references: list[list[str]]) -> list[list[str]]:
    """Sentence-major references as sacrebleu has them: one document per reference."""
    return [list(document) for document in zip(*references, strict=True)]


def numbers(count: int) -> NDArray[np.int64]:
    """Sentence i for output i."""
    return np.arange(count, dtype=np.int64)


def real_nbest(name: str, *, every: int = 1) -> tuple[NDArray[np.int64], list[str], list[list[str]]]:
    """(sentences, distinct outputs, references) of a real n-best list, or a skipped test."""
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is missing")
    (path,) = folder.glob("nbest.*")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = dict.fromkeys(tuple(line.split(" ||| ")[:2]) for line in file)
    chosen = list(found)[::every]
    references = (folder / "refs.txt").read_text(encoding="utf-8").split("\n")[:-1]
    sentences = np.array([int(sentence) for sentence, _ in chosen], np.int64)
    return sentences, [text for _, text in chosen], [[reference] for reference in references]
