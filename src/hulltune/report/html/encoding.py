"""Blocks of data in a page: a header in JSON and typed arrays, deflated together and written in base64.

The script ``data.js`` reads them in the browser. A block is the length of its header (four
bytes, little-endian), the header, and the arrays end to end.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = ("uint8", "uint16", "uint32", "int32", "float32", "float64")
"""The types of arrays that browsers have."""
LEVEL = 9
"""The level of compression: pages are written once, and sent and opened often."""


def encoded(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A block as base64. Whole numbers of 32 bits are written as differences, and all wider numbers byte plane by byte
    plane: both deflate far better, as neighbours are alike.
    """
    tables, parts = [], []
    for name, array in arrays.items():
        if array.dtype.name not in TYPES:
            raise TypeError(f"array {name!r}: expected one of {', '.join(TYPES)}, got {array.dtype}")
        flat = np.ascontiguousarray(array).reshape(-1)
        is_delta = flat.dtype.name in ("int32", "uint32")
        if is_delta:
            flat = np.diff(flat.view(np.int32), prepend=np.int32(0)).astype(np.int32)  # wraps around, and back again
        data = flat.astype(flat.dtype.newbyteorder("<")).view(np.uint8)
        parts.append(np.ascontiguousarray(data.reshape(len(flat), array.itemsize).T).tobytes())
        tables.append({"name": name, "type": array.dtype.name, "count": len(flat), "delta": is_delta})
    text = json.dumps({**header, "arrays": tables}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A half of a surrogate pair, which a broken file may have, becomes a question mark.
    head = text.encode("utf-8", errors="replace")
    return base64.b64encode(zlib.compress(struct.pack("<I", len(head)) + head + b"".join(parts), LEVEL)).decode()
