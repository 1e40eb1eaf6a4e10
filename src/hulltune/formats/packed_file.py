"""The packed file: named arrays as they lie in memory, opened by memory map, with a description in JSON.

Layout: magic, version (u32), length of the description (u64), its CRC-32 (u32), the description in JSON, and then the
arrays, each at a multiple of 64 bytes from the start. All numbers are little-endian. The description of candidate
lists (version 1) has no kind; that of forests (version 2) begins with one.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.formats.streams import open_bytes, written_atomically

T = TypeVar("T")

PACKED_MAGIC = b"HULLTUNE\x00"
VERSION = 2
"""The newest version, and the highest that is read."""
LISTS, FORESTS = "lists", "forests"
VERSION_OF = {LISTS: 1, FORESTS: 2}
_HEADER = struct.Struct("<9sIQI")
_ALIGNMENT = 64
_DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1")


def packed_kind(head: bytes) -> str | None:
    """What is in a packed file that begins like this, or None where this is no packed file."""
    if not head.startswith(PACKED_MAGIC):
        return None
    return FORESTS if head[_HEADER.size :].startswith(b'{"kind": "forests"') else LISTS


def write_packed(
    path: str | os.PathLike[str], kind: str, description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays and their description; the file appears complete or not at all."""
    if sys.byteorder != "little":  # pragma: no cover  # such machines are rare, and no tests run on one
        raise InputError("packed files are little-endian, and this machine is not")
    described, position = {}, 0
    for name, values in arrays.items():
        described[name] = {"dtype": values.dtype.str, "shape": list(values.shape), "at": position}
        position += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
    first = {"kind": kind} if kind != LISTS else {}
    text = json.dumps({**first, "arrays": described, **description, "bytes": position}).encode("ascii")
    with written_atomically(path) as file:
        file.write(_HEADER.pack(PACKED_MAGIC, VERSION_OF[kind], len(text), zlib.crc32(text)))
        file.write(text)
        file.write(bytes(_start_of_arrays(len(text)) - _HEADER.size - len(text)))
        for values in arrays.values():
            # Fortran order: the transpose of a matrix is the contiguous one.
            file.write(np.ascontiguousarray(values.T).data.cast("B") if values.size else b"")
            file.write(bytes(-values.nbytes % _ALIGNMENT))


def open_packed_file(
    path: str | os.PathLike[str], kind: str, build: Callable[[dict[str, Any], dict[str, NDArray[Any]]], T]
) -> T:
    """What ``build`` makes of the description and the arrays, which are memory maps: read when they are needed.
    A pipe, or a file that was compressed, is read at once.

    Checked: magic, version, kind, the description's checksum, sizes. What ``build`` finds wrong becomes an error that
    calls the file damaged.
    """
    name = os.fspath(path)
    memory = _memory(path)
    size = len(memory)
    description, start = _read_description(name, memory, size, kind)
    try:
        return build(description, _arrays(memory, start, description, size))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(f"{name}: a damaged packed file ({type(error).__name__}: {error}); pack it again") from None


def _memory(path: str | os.PathLike[str]) -> mmap.mmap | bytearray:
    """The bytes of a packed file, writable: kernels are then not compiled twice. A file is mapped as copy on write."""
    if os.path.isfile(path):
        try:
            with open(path, "rb") as file:
                if packed_kind(file.read(64)) is not None:
                    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except (OSError, ValueError) as error:
            raise InputError(f"{os.fspath(path)}: cannot be opened ({error})") from None
    with open_bytes(path) as stream:
        return bytearray(stream.read())


def _start_of_arrays(description: int) -> int:
    return -(-(_HEADER.size + description) // _ALIGNMENT) * _ALIGNMENT


def _read_description(name: str, memory: Any, size: int, kind: str) -> tuple[dict[str, Any], int]:
    found = packed_kind(memory[:64])
    if size < _HEADER.size or found is None:
        raise InputError(f"{name}: not a packed file; expected one written by hulltune pack")
    _, version, length, checksum = _HEADER.unpack(memory[: _HEADER.size])
    if version not in VERSION_OF.values():
        raise InputError(f"{name}: packed file of version {version}; this release reads {VERSION}: pack it again")
    if size < _start_of_arrays(length):
        raise InputError(f"{name}: the packed file is cut off ({size} bytes); pack it again")
    text = memory[_HEADER.size : _HEADER.size + length]
    if zlib.crc32(text) != checksum:
        raise InputError(f"{name}: the description of the packed file is damaged; pack it again")
    if found != kind:
        raise InputError(f"{name}: a packed file of {found}; expected one of {kind}")
    if version != VERSION_OF[kind]:
        raise InputError(f"{name}: a damaged packed file (version {version} of {kind}); pack it again")
    description: dict[str, Any] = json.loads(text)
    start = _start_of_arrays(length)
    if size != start + description["bytes"]:
        raise InputError(
            f"{name}: {size} bytes, expected {start + description['bytes']}; the file is cut off or damaged"
        )
    return description, start


def _arrays(memory: Any, start: int, description: dict[str, Any], size: int) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in description["arrays"].items():
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"{name} is {entry['dtype']}")
        shape = tuple(entry["shape"])
        count = int(np.prod(shape, dtype=np.int64))
        if entry["at"] < 0 or start + entry["at"] + count * np.dtype(entry["dtype"]).itemsize > size:
            raise ValueError(f"{name} lies outside the file")
        flat = np.frombuffer(memory, dtype=entry["dtype"], count=count, offset=start + entry["at"])
        arrays[name] = flat.reshape(shape, order="F")
    return arrays


def check_dtypes(arrays: Mapping[str, NDArray[Any]], dtypes: Mapping[str, str]) -> None:
    """Refuse an array of another type than it should have; "" stands for any."""
    for name, dtype in dtypes.items():
        if dtype and name in arrays and arrays[name].dtype.str != dtype:
            raise ValueError(f"{name} is {arrays[name].dtype.str}")


def check_offsets(offsets: NDArray[Any], end: int) -> None:
    """Refuse what does not go from 0 to ``end`` without falling."""
    if offsets.ndim != 1 or offsets[0] != 0 or offsets[-1] != end or np.any(offsets[1:] < offsets[:-1]):
        raise ValueError("offsets that do not fit")
