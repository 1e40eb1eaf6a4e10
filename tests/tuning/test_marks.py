"""Marked differences: signs around what differs, nothing lost, lines that fit."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.tuning.comparison_text import columns, marked, wrapped

texts = st.lists(st.sampled_from(["a", "b", "c", "dd", "eee"]), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("the cap sat", "the cat sat", ("the [-cap-] sat", "the {+cat+} sat")),
        ("a b c", "a c", ("a [-b-] c", "a c")),
        ("a c", "a b b c", ("a c", "a {+b b+} c")),
        ("same words", "same words", ("same words", "same words")),
        ("", "new words", ("", "{+new words+}")),
        ("old", "", ("[-old-]", "")),
        ("彼は猫だ", "彼は犬だ", ("彼は[-猫-]だ", "彼は{+犬+}だ")),
    ],
)
def test_differences_have_signs(old: str, new: str, shown: tuple[str, str]) -> None:
    before, after = marked(old, new)
    assert (str(before), str(after)) == shown


@given(texts, texts)
def test_without_their_marks_texts_are_as_they_were(old: str, new: str) -> None:
    before, after = marked(old, new)
    for text, found, signs in ((old, before, r"\[-|-\]"), (new, after, r"\{\+|\+\}")):
        assert re.sub(signs, "", str(found)) == text
    kept = [
        re.sub(pattern, "", str(found)).split() for pattern, found in ((r"\[-.*?-\]", before), (r"\{\+.*?\+\}", after))
    ]
    if " " in old + new:  # by words; a single word is compared by characters
        assert kept[0] == kept[1]


@given(texts, texts, st.integers(8, 30))
def test_lines_fit_and_colours_change_no_sign(old: str, new: str, width: int) -> None:
    for found in marked(old, new):
        lines = found.lines(width)
        assert all(len(line) <= width for line in lines)
        assert found.space.join(lines) == str(found)
        coloured = found.lines(width, colour=True)
        assert [re.sub("\x1b\\[[0-9]*m", "", line) for line in coloured] == lines
        assert any("\x1b[" in line for line in coloured) == any(kind != "same" for kind, _ in found.pieces)


def test_html_escapes_texts() -> None:
    before, after = marked("a <b> & c", "a <i> & c")
    assert before.html() == "a <del>[-&lt;b&gt;-]</del> &amp; c"
    assert after.html() == "a <ins>{+&lt;i&gt;+}</ins> &amp; c"


def test_wide_characters_take_two_columns() -> None:
    assert columns("ab猫") == 4
    assert columns("e\u0301") == 1
    assert marked("彼は猫だ", "彼は犬だ")[0].lines(10) == ["彼は[-猫-]", "だ"]


def test_plain_texts_are_wrapped() -> None:
    assert wrapped("aa bb cc dd", 5) == ["aa bb", "cc dd"]
    assert wrapped("abcdef", 4) == ["abcd", "ef"]
    assert wrapped("", 4) == [""]
