"""Arrays that grow at the end without ever being there twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """Numbers of one type, appended in pieces; O(1) each on average.

    The memory is that of a bytearray, which large allocators extend in place: no list of pieces that is joined at the
    end, when pieces and whole would both be there.
    """

    def __init__(self, dtype: Any) -> None:
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes) // int(self._dtype.itemsize)

    def append(self, values: NDArray[Any]) -> None:
        """Add values of the array's type."""
        assert values.dtype == self._dtype
        self._bytes += np.ascontiguousarray(values).data.cast("B") if len(values) else b""

    def take(self) -> NDArray[Any]:
        """All values, without a copy; the growing array is empty afterwards."""
        memory, self._bytes = self._bytes, bytearray()
        return np.frombuffer(memory, dtype=self._dtype) if memory else np.zeros(0, dtype=self._dtype)

    def pop(self, count: int) -> NDArray[Any]:
        """The last ``count`` values, which leave the array; its memory shrinks as it empties."""
        size = count * self._dtype.itemsize
        values = np.frombuffer(bytes(self._bytes[len(self._bytes) - size :]), dtype=self._dtype) if size else None
        del self._bytes[len(self._bytes) - size :]
        return np.zeros(0, dtype=self._dtype) if values is None else values
