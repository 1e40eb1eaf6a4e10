"""The data of pages, read as their scripts do."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def decoded(block: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a block."""
    data = zlib.decompress(base64.b64decode(block))
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length].decode())
    place, arrays = 4 + length, {}
    for table in header.pop("arrays"):
        kind = np.dtype(table["type"])
        size = table["count"] * kind.itemsize
        planes = np.frombuffer(data, np.uint8, size, place).reshape(kind.itemsize, table["count"])
        values = np.ascontiguousarray(planes.T).reshape(-1).view(kind.newbyteorder("<")).astype(kind)
        if table["delta"]:
            values = np.cumsum(values.view(np.int32), dtype=np.int32).view(kind)
        arrays[table["name"]] = values
        place += size
    return header, arrays
