"""Candidate lists from Python objects: the records of the native format, without a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hulltune.data.dataset import SentenceId
from hulltune.errors import InputError
from hulltune.formats.jsonl import check_candidate, check_record
from hulltune.formats.numbers import json_id, shown
from hulltune.formats.rows import RowCollector

RECORDS = "records"


def read_records(given: Iterable[Any], collector: RowCollector) -> None:
    """Take all hypotheses of records such as ``{"refs": […], "candidates": [{"text": …, "features": {…}}]}``.

    The fields are those of a line of the native format; ``id`` is the place in the sequence where it is left out.
    """
    for place, record in enumerate(given):
        if not isinstance(record, Mapping):
            raise InputError(f"record {place}: got {shown(record)}; expected a mapping with 'candidates'")
        reason = check_record(dict(record))
        sentence: SentenceId = place
        if reason is None:
            sentence = _sentence(record, place)
            references = record.get("refs")
            reason = collector.declare(
                sentence, references=None if references is None else tuple(references), source=record.get("source")
            )
        if reason is not None:
            raise InputError(f"record {place}: {reason}")
        for rank, candidate in enumerate(record["candidates"]):
            reason = check_candidate(candidate)
            if reason is None:
                features = {name: float(value) for name, value in candidate.get("features", {}).items()}
                score = candidate.get("score")
                reason = collector.add(sentence, candidate["text"], features, None if score is None else float(score))
            if reason is not None:
                raise InputError(f"record {place}, candidate {rank}: {reason}")


def _sentence(record: Mapping[str, Any], place: int) -> SentenceId:
    name = json_id(record["id"]) if "id" in record else place
    assert name is not None  # checked with the record
    return name
