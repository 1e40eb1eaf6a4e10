"""Records, names with values: rows of tables and data frames, JSON lines, and records from memory.

``Columns`` says which name is the id, the text, a reference or a feature, and ``RecordReader`` reads by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from hulltune.arrays import as_number
from hulltune.data.dataset import SentenceId
from hulltune.errors import InputError, unknown_name
from hulltune.formats.numbers import is_missing, json_id, plain_number, shown
from hulltune.formats.rankings import DocumentCollector
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import LineError
from hulltune.wording import counted

REFERENCE = re.compile(r"refs?|ref_[0-9]+", flags=re.ASCII)
TRUTH = {"true": 1.0, "false": 0.0}
QUERIES = ("qid", "query_id", "q_id", "query")
DOCUMENTS = ("docid", "doc_id", "docno", "doc", "document_id", "document")
GRADES = ("grade", "label", "relevance", "rel")
"""The usual names of the columns of ranked documents, where there are several the first."""
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
    ranked: bool = False
    """Whether the rows are documents of queries, each with its scores by rankers."""
    grade: str | None = None
    """The column with the grades of ranked documents."""

    def of_documents(self, names: Sequence[str]) -> Columns | None:
        """The columns of ranked documents among these names; None if nothing says that these are some."""
        if not self.ranked and (self.id or self.text or {"id", "text"} <= set(names)):
            return None

        def named(given: str | None, *usual: str) -> str | None:
            return given or next((name for name in usual if name in names), None)

        further = ("id", "text") if self.ranked else ()
        query, document = named(self.id, *QUERIES, *further[:1]), named(self.text, *DOCUMENTS, *further[1:])
        if query is None or document is None:
            return None
        return replace(self, ranked=True, id=query, text=document, grade=named(None, *GRADES))

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
    has_texts: bool = False
    """Whether the row has the texts of all candidates, as a list."""
    has_object: bool = False
    """Whether the row has an object of features, which is no feature itself."""


class RecordReader:
    """A reader of records, names with values, from files and from memory: tables, data frames, JSON lines.

    A record is flat (a candidate, with the columns that the collector names) or, if it has ``candidates``, a sentence.
    The first one decides for all. A flat record whose text is a list of texts is a sentence with all its candidates:
    further lists, of as many values, are their features. Faults are reported by the number of the record.
    """

    def __init__(self, where: str, collector: RowCollector, *, what: str = "key") -> None:
        self._where, self._collector, self._what = where, collector, what
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
        check_once(self._where, names)
        self._rank(names)
        self._columns.check(f"{self._where}:1", names)
        self._header = list(names)

    def take_row(self, line: int, row: Sequence[Any]) -> None:
        """Take a row of strings or of typed values."""
        if len(row) == len(self._header):
            self._flat(line, list(zip(self._header, row, strict=True)))
        else:
            what = "blank line" if not row else f"{len(row)} cells"
            self._collector.fault(self._where, line, f"{what}; expected {len(self._header)}, as in the header")

    def take_rows(self, rows: Iterable[Sequence[Any]]) -> None:
        """Take typed rows; for messages they count as lines after a header."""
        for line, row in enumerate(rows, start=2):
            # Libraries of tables have NaN where a ranker did not return a document.
            self.take_row(line, [None if _is_nothing(v) else v for v in row] if self._columns.ranked else row)

    def _rank(self, names: Sequence[str]) -> None:
        """Take documents of queries from now on, if the names say that these are some."""
        columns = self._columns.of_documents(names)
        if columns is not None:
            self._columns, self._id, self._text = columns, columns.id or "", columns.text or ""
            self._collector = DocumentCollector.beside(self._collector)
            self._collector.columns = columns

    # Records.

    def take(self, line: int, place: int, record: Mapping[str, Any]) -> None:
        """Take a record. Where none has an id, its place is one."""
        if self._is_flat is None:
            self._rank([] if "candidates" in record else list(map(str, record)))
            self._is_flat = "candidates" not in record and self._text in record
        if self._is_flat:
            self._names.update(dict.fromkeys(map(str, record)))
            self._flat(line, [(str(name), value) for name, value in record.items()])
        else:
            self._nested(line, place, record)

    def close(self) -> None:
        """Refuse names and patterns of columns that no record has."""
        if self._is_flat:
            self._columns.check(self._where, list(self._names))
        elif self._names:
            self._columns.check_patterns(self._where, list(self._names))

    # Flat records.

    def _flat(self, line: int, items: Sequence[tuple[str, Any]]) -> None:
        """Take a row of names and values, or report its fault."""
        try:
            row = self._parts(items)
            if not row.has_texts:
                self._add(row)
                return
        except LineError as fault:
            if not any(_are_several(value) for name, value in items if self._role(name) == "text"):
                self._collector.fault(self._where, line, fault)
                return
        self._each(line, items)

    def _add(self, row: _Row) -> None:
        """Take the candidate of a row."""
        if row.sentence is None:
            raise LineError(
                f"no {self._id!r}; expected an id and a text: {self._text!r} beside features is one candidate, and its "
                "id says of which sentence (another name: --id-column)"
            )
        if row.text is None:
            raise LineError(f"no {self._text!r}; expected an id and a text")
        assert row.sentence is not None
        assert row.text is not None
        if not len(self._collector):
            # The header names all features of a table, so that the first row cannot make one disappear by lacking it.
            header = [name for name in self._header if not (row.has_object and name == FEATURES)]
            self._collector.check_complete(row.features, [name for name in header if self._role(name) == "feature"])
        self._declare(row)
        self._collector.add(row.sentence, row.text, row.features, row.score)

    def _mention(self, items: Iterable[tuple[str, Any]], place: int | None = None) -> SentenceId:
        """Mention the sentence of a record that has all its candidates; its place is its id if it has none."""
        row = self._parts([item for item in items if self._role(item[0]) in ("id", "ref", "source")])
        row.sentence = place if row.sentence is None else row.sentence
        if row.sentence is None:
            raise LineError(f"no {self._id!r}; expected an id and a text")
        self._declare(row)
        return row.sentence

    def _declare(self, row: _Row) -> None:
        """Mention the sentence of a row."""
        assert row.sentence is not None
        references = None if row.references is None else tuple(row.references)
        self._collector.declare(row.sentence, references=references, source=row.source)

    def _each(self, line: int, items: Sequence[tuple[str, Any]]) -> None:
        """Take the candidates of a row that has lists, as many as it has texts."""
        listed = {name for name, value in items if _is_list(value) and self._role(name) in ("feature", "score", "text")}
        texts = next(value for name, value in items if self._role(name) == "text")
        try:
            for name, value in items:
                if name in listed and len(value) != len(texts):
                    told = f"{len(value)} values for {counted(len(texts), 'text')}"
                    raise LineError(f"{self._what} {name!r} has {told}; expected as many")
            self._mention(items)
        except LineError as fault:
            self._collector.fault(self._where, line, fault, lost=None)
            return
        for place in range(len(texts)):
            self._flat(line, [(name, value[place] if name in listed else value) for name, value in items])

    def _role(self, name: str) -> str:
        role = self._roles.get(name)
        if role is None:
            role = self._roles[name] = self._columns.role(name)
        return role

    def _parts(self, items: Sequence[tuple[str, Any]]) -> _Row:
        row = _Row(features={})
        further: Mapping[Any, Any] = {}
        features, roles = row.features, self._roles
        for name, value in items:
            role = roles.get(name) or self._role(name)
            if role == "feature":  # most cells: a third of the time is calls otherwise
                number = plain_number(value) if type(value) is str else value if type(value) is float else None
                if number is not None:
                    features[name] = number
                    continue
                if name == FEATURES and isinstance(value, Mapping):
                    further, row.has_object = value, True
                    for each, number in value.items():
                        self._cell(row, role, str(each), number)
                    continue
            elif role == "text" and type(value) is str:
                row.text = value
                continue
            elif role == "ignored":
                continue
            self._cell(row, role, name, value)
        for name, _ in items if further else ():
            if name in further and self._role(name) == "feature":
                raise LineError(f"feature {name!r} is there twice, in {FEATURES!r} and beside it")
        return row

    def _cell(self, row: _Row, role: str, name: str, value: Any) -> None:
        """Take the value of a column with this role."""
        if role in ("feature", "score"):
            if role == "feature" and (is_missing(value) or (isinstance(value, str) and not value.strip())):
                return  # missing: the collector decides whether it is 0 or a fault
            number = cell_number(value)
            if number is None:
                hint = f"; if it is no feature, and no metric reads it, leave it out with --ignore {name} (ignore)"
                hint = "" if role == "score" else hint
                raise LineError(f"{self._what} {name!r} is {shown(value)}; expected a finite number{hint}")
            if role == "score":
                row.score = number
            else:
                row.features[name] = number
        elif role == "id":
            is_name = self._columns.ranked and isinstance(value, str)  # as judgements have it, with leading zeros
            row.sentence = (value.strip() or None) if is_name else json_id(value)
            if row.sentence is None:
                raise LineError(f"id is {shown(value)}; expected a name or a number")
        elif role == "text":
            row.text = cell_text(value)
            row.has_texts = _are_several(value)
            if row.text is None and not row.has_texts:
                raise LineError(f"text is {shown(value)}; expected a string")
        elif not _is_nothing(value):
            texts = [text for text in (value if _is_list(value) else [value]) if not _is_nothing(text)]
            found = [text for text in map(cell_text, texts) if text is not None]
            if len(found) < len(texts):  # a reference that is left out in silence would change all scores
                raise LineError(f"{self._what} {name!r} is {shown(value)}; expected a string or a list of strings")
            if role == "source":
                row.source = " ".join(found) if found else None
            else:
                row.references = [*(row.references or ()), *found]

    # Records with candidates.

    def _nested(self, line: int, place: int, record: Mapping[str, Any]) -> None:
        """Take a sentence and its candidates, each of which may be at fault."""
        try:
            sentence = self._sentence(place, record)
        except LineError as fault:
            self._collector.fault(self._where, line, fault, lost=None)
            return
        for rank, candidate in enumerate(record["candidates"]):
            try:
                self._candidate(candidate, sentence)
            except LineError as fault:
                self._collector.fault(self._where, line, f"candidate {rank}: {fault}")
            else:
                if self._columns.ignore:
                    self._names.update(dict.fromkeys((*record, *candidate, *candidate.get(FEATURES, ()))))

    def _sentence(self, place: int, record: Mapping[str, Any]) -> SentenceId:
        """The id of a record, whose sentence is mentioned with its references and its source."""
        name, candidates, sparse = self._id, record.get("candidates"), record.get("sparse", False)
        if not isinstance(candidates, list):
            keys = f" (keys: {shown(', '.join(map(str, record)))})" if candidates is None else ""
            raise LineError(
                f'"candidates" is {shown(candidates)}{keys}; expected a list of objects, or a candidate a line '
                f'with "{name}" and "{self._text}" (other keys: --id-column, --text-column)'
            )
        has_id = name in record
        if self._columns.id is not None and not has_id:
            raise LineError(f'no "{name}"; expected the id')
        if self._has_ids is None:
            self._has_ids = has_id
        if self._has_ids != has_id:
            which = "no" if self._has_ids else "an"
            raise LineError(f"{which} id, unlike those before; expected all or none to have one")
        if not isinstance(sparse, bool):
            raise LineError(f'"sparse" is {shown(sparse)}; expected true or false')
        if sparse:
            self._collector.fill_missing()
        return self._mention(record.items(), place)

    def _candidate(self, candidate: Any, sentence: SentenceId) -> None:
        """Take a candidate."""
        if not isinstance(candidate, dict):
            raise LineError(f'got {shown(candidate)}; expected an object with "{self._text}" and "features"')
        text, given, score = candidate.get(self._text), candidate.get(FEATURES, {}), candidate.get("score")
        if not isinstance(text, str):
            raise LineError(f'"{self._text}" is {shown(text)}; expected a string')
        if not isinstance(given, dict):
            raise LineError(f'"features" is {shown(given)}; expected an object of names and numbers')
        features, qualities = {}, {}
        for name, value in given.items():
            number = value if type(value) is float else as_number(value)
            if number is None or not isinstance(name, str):  # records in memory may have other names
                raise LineError(f"feature {name!r} is {shown(value)}; expected a name and a finite number")
            if not (self._columns.ignore and self._columns.ignores(name)):
                features[name] = number
        if score is not None and as_number(score) is None:
            raise LineError(f"the score is {shown(score)}; expected a finite number")
        for name, value in candidate.items():
            number = cell_number(value) if not isinstance(value, (str, Mapping)) else None
            if number is not None and math.isfinite(number) and self._role(name) == "feature":
                qualities[name] = number
        self._collector.add(sentence, text, features, None if score is None else float(score), qualities)


def check_once(where: str, names: Sequence[str]) -> None:
    """Refuse a table of which two columns have one name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{where}:1: two columns are called {twice!r}")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _are_several(value: Any) -> bool:
    """Whether a value is the texts of several candidates, rather than one or nothing that could be one."""
    return _is_list(value) and not any(map(_is_list, value))


def _is_nothing(value: Any) -> bool:
    """Whether a value stands for a text that is missing: None, or NaN as libraries of tables have it."""
    return is_missing(value) or (isinstance(value, float) and math.isnan(value))


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
