"""Numbers with their nouns, and scores: wording that messages and summaries share."""

from __future__ import annotations

import re
from collections.abc import Iterable

IRREGULAR = {
    "hypothesis": "hypotheses",
    "box": "boxes",
    "entry": "entries",
    "query": "queries",
    "search": "searches",
    "try": "tries",
}


TIES = "ties:listed"
"""A part of the signatures of all metrics whose answers are orders."""


def counted(number: int, noun: str) -> str:
    """A number with its noun, singular or plural: "1 file", "2 files", "12,000 new hypotheses"."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a noun, whose last word changes: "new hypotheses"."""
    before, space, last = noun.rpartition(" ")
    return f"{before}{space}{IRREGULAR.get(last, f'{last}s')}"


def listed(items: Iterable[object], most: int = 5) -> str:
    """The first items between commas, and the number of others: "1, 4, 7", "1, 4, 7, 8, 9 and 1,200 more"."""
    texts = [str(item) for item in items]
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def score_text(score: float) -> str:
    """A score with digits that fit its scale: "21.46", "0.1480"."""
    return f"{score:.2f}" if abs(score) >= 2 else f"{score:.4f}"


def tells_orders(signature: str) -> bool:
    """Whether a metric with this signature measures orders of documents."""
    return TIES in re.split(r"[|\]]", signature)


def nouns_of(signature: str | None) -> tuple[str, str]:
    """What lists and their entries are called beside a metric: sentences and candidates, or queries and documents."""
    return ("query", "document") if signature is not None and tells_orders(signature) else ("sentence", "candidate")
