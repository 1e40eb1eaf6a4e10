"""Flat tables, a hypothesis a row: CSV, TSV, Parquet, data frames and tables of other libraries.

Columns ``id`` and ``text`` are required; ``score`` is the total score, ``source`` the source, ``ref`` (or ``ref_0``,
``ref_1``, …) the references; every other column is a feature. Options give these columns other names (see Columns).
"""

from __future__ import annotations

import csv
import importlib
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.records import Columns, RecordReader
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import Problems, first_line, numbered_lines, open_bytes

FRAME = "data frame"
LONGEST_CELL = 10_000
"""The most lines of a quoted cell of a TSV file."""
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?=\t|\Z)')


def looks_like_parquet(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a Parquet file."""
    return head.startswith(b"PAR1")


def looks_like_csv(head: bytes) -> bool:
    """Whether a file that begins with these bytes has a header of columns with commas between them."""
    return _has_header(head, ",", Columns())


def looks_like_tsv(head: bytes) -> bool:
    """Whether a file that begins with these bytes has a header of columns with tabs between them."""
    return _has_header(head, "\t", Columns())


def table_with(head: bytes, columns: Columns) -> str | None:
    """The format, "tsv" or "csv", of a file that begins with a header of these columns; None for others."""
    return next((name for name, mark in (("tsv", "\t"), ("csv", ",")) if _has_header(head, mark, columns)), None)


def _has_header(head: bytes, delimiter: str, columns: Columns) -> bool:
    first = first_line(head)
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    wanted = {columns.id or "id", columns.text or "text"}
    return wanted <= set(cells) and not first.lstrip().startswith("{")


def read_csv(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a CSV file with a header."""
    table = RecordReader(os.fspath(path), collector, problems, what="column")
    rows = csv.reader((text + "\n" for _, text in numbered_lines(path, problems)), strict=True)
    is_header = True
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            collector.skip_many()
            problems.report(os.fspath(path), line, f"no table row ({error})")
            continue
        if is_header:
            table.take_header([name.strip() for name in row])
        else:
            table.take_row(line, row)
        is_header = False


def read_tsv(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a TSV file with a header. Cells may be quoted as pandas and others do (see tsv_rows)."""
    table = RecordReader(os.fspath(path), collector, problems, what="column")
    rows = tsv_rows(numbered_lines(path, problems))
    _, header = next(rows, (1, []))
    if header:
        table.take_header([name.strip() for name in header])
    for line, row in rows:
        table.take_row(line, row if row != [""] else [])


def tsv_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row of a TSV file, and the number of its first line.

    A cell in quotation marks, with those inside doubled, is quoted if that was necessary (a tab, a line break or a
    quotation mark is in it), or if the header is quoted, too. Any other quotation mark is a character like others: many
    files of texts have no quoting. A cell is quoted, and may go on in further lines, only if the row is complete then;
    where the header is not quoted, the lines must not be rows by themselves.
    """
    waiting = _Lines(lines)
    width, all_quoted = 0, False
    for number, text in waiting:
        if not width:
            all_quoted = text.startswith('"') and _QUOTED.match(text) is not None
        cells, is_open = _cells(text, all_quoted)
        if is_open and (all_quoted or len(cells) != width or not waiting.next_is_row(width, all_quoted)):
            longer = waiting.closing(text, width, all_quoted)
            cells = cells if longer is None else longer
        if width and len(cells) != width and text.count("\t") == width - 1:
            cells = text.split("\t")
        width = width or len(cells)
        yield number, cells


def _cells(text: str, all_quoted: bool) -> tuple[list[str], bool]:
    """The cells of a line, and whether one of them begins with a quotation mark that the line does not close."""
    if '"' not in text:
        return text.split("\t"), False
    cells: list[str] = []
    is_open, at = False, 0
    while at <= len(text):
        quoted = _QUOTED.match(text, at) if text.startswith('"', at) else None
        if quoted is not None and (all_quoted or any(mark in quoted[1] for mark in '\t\n"')):
            cells.append(quoted[1].replace('""', '"'))
            at = quoted.end() + 1
            continue
        end = text.find("\t", at)
        end = len(text) if end < 0 else end
        cells.append(text[at:end])
        is_open = is_open or (quoted is None and text.startswith('"', at)) or "\n" in cells[-1]
        at = end + 1
    return cells, is_open


class _Lines:
    """The lines of a file, of which further ones can be looked at before they are taken."""

    def __init__(self, lines: Iterable[tuple[int, str]]) -> None:
        self._lines, self._seen = iter(lines), deque[tuple[int, str]]()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        while self._look(1):
            yield self._seen.popleft()

    def _look(self, count: int) -> bool:
        while len(self._seen) < count:
            line = next(self._lines, None)
            if line is None:
                return False
            self._seen.append(line)
        return True

    def next_is_row(self, width: int, all_quoted: bool) -> bool:
        """Whether the next line is a row by itself, or there is none."""
        return not self._look(1) or len(_cells(self._seen[0][1], all_quoted)[0]) == width

    def closing(self, text: str, width: int, all_quoted: bool) -> list[str] | None:
        """The cells of a row that goes on in further lines, which are then taken; None if it does not."""
        for count in range(1, LONGEST_CELL):
            if not self._look(count):
                return None
            text += "\n" + self._seen[count - 1][1]
            if '"' not in self._seen[count - 1][1]:
                continue
            cells, is_open = _cells(text, all_quoted)
            if len(cells) == width and not is_open:
                for _ in range(count):
                    self._seen.popleft()
                return cells
        return None


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
    table = RecordReader(os.fspath(path), collector, problems, what="column")
    table.take_header(columns.column_names)
    batches = columns.to_batches(max_chunksize=1 << 16)
    table.take_rows(row for batch in batches for row in zip(*(each.to_pylist() for each in batch.columns), strict=True))


def is_frame(value: object) -> bool:
    """Whether this is a data frame of pandas or polars, a table of pyarrow, a Dataset of Hugging Face, or columns by
    name; or has the attributes of one of these.
    """
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(column, (list, tuple)) for column in value.values())
    names = hasattr(value, "columns") or hasattr(value, "column_names")
    size = hasattr(value, "shape") or hasattr(
        value, "num_rows"
    )  # a RecordBatch of older releases of pyarrow has no shape
    return names and size and hasattr(value, "__getitem__")


def read_frame(frame: Any, collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a data frame or table."""
    names, columns = _columns_of(frame)
    table = RecordReader(FRAME, collector, problems, what="column")
    rows = zip(*columns, strict=True)
    if "candidates" in names:
        for place, row in enumerate(rows):
            table.take(place, place, dict(zip(names, row, strict=True)))
        table.close()
    else:
        table.take_header(names)
        table.take_rows(rows)


def _columns_of(frame: Any) -> tuple[list[str], list[Iterable[Any]]]:
    """The names and the columns of a data frame or table, of plain Python values."""
    if isinstance(frame, Mapping):
        longest = max(map(len, frame.values()))
        for name, column in frame.items():
            if len(column) != longest:
                raise InputError(f"column {name!r} has {len(column)} values, and another {longest}; expected as many")
        return [str(name) for name in frame], list(frame.values())
    if hasattr(frame, "with_format"):  # a Dataset of Hugging Face may be set to return tensors
        frame = frame.with_format(None)
    names = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    columns: list[Iterable[Any]] = []
    for name in names:
        column = frame[name]
        makes_list = getattr(column, "to_pylist", None) or getattr(column, "to_list", None)
        columns.append(list(column) if makes_list is None else makes_list())
    return [str(name) for name in names], columns
