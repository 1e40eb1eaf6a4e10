"""Differences between two texts, marked by signs and, if wanted, by colours."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

SAME, OLD, NEW = "same", "old", "new"
SIGNS = {SAME: ("", ""), OLD: ("[-", "-]"), NEW: ("{+", "+}")}
"""The signs around words that only the old or only the new text has, as in ``git diff --word-diff``."""
_COLOURS = {SAME: ("", ""), OLD: ("\x1b[31m", "\x1b[0m"), NEW: ("\x1b[32m", "\x1b[0m")}
_TAGS = {SAME: ("", ""), OLD: ("<del>", "</del>"), NEW: ("<ins>", "</ins>")}


@dataclass(frozen=True)
class Marked:
    """A text in pieces: words in a row that both texts have (SAME), or that only this one has (OLD or NEW)."""

    pieces: tuple[tuple[str, tuple[str, ...]], ...]
    space: str
    """What stands between words; nothing where the words are characters."""

    def __str__(self) -> str:
        return self.space.join(SIGNS[kind][0] + self.space.join(words) + SIGNS[kind][1] for kind, words in self.pieces)

    def html(self) -> str:
        """The text in HTML, with the tags ``del`` and ``ins``."""
        return self.space.join(
            _TAGS[kind][0] + escape(str(Marked(((kind, words),), self.space))) + _TAGS[kind][1]
            for kind, words in self.pieces
        )

    def lines(self, width: int, *, colour: bool = False) -> list[str]:
        """The text in lines of at most ``width`` columns, signs included; a longer word has a line of its own."""
        lines: list[str] = []
        line, used = "", 0
        for kind, words in self.pieces:
            for place, word in enumerate(words):
                before, after = SIGNS[kind]
                shown = (before if place == 0 else "") + word + (after if place == len(words) - 1 else "")
                gap = self.space if used else ""
                if used and used + len(gap) + columns(shown) > width:
                    lines.append(line)
                    line, used, gap = "", 0, ""
                on, off = _COLOURS[kind] if colour else ("", "")
                line += f"{gap}{on}{shown}{off}"
                used += len(gap) + columns(shown)
        return [*lines, line]


def columns(text: str) -> int:
    """The columns of a terminal that a text takes: two for a wide character of East Asian scripts, none for a mark that
    is combined with the character before it.
    """
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def marked(old: str, new: str) -> tuple[Marked, Marked]:
    """Two texts with their differences marked: by words, or by characters where no text has a space inside.

    O(words²) at worst.
    """
    by_words = len(old.split()) > 1 or len(new.split()) > 1
    space = " " if by_words else ""
    before, after = (text.split() if by_words else list(text.strip()) for text in (old, new))
    pieces: tuple[list[tuple[str, tuple[str, ...]]], ...] = ([], [])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, first, last, begin, end in matcher.get_opcodes():
        for found, kind, words in ((pieces[0], OLD, before[first:last]), (pieces[1], NEW, after[begin:end])):
            if words:
                found.append((SAME if tag == "equal" else kind, tuple(words)))
    return Marked(tuple(pieces[0]), space), Marked(tuple(pieces[1]), space)


def wrapped(text: str, width: int) -> Sequence[str]:
    """A text without marks, in lines of at most ``width`` columns."""
    words = text.split()
    by_words = len(words) > 1
    pieces = ((SAME, tuple(words if by_words else text.strip())),) if text.strip() else ()
    return Marked(pieces, " " if by_words else "").lines(width)
