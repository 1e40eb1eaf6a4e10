"""Which format a file is in, from its first lines and its name."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from hulltune.errors import InputError, unknown_name
from hulltune.formats.fairseq import LINE as FAIRSEQ_LINE
from hulltune.formats.forest_formats import sniff_forest
from hulltune.formats.numbers import plain_number
from hulltune.formats.packed_file import LISTS, packed_kind
from hulltune.formats.score_folder import NBEST
from hulltune.formats.streams import head, without_suffix
from hulltune.names import FORMATS

_BY_NAME = {".csv": "csv", ".parquet": "parquet", ".moses": "moses", ".jsonl": "jsonl"}
_LETTER_LINE = re.compile(r"[A-Z]-[0-9]+\t", flags=re.ASCII)


def check_format(name: str) -> str:
    """A known format, or an error that lists them."""
    if name not in FORMATS:
        raise unknown_name("format", name, FORMATS)
    return name


def sniff(path: str | os.PathLike[str]) -> str:
    """The name of the format; an error where it cannot be told."""
    path = Path(path)
    if path.is_dir():
        return _sniff_directory(path)
    data = head(path)
    if packed_kind(data) == LISTS:
        return "packed"
    if data.startswith(b"PAR1"):
        return "parquet"
    forest = sniff_forest(data)
    if forest is not None:
        return forest
    lines = data.decode("utf-8", errors="replace").split("\n")
    lines = [line.rstrip("\r") for line in (lines[:-1] if len(lines) > 1 else lines)][:400]
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InputError(f"{path}: the file is empty; expected candidate lists or forests")
    found = _sniff_text(first, lines) or _BY_NAME.get(without_suffix(path).suffix)
    if found is None:
        raise InputError(
            f"{path}: cannot tell the format from {_start(data, first)}; name it (one of {', '.join(FORMATS)})"
        )
    return found


def _start(data: bytes, first: str) -> str:
    """How a file begins, for a message: its first line, or its first bytes where it is no text."""
    shown = first[:60]
    if shown.replace("\t", " ").isprintable() and "\ufffd" not in shown:
        return repr(shown)
    return f"the bytes {data[:12].hex(' ')} …, which are no text"


def _sniff_text(first: str, lines: list[str]) -> str | None:
    if first.lstrip().startswith("{"):
        return _sniff_json(first)
    if "|||" in first:
        return "moses"
    if any(FAIRSEQ_LINE.fullmatch(line) and line.startswith("H-") for line in lines) or _LETTER_LINE.match(first):
        return "fairseq"
    for delimiter, name in (("\t", "tsv"), (",", "csv")):
        cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
        if "id" in cells and "text" in cells:
            return name
    if first.startswith("NBestList"):
        return "srilm"
    text, tab, score = first.rpartition("\t")
    if tab and "\t" not in text and plain_number(score) is not None:
        return "nemo"
    fields = first.split()
    if len(fields) >= 3 and all(plain_number(field) is not None for field in fields[:3]):
        return "srilm"
    return None


def _sniff_json(first: str) -> str:
    """By the keys of the first record; a record that is cut off or broken is left to the native reader's message."""
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        keys = set(re.findall(r'"(candidates|beams|audio_filepath|sentence_id|translations)"\s*:', first))
    else:
        keys = set(record) if isinstance(record, dict) else set()
    if "candidates" in keys:
        return "jsonl"
    if keys & {"beams", "audio_filepath"}:
        return "nemo"
    if keys & {"sentence_id", "translations"}:
        return "sockeye"
    return "jsonl"


def _sniff_directory(path: Path) -> str:
    entries = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
    names = {without_suffix(entry).stem for entry in entries}
    if "text" in names or any(NBEST.fullmatch(entry.name) for entry in entries):
        return "score-folder"
    file = next((entry for entry in sorted(entries) if entry.is_file()), None)
    if file is None:
        raise InputError(f"{path}: no files in it; expected candidate lists")
    # Beside forests there may lie anything (references, weights, a licence); one forest decides. A look at one file of
    # each kind is enough: a folder may have ten thousands.
    for suffix in sorted({without_suffix(entry).suffix for entry in entries if entry.is_file()}):
        first = min(entry for entry in entries if entry.is_file() and without_suffix(entry).suffix == suffix)
        forest = sniff_forest(head(first))
        if forest is not None:
            return forest
    return "score-folder" if head(file).lstrip().startswith(b"{") else "srilm"
