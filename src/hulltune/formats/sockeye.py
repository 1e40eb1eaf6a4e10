"""JSON output of Sockeye (``--output-type json --nbest-size N``): a sentence a line.

    {"sentence_id": 1, "translation": "a b", "score": -0.3, "translations": ["a b", "a"], "scores": [[-0.3], [-0.7]]}

The first score of a translation is the feature ``score``, further ones are ``factor1_score`` and so on. Sockeye numbers
sentences from 1, but ids count from 0: a file without a sentence 0 is shifted by one.
"""

from __future__ import annotations

import os
from typing import Any

from hulltune.arrays import as_number
from hulltune.formats.jsonl import record_keys, records
from hulltune.formats.numbers import shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import Problems

EXPECTED = 'an object with "sentence_id", "translations" and "scores"'


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is from Sockeye."""
    keys = record_keys(head) or set()
    return "candidates" not in keys and bool(keys & {"sentence_id", "translations"})


def read_sockeye(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all hypotheses of a file."""
    file = os.fspath(path)
    lists: list[tuple[int, int, list[tuple[str, dict[str, float]]]]] = []
    for line, record in records(path, collector, problems, expected=EXPECTED):
        candidates = _candidates(record)
        if isinstance(candidates, str):
            collector.skip_many()
            problems.report(file, line, candidates)
        else:
            lists.append((line, record["sentence_id"], candidates))
    shift = 1 if lists and min(sentence for _, sentence, _ in lists) > 0 else 0
    for line, sentence, candidates in lists:
        collector.declare(sentence - shift)
        for text, features in candidates:
            reason = collector.add(sentence - shift, text, features, features["score"])
            if reason is not None:
                problems.report(file, line, reason)


def _candidates(record: dict[str, Any]) -> list[tuple[str, dict[str, float]]] | str:
    """The texts and features of a record, or its fault."""
    number = record.get("sentence_id")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 10**18:
        return f'"sentence_id" is {shown(number)}; expected a whole number'
    texts, scores = record.get("translations"), record.get("scores")
    if texts is None and "translation" in record:
        texts, scores = [record["translation"]], [record.get("score")]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return f'"translations" is {shown(texts)}; expected a list of strings'
    if not isinstance(scores, list) or len(scores) != len(texts):
        return f'"scores" is {shown(scores)}; expected a list as long as "translations" ({len(texts)})'
    candidates = []
    for text, score in zip(texts, scores, strict=True):
        values = [as_number(value) for value in (score if isinstance(score, list) else [score])]
        numbers = [value for value in values if value is not None]
        if not numbers or len(numbers) < len(values):
            return f'a score in "scores" is {shown(score)}; expected a number or a list of numbers'
        names = ["score", *(f"factor{k}_score" for k in range(1, len(numbers)))]
        candidates.append((text, dict(zip(names, numbers, strict=True))))
    return candidates
