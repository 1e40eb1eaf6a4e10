"""The table of formats: who recognises, reads and writes them. Modules are imported when they are used."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, NamedTuple

from hulltune.errors import unknown_name
from hulltune.names import FOREST_FORMATS, FORMATS

ENOUGH = 1 << 13
"""Bytes that suffice to recognise forests: a folder may have thousands of files to look at."""


class Format(NamedTuple):
    """A format and its parts, each as "module.function" of this room, or "" where there is none.

    A reader of lists takes a file, a RowCollector and Problems; a reader of forests takes a file, ForestOptions and a
    Vocabulary. A recogniser takes the first bytes of a file. A writer takes a file and NamedForests, or a Dataset of
    lists. "packed", "moses" and "nemo" are read in ways of their own (see read.py).
    """

    forests: bool
    recogniser: str
    reader: str = ""
    writer: str = ""
    suffix: str = ""
    """The suffix of files in this format: decides if the content does not, and for files to write."""


_FORMATS = {
    "packed": Format(False, "packed.looks_like", "", "packed.pack", ".hull"),
    "parquet": Format(False, "table.looks_like_parquet", "table.read_parquet", "", ".parquet"),
    "openfst": Format(True, "openfst.looks_like", "openfst.read_openfst"),
    "kaldi": Format(True, "kaldi.looks_like", "kaldi.read_kaldi"),
    "slf": Format(True, "slf.looks_like", "slf.read_slf", "slf.write_slf", ".slf"),
    "cdec-json": Format(True, "cdec_json.looks_like", "cdec_json.read_cdec_json"),
    "travatar": Format(True, "travatar.looks_like", "travatar.read_travatar"),
    "moses-graph": Format(True, "moses_graph.looks_like", "moses_graph.read_moses_graph"),
    "plf": Format(True, "plf.looks_like", "plf.read_plf"),
    "joshua": Format(True, "forest_text.looks_like_joshua", "forest_text.read_joshua"),
    "forest": Format(True, "forest_text.looks_like", "forest_text.read_forest_text", "forest_text.write_forest_text"),
    "openfst-text": Format(True, "openfst.looks_like_text", "openfst.read_openfst_text", "openfst.write_openfst_text"),
    "moses": Format(False, "moses.looks_like", "", "moses.write_moses", ".moses"),
    "fairseq": Format(False, "fairseq.looks_like", "fairseq.read_fairseq"),
    "tsv": Format(False, "table.looks_like_tsv", "table.read_tsv", "", ".tsv"),
    "csv": Format(False, "table.looks_like_csv", "table.read_csv", "", ".csv"),
    "nemo": Format(False, "nemo.looks_like"),
    "srilm": Format(False, "srilm.looks_like", "srilm.read_srilm"),
    "sockeye": Format(False, "sockeye.looks_like", "sockeye.read_sockeye"),
    "jsonl": Format(False, "jsonl.looks_like", "jsonl.read_jsonl", "jsonl.write_jsonl", ".jsonl"),
    "score-folder": Format(False, "", "score_folder.read_score_folder"),
}
"""A file is of the first format that recognises it, so the strictest come first."""

assert set(_FORMATS) == set(FORMATS), "hulltune.names lists the formats for the command line"
assert all(_FORMATS[name].forests for name in FOREST_FORMATS)
SUMMED = {
    "openfst": ("score",),
    "openfst-text": ("score",),
    "kaldi": ("graph", "acoustic"),
    "moses-graph": ("transition",),
}
"""Formats in which the score of the decoder is the sum of exactly these features."""


def get_format(name: str) -> Format:
    """The format of this name; an error that lists all names if there is none."""
    if name not in _FORMATS:
        raise unknown_name("format", name, FORMATS)
    return _FORMATS[name]


def reader(name: str) -> Any:
    """The reader of a format."""
    return _part(_FORMATS[name].reader)


def writer(name: str) -> Any:
    """The writer of a format."""
    return _part(_FORMATS[name].writer)


def recognised(head: bytes) -> str | None:
    """The format of a file that begins with these bytes, or None."""
    for name, form in _FORMATS.items():
        if form.recogniser and _part(form.recogniser)(head[:ENOUGH] if form.forests else head):
            return name
    return None


def recognised_forests(head: bytes) -> str | None:
    """The format of a file of forests that begins with these bytes, or None for other files."""
    from hulltune.data.packed import FORESTS, packed_kind

    if packed_kind(head) == FORESTS:
        return "packed"
    start = head[:ENOUGH]
    return next((name for name, looks_like in _forest_recognisers() if looks_like(start)), None)


@cache
def _forest_recognisers() -> list[tuple[str, Any]]:
    """The names of the formats of forests with who recognises them: a folder may have thousands of files."""
    return [(name, _part(_FORMATS[name].recogniser)) for name in FOREST_FORMATS]


def by_suffix(suffix: str, *, to_write: bool = False) -> str | None:
    """The format of files with this suffix, or None."""
    if suffix == ".nbest" and to_write:
        return "moses"
    for name, form in _FORMATS.items():
        if suffix and form.suffix == suffix and (form.writer or not to_write) and not (form.forests and not to_write):
            return name
    return None


def _part(name: str) -> Any:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(f"hulltune.formats.{module}"), function)
