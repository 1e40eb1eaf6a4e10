"""LETOR and SVMlight files of ranked documents: ``grade qid:1 1:0.5 2:3 # document``, a line for each document.

Features are named by their numbers, or by a first line ``# 1=bm25 2=dense``. A feature that a line leaves out is 0, as
in every reader of SVMlight. Without ``qid:`` the sizes of groups are in a file beside it: ``rank.train`` has
``rank.train.query`` (LightGBM). A comment begins with the id of the document, or has ``docid = …`` (LETOR 4).
"""

from __future__ import annotations

import os
import re
from array import array
from pathlib import Path

import numpy as np

from hulltune.data.dataset import Dataset, Provenance
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number
from hulltune.formats.rankings import Names, RankedDocuments
from hulltune.formats.streams import Problems, first_lines, numbered_lines, without_suffix

_NAMES = re.compile(r"#\s*(?:\d+=\S+\s*)+")
_LINE = re.compile(r"[-+0-9.eE]+(?:\s+qid:\S+)?(?:\s+\d+:[-+0-9.eE]+)+\s*(?:#.*)?")
_DOCUMENT = re.compile(r"docid\s*=\s*(\S+)")


def looks_like(start: bytes) -> bool:
    """Whether a file that begins with these bytes is LETOR or SVMlight."""
    filled = [line for line in first_lines(start, 5) if line.strip() and not line.startswith("#")]
    return bool(filled) and all(_LINE.fullmatch(line.strip()) for line in filled)


def read_letor(path: str | os.PathLike[str], normalisation: Normalisation) -> Dataset:
    """The ranked documents of a file, with their grades as judgements."""
    where = os.fspath(path)
    names: dict[int, str] = {}
    queries: list[str] = []
    documents: list[str] = []
    grades = array("d")
    rows, columns, values = array("q"), array("q"), array("d")
    groups, named = _groups_beside(where), False
    for number, line in numbered_lines(path, Problems()):
        if not line.strip():
            continue
        if line.startswith("#"):
            if _NAMES.fullmatch(line.strip()):
                names.update((int(key), name) for key, name in re.findall(r"(\d+)=(\S+)", line))
            continue
        body, _, comment = line.partition("#")
        written, *fields = body.split()
        grade = plain_number(written)
        if grade is None or not np.isfinite(grade):
            raise InputError(f"{where}:{number}: the grade is {written!r}; expected a number such as 1")
        if fields and fields[0].startswith("qid:"):
            query = fields.pop(0)[4:]
        elif groups is None:
            raise InputError(
                f"{where}:{number}: no qid:; expected 'grade qid:1 1:0.5 …', or the sizes of groups in {where}.query"
            )
        elif len(queries) >= len(groups):
            raise InputError(f"{where}:{number}: {where}.query has {len(groups)} documents in all, and here are more")
        else:
            query = str(groups[len(queries)])
        document = _document(comment)
        named |= bool(document)
        for field in fields:
            key, _, text = field.partition(":")
            value = plain_number(text)
            if not key.isdigit() or value is None or not np.isfinite(value):
                raise InputError(f"{where}:{number}: got {field!r}; expected a number of a feature and a value, 3:0.5")
            rows.append(len(queries))
            columns.append(int(key))
            values.append(value)
        queries.append(query)
        documents.append(document or f"{number}")
        grades.append(grade)
    if groups is not None and len(groups) != len(queries):
        raise InputError(f"{where}.query: {len(groups):,} documents in all, but {where} has {len(queries):,}")
    used, places = np.unique(np.frombuffer(columns, dtype=np.int64), return_inverse=True)
    scores = np.zeros((len(queries), len(used)), order="F")
    scores[np.frombuffer(rows, dtype=np.int64), places] = np.frombuffer(values)
    features = tuple(names.get(key, str(key)) for key in used.tolist())
    query_names, document_names = Names(), Names()
    of_queries, of_documents = query_names.of(queries), document_names.of(documents)
    ranked = RankedDocuments(
        list(query_names.numbers), list(document_names.numbers), of_queries, of_documents, scores,
        np.frombuffer(grades), named,
    )  # fmt: skip
    return ranked.lists(features, normalisation, (Provenance(where, "letor"),))


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
