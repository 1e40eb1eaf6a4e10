"""The files on which Moses tunes (mert, kbmira, pro): FEATSTAT, the features of hypotheses, and SCORESTAT, their
statistics. Both are read together, the first FEATSTAT file with the first SCORESTAT file, and so on.

A list is a line ``FEATURES_TXT_BEGIN_0 sentence hypotheses features name_0 name_1 …``, a line of values for each
hypothesis (sparse features after them, as ``name=value``), and ``FEATURES_TXT_END_0``. Statistics are alike:
``SCORES_TXT_BEGIN_0 sentence hypotheses statistics BLEU``. In the binary forms (``…_BIN_…``) the values are float32,
the statistics int32, and nothing is between them. Lists of one sentence in several places are joined.

These files have no texts. The text of a hypothesis is here the name of the metric and its statistics, such as
``BLEU 5 7 3 6 2 5 1 4 8``, which the metric of that name scores as Moses does (hulltune.metrics.statistics).
Moses numbers the values of every feature (``LM0_0``); here the only one of a feature has its plain name, as in lists.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.errors import InputError
from hulltune.formats.moses import UNNAMED
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import BYTE_ORDER_MARK, Problems, head, not_utf8, open_bytes
from hulltune.wording import counted

_BEGIN = re.compile(rb"(FEATURES|SCORES)_(TXT|BIN)_BEGIN_0(?=[ \t\r\n]|$)")
FEATURES, SCORES = "FEATURES", "SCORES"
_EXPECTED = {
    FEATURES: "'FEATURES_TXT_BEGIN_0 sentence hypotheses features name_0 …'",
    SCORES: "'SCORES_TXT_BEGIN_0 sentence hypotheses statistics BLEU'",
}
_COMPONENT = re.compile(r"(.+)_([0-9]+)")

Row = tuple[int, list[float], dict[str, float]]
"""The line of a hypothesis (0 in binary files), its values, and its sparse features."""


@dataclass(frozen=True)
class _List:
    """The hypotheses of a sentence in one place of a file; None stands for one at fault that was skipped."""

    where: str
    sentence: str
    names: tuple[str, ...]
    """The names of features, or the name of the metric."""
    width: int
    rows: list[Row | None]


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is FEATSTAT or SCORESTAT."""
    return _BEGIN.match(head.removeprefix(BYTE_ORDER_MARK).lstrip()) is not None


def read_mert(paths: Sequence[str | os.PathLike[str]], collector: RowCollector, problems: Problems) -> None:
    """Take all hypotheses of pairs of files; linear in their size."""
    files: dict[str, list[str | os.PathLike[str]]] = {FEATURES: [], SCORES: []}
    for path in paths:
        match = _BEGIN.match(head(path).removeprefix(BYTE_ORDER_MARK).lstrip())
        if match is None:
            raise InputError(f"{os.fspath(path)}:1: expected {_EXPECTED[FEATURES]} or {_EXPECTED[SCORES]}")
        files[match[1].decode()].append(path)
    if len(files[FEATURES]) != len(files[SCORES]):
        raise InputError(
            f"{counted(len(files[FEATURES]), 'file')} of features (FEATSTAT) and {counted(len(files[SCORES]), 'file')} "
            f"of statistics (SCORESTAT): {', '.join(os.fspath(path) for path in paths)}; expected a file of statistics "
            "for each file of features"
        )
    reader = _Reader(collector, problems)
    for features, scores in zip(files[FEATURES], files[SCORES], strict=True):
        reader.read(features, scores)


class _Reader:
    """The names of features and metric, which all files must share, and the hypotheses so far."""

    def __init__(self, collector: RowCollector, problems: Problems) -> None:
        self._collector = collector
        self._problems = problems
        self._first: dict[str, _List] = {}
        self._names: tuple[str, ...] = ()

    def read(self, features_file: str | os.PathLike[str], scores_file: str | os.PathLike[str]) -> None:
        """Take the hypotheses of one file of features, each with its statistics."""
        statistics: dict[str, list[_List]] = {}
        for found in self._lists(scores_file, SCORES):
            statistics.setdefault(found.sentence, []).append(found)
        rows_of = {sentence: [row for part in parts for row in part.rows] for sentence, parts in statistics.items()}
        taken = dict.fromkeys(rows_of, 0)
        for found in self._lists(features_file, FEATURES):
            if found.sentence not in rows_of:
                raise InputError(
                    f"{found.where}: sentence {found.sentence}, of which {os.fspath(scores_file)} has nothing"
                )
            begin = taken[found.sentence]
            taken[found.sentence] += len(found.rows)
            self._add(found, rows_of[found.sentence][begin : taken[found.sentence]], os.fspath(features_file))
        for sentence, rows in rows_of.items():
            if taken[sentence] != len(rows):
                raise InputError(
                    f"{statistics[sentence][0].where}: sentence {sentence} has {len(rows)} rows of statistics, but "
                    f"{os.fspath(features_file)} has {taken[sentence]} of features; expected as many"
                )

    def _lists(self, path: str | os.PathLike[str], kind: str) -> Iterator[_List]:
        """The lists of a file, whose names are those of all files of its kind."""
        for found in _parsed(path, kind, self._problems):
            first = self._first.setdefault(kind, found)
            if (found.names, found.width) != (first.names, first.width):
                what = "features" if kind == FEATURES else "statistics"
                got = f"{found.width} {what} {shown(' '.join(found.names))}"
                raise InputError(
                    f"{found.where}: {got}, unlike {first.width} {shown(' '.join(first.names))} in {first.where}"
                )
            if kind == SCORES and len(found.names) != 1:
                raise InputError(f"{found.where}: no name of a metric; expected {_EXPECTED[SCORES]}")
            yield found

    def _add(self, found: _List, statistics: list[Row | None], file: str) -> None:
        """Take the hypotheses of a list; one that is at fault in either file is skipped."""
        names = self._names or _plain_names(found.names, found.width)
        self._names = names
        sentence = sentence_id(found.sentence)
        self._collector.declare(sentence)
        kind = self._first[SCORES].names[0]
        if len(statistics) < len(found.rows):
            return  # told when the whole file is read, with both numbers
        for row, counts in zip(found.rows, statistics, strict=True):
            if row is None or counts is None:
                self._collector.skip_one()
                continue
            line, values, sparse = row
            features = dict(zip(names, values, strict=True))
            twice = next((name for name in sparse if name in features), None)
            if sparse:
                self._collector.fill_missing()
            text = f"{kind} {' '.join(map(_spelled, counts[1]))}"
            reason = (
                f"feature {twice!r} occurs twice" if twice else self._collector.add(sentence, text, features | sparse)
            )
            if reason is not None:
                self._problems.report(file, line, reason)


def _spelled(value: float) -> str:
    return repr(value).removesuffix(".0")


def _plain_names(names: tuple[str, ...], width: int) -> tuple[str, ...]:
    """The names of features as lists have them: LM0 for LM0_0 if there is no LM0_1; numbers where there are none."""
    if not names:
        names = tuple(f"{UNNAMED.decode()}_{place}" for place in range(width))
    stems = Counter(match[1] for match in map(_COMPONENT.fullmatch, names) if match)
    return tuple(
        name[:-2] if name.endswith("_0") and stems[name[:-2]] == 1 and name[:-2] not in names else name
        for name in names
    )


def _parsed(path: str | os.PathLike[str], kind: str, problems: Problems) -> Iterator[_List]:
    """The lists of a file."""
    with open_bytes(path) as stream:
        data = stream.read().removeprefix(BYTE_ORDER_MARK)
    file = _File(os.fspath(path), kind, data, problems)
    while (found := file.next_list()) is not None:
        yield found


class _File:
    """The bytes of a file and the place that is read next; lines are counted while the lists are text."""

    def __init__(self, name: str, kind: str, data: bytes, problems: Problems) -> None:
        self._name, self._kind, self._data, self._problems = name, kind, data, problems
        self._place, self._line = 0, 0

    def next_list(self) -> _List | None:
        """The next list, or None at the end."""
        header = b""
        while not header.strip():
            if self._place >= len(self._data):
                return None
            header = self._next_line()
        where = f"{self._name}:{self._line}"
        match, fields = _BEGIN.match(header.strip()), header.split()
        counts = [field for field in fields[2:4] if field.isdigit() and len(field) < 10]
        if match is None or match[1].decode() != self._kind or len(fields) < 4 or len(counts) < 2:
            got = shown(header.strip()[:60].decode("utf-8", errors="replace"))
            raise InputError(f"{where}: got {got}; expected {_EXPECTED[self._kind]}")
        try:
            sentence, *names = [field.decode("utf-8") for field in (fields[1], *fields[4:])]
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: {not_utf8(error)}") from None
        count, width = map(int, counts)
        if self._kind == FEATURES and names and len(names) != width:
            raise InputError(f"{where}: {counted(len(names), 'name')} for {counted(width, 'feature')}")
        if len(set(names)) < len(names):
            raise InputError(f"{where}: two features of one name; expected every name once")
        if self._kind == SCORES:
            names = names[:1]
        read = self._text_rows if match[2] == b"TXT" else self._binary_rows
        found = _List(where, sentence, tuple(names), width, read(count, width, sentence))
        footer = self._next_line() if self._place < len(self._data) else b""
        expected = f"{self._kind}_{match[2].decode()}_END_0"
        if footer.strip() != expected.encode():
            if self._place >= len(self._data):
                raise self._cut_off(sentence)
            got = shown(footer.strip()[:60].decode("utf-8", errors="replace"))
            raise InputError(f"{self._name}:{self._line}: got {got}; expected {expected} after {count} hypotheses")
        return found

    def _next_line(self) -> bytes:
        end = self._data.find(b"\n", self._place)
        end = len(self._data) if end < 0 else end
        line = self._data[self._place : end]
        self._place, self._line = end + 1, self._line + 1
        return line

    def _cut_off(self, sentence: str) -> InputError:
        return InputError(f"{self._name}: the file ends within the list of sentence {sentence}; is it cut off?")

    def _text_rows(self, count: int, width: int, sentence: str) -> list[Row | None]:
        rows: list[Row | None] = []
        for _ in range(count):
            if self._place >= len(self._data):
                raise self._cut_off(sentence)
            line = self._next_line()
            row = self._row(line, width)
            if isinstance(row, str):
                if self._place >= len(self._data):
                    raise self._cut_off(sentence)
                self._problems.report(self._name, self._line, row)
                rows.append(None)
            else:
                rows.append(row)
        return rows

    def _row(self, line: bytes, width: int) -> Row | str:
        """The values on a line, or what is wrong with it."""
        try:
            plain = list(map(float, line.split()))
            if len(plain) == width and math.isfinite(sum(plain)) and b"_" not in line:  # Python reads 1_0 as 10
                return self._line, plain, {}
        except ValueError:
            pass  # sparse features, or a fault
        values: list[float] = []
        sparse: dict[str, float] = {}
        try:
            tokens = line.decode("utf-8").split()
        except UnicodeDecodeError as error:
            return not_utf8(error)
        for token in tokens:
            name, equals, number = token.rpartition("=")
            value = plain_number(number)
            what = f"feature {name!r}" if equals else "a value"
            if value is None or not np.isfinite(value):
                return f"{what} is {shown(number)}; expected a finite number"
            if equals and (not name or name in sparse or self._kind == SCORES):
                return f"{shown(token)}; expected {'a number' if self._kind == SCORES else 'every name once'}"
            if equals:
                sparse[name] = value
            else:
                values.append(value)
        if len(values) != width:
            return f"{counted(len(values), 'value')}; expected {width}, as the first line of the list says"
        return self._line, values, sparse

    def _binary_rows(self, count: int, width: int, sentence: str) -> list[Row | None]:
        size = 4 * count * width
        if self._place + size > len(self._data):
            raise self._cut_off(sentence)
        kind = "<f4" if self._kind == FEATURES else "<i4"
        table = np.frombuffer(self._data, dtype=kind, count=count * width, offset=self._place).astype(np.float64)
        if not np.all(np.isfinite(table)):
            raise InputError(f"{self._name}: sentence {sentence} has a value that is no finite number")
        self._place += size
        return [(0, row, {}) for row in table.reshape(count, width).tolist()]
