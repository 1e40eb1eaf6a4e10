"""Candidate lists from files in any format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hulltune.errors import InputError
from hulltune.formats.builtin_features import add_builtin_features
from hulltune.formats.candidates import CandidateLists, Provenance
from hulltune.formats.extra_scores import read_column
from hulltune.formats.fairseq import read_fairseq
from hulltune.formats.jsonl import read_jsonl
from hulltune.formats.moses import MosesReader
from hulltune.formats.nemo import read_nemo
from hulltune.formats.packed import open_packed
from hulltune.formats.problems import Problems
from hulltune.formats.rows import RowCollector, Rows, to_lists
from hulltune.formats.score_folder import read_score_folder
from hulltune.formats.sniff import check_format, sniff
from hulltune.formats.sockeye import read_sockeye
from hulltune.formats.srilm import read_srilm
from hulltune.formats.table import FRAME, is_frame, read_delimited, read_frame, read_parquet
from hulltune.names import FOREST_FORMATS
from hulltune.wording import counted

Path = str | os.PathLike[str]

_READERS: dict[str, Callable[[Path, RowCollector, Problems], None]] = {
    "jsonl": read_jsonl,
    "csv": partial(read_delimited, delimiter=","),
    "tsv": partial(read_delimited, delimiter="\t"),
    "parquet": read_parquet,
    "fairseq": read_fairseq,
    "sockeye": read_sockeye,
    "score-folder": read_score_folder,
    "srilm": read_srilm,
}


def read_lists(
    paths: Path | Iterable[Path] | Any,
    *,
    format: str | None = None,  # noqa: A002  # the word that users type
    missing: float | None = None,
    on_error: str = "raise",
    add: Iterable[tuple[Path, str]] = (),
    builtin_features: Sequence[str] = (),
    dtype: Any = np.float64,
) -> CandidateLists:
    """The candidate lists of one or several files (or of a data frame), linear in their size.

    The lists of a sentence that several files have are joined. ``format`` is told from the files where it is None.
    ``missing=0`` takes a feature that a hypothesis lacks as 0 where that is an error otherwise. ``on_error="skip"``
    leaves out what is at fault and lists it in ``skipped``. ``add`` names files of further scores, each with the name
    of the feature they become. ``builtin_features`` are some of BUILTIN_FEATURES.
    """
    if missing is not None and missing != 0:
        raise InputError(f"missing: got {missing!r}; expected None (a missing feature is an error) or 0")
    dtype = np.dtype(dtype)
    if dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise InputError(f"dtype: got {dtype}; expected float64 or float32")
    problems = Problems(on_error)
    add = list(add)
    if is_frame(paths):
        collector = RowCollector(missing=missing)
        read_frame(paths, collector, problems)
        rows, provenance = collector.rows(), [Provenance(FRAME, FRAME)]
    else:
        files = _files(paths)
        formats = [sniff(file) if format is None else check_format(format) for file in files]
        for file, name in zip(files, formats, strict=True):
            if name in FOREST_FORMATS:
                raise InputError(f"{os.fspath(file)}: forests ({name}), not candidate lists; read them by read_forests")
        provenance = [Provenance(os.fspath(file), name) for file, name in zip(files, formats, strict=True)]
        if "packed" in formats:
            return add_builtin_features(_open_packed(files, add, dtype), builtin_features)
        rows = _read(list(zip(files, formats, strict=True)), missing, problems, dtype)
    if not len(rows.ids):
        where = ", ".join(origin.file for origin in provenance)
        skipped = (
            f" (skipped {counted(len(problems.skipped), 'line')}, first {problems.skipped[0]})"
            if problems.skipped
            else ""
        )
        raise InputError(f"{where}: no candidate lists{skipped}")
    columns = [read_column(path, name, rows) for path, name in add]
    lists = to_lists(rows, columns=columns, dtype=dtype, skipped=problems.skipped, provenance=provenance)
    return add_builtin_features(lists, builtin_features)


def _files(paths: Any) -> list[Path]:
    if isinstance(paths, (str, os.PathLike)):
        return [paths]
    files = list(paths) if isinstance(paths, Iterable) else [paths]
    if not files:
        raise InputError("paths: expected at least one file, got none")
    for file in files:
        if not isinstance(file, (str, os.PathLike)):
            raise InputError(f"paths: got {file!r}; expected the name of a file, or a data frame")
    return files


def _open_packed(files: list[Path], add: Sequence[Any], dtype: Any) -> CandidateLists:
    if len(files) > 1:
        raise InputError(
            f"{os.fspath(files[0])}: a packed file is read alone; give the original lists, or pack them all"
        )
    if add:
        raise InputError(f"{os.fspath(files[0])}: scores are added to the original lists, not to a packed file")
    lists = open_packed(files[0])
    if lists.features.dtype != dtype and dtype != np.float64:
        raise InputError(f"{os.fspath(files[0])}: packed as {lists.features.dtype}; pack it again as {dtype}")
    return lists


def _read(files: list[tuple[Path, str]], missing: float | None, problems: Problems, dtype: Any) -> Rows:
    """All files of one family: Moses lists go through the kernel, the others through one collector."""
    if any(name == "moses" for _, name in files):
        if not all(name == "moses" for _, name in files):
            raise InputError(f"the files are in different formats ({', '.join(sorted({name for _, name in files}))})")
        reader = MosesReader(problems=problems, missing=missing, dtype=dtype)
        for file, _ in files:
            reader.read(file)
        return reader.rows()
    collector = RowCollector(missing=missing)
    nemo = [file for file, name in files if name == "nemo"]
    if nemo:
        read_nemo(nemo, collector, problems)
    for file, name in files:
        if name != "nemo":
            _READERS[name](file, collector, problems)
    return collector.rows()
