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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.columns import Columns, RowReader
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
    rows = csv.reader(_line_ends(path, problems), delimiter=",", strict=True)
    table: _Table | None = None
    while True:
        before = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            collector.skip_many()
            problems.report(os.fspath(path), before, f"no table row ({error})")
            continue
        if row is None:
            return
        if table is None:
            table = _Table(os.fspath(path), [name.strip() for name in row], collector, problems)
        else:
            table.add(before, row)


def read_tsv(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all rows of a TSV file with a header. Cells may be quoted as pandas and others do (see tsv_rows)."""
    table: _Table | None = None
    for line, row in tsv_rows(numbered_lines(path, problems)):
        if table is None:
            table = _Table(os.fspath(path), [name.strip() for name in row], collector, problems)
        else:
            table.add(line, row if row != [""] else [])


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


def read_frame(
    names: Sequence[str], columns: Sequence[Iterable[Any]], collector: RowCollector, problems: Problems
) -> None:
    """Take all rows of the columns of a data frame or table (see frame_columns)."""
    _Table(FRAME, names, collector, problems).add_all(zip(*columns, strict=True))


def frame_columns(frame: Any) -> tuple[list[str], list[Iterable[Any]]]:
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


class _Table:
    """A table: the names of its columns, and the reader that takes its rows."""

    def __init__(self, file: str, names: Sequence[str], collector: RowCollector, problems: Problems) -> None:
        self._file, self._names, self._problems, self._collector = file, names, problems, collector
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{file}:1: two columns are called {twice!r}")
        collector.columns.check(f"{file}:1", names)
        self._reader = RowReader(collector)
        self._features = [name for name in names if collector.columns.role(name) == "feature"]
        self._line = 1

    def add_all(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take typed rows; for messages they count as lines after a header."""
        for row in rows:
            self._line += 1
            self.add(self._line, row)

    def add(self, line: int, row: Sequence[Any]) -> None:
        """Take a row of strings or of typed values."""
        if len(row) != len(self._names):
            self._collector.skip_one()
            what = "blank line" if not row else f"{len(row)} cells"
            self._problems.report(self._file, line, f"{what}; expected {len(self._names)}, as in the header")
            return
        reason = self._reader.add(list(zip(self._names, row, strict=True)), features=self._features)
        if reason is not None:
            self._problems.report(self._file, line, reason)
