"""LETOR and SVMlight files of ranked documents: ``grade qid:1 1:0.5 2:3 # document``, a line for each document.

Features are named by their numbers, or by a first line ``# 1=bm25 2=dense``. A feature that a line leaves out is 0, as
in every reader of SVMlight. Without ``qid:`` the sizes of groups are in a file beside it: ``rank.train`` has
``rank.train.query`` (LightGBM). A comment begins with the id of the document, or has ``docid = …`` (LETOR 4).
"""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from hulltune.data.dataset import Dataset, Provenance
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number
from hulltune.formats.rankings import Names, Once, RankedDocuments, told_of
from hulltune.formats.streams import LineError, Problems, first_lines, numbered_lines, without_suffix

_NAMES = re.compile(r"#\s*(?:\d+=\S+\s*)+")
_LINE = re.compile(r"[-+0-9.eE]+(?:\s+qid:\S+)?(?:\s+\d+:[-+0-9.eE]+)+\s*(?:#.*)?")
_DOCUMENT = re.compile(r"docid\s*=\s*(\S+)")


def looks_like(start: bytes) -> bool:
    """Whether a file that begins with these bytes is LETOR or SVMlight."""
    filled = [line for line in first_lines(start, 5) if line.strip() and not line.startswith("#")]
    return bool(filled) and all(_LINE.fullmatch(line.strip()) for line in filled)


class _Lines:
    """The rows of a file, taken line by line."""

    def __init__(self, where: str) -> None:
        self.names: dict[int, str] = {}
        self.queries: list[str] = []
        self.documents: list[str] = []
        self.grades = array("d")
        self.rows, self.columns, self.values = array("q"), array("q"), array("d")
        self.groups, self.are_named = _groups_beside(where), False
        self._where, self._once = where, Once()

    def take(self, number: int, body: str, comment: str) -> None:
        """Take a line; LineError if it is at fault."""
        written, *fields = body.split()
        grade = plain_number(written)
        if grade is None or not np.isfinite(grade):
            raise LineError(f"the grade is {written!r}; expected a number such as 1")
        query = self._query(fields)
        found = [_feature(field) for field in fields]
        columns = [column for column, _ in found]
        if len(set(columns)) < len(columns):
            raise LineError(f"feature {Counter(columns).most_common(1)[0][0]} twice; expected each once")
        document = _document(comment)
        self._once.take(query, document or f"{number}", number)
        self.are_named |= bool(document)
        self.rows.extend([len(self.queries)] * len(found))
        self.columns.extend(columns)
        self.values.extend([value for _, value in found])
        self.queries.append(query)
        self.documents.append(document or f"{number}")
        self.grades.append(grade)

    def _query(self, fields: list[str]) -> str:
        """The query of a line, whose field is taken away."""
        if fields and fields[0].startswith("qid:"):
            return fields.pop(0)[4:]
        if self.groups is None:
            raise LineError(f"no qid:; expected 'grade qid:1 1:0.5 …', or the sizes of groups in {self._where}.query")
        if len(self.queries) >= len(self.groups):
            raise LineError(f"{self._where}.query has {len(self.groups)} documents in all, and here are more")
        return str(self.groups[len(self.queries)])


def _feature(field: str) -> tuple[int, float]:
    """The number and the value of a feature."""
    key, _, text = field.partition(":")
    value = plain_number(text)
    if not (key.isascii() and key.isdigit() and len(key) < 10) or value is None or not np.isfinite(value):
        raise LineError(f"got {field!r}; expected a number of a feature and a value, 3:0.5")
    return int(key), value


def read_letor(path: str | os.PathLike[str], normalisation: Normalisation, problems: Problems | None = None) -> Dataset:
    """The ranked documents of a file, with their grades as judgements."""
    where, problems = os.fspath(path), problems or Problems()
    lines = _Lines(where)
    if lines.groups is not None:
        problems = Problems()  # sizes of groups count lines: none may be left out
    for number, line in numbered_lines(path, problems):
        body, _, comment = line.partition("#")
        if body.strip():
            try:
                lines.take(number, body, comment)
            except LineError as fault:
                problems.report(where, number, str(fault))
        elif _NAMES.fullmatch(line.strip()):
            lines.names.update((int(key), name) for key, name in re.findall(r"(\d+)=(\S+)", line))
    if not lines.queries:
        raise InputError(f"{where}: no document{told_of(problems.skipped)}; expected lines such as '1 qid:1 1:0.5'")
    if lines.groups is not None and len(lines.groups) != len(lines.queries):
        raise InputError(
            f"{where}.query: {len(lines.groups):,} documents in all, but {where} has {len(lines.queries):,}"
        )
    used, places = np.unique(np.frombuffer(lines.columns, dtype=np.int64), return_inverse=True)
    scores = np.zeros((len(lines.queries), len(used)), order="F")
    scores[np.frombuffer(lines.rows, dtype=np.int64), places] = np.frombuffer(lines.values)
    features = tuple(lines.names.get(key, str(key)) for key in used.tolist())
    query_names, document_names = Names(), Names()
    of_queries, of_documents = query_names.of(lines.queries), document_names.of(lines.documents)
    ranked = RankedDocuments(
        list(query_names.numbers), list(document_names.numbers), of_queries, of_documents, scores,
        np.frombuffer(lines.grades), lines.are_named,
    )  # fmt: skip
    lists = ranked.lists(features, normalisation, (Provenance(where, "letor"),))
    return replace(lists, skipped=tuple(problems.skipped))


def _document(comment: str) -> str:
    found = _DOCUMENT.search(comment)
    return found[1] if found else next(iter(comment.split()), "")


def _groups_beside(where: str) -> list[int] | None:
    """The group of every document, from 1, by the file of sizes beside; None if there is none."""
    sizes = Path(f"{without_suffix(where)}.query")
    if not sizes.is_file():
        return None
    groups: list[int] = []
    group = 0
    for number, line in numbered_lines(sizes, Problems()):
        if line.strip():
            if not line.strip().isdigit():
                raise InputError(f"{sizes}:{number}: got {line.strip()[:40]!r}; expected the size of a group")
            group += 1
            groups += [group] * int(line)
    return groups
