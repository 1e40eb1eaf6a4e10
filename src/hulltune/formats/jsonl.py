"""The native format: JSON lines, a sentence each; and the same records from memory.

    {"id": 0, "refs": ["a b"], "source": "x y", "candidates": [{"text": "a b", "features": {"lm": -1.5}, "score": 2}]}

``candidates`` is required, and in it ``text``. Where no line has an ``id``, it is the number of the line from 0. With
``"sparse": true`` features that candidates leave out are 0, from this line on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hulltune.arrays import as_number
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import SparseFeatures
from hulltune.errors import InputError
from hulltune.formats.json_lines import record_keys, records
from hulltune.formats.numbers import json_id, shown
from hulltune.formats.rows import RowCollector, written_features
from hulltune.formats.streams import Problems, written_atomically

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
    number = -1
    for line, record in records(path, collector, problems, expected=EXPECTED):
        number += 1
        reason = _record_fault(record)
        if with_ids is None:
            with_ids = "id" in record
        elif reason is None and with_ids != ("id" in record):
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


def read_records(mappings: Iterable[Any], collector: RowCollector) -> None:
    """Take all hypotheses of records such as ``{"refs": […], "candidates": [{"text": …, "features": {…}}]}``.

    The fields are those of a line of the native format. A record without an ``id`` has its place in the sequence.
    """
    for place, record in enumerate(mappings):
        if not isinstance(record, Mapping):
            raise InputError(f"record {place}: got {shown(record)}; expected a mapping with 'candidates'")
        sentence: SentenceId = place
        reason = _record_fault(record)
        if reason is None:
            sentence, reason = _declare(record, place, collector)
        if reason is not None:
            raise InputError(f"record {place}: {reason}")
        for rank, candidate in enumerate(record["candidates"]):
            reason = _add_candidate(candidate, sentence, collector)
            if reason is not None:
                raise InputError(f"record {place}, candidate {rank}: {reason}")


def _declare(record: Mapping[str, Any], place: int, collector: RowCollector) -> tuple[SentenceId, str | None]:
    """Mention the sentence of a record without faults; returns it, and the reason if it contradicts another record."""
    sentence = json_id(record["id"]) if "id" in record else place
    assert sentence is not None  # a record with another id has a fault
    references = record.get("refs")
    if record.get("sparse"):
        collector.fill_missing()
    return sentence, collector.declare(
        sentence, references=None if references is None else tuple(references), source=record.get("source")
    )


def _add_candidate(candidate: Any, sentence: SentenceId, collector: RowCollector) -> str | None:
    """Take a candidate; returns the reason if it is skipped."""
    reason = _candidate_fault(candidate)
    if reason is not None:
        collector.skip_one()
        return reason
    features = {name: float(value) for name, value in candidate.get("features", {}).items()}
    score = candidate.get("score")
    return collector.add(sentence, candidate["text"], features, None if score is None else float(score))


def _record_fault(record: Mapping[str, Any]) -> str | None:
    """The fault of a record, its candidates apart, or None."""
    if not isinstance(record.get("candidates"), list):
        return f'"candidates" is {shown(record.get("candidates"))}; expected a list of objects'
    if "id" in record and json_id(record["id"]) is None:
        return f'"id" is {shown(record["id"])}; expected a string or a whole number from 0'
    references = record.get("refs")
    if references is not None and (
        not isinstance(references, list) or not all(isinstance(text, str) for text in references)
    ):
        return f'"refs" is {shown(references)}; expected a list of strings'
    if not isinstance(record.get("sparse", False), bool):
        return f'"sparse" is {shown(record["sparse"])}; expected true or false'
    if not isinstance(record.get("source", ""), (str, type(None))):
        return f'"source" is {shown(record["source"])}; expected a string'
    return None


def _candidate_fault(candidate: Any) -> str | None:
    """The fault of a candidate, or None."""
    if not isinstance(candidate, dict):
        return f'got {shown(candidate)}; expected an object with "text" and "features"'
    if not isinstance(candidate.get("text"), str):
        return f'"text" is {shown(candidate.get("text"))}; expected a string'
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


def write_jsonl(lists: Dataset, path: str | os.PathLike[str]) -> None:
    """Write lists in the native format; reading them back gives the same lists.

    Of sparse features, the first hypothesis has all, to keep their order, and others have those that are not 0.
    """
    edges, features = lists.corpus.sentence_edges.tolist(), written_features(lists)
    is_sparse = isinstance(lists.corpus.features, SparseFeatures)
    with written_atomically(path) as file:
        for sentence, name in enumerate(lists.ids):
            record: dict[str, Any] = {"id": name}
            if is_sparse:
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
                candidates.append(candidate)
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")
