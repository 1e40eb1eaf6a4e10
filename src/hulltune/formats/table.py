"""Flat tables, a hypothesis a row: CSV, TSV, Parquet, and data frames.

Columns ``id`` and ``text`` are required; ``score`` is the total score, ``source`` the source, ``ref`` (or ``ref_0``,
``ref_1``, …) the references; every other column is a feature.
"""

from __future__ import annotations

import csv
import importlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hulltune.arrays import as_number
from hulltune.data.dataset import SentenceId
from hulltune.errors import InputError
from hulltune.formats.numbers import json_id, plain_number, sentence_id, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import Problems, first_line, numbered_lines, open_bytes

REFERENCE = re.compile(r"ref(_[0-9]+)?", flags=re.ASCII)
FRAME = "data frame"


def looks_like_parquet(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a Parquet file."""
    return head.startswith(b"PAR1")


def looks_like_csv(head: bytes) -> bool:
    """Whether a file that begins with these bytes has a header of columns with commas between them."""
    return _has_header(head, ",")


def looks_like_tsv(head: bytes) -> bool:
    """Whether a file that begins with these bytes has a header of columns with tabs between them."""
    return _has_header(head, "\t")


def _has_header(head: bytes, delimiter: str) -> bool:
    first = first_line(head)
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    return "id" in cells and "text" in cells and not first.lstrip().startswith("{")


def read_csv(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a CSV file with a header."""
    _read_delimited(path, collector, problems, ",")


def read_tsv(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a TSV file with a header. There is no quoting: a quotation mark is an ordinary character."""
    _read_delimited(path, collector, problems, "\t")


def _read_delimited(path: str | os.PathLike[str], collector: RowCollector, problems: Problems, delimiter: str) -> None:
    lines = _line_ends(path, problems)
    if delimiter == "\t":
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
    file = os.fspath(path)
    header: list[str] | None = None
    table: _Table | None = None
    while True:
        before = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            collector.skip_many()
            problems.report(file, before, f"no table row ({error})")
            continue
        if row is None:
            return
        if header is None or table is None:
            header = [name.strip() for name in row]
            table = _Table(file, header, collector, problems)
        elif len(row) != len(header):
            collector.skip_one()
            what = "blank line" if not row else f"{len(row)} cells"
            problems.report(file, before, f"{what}; expected {len(header)}, as in the header")
        else:
            table.add(before, row, texts=True)


def _line_ends(path: str | os.PathLike[str], problems: Problems) -> Iterator[str]:
    for _, text in numbered_lines(path, problems):
        yield text + "\n"


def read_parquet(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a Parquet file."""
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(f"{os.fspath(path)}: Parquet needs pyarrow: pip install pyarrow") from None
    with open_bytes(path) as stream:
        data = stream.read()
    try:
        columns = parquet.read_table(arrow.BufferReader(data))
    except (OSError, ValueError) as error:
        raise InputError(f"{os.fspath(path)}: no readable Parquet file ({error})") from None
    table = _Table(os.fspath(path), list(columns.column_names), collector, problems)
    for batch in columns.to_batches(max_chunksize=1 << 16):
        table.add_all(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def is_frame(value: object) -> bool:
    """Whether this is a data frame of pandas or polars, or has the same attributes."""
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and hasattr(value, "shape")


def read_frame(frame: Any, collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a data frame."""
    names = [str(name) for name in frame.columns]
    table = _Table(FRAME, names, collector, problems)
    columns: list[Iterable[Any]] = []
    for name in frame.columns:
        column = frame[name]
        columns.append(column.to_list() if hasattr(column, "to_list") else list(column))
    table.add_all(zip(*columns, strict=True))


class _Table:
    """A table: the roles of its columns, and the collector that takes its rows."""

    def __init__(self, file: str, names: Sequence[str], collector: RowCollector, problems: Problems) -> None:
        self._file, self._collector, self._problems = file, collector, problems
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{file}:1: two columns are called {twice!r}")
        for name in ("id", "text"):
            if name not in names:
                raise InputError(
                    f"{file}:1: no column {name!r} (columns: {shown(', '.join(names))}); expected id, text, features…"
                )
        self._id, self._text = names.index("id"), names.index("text")
        self._score = names.index("score") if "score" in names else None
        self._source = names.index("source") if "source" in names else None
        self._references = [place for place, name in enumerate(names) if REFERENCE.fullmatch(name)]
        special = {self._id, self._text, self._score, self._source, *self._references}
        self._features = [(place, name) for place, name in enumerate(names) if place not in special]
        self._line = 1

    def add_all(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take typed rows; for messages they count as lines after a header."""
        for row in rows:
            self._line += 1
            self.add(self._line, row, texts=False)

    def add(self, line: int, row: Sequence[Any], *, texts: bool) -> None:
        """Take a row of strings (``texts``) or of typed values."""
        reason = self._add(row, texts=texts)
        if reason is not None:
            self._problems.report(self._file, line, reason)

    def _add(self, row: Sequence[Any], *, texts: bool) -> str | None:
        sentence, reason = self._sentence(row[self._id], texts=texts)
        text = row[self._text]
        if not isinstance(text, str):
            reason = reason or f"text is {shown(text)}; expected a string"
        features: dict[str, float] = {}
        for place, name in self._features:
            value = row[place]
            if _is_missing(value):
                continue  # the collector decides: 0 or a fault
            number = plain_number(value.strip()) if isinstance(value, str) else as_number(value)
            if number is None:
                reason = reason or f"column {name!r} is {shown(value)}; expected a finite number"
            else:
                features[name] = number
        score = None
        if self._score is not None:
            value = row[self._score]
            score = plain_number(value.strip()) if isinstance(value, str) else as_number(value)
            if score is None:
                reason = reason or f"score is {shown(value)}; expected a finite number"
        if reason is None and len(features) < len(self._features) and not len(self._collector):
            reason = self._first_row_lacks(features)
        if reason is not None:
            self._collector.skip_one()
            return reason
        references = tuple(str(row[place]) for place in self._references) if self._references else None
        source = row[self._source] if self._source is not None else None
        reason = self._collector.declare(
            sentence, references=references, source=None if source is None else str(source)
        )
        if reason is not None:
            self._collector.skip_one()
            return reason
        return self._collector.add(sentence, text, features, score)

    def _first_row_lacks(self, features: dict[str, float]) -> str | None:
        """The fault of a first row that lacks a feature of the header, which would disappear unnoticed."""
        lacking = next(name for _, name in self._features if name not in features)
        if not self._collector.fills_missing:
            return f"lacks feature {lacking!r}; give it, or take what is missing as 0 (missing=0)"
        return None

    def _sentence(self, value: Any, *, texts: bool) -> tuple[SentenceId, str | None]:
        if texts and value.strip():
            return sentence_id(value.strip()), None
        found = None if texts else json_id(value)
        if found is None:
            return 0, f"id is {shown(value)}; expected a name or a whole number from 0"
        return found, None


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
