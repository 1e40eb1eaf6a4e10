"""Symbol tables: the words behind the numbers of OpenFst and Kaldi files, as text (words.txt) or binary."""

from __future__ import annotations

import functools
import os
import re
import struct
from collections.abc import Mapping

from hulltune.errors import InputError
from hulltune.formats.forest_files import Path, SourceText
from hulltune.formats.numbers import shown
from hulltune.formats.streams import BYTE_ORDER_MARK, not_utf8, open_bytes

_BLANKS = re.compile(r"[ \t\r]+")
MAGIC = struct.pack("<i", 2125658996)


def read_symbols(path: Path) -> Mapping[int, str]:
    """The words of a file by their numbers: lines ``word number``, or a binary table of OpenFst.

    The last few files are cached, as every lattice of a folder asks for the same one.
    """
    try:
        status = os.stat(path)
    except OSError:
        status = None  # open_bytes raises the proper message
    stamp = (0, 0) if status is None else (status.st_mtime_ns, status.st_size)
    return _read(os.fspath(path), stamp)


@functools.lru_cache(maxsize=4)
def _read(file: str, stamp: tuple[int, int]) -> Mapping[int, str]:
    with open_bytes(file) as stream:
        data = stream.read()
    if data.startswith(MAGIC):
        try:
            symbols, end = parse_binary_symbols(data, 0, file)
        except IndexError:
            raise InputError(
                f"{file}: byte {len(data)}: the file ends within the symbol table; is it cut off?"
            ) from None
        if end != len(data):
            raise InputError(f"{file}: {len(data) - end} bytes after the end of the symbol table")
        return symbols
    return _parse_text(SourceText(file, data.removeprefix(BYTE_ORDER_MARK)))


def _parse_text(source: SourceText) -> Mapping[int, str]:
    file, text = source.file, source.text(0, source.data)
    symbols: dict[int, str] = {}
    for number, line_text in enumerate(text.split("\n"), 1):
        fields = _BLANKS.split(line_text.strip(" \t\r"))  # other blanks may be part of a word
        if fields == [""]:
            continue
        key = fields[1] if len(fields) == 2 else ""
        if not (key.isascii() and key.removeprefix("-").isdigit() and len(key) <= 18):
            raise InputError(f"{file}:{number}: expected a word and its number, got {shown(line_text)}")
        value = int(key)
        if symbols.setdefault(value, fields[0]) != fields[0]:
            raise InputError(f"{file}:{number}: the number {value} is that of {symbols[value]!r} already")
    if not symbols:
        raise InputError(f"{file}: the symbol table is empty; expected lines of a word and its number")
    return symbols


def parse_binary_symbols(data: bytes, position: int, where: str, *, base: int = 0) -> tuple[dict[int, str], int]:
    """The table at ``position`` of ``data``, which begins at byte ``base`` of the file, and the position after it.

    IndexError if the bytes end within the table.
    """
    if data[position : position + 4] != MAGIC and len(data) >= position + 4:
        raise InputError(f"{where}: byte {base + position}: expected a symbol table here, as the header says")
    _, position = _string(data, position + 4, where, base)
    _, position = _integer(data, position, 8)
    count, position = _integer(data, position, 8)
    symbols: dict[int, str] = {}
    for _ in range(count):
        raw, position = _string(data, position, where, base)
        key, position = _integer(data, position, 8)
        try:
            symbols[key] = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: symbol {key}: {not_utf8(error)}") from None
    return symbols, position


def _integer(data: bytes, position: int, size: int) -> tuple[int, int]:
    if position + size > len(data):
        raise IndexError(position)
    return int.from_bytes(data[position : position + size], "little", signed=True), position + size


def _string(data: bytes, position: int, where: str, base: int) -> tuple[bytes, int]:
    length, position = _integer(data, position, 4)
    if length < 0:
        raise InputError(f"{where}: byte {base + position - 4}: a text of {length} bytes; the file is damaged")
    if position + length > len(data):
        raise IndexError(position)
    return data[position : position + length], position + length


SPECIAL = range(999_999_991, 1_000_000_000)
"""The labels that HiFST gives to its own marks (of rules, deletions, unknown words): no words."""


def is_word(label: int, symbols: Mapping[int, str] | None) -> bool:
    """Whether a label is a word by its number: not epsilon (0), and no mark of HiFST, unless the table has it."""
    return label != 0 and (label not in SPECIAL or (symbols is not None and label in symbols))


def words_of(labels: list[int], symbols: Mapping[int, str] | None, where: str) -> list[str]:
    """The words of labels, or the numbers themselves without a table."""
    if symbols is None:
        return [str(label) for label in labels]
    try:
        return [symbols[label] for label in labels]
    except KeyError as error:
        least, most = min(symbols), max(symbols)
        raise InputError(
            f"{where}: label {error.args[0]} is not in the symbol table, which has {len(symbols)} words numbered "
            f"{least} to {most}; is it the table of this model?"
        ) from None
