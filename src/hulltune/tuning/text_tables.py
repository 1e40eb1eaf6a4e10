"""Tables and lines of text: for a terminal as text, for a notebook as HTML, for other programs as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from textwrap import wrap
from typing import Any

WIDTH = 100
"""The most columns of a line of text."""


@dataclass(frozen=True)
class TextTable:
    """Rows of cells, the headings first. ``alignment`` has "<" or ">" for each column. ``notes`` explain headings."""

    rows: Sequence[tuple[str, ...]]
    alignment: str
    notes: Sequence[str] = ()

    def lines(self) -> list[str]:
        """The table as lines: columns are as wide as their widest entry and two spaces apart."""
        widths = [max(len(row[k]) for row in self.rows) for k in range(len(self.alignment))]
        table = [
            "  ".join(
                f"{cell:{side}{width}}" for cell, side, width in zip(row, self.alignment, widths, strict=True)
            ).rstrip()
            for row in self.rows
        ]
        return [*table, *chain.from_iterable(wrap(note, WIDTH) for note in self.notes)]

    def html(self) -> str:
        """The table in HTML, with its notes below."""
        sides = ["left" if side == "<" else "right" for side in self.alignment]
        rows = [
            "<tr>"
            + "".join(
                f'<{kind} style="text-align: {side}">{escape(cell)}</{kind}>'
                for cell, side in zip(row, sides, strict=True)
            )
            + "</tr>"
            for kind, row in zip(chain(["th"], ["td"] * len(self.rows)), self.rows, strict=False)
        ]
        notes = "".join(f"<br><small>{escape(note)}</small>" for note in self.notes)
        return f"<table>{''.join(rows)}</table>{notes.removeprefix('<br>')}"


Block = TextTable | Sequence[str]
"""A table, or lines of text."""


def as_text(blocks: Sequence[Block]) -> str:
    """The blocks with an empty line between them."""
    parts = [block.lines() if isinstance(block, TextTable) else block for block in blocks]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def as_html(blocks: Sequence[Block]) -> str:
    """The blocks in HTML, for notebooks."""
    parts = [block.html() if isinstance(block, TextTable) else "<br>".join(map(escape, block)) for block in blocks]
    return "".join(f'<div style="margin-bottom: 1em">{part}</div>' for part in parts if part)


def short(text: str, width: int) -> str:
    """The text, cut off with "…" after ``width`` characters."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def csv_text(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    """Rows as lines of fields with commas between them, or tabs; fields that have these, quotes or line breaks inside
    are quoted, as spreadsheets and pandas do.
    """
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
