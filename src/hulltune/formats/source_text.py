"""The bytes of a text file that a kernel reads, and how places in it are named in messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.formats.forest_files import Path
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.streams import BYTE_ORDER_MARK, blocks, not_utf8, open_bytes

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SourceText:
    """Whole lines of a file, the last one with its line end; the first one has number ``first_line``."""

    file: str
    data: bytes
    first_line: int = 1

    @staticmethod
    def read(path: Path) -> SourceText:
        """All of a file, without a byte order mark."""
        with open_bytes(path) as stream:
            data = stream.read()
        if data.startswith(BYTE_ORDER_MARK):
            data = data[len(BYTE_ORDER_MARK) :]
        return SourceText(os.fspath(path), data if data.endswith(b"\n") else data + b"\n")

    @staticmethod
    def lines(path: Path) -> Iterator[SourceText]:
        """The lines of a file one by one, so that no more than a part of it is kept."""
        number = 0
        with open_bytes(path) as stream:
            for block in blocks(stream):
                start = 0
                while start < len(block):
                    end = block.index(b"\n", start) + 1
                    number += 1
                    yield SourceText(os.fspath(path), block[start:end], number)
                    start = end

    @cached_property
    def array(self) -> NDArray[np.uint8]:
        """The bytes as a kernel takes them."""
        return np.frombuffer(self.data, dtype=np.uint8)

    def at(self, position: int) -> str:
        """``file:line`` of a place; linear, so for messages only."""
        line = self.first_line + self.data.count(b"\n", 0, min(position, len(self.data) - 1))
        return f"{self.file}:{line}"

    def fault(self, position: int, reason: str) -> InputError:
        """The error for something at this place."""
        return InputError(f"{self.at(position)}: {reason}")

    def text(self, start: int, stop: int) -> str:
        """A stretch as text, checked to be UTF-8."""
        try:
            return self.data[start:stop].decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fault(start + error.start, not_utf8(error)) from None

    def texts(self, places: Integers) -> list[str]:
        """The distinct texts that a kernel found: rows of (start, stop, hash). None has a line end in it."""
        if not len(places):
            return []
        data, starts, stops = self.data, places[:, 0].tolist(), places[:, 1].tolist()
        try:
            return b"\n".join([data[i:j] for i, j in zip(starts, stops, strict=True)]).decode("utf-8").split("\n")
        except UnicodeDecodeError:
            return list(map(self.text, starts, stops))  # says which

    def line(self, position: int) -> str:
        """The line that begins at this place, without blanks at its ends."""
        return self.text(position, self.data.index(b"\n", position)).strip()

    def settle(self, pending: Integers, values: NDArray[np.float64], names: list[str]) -> None:
        """Let Python read the numbers that a kernel would not: rows of (index, start, stop, feature)."""
        rows: Any = pending.tolist()
        for index, start, stop, feature in rows:
            token = self.text(start, stop)
            value = plain_number(token)
            if value is None or not np.isfinite(value):
                raise self.fault(start, f"feature {names[feature]!r} is {shown(token)}; expected a finite number")
            values[index] = value
