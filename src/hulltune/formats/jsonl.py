"""The native format: JSON lines, a sentence each; and the same records from memory.

    {"id": 0, "refs": ["a b"], "source": "x y", "candidates": [{"text": "a b", "features": {"lm": -1.5}, "score": 2}]}

``candidates`` is required, and in it ``text``. Where no line has an ``id``, it is the number of the line from 0. With
``"sparse": true`` features that candidates leave out are 0, from this line on. Further numbers of a candidate are no
features; a metric may read them (``mean:column=NAME``).

Lines without ``candidates`` are flat, a candidate each, with keys like the columns of a table (see columns.py):

    {"id": 0, "text": "a b", "lm": -1.5, "correct": true}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from hulltune.arrays import as_number
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import SparseFeatures
from hulltune.errors import InputError
from hulltune.formats.columns import Columns, RowReader, cell_number
from hulltune.formats.json_lines import record_keys, records
from hulltune.formats.numbers import json_id, shown
from hulltune.formats.rows import RowCollector, written_features
from hulltune.formats.streams import Problems
from hulltune.formats.writing import written_atomically

EXPECTED = 'an object with "id" and "candidates"'
RECORDS = "records"
"""The name of records from memory, where a file would have its own."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes has records. Other formats of records are tried first."""
    return record_keys(head) is not None


def read_jsonl(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all hypotheses of a file."""
    file = os.fspath(path)
    with_ids: bool | None = None
    flat: _Flat | None = None
    names: dict[str, None] = {}
    number = -1
    for line, record in records(path, collector, problems, expected=EXPECTED):
        number += 1
        if number == 0 and _is_flat(record, collector):
            flat = _Flat(collector)
        if flat is not None:
            reason = flat.add(record)
            if reason is not None:
                problems.report(file, line, reason)
            continue
        reason = _record_fault(record, collector)
        has_id = (collector.columns.id or "id") in record
        if with_ids is None:
            with_ids = has_id
        elif reason is None and with_ids != has_id:
            reason = f"{'no' if with_ids else 'an'} id, unlike the lines before; expected all or none to have one"
        sentence: SentenceId = number
        if reason is None:
            sentence, reason = _declare(record, number, collector)
        if reason is not None:
            collector.skip_many()
            problems.report(file, line, reason)
            continue
        for place, candidate in enumerate(record["candidates"]):
            reason = _add_candidate(candidate, sentence, collector)
            if reason is not None:
                problems.report(file, line, f"candidate {place}: {reason}")
            elif collector.columns.ignore:
                names.update(dict.fromkeys((*record, *candidate, *candidate.get("features", ()))))
    if flat is not None:
        flat.check(file)
    elif names:
        collector.columns.check_patterns(file, list(names))


def _is_flat(record: Mapping[str, Any], collector: RowCollector) -> bool:
    return "candidates" not in record and (collector.columns.text or "text") in record


class _Flat:
    """A reader of records that are a candidate each, with features beside its id and text."""

    def __init__(self, collector: RowCollector) -> None:
        self._columns, self._reader = collector.columns, RowReader(collector, what="key")
        self._names: dict[str, None] = {}

    def add(self, record: Mapping[str, Any]) -> str | None:
        """Take a record; returns the reason if it is skipped."""
        self._names.update(dict.fromkeys(map(str, record)))
        return self._reader.add([(str(name), value) for name, value in record.items()])

    def check(self, where: str) -> None:
        """Refuse names and patterns of columns that no record has."""
        self._columns.check(where, list(self._names))


def read_records(mappings: Iterable[Any], collector: RowCollector) -> None:
    """Take all hypotheses of records such as ``{"refs": […], "candidates": [{"text": …, "features": {…}}]}``.

    The fields are those of a line of the native format, flat ones included. A record of candidates without an ``id``
    has its place in the sequence.
    """
    flat: _Flat | None = None
    names: dict[str, None] = {}
    for place, record in enumerate(mappings):
        if not isinstance(record, Mapping):
            raise InputError(f"record {place}: got {shown(record)}; expected a mapping with 'candidates'")
        if place == 0 and _is_flat(record, collector):
            flat = _Flat(collector)
        if flat is not None:
            reason = flat.add(record)
            if reason is not None:
                raise InputError(f"record {place}: {reason}")
            continue
        sentence: SentenceId = place
        reason = _record_fault(record, collector)
        if reason is None:
            sentence, reason = _declare(record, place, collector)
        if reason is not None:
            raise InputError(f"record {place}: {reason}")
        for rank, candidate in enumerate(record["candidates"]):
            reason = _add_candidate(candidate, sentence, collector)
            if reason is not None:
                raise InputError(f"record {place}, candidate {rank}: {reason}")
            if collector.columns.ignore:
                names.update(dict.fromkeys((*record, *candidate, *candidate.get("features", ()))))
    if flat is not None:
        flat.check(RECORDS)
    elif names:
        collector.columns.check_patterns(RECORDS, list(names))


def _declare(record: Mapping[str, Any], place: int, collector: RowCollector) -> tuple[SentenceId, str | None]:
    """Mention the sentence of a record without faults; returns it, and the reason if it contradicts another record."""
    columns = collector.columns
    sentence = json_id(record[columns.id or "id"]) if (columns.id or "id") in record else place
    assert sentence is not None  # a record with another id has a fault
    if record.get("sparse"):
        collector.fill_missing()
    return sentence, collector.declare(
        sentence, references=_references(record, columns), source=record.get(columns.source or "source")
    )


def _references(record: Mapping[str, Any], columns: Columns) -> tuple[str, ...] | None:
    """The references of a record: its "refs", or the texts and lists of texts in the columns that are named."""
    if not columns.ref:
        return None if record.get("refs") is None else tuple(record["refs"])
    texts: list[str] = []
    for name, value in record.items():
        if columns.role(name) == "ref" and value is not None:
            texts += [value] if isinstance(value, str) else value
    return tuple(texts)


def _add_candidate(candidate: Any, sentence: SentenceId, collector: RowCollector) -> str | None:
    """Take a candidate; returns the reason if it is skipped."""
    columns = collector.columns
    reason = _candidate_fault(candidate, columns.text or "text")
    if reason is not None:
        collector.skip_one()
        return reason
    features = {
        name: float(value) for name, value in candidate.get("features", {}).items() if not columns.ignores(name)
    }
    score = candidate.get("score")
    qualities = {}
    for name, value in candidate.items():
        number = cell_number(value) if not isinstance(value, (str, Mapping)) else None
        if number is not None and isfinite(number) and columns.role(name) == "feature":
            qualities[name] = number
    return collector.add(
        sentence, candidate[columns.text or "text"], features, None if score is None else float(score), qualities
    )


def _record_fault(record: Mapping[str, Any], collector: RowCollector) -> str | None:
    """The fault of a record, its candidates apart, or None."""
    columns = collector.columns
    if not isinstance(record.get("candidates"), list):
        return (
            f'"candidates" is {shown(record.get("candidates"))}; expected a list of objects, or a candidate a line '
            f'with "{columns.id or "id"}" and "{columns.text or "text"}" (other keys: --id-column, --text-column)'
        )
    name = columns.id or "id"
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
    source = columns.source or "source"
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
    features = candidate.get("features", {})
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


def write_jsonl(lists: Dataset, path: str | os.PathLike[str], *, mark_sparse: bool = False) -> None:
    """Write lists in the native format; reading them back gives the same lists.

    Of sparse features, the first hypothesis has all, to keep their order, and others have those that are not 0. With
    ``mark_sparse``, lists that are read together with these may also have other features.

    >>> from pathlib import Path
    >>> from hulltune import read
    >>> from hulltune.formats import write_jsonl
    >>> lists = read([{"refs": ["a house"], "candidates": [{"text": "a house", "features": {"lm": -2.0}}]}])
    >>> write_jsonl(lists, "dev.jsonl")
    >>> print(Path("dev.jsonl").read_text().strip())
    {"id": 0, "refs": ["a house"], "candidates": [{"text": "a house", "features": {"lm": -2.0}}]}
    """
    edges, features = lists.corpus.sentence_edges.tolist(), written_features(lists)
    is_sparse = isinstance(lists.corpus.features, SparseFeatures)
    with written_atomically(path) as file:
        for sentence, name in enumerate(lists.ids):
            record: dict[str, Any] = {"id": name}
            if is_sparse or mark_sparse:
                record["sparse"] = True
            if lists.references is not None:
                record["refs"] = list(lists.references[sentence])
            if lists.sources is not None and lists.sources[sentence] is not None:
                record["source"] = lists.sources[sentence]
            first, last = edges[sentence], edges[sentence + 1]
            record["candidates"] = candidates = []
            for edge, text in zip(range(first, last), lists.texts(np.arange(first, last)), strict=True):
                candidate: dict[str, Any] = {"text": text, "features": next(features)}
                if lists.scores is not None:
                    candidate["score"] = float(lists.scores[edge])
                candidate |= {key: float(each[edge]) for key, each in lists.qualities.items() if isfinite(each[edge])}
                candidates.append(candidate)
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")
