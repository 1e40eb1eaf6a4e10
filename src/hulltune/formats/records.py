"""Records, names with values: rows of tables and data frames, JSON lines, and records from memory.

``Columns`` says which name is the id, the text, a reference or a feature, and ``RecordReader`` reads by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from hulltune.arrays import as_number
from hulltune.data.dataset import SentenceId
from hulltune.errors import InputError, unknown_name
from hulltune.formats.numbers import json_id, plain_number, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import Problems
from hulltune.wording import counted

REFERENCE = re.compile(r"refs?|ref_[0-9]+", flags=re.ASCII)
TRUTH = {"true": 1.0, "false": 0.0}
FEATURES = "features"
"""The key whose object has features: of a candidate, and further ones of a flat JSON line."""


@dataclass(frozen=True)
class Columns:
    """The columns with a meaning of their own; all others are features. None stands for the usual name.

    ``ref`` and ``ignore`` may have patterns (``answer_*``). Ignored columns are not looked at.
    """

    id: str | None = None
    text: str | None = None
    ref: tuple[str, ...] = ()
    source: str | None = None
    ignore: tuple[str, ...] = ()

    @property
    def named(self) -> dict[str, str]:
        """The options of columns that were given, but for ``ignore``, which suits all lists."""
        given = {"id_column": self.id, "text_column": self.text, "source_column": self.source}
        return {name: value for name, value in given.items() if value} | (
            {"ref_column": self.ref[0]} if self.ref else {}
        )

    def role(self, name: str) -> str:
        """The role of a column: "id", "text", "ref", "source", "score", "ignored" or "feature"."""
        if name == (self.id or "id"):
            return "id"
        if name == (self.text or "text"):
            return "text"
        if self.ignores(name):
            return "ignored"
        if self.ref and any(fnmatchcase(name, pattern) for pattern in self.ref):
            return "ref"
        if not self.ref and REFERENCE.fullmatch(name):
            return "ref"
        if name == (self.source or "source"):
            return "source"
        return "score" if name == "score" else "feature"

    def ignores(self, name: str) -> bool:
        """Whether a column is not to be looked at."""
        return any(fnmatchcase(name, pattern) for pattern in self.ignore)

    def check(self, where: str, names: Sequence[str]) -> None:
        """Refuse columns that are named but not there, and tables without ids or texts."""
        for role, given in (("id", self.id), ("text", self.text)):
            if (given or role) not in names:
                hint = f"name the column that has it with --{role}-column ({role}_column)"
                found = shown(", ".join(names))
                raise InputError(f"{where}: no column {given or role!r} (columns: {found}); {hint}")
        if self.source is not None and self.source not in names:
            raise unknown_name(f"column of {where}:", self.source, names)
        self.check_patterns(where, names)

    def check_patterns(self, where: str, names: Sequence[str]) -> None:
        """Refuse patterns that no column matches: a typing error would make a feature of what is none."""
        for pattern in (*self.ref, *self.ignore):
            if not any(fnmatchcase(name, pattern) for name in names):
                raise unknown_name(f"column of {where}:", pattern, names)


@dataclass
class _Row:
    """What a flat record says of a candidate, or of a sentence with all its candidates."""

    features: dict[str, float]
    sentence: SentenceId | None = None
    text: str | None = None
    score: float | None = None
    source: str | None = None
    references: list[str] | None = None
    texts: Sequence[Any] | None = None
    """The texts of all candidates, where a row has them as a list."""


class RecordReader:
    """A reader of records, names with values, from files and from memory: tables, data frames, JSON lines.

    A record is flat (a candidate, with the columns that the collector names) or, if it has ``candidates``, a sentence.
    The first one decides for all. A flat record whose text is a list of texts is a sentence with all its candidates:
    further lists, of as many values, are their features. Faults are reported by the number of the record.
    """

    def __init__(self, where: str, collector: RowCollector, problems: Problems, *, what: str = "key") -> None:
        self._where, self._collector, self._problems, self._what = where, collector, problems, what
        self._columns = collector.columns
        self._id, self._text = self._columns.id or "id", self._columns.text or "text"
        self._roles: dict[str, str] = {}
        self._names: dict[str, None] = {}
        self._header: list[str] = []
        self._is_flat: bool | None = None
        self._has_ids: bool | None = None

    # Tables.

    def take_header(self, names: Sequence[str]) -> None:
        """Take the names of the columns of a table, which all rows have."""
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{self._where}:1: two columns are called {twice!r}")
        self._columns.check(f"{self._where}:1", names)
        self._header = list(names)

    def take_row(self, line: int, row: Sequence[Any]) -> None:
        """Take a row of strings or of typed values."""
        if len(row) != len(self._header):
            self._collector.skip_one()
            what = "blank line" if not row else f"{len(row)} cells"
            reason: str | None = f"{what}; expected {len(self._header)}, as in the header"
        else:
            reason = self._flat(list(zip(self._header, row, strict=True)))
        self._report(line, reason)

    def take_rows(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take typed rows; for messages they count as lines after a header."""
        for line, row in enumerate(rows, start=2):
            self.take_row(line, row)

    # Records.

    def take(self, line: int, place: int, record: Mapping[str, Any]) -> None:
        """Take a record. Where none has an id, its place is one."""
        if self._is_flat is None:
            self._is_flat = "candidates" not in record and self._text in record
        if self._is_flat:
            self._names.update(dict.fromkeys(map(str, record)))
            self._report(line, self._flat([(str(name), value) for name, value in record.items()]))
        else:
            self._nested(line, place, record)

    def close(self) -> None:
        """Refuse names and patterns of columns that no record has."""
        if self._is_flat:
            self._columns.check(self._where, list(self._names))
        elif self._names:
            self._columns.check_patterns(self._where, list(self._names))

    def _report(self, line: int, reason: str | None) -> None:
        if reason is not None:
            self._problems.report(self._where, line, reason)

    def _declare(self, row: _Row) -> str | None:
        """Mention the sentence of a row; returns the reason if it contradicts another row."""
        assert row.sentence is not None
        references = None if row.references is None else tuple(row.references)
        return self._collector.declare(row.sentence, references=references, source=row.source)

    # Flat records.

    def _flat(self, items: Sequence[tuple[str, Any]]) -> str | None:
        """Take a row of names and values; returns the reason if it is skipped."""
        row, reason = self._parts(items)
        if row.texts is not None:
            return self._each(row, items)
        if reason is None and not len(self._collector) and not self._collector.fills_missing:
            # The header names all features of a table, so that the first row cannot make one disappear by lacking it.
            features = (name for name in self._header if self._roles[name] == "feature")
            lacking = next((name for name in features if name not in row.features), None)
            if lacking is not None:
                reason = f"lacks feature {lacking!r}; give it, or take what is missing as 0 (missing=0)"
        reason = reason or self._declare(row)
        if reason is not None:
            self._collector.skip_one()
            return reason
        assert row.sentence is not None
        assert row.text is not None
        return self._collector.add(row.sentence, row.text, row.features, row.score)

    def _each(self, row: _Row, items: Sequence[tuple[str, Any]]) -> str | None:
        """Take the candidates of a row that has lists; returns the first reason if some are skipped."""
        assert row.texts is not None
        count = len(row.texts)
        for name, value in items:
            if _is_list(value) and self._roles[name] in ("feature", "score") and len(value) != count:
                self._collector.skip_many()
                return f"{self._what} {name!r} has {len(value)} values for {counted(count, 'text')}; expected as many"
        if row.sentence is None:
            self._collector.skip_many()
            return "no id, or none that can be one; expected a name or a number"
        if not count:
            return self._declare(row)
        apart = [
            (name, value, _is_list(value) and self._roles[name] in ("feature", "score", "text"))
            for name, value in items
        ]
        reasons = [
            self._flat([(name, value[place] if listed else value) for name, value, listed in apart])
            for place in range(count)
        ]
        return next(filter(None, reasons), None)

    def _parts(self, items: Iterable[tuple[str, Any]]) -> tuple[_Row, str | None]:
        row = _Row(features={})
        features, roles = row.features, self._roles
        reason = None
        for name, value in items:
            role = roles.get(name)
            if role is None:
                role = roles[name] = self._columns.role(name)
            if role == "feature":  # most cells: a third of the time is calls otherwise
                number = plain_number(value) if type(value) is str else value if type(value) is float else None
                if number is not None:
                    features[name] = number
                    continue
            elif role == "text" and type(value) is str:
                row.text = value
                continue
            elif role == "ignored":
                continue
            fault = self._cell(row, role, name, value)
            reason = reason or fault
        if reason is None:
            for role, found in (("id", row.sentence), ("text", row.text)):
                if found is None:
                    reason = f"no {getattr(self._columns, role) or role!r}; expected an id and a text"
        return row, reason

    def _cell(self, row: _Row, role: str, name: str, value: Any) -> str | None:
        """Take the value of a column with this role; returns the reason if it cannot be one."""
        if role == "feature" and isinstance(value, Mapping) and name == FEATURES:
            faults = [self._cell(row, role, str(each), number) for each, number in value.items()]
            return next(filter(None, faults), None)
        if role in ("feature", "score"):
            if role == "feature" and (value is None or (isinstance(value, str) and not value.strip())):
                return None  # missing: the collector decides whether it is 0 or a fault
            number = cell_number(value)
            if number is None:
                hint = "" if role == "score" else f"; if it is no feature, leave it out with --ignore {name} (ignore)"
                return f"{self._what} {name!r} is {shown(value)}; expected a finite number{hint}"
            if role == "score":
                row.score = number
            else:
                row.features[name] = number
        elif role == "id":
            row.sentence = json_id(value)
            if row.sentence is None:
                return f"id is {shown(value)}; expected a name or a number"
        elif role == "text":
            row.text = cell_text(value)
            if _is_list(value) and not any(map(_is_list, value)):
                row.texts = value
            elif row.text is None:
                return f"text is {shown(value)}; expected a string"
        else:
            texts = [text for text in (value if _is_list(value) else [value]) if not _is_nothing(text)]
            found = [text for text in map(cell_text, texts) if text is not None]
            if len(found) < len(texts):  # a reference that is left out in silence would change all scores
                return f"{self._what} {name!r} is {shown(value)}; expected a string or a list of strings"
            if role == "source":
                row.source = " ".join(found) if found else None
            else:
                row.references = [*(row.references or ()), *found]
        return None

    # Records with candidates.

    def _nested(self, line: int, place: int, record: Mapping[str, Any]) -> None:
        """Take a sentence and its candidates, each of which may be at fault."""
        reason = self._record_fault(record)
        has_id = self._id in record
        if self._has_ids is None:
            self._has_ids = has_id
        elif reason is None and self._has_ids != has_id:
            reason = f"{'no' if self._has_ids else 'an'} id, unlike those before; expected all or none to have one"
        sentence = json_id(record[self._id]) if reason is None and has_id else place
        if reason is None:
            assert sentence is not None
            if record.get("sparse"):
                self._collector.fill_missing()
            references, source = self._references(record), record.get(self._columns.source or "source")
            reason = self._collector.declare(sentence, references=references, source=source)
        if reason is not None:
            self._collector.skip_many()
            self._report(line, reason)
            return
        assert sentence is not None
        for rank, candidate in enumerate(record["candidates"]):
            reason = self._candidate(candidate, sentence)
            if reason is not None:
                self._report(line, f"candidate {rank}: {reason}")
            elif self._columns.ignore:
                self._names.update(dict.fromkeys((*record, *candidate, *candidate.get(FEATURES, ()))))

    def _references(self, record: Mapping[str, Any]) -> tuple[str, ...] | None:
        """The references of a record: its "refs", or the texts and lists of texts in the columns that are named."""
        if not self._columns.ref:
            return None if record.get("refs") is None else tuple(record["refs"])
        texts: list[str] = []
        for name, value in record.items():
            if self._columns.role(name) == "ref" and value is not None:
                texts += [value] if isinstance(value, str) else value
        return tuple(texts)

    def _candidate(self, candidate: Any, sentence: SentenceId) -> str | None:
        """Take a candidate; returns the reason if it is skipped."""
        reason = _candidate_fault(candidate, self._text)
        if reason is not None:
            self._collector.skip_one()
            return reason
        columns = self._columns
        given = candidate.get(FEATURES, {}).items()
        features = {name: float(value) for name, value in given if not columns.ignores(name)}
        score = candidate.get("score")
        qualities = {}
        for name, value in candidate.items():
            number = cell_number(value) if not isinstance(value, (str, Mapping)) else None
            if number is not None and math.isfinite(number) and columns.role(name) == "feature":
                qualities[name] = number
        score = None if score is None else float(score)
        return self._collector.add(sentence, candidate[self._text], features, score, qualities)

    def _record_fault(self, record: Mapping[str, Any]) -> str | None:
        """The fault of a record, its candidates apart, or None."""
        columns, name, source = self._columns, self._id, self._columns.source or "source"
        if not isinstance(record.get("candidates"), list):
            return (
                f'"candidates" is {shown(record.get("candidates"))}; expected a list of objects, or a candidate a line '
                f'with "{name}" and "{self._text}" (other keys: --id-column, --text-column)'
            )
        if name in record and json_id(record[name]) is None:
            return f'"{name}" is {shown(record[name])}; expected a name or a number'
        if columns.id is not None and name not in record:
            return f'no "{name}"; expected the id'
        references = record.get("refs")
        if not columns.ref and not (references is None or _are_texts(references)):
            return f'"refs" is {shown(references)}; expected a list of strings'
        for key, value in record.items() if columns.ref else ():
            if columns.role(key) == "ref" and not (value is None or isinstance(value, str) or _are_texts(value)):
                return f'"{key}" is {shown(value)}; expected a string or a list of strings'
        if not isinstance(record.get("sparse", False), bool):
            return f'"sparse" is {shown(record["sparse"])}; expected true or false'
        if not isinstance(record.get(source, ""), (str, type(None))):
            return f'"{source}" is {shown(record[source])}; expected a string'
        return None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _candidate_fault(candidate: Any, text: str) -> str | None:
    """The fault of a candidate, or None."""
    if not isinstance(candidate, dict):
        return f'got {shown(candidate)}; expected an object with "{text}" and "features"'
    if not isinstance(candidate.get(text), str):
        return f'"{text}" is {shown(candidate.get(text))}; expected a string'
    features = candidate.get(FEATURES, {})
    if not isinstance(features, dict):
        return f'"features" is {shown(features)}; expected an object of names and numbers'
    for name, value in features.items():
        if not isinstance(name, str):  # JSON has none such, but records in memory may
            return f"{shown(name)} is no name of a feature; expected a string"
        if as_number(value) is None:
            return f"feature {name!r} is {shown(value)}; expected a finite number"
    if candidate.get("score") is not None and as_number(candidate["score"]) is None:
        return f"the score is {shown(candidate['score'])}; expected a finite number"
    return None


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _is_nothing(value: Any) -> bool:
    """Whether a value stands for a text that is missing: None, or NaN as libraries of tables have it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def cell_number(value: Any) -> float | None:
    """The number in a cell, or None. True and False are 1 and 0, as tables of right and wrong candidates have them."""
    if isinstance(value, str):
        number = plain_number(value.strip())
        return TRUTH.get(value.strip().lower()) if number is None else number
    return float(value) if isinstance(value, (bool, np.bool_)) else as_number(value)


def cell_text(value: Any) -> str | None:
    """The text in a cell: a string, or a number as it is written; None if there is none."""
    if isinstance(value, str):
        return value
    number = as_number(value)
    return None if number is None or math.isnan(number) else str(value)
