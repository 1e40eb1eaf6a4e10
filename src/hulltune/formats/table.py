"""Flat tables, a hypothesis a row: CSV, TSV, Parquet, data frames and tables of other libraries.

Columns ``id`` and ``text`` are required; ``score`` is the total score, ``source`` the source, ``ref`` (or ``ref_0``,
``ref_1``, …) the references; every other column is a feature. Options give these columns other names (see Columns).
Without these two, columns such as ``qid`` and ``docid`` say that the rows are documents that rankers scored.
"""

from __future__ import annotations

import csv
import importlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.records import Columns, RecordReader, check_once
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import first_line, numbered_lines, open_bytes

FRAME = "data frame"
LONGEST_CELL = 10_000
"""The most lines of a quoted cell of a TSV file."""
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?=\t|\Z)')


def looks_like_parquet(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a Parquet file."""
    return head.startswith(b"PAR1")


def looks_like_csv(head: bytes, columns: Columns | None = None) -> bool:
    """Whether a file that begins with these bytes has a header of columns with commas between them."""
    return _has_header(head, ",", columns or Columns())


def looks_like_tsv(head: bytes, columns: Columns | None = None) -> bool:
    """Whether a file that begins with these bytes has a header of columns with tabs between them."""
    return _has_header(head, "\t", columns or Columns())


def _has_header(head: bytes, delimiter: str, columns: Columns) -> bool:
    first = first_line(head)
    cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
    wanted = {columns.id or "id", columns.text or "text"}
    are_known = wanted <= set(cells) or columns.of_documents(cells) is not None
    return are_known and not first.lstrip().startswith("{")


def read_csv(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all rows of a CSV file with a header."""
    table = RecordReader(os.fspath(path), collector, what="column")
    with closing(numbered_lines(path, collector.problems)) as lines:
        _read_rows(path, csv.reader((text + "\n" for _, text in lines), strict=True), table, collector)


def _read_rows(path: str | os.PathLike[str], rows: Any, table: RecordReader, collector: RowCollector) -> None:
    """Take all rows of a reader of CSV, of which the first is the header."""
    is_header = True
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            collector.fault(os.fspath(path), line, f"no table row ({error})", lost=None)
            continue
        if is_header:
            table.take_header([name.strip() for name in row])
        else:
            table.take_row(line, row)
        is_header = False


def read_tsv(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all rows of a TSV file with a header. Cells may be quoted as pandas and others do (see tsv_rows)."""
    table = RecordReader(os.fspath(path), collector, what="column")
    rows = tsv_rows(numbered_lines(path, collector.problems))
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
    width, all_quoted = 0, False
    begun: list[tuple[int, str]] = []  # the lines of a row whose last cell may go on

    def apart() -> Iterator[tuple[int, list[str]]]:
        """Each of these lines as a row, as their cells do not go on."""
        for number, text in begun:
            cells, _ = _cells(text, all_quoted)
            yield number, text.split("\t") if len(cells) != width == text.count("\t") + 1 else cells
        begun.clear()

    for number, text in lines:
        cells, is_open = _cells(text, all_quoted)
        if not width:
            all_quoted = text.startswith('"') and _QUOTED.match(text) is not None
            cells, _ = _cells(text, all_quoted)
            width = len(cells)
            yield number, cells
            continue
        are_rows = len(begun) == 1 and len(cells) == width == len(_cells(begun[0][1], all_quoted)[0])
        if len(begun) == LONGEST_CELL or (are_rows and not all_quoted):
            yield from apart()
        begun.append((number, text))
        if len(begun) == 1:
            if not is_open:
                yield from apart()
        elif '"' in text:
            cells, is_open = _cells("\n".join(line for _, line in begun), all_quoted)
            if len(cells) == width and not is_open:
                yield begun[0][0], cells
                begun.clear()
    yield from apart()


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


def read_parquet(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all rows of a Parquet file."""
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(f"{os.fspath(path)}: Parquet needs pyarrow: pip install pyarrow") from None
    with open_bytes(path) as stream:
        data = stream.read()
    table = RecordReader(os.fspath(path), collector, what="column")
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        table.take_header(file.schema_arrow.names)
        columns = file.read()
    except InputError:
        raise
    except (OSError, ValueError) as error:
        told = " ".join(str(error).split())
        raise InputError(f"{os.fspath(path)}: no readable Parquet file ({told})") from None
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


def read_frame(frame: Any, collector: RowCollector) -> None:
    """Take all rows of a data frame or table."""
    names, columns = _columns_of(frame)
    table = RecordReader(FRAME, collector, what="column")
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
    check_once(FRAME, [str(name) for name in names])
    columns: list[Iterable[Any]] = []
    for name in names:
        column = frame[name]
        makes_list = getattr(column, "to_pylist", None) or getattr(column, "to_list", None)
        columns.append(list(column) if makes_list is None else makes_list())
    return [str(name) for name in names], columns
