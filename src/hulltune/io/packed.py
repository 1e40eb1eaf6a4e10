"""The packed cache file: candidate lists as they lie in memory, opened by memory map without reading them.

Layout: magic, version (u32), length of the description (u64), its CRC-32 (u32), the description in JSON, and then the
arrays, each at a multiple of 64 bytes from the start. All numbers are little-endian.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.io.candidates import CandidateLists, Provenance
from hulltune.io.problems import Skipped
from hulltune.io.sniff import PACKED_MAGIC
from hulltune.io.streams import written_atomically

VERSION = 1
_HEADER = struct.Struct("<9sIQI")
_ALIGNMENT = 64
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1")
_ARRAYS = {
    "offsets": "<i8", "text_bytes": "|u1", "text_offsets": "<i8", "ranks": "<i4", "copies": "<i4", "scores": "<f8",
    "features": "",
}  # fmt: skip


def pack(lists: CandidateLists, path: str | os.PathLike[str]) -> None:
    """Write lists as a packed file; it appears complete or not at all."""
    if sys.byteorder != "little":  # pragma: no cover
        raise InputError("packed files are little-endian, and this machine is not")
    arrays = {name: getattr(lists, name) for name in _ARRAYS if getattr(lists, name) is not None}
    described, position = {}, 0
    for name, values in arrays.items():
        described[name] = {"dtype": values.dtype.str, "shape": list(values.shape), "at": position}
        position += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
    description = {
        "arrays": described,
        "ids": len(lists.ids) if isinstance(lists.ids, range) else list(lists.ids),
        "feature_names": list(lists.feature_names),
        "references": lists.references,
        "sources": lists.sources,
        "omitted": dict(lists.omitted),
        "skipped": [[fault.file, fault.line, fault.reason] for fault in lists.skipped],
        "provenance": [[origin.file, origin.format] for origin in lists.provenance],
        "bytes": position,
    }
    text = json.dumps(description).encode("ascii")
    with written_atomically(path) as file:
        file.write(_HEADER.pack(PACKED_MAGIC, VERSION, len(text), zlib.crc32(text)))
        file.write(text)
        file.write(bytes(_start_of_arrays(len(text)) - _HEADER.size - len(text)))
        for values in arrays.values():
            # Fortran order: the transpose of the features is the contiguous one.
            file.write(np.ascontiguousarray(values.T).data.cast("B") if values.size else b"")
            file.write(bytes(-values.nbytes % _ALIGNMENT))


def _start_of_arrays(description: int) -> int:
    return -(-(_HEADER.size + description) // _ALIGNMENT) * _ALIGNMENT


def open_packed(path: str | os.PathLike[str]) -> CandidateLists:
    """Open a packed file by memory map: its pages are read when they are needed.

    Checked: magic, version, the description's checksum, sizes, and that the offsets are offsets. O(rows) for the last.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            # Copy on write: the arrays count as writable, so that kernels are not compiled twice, and the file is safe.
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if size else b""
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: cannot be opened ({error})") from None
    description, start = _read_description(name, memory, size)
    try:
        return _lists(memory, start, description, size)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(f"{name}: a damaged packed file ({type(error).__name__}: {error}); pack it again") from None


def _read_description(name: str, memory: Any, size: int) -> tuple[dict[str, Any], int]:
    if size < _HEADER.size or memory[: len(PACKED_MAGIC)] != PACKED_MAGIC:
        raise InputError(f"{name}: not a packed file; expected one written by hulltune pack")
    _, version, length, checksum = _HEADER.unpack(memory[: _HEADER.size])
    if version != VERSION:
        raise InputError(f"{name}: packed file of version {version}; this release reads {VERSION}: pack it again")
    if size < _start_of_arrays(length):
        raise InputError(f"{name}: the packed file is cut off ({size} bytes); pack it again")
    text = memory[_HEADER.size : _HEADER.size + length]
    if zlib.crc32(text) != checksum:
        raise InputError(f"{name}: the description of the packed file is damaged; pack it again")
    description = json.loads(text)
    start = _start_of_arrays(length)
    if size != start + description["bytes"]:
        raise InputError(
            f"{name}: {size} bytes, expected {start + description['bytes']}; the file is cut off or damaged"
        )
    return description, start


def _lists(memory: Any, start: int, description: dict[str, Any], size: int) -> CandidateLists:
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype in _ARRAYS.items():
        if name not in description["arrays"] and name == "scores":
            continue
        entry = description["arrays"][name]
        if entry["dtype"] not in _DTYPES or (dtype and entry["dtype"] != dtype):
            raise ValueError(f"{name} is {entry['dtype']}")
        shape = tuple(entry["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        if entry["at"] < 0 or start + entry["at"] + count * np.dtype(entry["dtype"]).itemsize > size:
            raise ValueError(f"{name} lies outside the file")
        flat = np.frombuffer(memory, dtype=entry["dtype"], count=count, offset=start + entry["at"])
        arrays[name] = flat.reshape(shape, order="F")
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
        **arrays,
    )
    _check(lists)
    return lists


def _check(lists: CandidateLists) -> None:
    rows = lists.features.shape[0]
    for offsets, end in ((lists.offsets, rows), (lists.text_offsets, len(lists.text_bytes))):
        if offsets[0] != 0 or offsets[-1] != end or np.any(offsets[1:] < offsets[:-1]):
            raise ValueError("offsets that do not fit")
    if not len(lists.text_offsets) - 1 == len(lists.ranks) == len(lists.copies) == rows:
        raise ValueError("arrays of different lengths")
    if len(lists.ids) != len(lists) or lists.features.shape[1] != len(lists.feature_names):
        raise ValueError("names that do not fit the arrays")
    if lists.scores is not None and len(lists.scores) != rows:
        raise ValueError("scores that do not fit")
