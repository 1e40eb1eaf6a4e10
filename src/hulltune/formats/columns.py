"""The meaning of columns: which one of a table (or key of JSON lines) is the id, the text, a reference, a feature."""

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
from hulltune.wording import counted

REFERENCE = re.compile(r"refs?|ref_[0-9]+", flags=re.ASCII)
TRUTH = {"true": 1.0, "false": 0.0}
FEATURES = "features"
"""The key of a flat JSON line whose object has further features."""


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


class RowReader:
    """A reader of rows, a candidate each, into a collector; columns have the roles that the collector's say.

    A row whose text is a list of texts is a sentence with all its candidates: further lists, of as many values, are
    their features.
    """

    def __init__(self, collector: RowCollector, *, what: str = "column") -> None:
        self._collector, self._what = collector, what
        self._roles: dict[str, str] = {}

    def add(self, items: Sequence[tuple[str, Any]], *, features: Sequence[str] = ()) -> str | None:
        """Take a row of names and values; returns the reason if it is skipped.

        ``features`` names all features of a table, so that the first row cannot make one disappear by lacking it.
        """
        row, reason = self._parts(items)
        if row.texts is not None:
            return self._add_each(row, items, features)
        if reason is None and not len(self._collector) and not self._collector.fills_missing:
            lacking = next((name for name in features if name not in row.features), None)
            if lacking is not None:
                reason = f"lacks feature {lacking!r}; give it, or take what is missing as 0 (missing=0)"
        if reason is None:
            assert row.sentence is not None
            references = None if row.references is None else tuple(row.references)
            reason = self._collector.declare(row.sentence, references=references, source=row.source)
        if reason is not None:
            self._collector.skip_one()
            return reason
        assert row.sentence is not None
        assert row.text is not None
        return self._collector.add(row.sentence, row.text, row.features, row.score)

    def _add_each(self, row: _Row, items: Sequence[tuple[str, Any]], features: Sequence[str]) -> str | None:
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
            references = None if row.references is None else tuple(row.references)
            return self._collector.declare(row.sentence, references=references, source=row.source)
        own = ("feature", "score", "text")
        apart = [(name, value, _is_list(value) and self._roles[name] in own) for name, value in items]
        reasons = [
            self.add([(name, value[place] if listed else value) for name, value, listed in apart], features=features)
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
                role = roles[name] = self._collector.columns.role(name)
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
            fault = self._take(row, role, name, value)
            reason = reason or fault
        if reason is None:
            for role, found in (("id", row.sentence), ("text", row.text)):
                if found is None:
                    reason = f"no {getattr(self._collector.columns, role) or role!r}; expected an id and a text"
        return row, reason

    def _take(self, row: _Row, role: str, name: str, value: Any) -> str | None:
        if role == "feature" and isinstance(value, Mapping) and name == FEATURES:
            faults = [self._take(row, role, str(each), number) for each, number in value.items()]
            return next(filter(None, faults), None)
        if role in ("feature", "score"):
            if is_missing(value) and role == "feature":
                return None  # the collector decides: 0 or a fault
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
        elif role == "source":
            row.source = cell_text(value)
        else:
            texts = [cell_text(text) for text in (value if _is_list(value) else [value])]
            row.references = [*(row.references or ()), *(text for text in texts if text is not None)]
        return None


@dataclass
class _Row:
    features: dict[str, float]
    sentence: SentenceId | None = None
    text: str | None = None
    score: float | None = None
    source: str | None = None
    references: list[str] | None = None
    texts: Sequence[Any] | None = None
    """The texts of all candidates, where a row has them as a list."""


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def is_missing(value: Any) -> bool:
    """Whether a cell is empty."""
    return value is None or (isinstance(value, str) and not value.strip())


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
