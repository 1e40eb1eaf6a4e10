"""The native format: JSON lines, a sentence each; and the same records from memory.

    {"id": 0, "refs": ["a b"], "source": "x y", "candidates": [{"text": "a b", "features": {"lm": -1.5}, "score": 2}]}

``candidates`` is required, and in it ``text``. Where no line has an ``id``, it is the number of the line from 0. With
``"sparse": true`` features that candidates leave out are 0, from this line on. Further numbers of a candidate are no
features; a metric may read them (``mean:column=NAME``).

Lines without ``candidates`` are flat, a candidate each, with keys like the columns of a table (see records.py):

    {"id": 0, "text": "a b", "lm": -1.5, "correct": true}
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.data.features import SparseFeatures
from hulltune.formats.numbers import shown
from hulltune.formats.records import RecordReader
from hulltune.formats.rows import RowCollector, written_features
from hulltune.formats.streams import PIECE, LineError, first_line, numbered_lines
from hulltune.formats.writing import written_atomically
from hulltune.memory import check_memory, size_text

EXPECTED = 'an object with "id" and "candidates"'
RECORDS = "records"
"""The name of records from memory, where a file would have its own."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes has records. Other formats of records are tried first."""
    return record_keys(head) is not None


def read_jsonl(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all hypotheses of a file."""
    reader = RecordReader(os.fspath(path), collector)
    for line, record in records(path, collector, expected=EXPECTED):
        reader.take(line, line - 1, record)
    reader.close()


def read_records(mappings: Iterable[Any], collector: RowCollector) -> None:
    """Take all hypotheses of records such as ``{"refs": […], "candidates": [{"text": …, "features": {…}}]}``.

    The fields are those of a line of the native format, flat ones included. Messages count records from 0.
    """
    reader = RecordReader(RECORDS, collector)
    for place, record in enumerate(mappings):
        if isinstance(record, Mapping):
            reader.take(place, place, record)
        else:
            reason = f"got {shown(record)}; expected a mapping with 'candidates'"
            collector.fault(RECORDS, place, reason, lost=None)
    reader.close()


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


# Lines of JSON, for all formats that have them.


def record_keys(head: bytes) -> set[str] | None:
    """The keys of the first record of a file that begins with these bytes, or None if it has no JSON.

    If the record is cut off or broken, only the keys that tell formats apart.
    """
    first = first_line(head)
    if not first.lstrip().startswith("{"):
        return None
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return set(re.findall(r'"(candidates|beams|audio_filepath|sentence_id|translations)"\s*:', first))
    return set(record) if isinstance(record, dict) else set()


def keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, for ``object_pairs_hook``; LineError if a key occurs twice, where json takes the last value."""
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise LineError(f"key {twice!r} occurs twice in an object; expected each once")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=keys_once)


def records(
    path: str | os.PathLike[str], collector: RowCollector, *, expected: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers; anything else on a line is a fault."""
    for line, text in numbered_lines(path, collector.problems):
        if len(text) > PIECE:
            check_memory(10 * len(text), f"{os.fspath(path)}:{line}: a line of {size_text(len(text))}")
        try:
            record = object_in(text, expected)
        except LineError as fault:
            collector.fault(os.fspath(path), line, fault, lost=None)
        else:
            yield line, record


def object_in(text: str, expected: str) -> dict[str, Any]:
    """The object that a text spells; LineError, which says what was ``expected``, for anything else."""
    try:
        record = _DECODER.decode(text)
    except LineError:
        raise
    except RecursionError:
        raise LineError(f"nested too deeply; expected {expected}") from None
    except ValueError as error:
        reason = f"no JSON ({error})" if text.strip() else "blank line"
        raise LineError(f"{reason}; expected {expected}") from None
    if not isinstance(record, dict):
        raise LineError(f"got {shown(record)}; expected {expected}")
    return record
