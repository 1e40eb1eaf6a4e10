"""What every reader of forests takes and returns, and the text of a file with places for messages."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.streams import BYTE_ORDER_MARK, blocks, not_utf8, open_bytes

Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class NamedForest:
    """A forest of a file, and its name there (an utterance id, a sentence number), if the format has one.

    Feature names may differ from forest to forest; a corpus has their union.
    """

    forest: Forest
    name: str | None = None
    model: Mapping[str, float] | None = field(default=None, repr=False)
    """The weights by which the decoder ranked, where the file has them (the scales in a header of SLF)."""
    notes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the caller should know of the file, each with an example."""


@dataclass(frozen=True)
class ForestOptions:
    """Options for reading forests. None stands for the convention of the format (docs/formats.md)."""

    negate: bool | frozenset[str] | None = None
    """The features that change their sign (costs become scores): all, none, or those named."""
    drop: frozenset[str] | None = None
    """Words that are not output: marks of sentence ends, silence, fillers, epsilon."""
    symbols: Path | None = None
    """A table of words, for formats that may have numbers in their place."""


ForestReader = Callable[[Path, ForestOptions, Vocabulary], Iterator[NamedForest]]
"""A function that reads the forests of a file in order and numbers their words in the vocabulary."""

HUGE = 10**15
"""The number in the place of any larger one: Python refuses to make integers of thousands of digits."""
_TOKENS = re.compile(rb"[^ \t\r]+").findall


@dataclass(frozen=True, eq=False)
class SourceText:
    """Whole lines of a file, the last one with its line end; the first one has number ``first_line``.

    A place is the number of bytes before it.
    """

    file: str
    data: bytes
    first_line: int = 1

    @staticmethod
    def read(path: Path) -> SourceText:
        """The text of a whole file, without a byte order mark."""
        with open_bytes(path) as stream:
            data = stream.read()
        if data.startswith(BYTE_ORDER_MARK):
            data = data[len(BYTE_ORDER_MARK) :]
        return SourceText(os.fspath(path), data if data.endswith(b"\n") else data + b"\n")

    @staticmethod
    def read_by_line(path: Path) -> Iterator[SourceText]:
        """The lines of a file one by one; only a block of the file is in memory."""
        number = 0
        with open_bytes(path) as stream:
            for block in blocks(stream):
                for line in block[:-1].split(b"\n"):
                    number += 1
                    yield SourceText(os.fspath(path), line + b"\n", number)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines without their ends, each with its place."""
        start = 0
        while start < len(self.data):
            end = self.data.index(b"\n", start)
            yield start, self.data[start:end]
            start = end + 1

    @cached_property
    def split(self) -> Callable[[bytes], list[bytes]]:
        """The function that splits a line at spaces, tabs and \\r. Other white space is part of words."""
        return _TOKENS if b"\x0b" in self.data or b"\x0c" in self.data else bytes.split

    @cached_property
    def has_underscores(self) -> bool:
        """Whether there may be one in a number."""
        return b"_" in self.data

    def at(self, place: int) -> str:
        """``file:line`` of a place; linear, so for messages only."""
        line = self.first_line + self.data.count(b"\n", 0, min(place, len(self.data) - 1))
        return f"{self.file}:{line}"

    def fault(self, place: int, reason: str) -> InputError:
        """The error for a fault at this place."""
        return InputError(f"{self.at(place)}: {reason}")

    def fault_of_line(self, line: int, reason: str) -> InputError:
        """The error for a fault in the line with this number."""
        return InputError(f"{self.file}:{line}: {reason}")

    def line_at(self, place: int) -> str:
        """The text of the line that begins at this place, without blanks around it."""
        return self.text(place, self.data[place : self.data.index(b"\n", place)]).strip()

    def check_utf8(self) -> None:
        """Refuse bytes that are not UTF-8."""
        if not self.data.isascii():
            self.text(0, self.data)

    def text(self, place: int, data: bytes) -> str:
        """The text of these bytes, which stand at this place or on its line."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fault(place + error.start, not_utf8(error)) from None


def whole_number(digits: bytes) -> int:
    """The number that decimal digits spell, at most HUGE."""
    return int(digits) if len(digits) <= 15 else min(int(digits.lstrip(b"0")[:17] or b"0"), HUGE)
