"""Candidate lists as a packed file (packed_file.py): opened by memory map, without reading them."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray

from hulltune.formats.candidates import CandidateLists, Provenance
from hulltune.formats.packed_file import LISTS, VERSION, check_dtypes, check_offsets, open_packed_file, write_packed
from hulltune.formats.problems import Skipped

__all__ = ["VERSION", "open_packed", "pack"]

_ARRAYS = {
    "offsets": "<i8", "text_bytes": "|u1", "text_offsets": "<i8", "ranks": "<i4", "copies": "<i4", "scores": "<f8",
    "features": "",
}  # fmt: skip


def pack(lists: CandidateLists, path: str | os.PathLike[str]) -> None:
    """Write lists as a packed file; it appears complete or not at all."""
    arrays = {name: getattr(lists, name) for name in _ARRAYS if getattr(lists, name) is not None}
    description = {
        "ids": len(lists.ids) if isinstance(lists.ids, range) else list(lists.ids),
        "feature_names": list(lists.feature_names),
        "references": lists.references,
        "sources": lists.sources,
        "omitted": dict(lists.omitted),
        "skipped": [[fault.file, fault.line, fault.reason] for fault in lists.skipped],
        "provenance": [[origin.file, origin.format] for origin in lists.provenance],
        "unnamed": list(lists.unnamed),
    }
    write_packed(path, LISTS, description, arrays)


def open_packed(path: str | os.PathLike[str]) -> CandidateLists:
    """Open a packed file of lists by memory map: its pages are read when they are needed.

    Checked beside the file itself: that the offsets are offsets, and that all sizes fit. O(rows).
    """
    return open_packed_file(path, LISTS, _lists)


def _lists(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> CandidateLists:
    check_dtypes(arrays, _ARRAYS)
    references, sources, ids = description["references"], description["sources"], description["ids"]
    lists = CandidateLists(
        ids=range(ids) if isinstance(ids, int) else tuple(ids),
        feature_names=tuple(description["feature_names"]),
        scores=arrays.pop("scores", None),
        references=None if references is None else tuple(tuple(texts) for texts in references),
        sources=None if sources is None else tuple(sources),
        omitted=description["omitted"],
        skipped=tuple(Skipped(*fault) for fault in description["skipped"]),
        provenance=tuple(Provenance(*origin) for origin in description["provenance"]),
        unnamed=tuple(description.get("unnamed", ())),  # files of earlier releases do not tell
        **arrays,
    )
    _check(lists)
    return lists


def _check(lists: CandidateLists) -> None:
    rows = lists.features.shape[0]
    check_offsets(lists.offsets, rows)
    check_offsets(lists.text_offsets, len(lists.text_bytes))
    if not len(lists.text_offsets) - 1 == len(lists.ranks) == len(lists.copies) == rows:
        raise ValueError("arrays of different lengths")
    if len(lists.ids) != len(lists) or lists.features.shape[1] != len(lists.feature_names):
        raise ValueError("names that do not fit the arrays")
    if lists.scores is not None and len(lists.scores) != rows:
        raise ValueError("scores that do not fit")
