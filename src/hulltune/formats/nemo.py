"""Beams of NeMo, in the two forms that its scripts write.

Manifests of transcribe_speech.py with ``return_best_hypothesis=false``, an utterance a line, ``text`` the reference:

    {"audio_filepath": "a.wav", "text": "a b", "pred_text": "a", "beams": [["a", -1.5], ["a b", -1.7]]}

Tables of the n-gram beam search scripts (``preds_out_width4_alpha1.0_beta0.5.tsv``), a hypothesis a line, text, tab,
score. They do not mark the end of an utterance: each has as many lines as the width in the name of the file. The
manifest, given along with the table, has the references, and its number of lines gives the width if the name does
not. The one feature is ``score``; sentence i is line i of the manifest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from hulltune.arrays import as_number
from hulltune.errors import InputError
from hulltune.formats.jsonl import record_keys, records
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import Problems, first_line, head, numbered_lines

EXPECTED = 'an object with "audio_filepath" and "beams"'
WIDTH = re.compile(r"width_?([0-9]{1,6})", flags=re.ASCII)


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a manifest with beams, or a table of texts and scores."""
    keys = record_keys(head)
    if keys is not None:
        return "candidates" not in keys and bool(keys & {"beams", "audio_filepath"})
    first = first_line(head)
    text, tab, score = first.rpartition("\t")
    is_row = bool(tab) and "\t" not in text and plain_number(score) is not None
    return is_row and not first.startswith("NBestList")


def read_nemo(paths: Sequence[str | os.PathLike[str]], collector: RowCollector, problems: Problems) -> None:
    """Take all hypotheses of manifests with beams, or of tables along with the manifests that describe them."""
    tables = [path for path in paths if not head(path).lstrip().startswith(b"{")]
    utterances: int | None = None
    for path in paths:
        if path not in tables:
            utterances = _read_manifest(path, collector, problems, beams=not tables)
    for path in tables:
        _read_table(path, collector, problems, utterances)


def _read_manifest(path: str | os.PathLike[str], collector: RowCollector, problems: Problems, *, beams: bool) -> int:
    file = os.fspath(path)
    count = 0
    for line, record in records(path, collector, problems, expected=EXPECTED):
        sentence = line - 1
        count = line
        text = record.get("text")
        reason = collector.declare(sentence, references=(text,) if isinstance(text, str) else None)
        candidates = _beams(record) if beams else []
        if isinstance(candidates, str):
            collector.skip_many()
        if reason is not None or isinstance(candidates, str):
            problems.report(file, line, reason or str(candidates))
            continue
        for hypothesis, score in candidates:
            reason = collector.add(sentence, hypothesis, {"score": score}, score)
            if reason is not None:
                problems.report(file, line, reason)
    return count


def _beams(record: dict[str, Any]) -> list[tuple[str, float]] | str:
    beams = record.get("beams")
    if not isinstance(beams, list):
        return f'"beams" is {shown(beams)}; expected a list of pairs of text and score'
    pairs = []
    for beam in beams:
        score = as_number(beam[1]) if isinstance(beam, list) and len(beam) == 2 else None
        if score is None or not isinstance(beam[0], str):
            return f'{shown(beam)} in "beams"; expected a pair of text and score'
        pairs.append((beam[0], score))
    return pairs


def _read_table(
    path: str | os.PathLike[str], collector: RowCollector, problems: Problems, utterances: int | None
) -> None:
    """Take all hypotheses of a table. A line at fault counts as one, so later lines keep their utterances."""
    file = os.fspath(path)
    lines = list(numbered_lines(path, problems))
    count = lines[-1][0] if lines else 0
    width = _width(file, count, utterances)
    for sentence in range(count // width):
        collector.declare(sentence)
    for line, text in lines:
        hypothesis, tab, score = text.rpartition("\t")
        value = plain_number(score)
        if value is None or not tab:
            collector.skip_one()
            reason: str | None = f"got {shown(text)}; expected text, tab, score"
        else:
            reason = collector.add((line - 1) // width, hypothesis, {"score": value}, value)
        if reason is not None:
            problems.report(file, line, reason)


def _width(file: str, count: int, utterances: int | None) -> int:
    match = WIDTH.search(os.path.basename(file))
    if match is None and not utterances:
        raise InputError(
            f"{file}: cannot tell where an utterance ends; expected 'width<N>' in the name of the file, as NeMo "
            "writes it, or the manifest along with it"
        )
    width = int(match[1]) if match is not None else max(count // (utterances or 1), 1)
    if width < 1 or count % width or (utterances and count != width * utterances):
        described = f"the manifest has {utterances} utterances" if utterances else "the name says so"
        raise InputError(
            f"{file}: {count} lines are no whole number of beams of width {width} ({described}); NeMo writes fewer "
            'lines where a beam is not full, and then the manifest with "beams" is the only way'
        )
    return width
