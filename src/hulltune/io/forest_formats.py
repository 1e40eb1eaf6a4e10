"""The formats of forests: which there are, who reads them, and what gives them away. No reader is imported before."""

from __future__ import annotations

import importlib
from typing import cast

from hulltune.io.forest_files import ForestReader

_READERS = {
    "forest": ("forest_text", "read_forest_text"),
}
"""By name, the module and its reader. A file is of the first format that recognises it, so the strictest come first."""

FOREST_FORMATS = tuple(_READERS)


def forest_reader(name: str) -> ForestReader:
    """The reader of a format."""
    module, function = _READERS[name]
    return cast(ForestReader, getattr(importlib.import_module(f"hulltune.io.{module}"), function))


def sniff_forest(head: bytes) -> str | None:
    """The format of a file of forests that begins like this, or None if it is none."""
    for name, (module, _) in _READERS.items():
        if importlib.import_module(f"hulltune.io.{module}").looks_like(head):
            return name
    return None
