"""Records of JSON, one a line: what the JSON formats share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from hulltune.formats.numbers import shown
from hulltune.formats.problems import Problems
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import numbered_lines


def records(
    path: str | os.PathLike[str], collector: RowCollector, problems: Problems, *, expected: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers; anything else on a line is a fault."""
    for line, text in numbered_lines(path, problems):
        reason = None
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
