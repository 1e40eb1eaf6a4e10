"""The formats of forests: which there are, who reads them, and what gives them away. No reader is imported before."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, cast

from hulltune.formats.forest_files import ForestReader
from hulltune.names import FOREST_FORMATS


class _Format(NamedTuple):
    """The module of a format, its reader, and what tells by the first bytes of a file."""

    module: str
    reader: str
    recogniser: str = "looks_like"


_FORMATS = {
    "packed-forests": _Format("packed_forests", "read_packed_forests"),
    "openfst": _Format("openfst", "read_openfst"),
    "kaldi": _Format("kaldi", "read_kaldi"),
    "slf": _Format("slf", "read_slf"),
    "cdec-json": _Format("cdec_json", "read_cdec_json"),
    "travatar": _Format("travatar", "read_travatar"),
    "moses-graph": _Format("moses_graph", "read_moses_graph"),
    "plf": _Format("plf", "read_plf"),
    "joshua": _Format("joshua", "read_joshua"),
    "forest": _Format("forest_text", "read_forest_text"),
    "openfst-text": _Format("openfst", "read_openfst_text", "looks_like_text"),
}
assert tuple(_FORMATS) == FOREST_FORMATS
SUMMED = {
    "openfst": ("score",),
    "openfst-text": ("score",),
    "kaldi": ("graph", "acoustic"),
    "moses-graph": ("transition",),
}
"""Formats in which the decoder's own score is the sum of just these features."""
ENOUGH = 1 << 13
"""Bytes that give a format away: folders have thousands of files, each of which is looked at."""


def forest_reader(name: str) -> ForestReader:
    """The reader of a format."""
    return cast(ForestReader, _part(_FORMATS[name], _FORMATS[name].reader))


def sniff_forest(head: bytes) -> str | None:
    """The format of a file of forests that begins like this, or None if it is none."""
    first = head[:ENOUGH]
    return next((name for name, form in _FORMATS.items() if _part(form, form.recogniser)(first)), None)


def _part(form: _Format, name: str) -> Any:
    return getattr(importlib.import_module(f"hulltune.formats.{form.module}"), name)
