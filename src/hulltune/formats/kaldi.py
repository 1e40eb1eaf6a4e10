"""Lattices of Kaldi: Lattice and CompactLattice, text or binary, alone, in archives (``ark``, ``ark,t``) or in lists of
places in them (``scp``). Archives of plain FSTs are read like those of OpenFst: one cost, the feature score.

The two costs of an arc become the features graph (language model, pronunciation and transitions together) and
acoustic, negated. Transition ids and alignments are passed over. A forest is named by its utterance.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path as FilePath
from typing import IO

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path, SourceText
from hulltune.formats.fst_binary import MAGIC, SINGLE, CutOff, parse_fst, parse_header
from hulltune.formats.fst_text import text_forest
from hulltune.formats.numbers import shown
from hulltune.formats.openfst import KALDI_ARCS, fst_forest
from hulltune.formats.streams import BLOCK, BYTE_ORDER_MARK, Source, blocks, not_utf8, open_bytes_at
from hulltune.formats.word_rules import MARKS, SPEECH

_BINARY_MARK = b"\0B"
_LONGEST_KEY = 4096
_KEYED = re.compile(rb"([^\s\0][^\n\r\0]{0,4095}?)[ \t](?:\0B)?(?=" + re.escape(MAGIC) + rb")")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_NUMBER = rb"[-+]?(?:[0-9][-+0-9.eE]*|[iI]nf(?:inity)?)"
_WEIGHT = re.compile(_NUMBER + rb"(," + _NUMBER + rb"(,[0-9_]*)?)?")
_PAIR = re.compile(rb"[ \t]" + _NUMBER + rb"," + _NUMBER + rb"(?:,[0-9_]*)?[ \t\r]*$", re.MULTILINE)
_LISTED_STEP = 1 << 16
"""The bytes of an archive that are read at first for one lattice of a list."""
_MOST_LINES = 50
"""The lines that are looked at to recognise a file."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes holds lattices of Kaldi."""
    if head.startswith(MAGIC):
        try:
            return parse_header(head, 0, "").arc_type in KALDI_ARCS
        except (CutOff, InputError):
            return False
    return _fst_after_key(head) is not None or _looks_like_text(head)


def _looks_like_text(head: bytes) -> bool:
    """Whether the first lines are arcs: below a key, or with alignments after pairs of costs."""
    if b"\0" in head:
        return False
    lines = head.removeprefix(BYTE_ORDER_MARK).lstrip().split(b"\n", _MOST_LINES + 2)
    lines = lines[:-1] if len(lines) > 1 else lines
    has_key = is_key(lines[0], lines[1] if len(lines) > 1 else b"")
    pairs, alignments, arcs = False, False, False
    for line in lines[has_key : _MOST_LINES + has_key]:
        fields = line.split()
        if not fields:
            break
        if not _is_line(fields):
            return False
        arcs = arcs or len(fields) > 2
        weight = _WEIGHT.fullmatch(fields[-1]) if len(fields) in (2, 4, 5) else None
        pairs = pairs or (weight is not None and weight[1] is not None)
        alignments = alignments or (weight is not None and weight[2] is not None)
    # Without pairs, columns of numbers below a number are no archive, unless a blank ends the key as Kaldi writes it.
    key = lines[0].rstrip(b"\r\n")
    clearly_key = has_key and (key.endswith((b" ", b"\t")) or (len(key.split()) == 1 and not key.isdigit()))
    return alignments or (has_key and pairs) or (clearly_key and arcs)


def is_key(line: bytes, following: bytes) -> bool:
    """Whether the first line of a lattice is its key: one word, or no arc or state, or with a blank at its end, as
    Kaldi writes it, while the line after it has none.
    """
    fields = line.split()
    if len(fields) <= 1 or not _is_line(fields):
        return bool(fields)
    return line.rstrip(b"\r").endswith(b" ") and not following.rstrip(b"\r").endswith((b" ", b"\t"))


def _is_line(fields: list[bytes]) -> bool:
    """Whether these fields are an arc or a final state."""
    count = len(fields)
    if not fields[0].isdigit() or count > 5 or (count > 2 and not fields[1].isdigit()):
        return False
    return count in (1, 3, 4) or _WEIGHT.fullmatch(fields[-1]) is not None


def _fst_after_key(data: bytes, position: int = 0) -> tuple[str, int] | None:
    """The key of the archive entry here and the place of the binary FST after it; None for anything else."""
    key = _KEYED.match(data, position)
    return None if key is None else (key[1].strip().decode("utf-8", errors="replace"), key.end())


def read_kaldi(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The lattices of a file in their order, one at a time: archives may be larger than the memory.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> from hulltune.formats.kaldi import read_kaldi
    >>> text = '''u1
    ... 0 1 hello 4.5,-120.25,3_5_5
    ... 0 1 yellow 3.25,-118.5,3_4
    ... 1 0.5,0,
    ...
    ... '''
    >>> _ = Path("lat.1.txt").write_text(text)
    >>> (named,) = read_kaldi(Path("lat.1.txt"), ForestOptions(), Vocabulary())
    >>> named.name, decode(named.forest, {"graph": 1.0, "acoustic": 0.1}).outputs()
    ('u1', [['yellow']])
    """
    source = path if isinstance(path, Source) else Source(path)
    head = source.head(_LONGEST_KEY + 16)
    if not head.strip():
        raise InputError(f"{source.name}: the file is empty; expected lattices")
    listed = FilePath(path).suffix == LIST_SUFFIX or looks_like_list(head)
    reader = _read_listed if listed else _read_binary if _is_binary(head) else partial(_read_text, head=head)
    with source.opened() as stream:
        yield from reader(stream, source.name, options, vocabulary)


def _is_binary(head: bytes) -> bool:
    return head.startswith((MAGIC, _BINARY_MARK)) or _fst_after_key(head) is not None


def _read_binary(
    stream: IO[bytes],
    file: str,
    options: ForestOptions,
    vocabulary: Vocabulary,
    *,
    base: int = 0,
    step: int = BLOCK,
) -> Iterator[NamedForest]:
    """The lattices of bytes that begin at byte ``base`` of the file, of which ``step`` are read at first."""
    data, position, at_end = b"", 0, False
    while not at_end or position < len(data):
        try:
            name, place = _entry(data, position, file, base)
            where = file if name is None else f"{file}: {name}"
            fst = parse_fst(data, place, where, base=base)
        except CutOff:
            if at_end:
                reason = "the file ends within a lattice; is it cut off?"
                raise InputError(f"{file}: byte {base + len(data)}: {reason}") from None
            more = stream.read(max(step, 2 * len(data)))
            at_end = not more
            data = data[position:] + more
            position, base = 0, base + position
            continue
        yield _named(fst_forest(fst, options, vocabulary, where), name)
        position = fst.end


def _named(forest: Forest, name: str | None) -> NamedForest:
    """A forest and its key; the score of a plain FST is that of the decoder."""
    return NamedForest(forest, name, dict.fromkeys(SINGLE, 1.0) if forest.feature_names == SINGLE else None)


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
    stream: IO[bytes],
    file: str,
    options: ForestOptions,
    vocabulary: Vocabulary,
    *,
    head: bytes,
    has_keys: bool | None = None,
) -> Iterator[NamedForest]:
    """The lattices of lines, with or without keys; the first line tells if None does. Of the first bytes, ``head``, a
    single pair of costs tells that all weights are pairs.
    """
    has_pairs = _PAIR.search(head) is not None
    for first_line, lines in _pieces(stream):
        first, _, rest = lines.partition(b"\n")
        has_key = has_keys is not False and is_key(first, rest.partition(b"\n")[0])
        if has_keys is None:
            has_keys = has_key
            has_pairs = has_pairs or not has_keys
        if has_key != has_keys:
            got = shown(first.strip().decode("utf-8", errors="replace"))
            raise InputError(f"{file}:{first_line}: expected an utterance id after a blank line, got {got}")
        has_pairs = has_pairs or _PAIR.search(lines) is not None
        name = None
        if has_key:
            try:
                name = first.strip().decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"{file}:{first_line}: {not_utf8(error)}") from None
            lines, first_line = rest, first_line + 1
        source = SourceText(file, lines if lines.endswith(b"\n") else lines + b"\n", first_line)
        rule = SPEECH if has_pairs else MARKS
        forest = text_forest(source, options, vocabulary, rule=rule, kaldi=has_pairs, name=name)
        yield _named(forest, name)


LIST_SUFFIX = ".scp"
_LISTED = re.compile(rb"(\S+)[ \t]+(\S.*?)(?::([0-9]{1,18}))?[ \t\r]*")
_PLACED = re.compile(rb"\S+[ \t]+\S*[^0-9:\s]\S*:[0-9]{1,18}[ \t\r]*")


def looks_like_list(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a list of places in archives: lines ``key archive:offset``."""
    lines = [line for line in head.split(b"\n")[: -1 if head.count(b"\n") else None] if line.strip()]
    return b"\0" not in head and bool(lines) and all(_PLACED.fullmatch(line) for line in lines)


def _read_listed(stream: IO[bytes], file: str, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The lattices that the lines of an scp file name: ``key file``, or ``key archive:offset``."""
    keys: set[str] = set()
    for number, line in enumerate(stream.read().removeprefix(BYTE_ORDER_MARK).split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{file}:{number}"
        match = _LISTED.fullmatch(line.strip())
        if match is None:
            got = shown(line.strip().decode("utf-8", errors="replace"))
            raise InputError(f"{where}: got {got}; expected 'key file' or 'key archive:offset'")
        try:
            key, target = match[1].decode("utf-8"), match[2].decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{where}: {not_utf8(error)}") from None
        if key in keys:
            raise InputError(f"{where}: {key!r} again; expected every utterance once")
        keys.add(key)
        if target.endswith(("|", "]")):
            what = "a command" if target.endswith("|") else "a range"
            hint = "write the lattices to an archive first (lattice-copy scp:… ark:lat.ark)"
            raise InputError(f"{where}: {what}, {shown(target)}, which hulltune does not run; {hint}")
        found = target if os.path.exists(target) else os.path.join(os.path.dirname(file), target)
        if not os.path.exists(found):
            raise InputError(f"{where}: {target}: no such file, neither here nor beside {file}")
        forest = _listed(found, None if match[3] is None else int(match[3]), options, vocabulary, where)
        yield NamedForest(forest.forest, key, forest.model)
    if not keys:
        raise InputError(f"{file}: the file is empty; expected lines 'key file' or 'key archive:offset'")


def _listed(target: str, offset: int | None, options: ForestOptions, vocabulary: Vocabulary, where: str) -> NamedForest:
    """The lattice at an offset of an archive, or the only one of a file."""
    if offset is None:
        source = Source(target)
        head = source.head(_LISTED_STEP)
        if FilePath(target).suffix == LIST_SUFFIX or looks_like_list(head):
            raise InputError(f"{where}: {target} is a list itself; expected a lattice")
        reader = _read_binary if _is_binary(head) else partial(_read_text, head=head)
        with source.opened() as stream:
            forests = list(islice(reader(stream, target, options, vocabulary), 2))
        if len(forests) != 1:
            several = "several lattices" if forests else "no lattice"
            raise InputError(f"{where}: {target} has {several}; expected one, or an offset (archive:offset)")
        return forests[0]
    with open_bytes_at(target, offset) as stream:
        head = stream.peek()
        if head.startswith((MAGIC, _BINARY_MARK)):
            return next(_read_binary(stream, target, options, vocabulary, base=offset, step=_LISTED_STEP))
        if head.split(b"\n", 1)[0].strip():  # Kaldi ends the line of the key before a lattice as text
            got = shown(head[:20])
            raise InputError(f"{where}: {target}: byte {offset}: expected a lattice there, got {got}")
        try:
            part = f"{target} (from byte {offset} on)"
            return next(_read_text(stream, part, options, vocabulary, head=head, has_keys=False))
        except StopIteration:
            raise InputError(f"{where}: {target}: byte {offset}: expected a lattice there, got nothing") from None


def _pieces(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The pieces between blank lines, each with the number of its first line."""
    line, data, searched = 1, b"\n", 0  # as if after a line end, so that a blank line is found there too
    for block in blocks(stream):
        data += block
        while (blank := _BLANK_LINE.search(data, searched)) is not None:
            if (piece := data[1 : blank.start() + 1]).strip():
                yield line, piece
            line += data.count(b"\n", 1, blank.end())
            data, searched = data[blank.end() - 1 :], 0
        searched = max(0, data.rfind(b"\n", 0, len(data) - 1))
    if data.strip():
        yield line, data[1:]
