"""SRILM n-best lists: a file an utterance, a hypothesis a line, ``acoustic lm nwords word word …``.

The id is the name of the file without its suffixes. After a header NBestList1.0, lines are ``(score) word word …``. A
directory holds the lists of many utterances. A folder in it holds further scores, in files of the same names with a
score at the start of each line; the name of the folder is that of the feature.
"""

from __future__ import annotations

import os
from pathlib import Path

from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import SUFFIXES, LineError, Problems, first_line, numbered_lines
from hulltune.wording import counted

EXPECTED = "expected 'acoustic lm nwords words…'"
NAMES = ("acoustic", "lm", "nwords")
_LIST_SUFFIXES = (*SUFFIXES, ".nbest", ".nb", ".score", ".scores", ".txt")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is from SRILM: its header, or three numbers."""
    first = first_line(head)
    fields = first.split(maxsplit=3)[:3]
    numbers = [plain_number(field) for field in fields]
    return first.startswith("NBestList") or (len(numbers) == 3 and None not in numbers)


def read_srilm(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take the list of one utterance, or of every utterance in a directory."""
    folder = Path(path)
    if not folder.is_dir():
        _read_list(folder, {}, collector)
        return
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    files = [entry for entry in entries if entry.is_file()]
    if not files:
        raise InputError(f"{folder}: no files in it; expected a list an utterance")
    scores = {entry.name: {_utterance(file): file for file in entry.iterdir()} for entry in entries if entry.is_dir()}
    for file in files:
        extra = {}
        for name, described in scores.items():
            if _utterance(file) not in described:
                raise InputError(f"{folder / name}: no scores for {file.name}")
            extra[name] = described[_utterance(file)]
        _read_list(file, extra, collector)


def _utterance(path: Path) -> str:
    name = path.name
    while name.endswith(_LIST_SUFFIXES) and Path(name).stem:
        name = Path(name).stem
    return name


def _read_list(path: Path, extra: dict[str, Path], collector: RowCollector) -> None:
    sentence = sentence_id(_utterance(path))
    collector.declare(sentence)
    lines = list(numbered_lines(path, collector.problems))
    decipher = bool(lines) and lines[0][0] == 1 and lines[0][1].startswith("NBestList")
    if decipher and lines[0][1].strip() != "NBestList1.0":
        raise InputError(f"{path}:1: {lines[0][1].strip()} is not read; convert it with SRILM's nbest2-to-nbest1")
    count = lines[-1][0] - decipher if lines else 0
    columns = {name: _read_scores(file) for name, file in extra.items()}
    for name, column in columns.items():
        if len(column) != count:
            told = f"{counted(len(column), 'line')}, but {path} has {counted(count, 'hypothesis')}"
            raise InputError(f"{extra[name]}: {told}; expected a score for each")
    for line, text in lines[decipher:]:
        try:
            hypothesis, features = _decipher(text) if decipher else _srilm(text)
            features |= {name: column[line - 1 - decipher] for name, column in columns.items()}
            collector.add(sentence, hypothesis, features)
        except LineError as fault:
            collector.fault(os.fspath(path), line, fault)


def _srilm(text: str) -> tuple[str, dict[str, float]]:
    fields = text.split(maxsplit=3)
    if not fields:
        raise LineError(f"blank line; {EXPECTED}")
    numbers = [plain_number(field) for field in fields[:3]]
    values = [number for number in numbers if number is not None]
    if len(values) < 3:
        raise LineError(f"got {shown(text)}; {EXPECTED}")
    return (fields[3].rstrip() if len(fields) > 3 else ""), dict(zip(NAMES, values, strict=True))


def _decipher(text: str) -> tuple[str, dict[str, float]]:
    score, closing, words = text.strip().partition(")")
    value = plain_number(score[1:].strip()) if score.startswith("(") and closing else None
    if value is None:
        raise LineError(f"got {shown(text)}; expected '(score) words…' after NBestList1.0")
    return words.strip(), {"score": value}


def _read_scores(path: Path) -> list[float]:
    values = []
    for line, text in numbered_lines(path, Problems()):
        value = plain_number((text.split() or [""])[0])
        if value is None:
            raise InputError(f"{path}:{line}: got {shown(text)}; expected a score")
        values.append(value)
    return values
