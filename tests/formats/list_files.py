"""Writing small list files and looking at what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hulltune import Dataset, InputError, read


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def fault(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value)


def rows(lists: Dataset) -> list[tuple[Any, str, list[float]]]:
    """(id, text, features) of every hypothesis."""
    return [
        (lists.ids[sentence], lists.text(row), lists.corpus.features.matrix()[row].tolist())
        for sentence in range(len(lists))
        for row in range(lists.corpus.sentence_edges[sentence], lists.corpus.sentence_edges[sentence + 1])
    ]
