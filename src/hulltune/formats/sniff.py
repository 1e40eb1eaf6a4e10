"""Recognise the format of a file from its first lines and its name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hulltune.errors import InputError
from hulltune.formats.kaldi import LIST_SUFFIX, looks_like_list
from hulltune.formats.records import Columns
from hulltune.formats.registry import by_suffix, recognised, recognised_forests
from hulltune.formats.score_folder import NBEST
from hulltune.formats.streams import SUFFIXES, Source, first_line, head, names_in, suffix_of, without_suffix
from hulltune.formats.table import table_with
from hulltune.names import FORMATS


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
    data = path.head() if isinstance(path, Source) else head(path)
    if data.strip() and (file.suffix == LIST_SUFFIX or looks_like_list(data)):
        return "kaldi"  # not among others of a folder, as the archives beside it hold the same lattices
    found = (table_with(data, columns) if columns is not None and columns.named else None) or recognised(data)
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
    if any(name.startswith("text") and without_suffix(name).stem == "text" for name in names):
        return "score-folder"
    if any(NBEST.fullmatch(name) for name in names):
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
