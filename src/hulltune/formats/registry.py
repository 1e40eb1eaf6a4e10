"""The table of formats, who recognises, reads and writes them; and the format of a file, by its first bytes.

Modules of formats are imported when they are used.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hulltune.errors import InputError
from hulltune.formats.streams import SUFFIXES, first_line, head, names_in, suffix_of, without_suffix
from hulltune.names import FOREST_FORMATS, FORMATS

if TYPE_CHECKING:
    from hulltune.formats.records import Columns

ENOUGH = 1 << 13
"""Bytes that suffice to recognise forests: a folder may have thousands of files to look at."""


class Format(NamedTuple):
    """A format and its parts, each as "module.function" of this room, or "" where there is none.

    A reader of lists takes a file and a RowCollector; a reader of forests takes a file, ForestOptions and a
    Vocabulary. A recogniser takes the first bytes of a file. A writer takes a file and NamedForests, or a Dataset of
    lists. "packed", "moses", "nemo", "trec" and "letor" are read in ways of their own (see read.py).
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
    "trec": Format(False, "trec.looks_like"),
    "letor": Format(False, "letor.looks_like"),
    "moses": Format(False, "moses.looks_like", "", "moses.write_moses", ".moses"),
    "fairseq": Format(False, "toolkits.looks_like_fairseq", "toolkits.read_fairseq"),
    "tsv": Format(False, "table.looks_like_tsv", "table.read_tsv", "", ".tsv"),
    "csv": Format(False, "table.looks_like_csv", "table.read_csv", "", ".csv"),
    "nemo": Format(False, "toolkits.looks_like_nemo"),
    "srilm": Format(False, "srilm.looks_like", "srilm.read_srilm"),
    "sockeye": Format(False, "toolkits.looks_like_sockeye", "toolkits.read_sockeye"),
    "hits": Format(False, "hits.looks_like", "hits.read_hits"),
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


def reader(name: str) -> Any:
    """The reader of a format."""
    return _part(_FORMATS[name].reader)


def writer(name: str) -> Any:
    """The writer of a format."""
    return _part(_FORMATS[name].writer)


def recognised_forests(start: bytes) -> str | None:
    """The format of a file of forests that begins with these bytes, or None for other files."""
    from hulltune.formats.packed import FORESTS, packed_kind

    if packed_kind(start) == FORESTS:
        return "packed"
    begin = start[:ENOUGH]
    return next((name for name, looks_like in _forest_recognisers() if looks_like(begin)), None)


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


# The format of a file or folder.


def sniff(path: str | os.PathLike[str], columns: Columns | None = None) -> str:
    """The name of the format of a file; an error if nothing tells. A Source can be read afterwards.

    A table is known by the names of its columns for ids and texts, which ``columns`` may change.

    >>> from pathlib import Path
    >>> from hulltune.formats import sniff
    >>> _ = Path("dev.nbest").write_text("0 ||| a house ||| lm=-2 words=2 ||| -2")
    >>> sniff("dev.nbest")
    'moses'
    """
    file = Path(path)
    if file.is_dir():
        return sniff_folder(file, *names_in(file))
    data = head(path)
    if data.strip() and (file.suffix == _part("kaldi.LIST_SUFFIX") or _part("kaldi.looks_like_list")(data)):
        return "kaldi"  # not among others of a folder, as the archives beside it hold the same lattices
    found = _recognised(data)
    if columns is not None and (columns.id or columns.text):
        found = next((name for name in ("tsv", "csv") if _part(_FORMATS[name].recogniser)(data, columns)), found)
    if found is not None:
        return found
    first = first_line(data)
    if not first:
        raise InputError(f"{file}: the file is empty; expected candidate lists or forests")
    found = by_suffix(without_suffix(file).suffix)
    if found in (None, "packed"):
        raise InputError(
            f"{file}: cannot tell the format from {_start(data, first)}; name it (one of {', '.join(FORMATS)})"
        )
    return found


def _start(data: bytes, first: str) -> str:
    """The start of a file, for a message: its first line, or its first bytes if it is no text."""
    shown = first[:60]
    if shown.replace("\t", " ").isprintable() and "\ufffd" not in shown:
        return repr(shown)
    return f"the bytes {data[:12].hex(' ')} …, which are no text"


def sniff_folder(path: Path, files: Sequence[str], folders: Sequence[str]) -> str:
    """The name of the format of a folder with these files and folders in it; an error if there is no file."""
    names = [*files, *folders]
    if "dataset_dict.json" in files or {"dataset_info.json", "state.json"} <= set(files):
        raise InputError(
            f"{path}: a folder of Hugging Face's save_to_disk; give a file of its to_json or to_parquet, or read it in "
            "Python: hulltune.read(datasets.load_from_disk(…))"
        )
    if any(name.startswith("text") and without_suffix(name).stem == "text" for name in names):
        return "score-folder"
    if any(_part("score_folder.NBEST").fullmatch(name) for name in names):
        return "score-folder"
    if not files:
        raise InputError(f"{path}: no files in it; expected candidate lists")
    # One forest decides: other files beside it may be anything (references, weights, a licence). Look at one file of
    # each suffix only, as a folder may have ten thousand files.
    first: dict[str, str] = {}
    for name in files:
        end = name[name.rfind(".") :] if "." in name else ""
        suffix = suffix_of(name) if end in SUFFIXES or end == "." else end  # of many names, none is taken apart twice
        first[suffix] = min(name, first.get(suffix, name))
    for _, name in sorted(first.items()):
        forest = recognised_forests(head(path / name))
        if forest is not None:
            return forest
    return "score-folder" if head(path / min(files)).lstrip().startswith(b"{") else "srilm"


def _recognised(start: bytes) -> str | None:
    """The format of a file that begins with these bytes, or None."""
    for name, form in _FORMATS.items():
        if form.recogniser and _part(form.recogniser)(start[:ENOUGH] if form.forests else start):
            return name
    return None
