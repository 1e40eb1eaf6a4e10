"""Lattices of Kaldi: Lattice and CompactLattice, text or binary, alone or in archives (``ark``, ``ark,t``).

The two costs of an arc become the features graph (language model, pronunciation and transitions together) and
acoustic, negated. Transition ids and alignments are passed over. A forest is named by its utterance.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import IO, cast

from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.fst_binary import MAGIC, CutOff, parse_fst, parse_header
from hulltune.formats.fst_text import text_forest
from hulltune.formats.numbers import shown
from hulltune.formats.openfst import KALDI_ARCS, fst_forest
from hulltune.formats.streams import BLOCK, blocks, not_utf8, open_bytes
from hulltune.formats.word_rules import SPEECH

_BINARY_MARK = b"\0B"
_KEY = re.compile(rb"[^\s\0]{1,4096}")
_LONGEST_KEY = 4096
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_NUMBER = rb"[-+]?(?:[0-9][-+0-9.eE]*|[iI]nf(?:inity)?)"
_PAIR = _NUMBER + rb"," + _NUMBER
_LINE = re.compile(rb"[0-9]+(?:\s+[0-9]+\s+\S+(?:\s+[0-9]+|\s+\S+)?)?(?:\s+(" + _PAIR + rb")(,[0-9_]*)?)?\s*")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes holds lattices of Kaldi."""
    if head.startswith(MAGIC):
        try:
            return parse_header(head, 0, "").arc_type in KALDI_ARCS
        except (CutOff, InputError):
            return False
    return _fst_after_key(head) is not None or _looks_like_text(head)


def _looks_like_text(head: bytes) -> bool:
    """Whether the first lines are arcs with pairs of costs, below a key or with alignments after the pairs."""
    if b"\0" in head:
        return False
    lines = head.lstrip().split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines
    has_key = len(lines[0].split()) == 1
    found = False
    for line in lines[has_key : 50 + has_key]:
        if not line.strip():
            break
        match = _LINE.fullmatch(line)
        if match is None:
            return False
        found = found or (match[1] is not None and (has_key or match[2] is not None))
    return found


def _fst_after_key(data: bytes, position: int = 0) -> tuple[str, int] | None:
    """The key of the archive entry here and the place of the binary FST after it; None for anything else."""
    key = _KEY.match(data, position)
    if key is None or data[key.end() : key.end() + 1] not in (b" ", b"\t"):
        return None
    place = key.end() + 1
    place += len(_BINARY_MARK) * data.startswith(_BINARY_MARK, place)
    return (key[0].decode("utf-8", errors="replace"), place) if data.startswith(MAGIC, place) else None


def read_kaldi(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The lattices of a file in their order, one at a time: archives may be larger than the memory."""
    with open_bytes(path) as stream:
        head = stream.read(_LONGEST_KEY + 16)
        if not head.strip():
            raise InputError(f"{os.fspath(path)}: the file is empty; expected lattices")
        is_binary = head.startswith((MAGIC, _BINARY_MARK)) or _fst_after_key(head) is not None
        reader = _read_binary if is_binary else _read_text
        yield from reader(stream, head, os.fspath(path), options, vocabulary)


def _read_binary(
    stream: IO[bytes], data: bytes, file: str, options: ForestOptions, vocabulary: Vocabulary
) -> Iterator[NamedForest]:
    position, base, at_end = 0, 0, False
    while not at_end or position < len(data):
        try:
            name, place = _entry(data, position, file, base)
            where = file if name is None else f"{file}: {name}"
            fst = parse_fst(data, place, where, base=base)
        except CutOff:
            if at_end:
                reason = "the file ends within a lattice; is it cut off?"
                raise InputError(f"{file}: byte {base + len(data)}: {reason}") from None
            more = stream.read(max(BLOCK, 2 * len(data)))
            at_end = not more
            data = data[position:] + more
            position, base = 0, base + position
            continue
        yield NamedForest(fst_forest(fst, options, vocabulary, where), name)
        position = fst.end


def _entry(data: bytes, position: int, file: str, base: int) -> tuple[str | None, int]:
    """The key of the lattice that begins here (None if it has none), and the place of its FST."""
    if len(data) - position < len(MAGIC):
        raise CutOff
    if data.startswith(MAGIC, position):
        return None, position
    if data.startswith(_BINARY_MARK, position):
        return None, position + len(_BINARY_MARK)
    found = _fst_after_key(data, position)
    if found is None:
        if len(data) - position < _LONGEST_KEY + 16:
            raise CutOff
        got = shown(data[position : position + 20])
        raise InputError(f"{file}: byte {base + position}: expected an utterance id and an FST after it, got {got}")
    return found


def _read_text(
    stream: IO[bytes], head: bytes, file: str, options: ForestOptions, vocabulary: Vocabulary
) -> Iterator[NamedForest]:
    has_keys: bool | None = None
    for first_line, lines in _pieces(stream, head):
        first = lines[: lines.index(b"\n")].split()
        is_key = len(first) == 1
        if has_keys is None:
            has_keys = is_key
        if is_key != has_keys:
            got = shown(b" ".join(first).decode("utf-8", errors="replace"))
            raise InputError(f"{file}:{first_line}: expected an utterance id after a blank line, got {got}")
        name = None
        if is_key:
            try:
                name = first[0].decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"{file}:{first_line}: {not_utf8(error)}") from None
            lines, first_line = lines[lines.index(b"\n") + 1 :], first_line + 1
        forest = text_forest(
            lines,
            options,
            vocabulary,
            file=file,
            rule=SPEECH,
            kaldi=True,
            first_line=first_line,
            name=name,
        )
        yield NamedForest(forest, name)


def _pieces(stream: IO[bytes], head: bytes) -> Iterator[tuple[int, bytes]]:
    """The pieces between blank lines, each with the number of its first line."""
    line, data, searched = 1, b"\n", 0  # as if after a line end, so that a blank line is found there too
    for block in blocks(cast(IO[bytes], _Rejoined(head, stream))):
        data += block
        while (blank := _BLANK_LINE.search(data, searched)) is not None:
            if (piece := data[1 : blank.start() + 1]).strip():
                yield line, piece
            line += data.count(b"\n", 1, blank.end())
            data, searched = data[blank.end() - 1 :], 0
        searched = max(0, data.rfind(b"\n", 0, len(data) - 1))
    if data.strip():
        yield line, data[1:]


class _Rejoined:
    """A stream whose first bytes, read before, are put back."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int) -> bytes:
        head, self._head = self._head, b""
        return head + self._stream.read(size)
