"""The native format: JSON lines, a sentence each.

    {"id": 0, "refs": ["a b"], "source": "x y", "candidates": [{"text": "a b", "features": {"lm": -1.5}, "score": 2}]}

``candidates`` is required, and in it ``text``; ``id`` is the number of the line from 0 where no line has one.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.formats.json_lines import record_keys, records
from hulltune.formats.numbers import json_id, json_number, shown
from hulltune.formats.problems import Problems
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import written_atomically

EXPECTED = 'an object with "id" and "candidates"'


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes has records; those of other formats were looked for before."""
    return record_keys(head) is not None


def read_jsonl(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all hypotheses of a file."""
    file = os.fspath(path)
    with_ids: bool | None = None
    number = -1
    for line, record in records(path, collector, problems, expected=EXPECTED):
        number += 1
        reason = check_record(record)
        if with_ids is None:
            with_ids = "id" in record
        elif reason is None and with_ids != ("id" in record):
            reason = f"{'no' if with_ids else 'an'} id, unlike the lines before; expected all or none to have one"
        sentence = json_id(record["id"]) if "id" in record else number
        if reason is None:
            assert sentence is not None
            references = record.get("refs")
            reason = collector.declare(
                sentence, references=None if references is None else tuple(references), source=record.get("source")
            )
        if reason is not None:
            collector.skip_many()
            problems.report(file, line, reason)
            continue
        assert sentence is not None
        for place, candidate in enumerate(record["candidates"]):
            reason = check_candidate(candidate)
            if reason is not None:
                collector.skip_one()
            else:
                features = {name: float(value) for name, value in candidate.get("features", {}).items()}
                score = candidate.get("score")
                reason = collector.add(sentence, candidate["text"], features, None if score is None else float(score))
            if reason is not None:
                problems.report(file, line, f"candidate {place}: {reason}")


def check_record(record: dict[str, Any]) -> str | None:
    """What is wrong with the fields of a record, but for its candidates; None if nothing is."""
    if not isinstance(record.get("candidates"), list):
        return f'"candidates" is {shown(record.get("candidates"))}; expected a list of objects'
    if "id" in record and json_id(record["id"]) is None:
        return f'"id" is {shown(record["id"])}; expected a string or a whole number from 0'
    references = record.get("refs")
    if references is not None and (
        not isinstance(references, list) or not all(isinstance(text, str) for text in references)
    ):
        return f'"refs" is {shown(references)}; expected a list of strings'
    if not isinstance(record.get("source", ""), (str, type(None))):
        return f'"source" is {shown(record["source"])}; expected a string'
    return None


def check_candidate(candidate: Any) -> str | None:
    """What is wrong with a candidate of a record; None if nothing is."""
    if not isinstance(candidate, dict):
        return f'got {shown(candidate)}; expected an object with "text" and "features"'
    if not isinstance(candidate.get("text"), str):
        return f'"text" is {shown(candidate.get("text"))}; expected a string'
    features = candidate.get("features", {})
    if not isinstance(features, dict):
        return f'"features" is {shown(features)}; expected an object of names and numbers'
    for name, value in features.items():
        if json_number(value) is None:
            return f"feature {name!r} is {shown(value)}; expected a finite number"
    if candidate.get("score") is not None and json_number(candidate["score"]) is None:
        return f"the score is {shown(candidate['score'])}; expected a finite number"
    return None


def write_jsonl(lists: Dataset, path: str | os.PathLike[str]) -> None:
    """Write lists in the native format; reading them back gives the same lists."""
    edges = lists.corpus.sentence_edges.tolist()
    with written_atomically(path) as file:
        for sentence, name in enumerate(lists.ids):
            record: dict[str, Any] = {"id": name}
            if lists.references is not None:
                record["refs"] = list(lists.references[sentence])
            if lists.sources is not None and lists.sources[sentence] is not None:
                record["source"] = lists.sources[sentence]
            first, last = edges[sentence], edges[sentence + 1]
            rows = lists.corpus.features.rows(first, last).toarray().tolist()
            record["candidates"] = candidates = []
            for edge, text, values in zip(range(first, last), lists.texts(np.arange(first, last)), rows, strict=True):
                features = dict(zip(lists.feature_names, values, strict=True))
                candidate: dict[str, Any] = {"text": text, "features": features}
                if lists.scores is not None:
                    candidate["score"] = float(lists.scores[edge])
                candidates.append(candidate)
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")
