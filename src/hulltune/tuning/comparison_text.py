"""A comparison as text for a terminal, with the words that differ marked, and as HTML for a notebook."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from textwrap import wrap
from typing import TYPE_CHECKING

from hulltune.tuning.summary import count_table, interval_text, score_table
from hulltune.tuning.text_tables import WIDTH, Block
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.tuning.comparison import Change, Comparison

MOST_REASONS = 4
MARGIN = 6
"""The columns before the texts of a change, for what they are."""
LEGEND = "[-only in the old text-] {+only in the new text+}"
REASONS = (
    "why: the features that speak more for the new text than before, each with its share of the difference of the "
    "model scores under the old and under the new weights; negative shares speak for the old text"
)
REASONS_ALONE = (
    "why: the features that speak for the new text, each with its share of the difference of the model scores"
)
SAME, OLD, NEW = "same", "old", "new"
WORD_SIGNS = {SAME: ("", ""), OLD: ("[-", "-]"), NEW: ("{+", "+}")}
"""The signs around words that only the old or only the new text has, as in ``git diff --word-diff``."""
_COLOURS = {SAME: ("", ""), OLD: ("\x1b[31m", "\x1b[0m"), NEW: ("\x1b[32m", "\x1b[0m")}


def blocks_of(comparison: Comparison, *, most: int | None = 20, colour: bool = False) -> list[Block]:
    """The blocks of a comparison; of many changes, the first ``most``."""
    shown = comparison.changes[:most]
    blocks = [*_head(comparison), _legend(shown), *(_change(each, comparison.noun, colour) for each in shown)]
    left = len(comparison.changes) - len(shown)
    return [*blocks, [f"… and {counted(left, f'more {comparison.noun}')}"]] if left else blocks


def _legend(changes: Sequence[Change]) -> list[str]:
    """The explanation of signs and, if there are any, of reasons, in lines."""
    shares = [pair for change in changes if _why(change) for pair in change.reasons.values()]
    reasons = [REASONS_ALONE if shares[0][0] is None else REASONS] if shares else []
    return [line for text in [LEGEND, *reasons] for line in wrap(text, WIDTH)] if changes else []


def _head(comparison: Comparison) -> list[Block]:
    changed = f"{len(comparison.changes):,} of {counted(comparison.sentences, comparison.noun)} changed"
    if comparison.metric is not None and comparison.changes:
        equal = len(comparison.changes) - comparison.better - comparison.worse
        changed += f": {comparison.better:,} better, {comparison.worse:,} worse, {equal:,} as good as before"
    if comparison.same_text:
        changed += f"; {comparison.same_text:,} more with the same text by another candidate"
    blocks: list[Block] = [_scores(comparison)]
    if comparison.counts:
        blocks.append(count_table(comparison.counts))
    return [*blocks, [changed]]


def _scores(comparison: Comparison) -> Block:
    if comparison.metric is None or comparison.old_score is None or comparison.new_score is None:
        return [f"old: {comparison.old}", f"new: {comparison.new}"]
    digits = 4 if max(abs(comparison.old_score), abs(comparison.new_score)) < 2 else 2
    interval = comparison.interval
    assert interval is not None
    rows = [
        ("old", comparison.old_score, "", comparison.old),
        ("new", comparison.new_score, f"{comparison.gain:+.{digits}f}", comparison.new),
    ]
    notes = [
        f"{comparison.metric} ({'higher' if comparison.higher_is_better else 'lower'} is better)",
        f"gain: by how much the score is better, negative if it is worse; {interval_text(interval, digits)} "
        f"({interval.samples:,} paired bootstrap samples)",
    ]
    return score_table(comparison.metric, rows, digits, notes)


def _change(change: Change, noun: str, colour: bool) -> list[str]:
    old, new = marked(change.old.text, change.new.text)
    lines = [f"{noun} {change.id}{_judged(change, ': ')}{_places(change)}"]
    room = WIDTH - MARGIN
    for number, reference in enumerate(change.references):
        lines += _labelled("ref" if len(change.references) == 1 else f"ref{number + 1}", wrapped(reference, room))
    lines += _labelled("old", old.lines(room, colour=colour))
    lines += _labelled("new", new.lines(room, colour=colour))
    why = _why(change)
    return [*lines, *_labelled("why", wrapped(why, room))] if why else lines


def _labelled(label: str, lines: Sequence[str]) -> list[str]:
    return [f"{label if not place else '':>{MARGIN - 1}} {line}".rstrip() for place, line in enumerate(lines)]


def _judged(change: Change, before: str = "") -> str:
    """The gain of a change in words: "better by 0.0034 (3 → 0 errors)"."""
    if change.gain is None:
        return ""
    if change.gain == 0:
        how = "as good as before"
    else:
        how = f"{'better' if change.gain > 0 else 'worse'} by {abs(change.gain):.2g}"
    errors = "" if change.errors is None else f" ({change.errors[0]:,} → {change.errors[1]:,} errors)"
    return f"{before}{how}{errors}"


def _places(change: Change) -> str:
    if change.old.index is None or change.new.index is None:
        return ""
    return f", candidate {change.old.index} → {change.new.index}"


def _why(change: Change) -> str:
    """The features that decided: those whose share grew, the most first. A baseline without weights has no reasons."""
    named = [
        f"{name} " + " → ".join(_percent(share) for share in (old, new) if share is not None)
        for name, (old, new) in change.reasons.items()
        if new is not None and new > (old or 0.0)
    ]
    more = f", … {len(named) - MOST_REASONS} more" if len(named) > MOST_REASONS else ""
    return ", ".join(named[:MOST_REASONS]) + more


def _percent(share: float) -> str:
    number = round(100 * share)
    return f"{number:+d} %" if number else "0 %"


# Two texts with the words that differ marked.


@dataclass(frozen=True)
class Marked:
    """A text in pieces: words in a row that both texts have (SAME), or that only this one has (OLD or NEW)."""

    pieces: tuple[tuple[str, tuple[str, ...]], ...]
    space: str
    """What stands between words; nothing where the words are characters."""

    def __str__(self) -> str:
        return self.space.join(
            WORD_SIGNS[kind][0] + self.space.join(words) + WORD_SIGNS[kind][1] for kind, words in self.pieces
        )

    def lines(self, width: int, *, colour: bool = False) -> list[str]:
        """The text in lines of at most ``width`` columns, signs included; a longer word has a line of its own."""
        lines: list[str] = []
        line, used = "", 0
        for kind, words in self.pieces:
            for place, word in enumerate(words):
                before, after = WORD_SIGNS[kind]
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
