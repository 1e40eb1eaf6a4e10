"""Numbers with their nouns, and scores: wording that messages and summaries share."""

from __future__ import annotations

from collections.abc import Iterable

IRREGULAR = {
    "hypothesis": "hypotheses",
    "box": "boxes",
    "entry": "entries",
    "search": "searches",
    "try": "tries",
}


def counted(number: int, noun: str) -> str:
    """A number with its noun, singular or plural: "1 file", "2 files", "12,000 new hypotheses"."""
    before, space, last = noun.rpartition(" ")
    return f"{number:,} {before}{space}{last if number == 1 else IRREGULAR.get(last, f'{last}s')}"


def listed(items: Iterable[object], most: int = 5) -> str:
    """The first items between commas, and the number of others: "1, 4, 7", "1, 4, 7, 8, 9 and 1,200 more"."""
    texts = [str(item) for item in items]
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def score_text(score: float) -> str:
    """A score with digits that fit its scale: "21.46", "0.1480"."""
    return f"{score:.2f}" if abs(score) >= 2 else f"{score:.4f}"
