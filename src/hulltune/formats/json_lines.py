"""JSON records, one a line, for all formats that have them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from hulltune.formats.numbers import shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import PIECE, Problems, first_line, numbered_lines
from hulltune.memory import check_memory, size_text


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


def records(
    path: str | os.PathLike[str], collector: RowCollector, problems: Problems, *, expected: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers; anything else on a line is a fault."""
    for line, text in numbered_lines(path, problems):
        reason = None
        if len(text) > PIECE:
            check_memory(10 * len(text), f"{os.fspath(path)}:{line}: a line of {size_text(len(text))}")
        try:
            record = json.loads(text)
            if not isinstance(record, dict):
                reason = f"got {shown(record)}"
        except RecursionError:
            reason = "nested too deeply"
        except ValueError as error:
            reason = "blank line" if not text.strip() else f"no JSON ({error})"
        if reason is None:
            yield line, record
        else:
            collector.skip_many()
            problems.report(os.fspath(path), line, f"{reason}; expected {expected}")
