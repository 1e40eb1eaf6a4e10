"""Moses n-best lists: ``id ||| text ||| features [||| score [||| anything]]``, one hypothesis a line.

Features are written ``name= v v v`` (dense: Moses, Marian; several values become name_0, name_1, …) or ``name=v``
(sparse: cdec, Travatar, Joshua; a name left out means 0), also both on one line. The alignments and word scores that
Marian writes between text and features (``--alignment``, ``--word-scores``) are passed over. A kernel reads the lines
whose features were there before; this module reads the others, and finds their faults.
"""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import TAKE_AS_0, Rows, offsets_of, written_features
from hulltune.formats.streams import LineError, Problems, blocks, first_line, not_utf8, open_bytes
from hulltune.formats.writing import written_atomically
from hulltune.wording import counted

EXPECTED = "expected 'id ||| text ||| features ||| score'"
UNNAMED = b"feature"
"""The name of values without a name."""
_tokens = re.compile(rb"[^ \t\r]+").findall
_BLANKS = b" \t\r"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a Moses list."""
    first = first_line(head)
    return "|||" in first and not first.lstrip().startswith("{")


_PASSED_OVER = re.compile(
    rb"\s*(?:Word(?:Scores|Counts)=.*|(?:[0-9]+-[0-9]+\s*)*|(?:[-+.0-9eE]+(?:,[-+.0-9eE]+)+\s*)+)", re.DOTALL
)
"""What Marian writes between text and features: counts, alignments (hard ``0-1`` or soft ``0.9,0.1``), word scores."""


def _further_fields(first: bytes) -> re.Pattern[bytes] | None:
    """A pattern of lines that have further fields between text and features, like this first line of a file; its
    groups are what is before them and after them. None where the line has no such fields, as in most lists.
    """
    fields = first.split(b"|||")[2:]
    count = next((k for k, field in enumerate(fields) if not _PASSED_OVER.fullmatch(field)), len(fields))
    if not 0 < count < len(fields) or b"=" not in fields[count]:
        return None
    field = rb"(?:(?!\|\|\|)[^\n])*"
    return re.compile(rb"^(%b\|\|\|%b)(?:\|\|\|%b){%d}(\|\|\|.*)$" % (field, field, field, count), re.MULTILINE)


def _has_no_id(fields: Sequence[bytes]) -> bool:
    """Whether the three fields of a line are a text, its features and its score: what stands for an id is the text."""
    if len(fields) != 3 or not _NUMBER.fullmatch(fields[2]) or not fields[1]:
        return False
    # Of one word before and "x=5" after it, that may be the text: the answer to an equation.
    words, tokens = fields[0].split(), fields[1].split()
    surely = len(words) > 1 or (len(tokens) > 1 and any(b"=" in token for token in tokens))
    return surely and all(_FEATURE.fullmatch(token) for token in tokens)


_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_FEATURE = re.compile(rb"(?:[^\s=]+=)?%b|[^\s=]+=" % _NUMBER.pattern)


# Lines.


class _Entry(NamedTuple):
    """A feature of a line: its name, how many values it has there, and how it is written."""

    name: bytes
    size: int
    mark: int
    """The byte after the name, ``=`` or ``:``; 0 for values without a name."""
    is_dense: bool


class _Line(NamedTuple):
    """A hypothesis: its id, its text, its features and their values in one sequence, and its score."""

    id: bytes
    text: bytes
    entries: tuple[_Entry, ...]
    values: list[float]
    score: float | None


def _entries(field: bytes) -> tuple[tuple[_Entry, ...], list[bytes]]:
    """The features of a line, and the tokens of their values."""
    found: dict[bytes, _Entry] = {}
    values: list[bytes] = []
    name, mark, first, is_dense = b"", 0, 0, False  # of the feature that further values belong to

    def close() -> None:
        if is_dense:
            if first == len(values):
                raise LineError(f"feature {name.decode()!r} has no value")
            found[name] = _Entry(name, len(values) - first, mark, True)

    for token in _tokens(field):
        stem, equals, value = token.rpartition(b"=")
        if not equals:
            if token.endswith(b":") and len(token) > 1:  # as old versions of Moses write it
                stem, value = token[:-1], b""
            elif is_dense:
                values.append(token)
                continue
            elif found:
                raise LineError(f"{token.decode()!r} belongs to no feature; expected 'name= value' or 'name=value'")
            else:
                name, mark, is_dense = UNNAMED, 0, True
                values.append(token)
                continue
        elif not stem:
            raise LineError(f"no name before '=' in {token.decode()!r}; expected 'name= value' or 'name=value'")
        if stem in found or (is_dense and stem == name):
            raise LineError(f"feature {stem.decode()!r} occurs twice")
        close()
        name, mark, first, is_dense = stem, token[len(stem)], len(values), not value
        if value:
            values.append(value)
            found[name] = _Entry(name, 1, mark, False)
    close()
    return tuple(found.values()), values


class _Rules:
    """What the first hypotheses say of all others: whether they have a score, and with which features."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self.origin = ""
        """The place of the first hypothesis, for messages."""
        self.has_score: bool | None = None
        self.widths: dict[bytes, int] = {}
        """The names of all features, each with its largest number of values."""
        self.required: list[bytes] = []
        """The names that each line must have: the dense ones of the first, unless what is missing is 0."""

    def read(self, fields: Sequence[bytes]) -> _Line:
        """The hypothesis on a line, given by its fields; raises LineError."""
        if fields == [b""]:
            raise LineError(f"blank line; {EXPECTED}")
        if len(fields) > 1 and not fields[0]:
            raise LineError(f"no id before the first '|||'; {EXPECTED}")
        if len(fields) < 3:
            raise LineError(f"{counted(len(fields), 'field')}; {EXPECTED}")
        if fields[2:] == [b""] and self.has_score is None:  # later ones may have all features 0
            raise LineError(f"ends before its features; {EXPECTED}")
        entries, tokens = _entries(fields[2])
        self._check(entries)
        score = self._score(_tokens(fields[3]) if len(fields) > 3 else [])
        values = self._values(entries, tokens)
        return _Line(fields[0], fields[1], entries, values, None if score is None else _finite("the score", score))

    def learn(self, line: _Line, where: str) -> None:
        """Take a hypothesis as an example for those after it."""
        if self.has_score is None:
            self.origin, self.has_score = where, line.score is not None
            self.required = [entry.name for entry in line.entries if entry.is_dense and self._strict]
        for name, size, _, _ in line.entries:
            if self.widths.get(name, 0) < size:
                self.widths[name] = size

    def _check(self, entries: Sequence[_Entry]) -> None:
        """Check that a line has the dense features of the first one, with as many values, and no others."""
        if not self._strict or self.has_score is None:
            return
        for name, count, _, is_dense in entries:
            if name not in self.widths and is_dense:
                raise LineError(
                    f"feature {name.decode()!r} is not among those of the first hypothesis ({self.origin}); {TAKE_AS_0}"
                )
            if self.widths.get(name, count) != count:
                raise LineError(
                    f"feature {name.decode()!r} has {counted(count, 'value')}; expected {self.widths[name]}, as "
                    f"before; {TAKE_AS_0}"
                )
        names = {entry.name for entry in entries}
        for name in self.required:
            if name not in names:
                raise LineError(f"lacks feature {name.decode()!r}; give it, or {TAKE_AS_0}")

    def _score(self, tokens: Sequence[bytes]) -> bytes | None:
        if not tokens:
            if self.has_score:
                raise LineError(f"no score, unlike the first hypothesis ({self.origin}); {EXPECTED}")
            return None
        if self.has_score is False:
            raise LineError(f"a score, unlike the first hypothesis ({self.origin}); expected all or none to have one")
        if len(tokens) > 1:
            raise LineError(f"more than one number in the score field (after {tokens[0].decode()!r}); {EXPECTED}")
        return tokens[0]

    def _values(self, entries: Sequence[_Entry], tokens: Sequence[bytes]) -> list[float]:
        rest, values = iter(tokens), []
        for name, size, _, _ in entries:
            several = max(size, self.widths.get(name, 1)) > 1
            for place, token in enumerate(islice(rest, size)):
                told = f"{name.decode()}_{place}" if several else name.decode()
                values.append(_finite(f"feature {told!r}", token))
        return values


def _finite(what: str, token: bytes) -> float:
    value = plain_number(token.decode())
    if value is None or not math.isfinite(value):
        raise LineError(f"{what} is {shown(token.decode())}; expected a finite number")
    return value


class _Features:
    """The features of all lines, as the kernel knows them."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._numbers: dict[bytes, int] = {}
        self._slots: dict[tuple[int, int], int] = {}
        """The first of the numbers by which layouts refer to the values of a feature that has so many."""
        self._size = 0
        self.known = kernel.nothing_known(64, 1 << 12)

    def take(self, line: Sequence[_Entry], required: Sequence[bytes]) -> bool:
        """Let the kernel know these features as they are written here, and that they are those of its next line.

        Returns whether one is new or has another number of values than before.
        """
        changed = False
        for place, entry in enumerate(line):
            number = self._numbers.get(entry.name)
            if number is None:
                number = self._name(entry.name)
                changed = True
            known = self.known
            known.line[place], known.marks[number], known.dense[number] = number, entry.mark, entry.is_dense
            known.counts[number], known.required[number] = entry.size, entry.name in required
            slot = self._slots.setdefault((number, entry.size), self._size)
            self._size += entry.size if slot == self._size else 0
            changed |= bool(known.slots[number] != slot)
            known.slots[number] = slot
        return changed

    def _name(self, name: bytes) -> int:
        """The number of a new name. Where there is no room for it, the kernel gets twice the room."""
        number = self._numbers[name] = len(self._numbers)
        start = int(self.known.texts.stops[number - 1]) if number else 0
        room = len(self.known.names) - self._kernel.LONGEST_NAME
        if number == len(self.known.marks) or start + len(name) > room:
            old, names = self.known, list(self._numbers)
            self.known = self._kernel.nothing_known(2 * len(old.marks), 2 * (room + len(name)))
            for new_array, array in zip(self.known, old, strict=True):
                if isinstance(array, np.ndarray):
                    new_array[: len(array)] = array
            stop = 0
            for each in names[:-1]:
                stop = self._add(each, stop)
        self._add(name, start)
        return number

    def _add(self, name: bytes, start: int) -> int:
        """Write a name at this place of the kernel's names, and number it; the place after it."""
        from hulltune.kernels.reading.interning import intern

        stop = start + len(name)
        self.known.names[start:stop] = np.frombuffer(name, dtype=np.uint8)
        intern(self.known.texts, self.known.names, start, stop)
        return stop

    def columns(self, widths: Sequence[int]) -> Int32s:
        """The column of each slot, if the features have so many columns."""
        first = np.cumsum([0, *widths])
        columns = [first[number] + np.arange(size) for number, size in self._slots]
        return np.concatenate([*columns, np.zeros(0)]).astype(np.int32)


class MosesReader:
    """A reader of one file after the other; all rows share one set of feature names.

    Memory: the values are kept once. At the end they move to the matrix, some rows at a time.
    """

    def __init__(self, *, problems: Problems, missing: float | None, dtype: Any = np.float64) -> None:
        from hulltune.kernels.reading import moses

        self.first = 0
        """The sentence that the ids of further files count from."""
        self._kernel = moses
        self._problems = problems
        self._text, self._values = array("B"), array(np.dtype(dtype).char)
        self._row_id, self._row_text, self._row_score = array("q"), array("q"), array("d")
        self._row_layout, self._layout_slots, self._layout_sizes = array("i"), array("i"), array("q")
        self._gaps: list[int] = []
        self._lines = 0  # of the files before: every line is a hypothesis, as written
        self._ids: dict[bytes, int] = {}
        self._rules = _Rules(strict=missing is None)
        self._features = _Features(moses)
        self._state = np.zeros(moses.STATE_SIZE, dtype=np.int64)
        self._state[[moses.ID_LENGTH, moses.HAS_SCORE, moses.WIDTH, moses.LAYOUT]] = -1
        self._last_id = np.zeros(moses.LONGEST_ID, dtype=np.uint8)
        self._output = self._output_for(1 << 16)

    def read(self, path: str | os.PathLike[str]) -> None:
        """Take all hypotheses of a file; linear in its size."""
        self._file = os.fspath(path)
        self._state[self._kernel.LINE] = 1
        further: re.Pattern[bytes] | None = None
        with open_bytes(path) as stream:
            for number, block in enumerate(blocks(stream)):
                if number == 0:
                    further = _further_fields(block[: block.index(b"\n")])
                self._read_utf8(block if further is None else further.sub(rb"\1\2", block))
        self._lines += int(self._state[self._kernel.LINE]) - 1

    def _read_utf8(self, block: bytes) -> None:
        """Read the lines of a block that are UTF-8; report the others."""
        while not block.isascii():
            try:
                block.decode("utf-8")
                break
            except UnicodeDecodeError as error:
                start = block.rfind(b"\n", 0, error.start) + 1
                stop = block.index(b"\n", error.start) + 1
                self._read_block(block[:start])
                self._fault(not_utf8(error))
                block = block[stop:]
        self._read_block(block)

    def _output_for(self, size: int) -> Any:
        """Room for the rows of a block of ``size`` bytes: a line takes eight, and a value two."""
        rows, values = size // 8 + 2, size // 2 + 2
        return self._kernel.Output(
            values=np.empty(values),
            row_layout=np.empty(rows, dtype=np.int32),
            row_id=np.empty(rows, dtype=np.int64),
            row_score=np.empty(rows),
            row_text=np.empty(rows, dtype=np.int64),
            text=np.empty(size + 1, dtype=np.uint8),
            slots=np.empty(values, dtype=np.int32),
            layout_sizes=np.empty(rows, dtype=np.int64),
        )

    def _read_block(self, block: bytes) -> None:
        kernel, state = self._kernel, self._state
        if len(block) > len(self._output.text) - 1:
            self._output = self._output_for(len(block))
        data = np.frombuffer(block, dtype=np.uint8)
        state[kernel.POSITION] = 0
        while state[kernel.POSITION] < len(block):
            if state[kernel.HAS_SCORE] >= 0:  # the first line of all is odd
                kernel.parse_lines(data, len(data), state, self._features.known, self._output, self._last_id)
            position = int(state[kernel.POSITION])
            if position < len(block):
                end = block.index(b"\n", position)
                self._read_odd_line(block[position:end])
                state[kernel.POSITION] = end + 1
        self._keep()

    def _fault(self, reason: str) -> None:
        """Report the current line, which is no hypothesis."""
        line = int(self._state[self._kernel.LINE])
        self._problems.report(self._file, line, reason)
        self._gaps.append(self._lines + line - 1)
        self._state[self._kernel.LINE] += 1

    def _read_odd_line(self, text: bytes) -> None:
        """Read a line that the kernel does not."""
        fields = [field.strip(_BLANKS) for field in text.split(b"|||")]
        try:
            if not (fields[0].isdigit() or fields[0] in self._ids) and _has_no_id(fields):
                raise LineError(f"text, features and score, but no id before them; {EXPECTED}")
            line = self._rules.read(fields)
        except LineError as fault:
            self._fault(str(fault))
            return
        kernel, state, output = self._kernel, self._state, self._output
        self._rules.learn(line, f"{self._file}:{state[kernel.LINE]}")
        if self._features.take(line.entries, self._rules.required):
            state[kernel.WIDTH] = -1  # unlike any line before
        kernel.follow(len(line.entries), state, self._features.known, output)
        row, values, start = (int(state[place]) for place in (kernel.ROWS, kernel.VALUES, kernel.TEXT))
        output.values[values : values + len(line.values)] = line.values
        output.text[start : start + len(line.text)] = np.frombuffer(line.text, dtype=np.uint8)
        output.row_layout[row] = state[kernel.LAYOUT]
        output.row_id[row], output.row_text[row] = self._key_of(line.id), len(line.text)
        output.row_score[row] = 0.0 if line.score is None else line.score
        state[kernel.VALUES], state[kernel.TEXT] = values + len(line.values), start + len(line.text)
        state[kernel.ROWS] += 1
        state[kernel.LINE] += 1
        state[kernel.HAS_SCORE], state[kernel.REQUIRED] = line.score is not None, len(self._rules.required)

    def _key_of(self, text: bytes) -> int:
        """The key of an id: its number, or a number below −1 for each name. The kernel knows it again."""
        if text.isdigit() and len(text) <= self._kernel.LONGEST_NUMBER:
            return int(text)
        key = -2 - self._ids.setdefault(text, len(self._ids))
        if len(text) <= len(self._last_id):
            self._last_id[: len(text)] = np.frombuffer(text, dtype=np.uint8)
            self._state[self._kernel.ID_LENGTH], self._state[self._kernel.ID_KEY] = len(text), key
        return key

    def _keep(self) -> None:
        """Copy the rows of a block, which leave the output."""
        kernel, state, output = self._kernel, self._state, self._output
        places = [kernel.ROWS, kernel.VALUES, kernel.TEXT, kernel.LAYOUTS, kernel.SLOTS]
        rows, values, text, layouts, slots = state[places].tolist()
        state[places] = 0
        ids = output.row_id[:rows]
        with np.errstate(over="ignore"):  # too large for float32: to_dataset refuses it with a message
            self._values.frombytes(output.values[:values].astype(self._values.typecode).tobytes())
        for kept, found in (
            (self._text, output.text[:text]),
            (self._row_layout, output.row_layout[:rows]),
            (self._row_id, np.where(ids >= 0, ids + self.first, ids)),
            (self._row_score, output.row_score[:rows]),
            (self._row_text, output.row_text[:rows]),
            (self._layout_sizes, output.layout_sizes[:layouts]),
            (self._layout_slots, output.slots[:slots]),
        ):
            kept.frombytes(found.tobytes())

    # The result.

    def rows(self) -> Rows:
        """All hypotheses read; the reader is of no use afterwards."""
        from hulltune.kernels.outputs.texts import Layouts

        ids, keys = self._sentences()
        widths = self._rules.widths
        columns = self._features.columns(list(widths.values()))
        return Rows(
            ids=ids,
            keys=keys,
            feature_names=tuple(
                name.decode() + (f"_{k}" if width > 1 else "") for name, width in widths.items() for k in range(width)
            ),
            values=self._values,
            row_layout=np.asarray(self._row_layout),
            layouts=Layouts(offsets_of(np.asarray(self._layout_sizes)), columns[np.asarray(self._layout_slots)]),
            text=np.asarray(self._text),
            text_lengths=np.asarray(self._row_text),
            scores=np.asarray(self._row_score) if self._rules.has_score else None,
            gaps=np.array(self._gaps, dtype=np.int64),
        )

    def _sentences(self) -> tuple[list[SentenceId], Int64s]:
        """The ids in order of first appearance, and for each row the number of its id."""
        row_id = np.asarray(self._row_id)
        starts = np.flatnonzero(np.concatenate([[True], row_id[1:] != row_id[:-1]])[: len(row_id)])
        lengths = np.diff(np.append(starts, len(row_id)))
        distinct, first, inverse = np.unique(row_id[starts], return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        texts = [text.decode("utf-8") for text in self._ids]
        ids: list[SentenceId] = [n if n >= 0 else sentence_id(texts[-2 - n]) for n in distinct[order].tolist()]
        return ids, np.repeat(place[inverse.reshape(-1)], lengths)


# Writing.

LINE_BREAK = re.compile(r"[\r\n]+")


def write_moses(lists: Dataset, path: str | os.PathLike[str]) -> None:
    """Write lists in the Moses format, with their total scores or else 0; atomically.

    Of sparse features, the first hypothesis has all, to keep their order, and others have those that are not 0.
    """
    edges = lists.corpus.sentence_edges.tolist()
    all_features = written_features(lists)
    with written_atomically(path) as file:
        for sentence, name in enumerate(lists.ids):
            rows = range(edges[sentence], edges[sentence + 1])
            for row, text in zip(rows, lists.texts(np.array(rows, dtype=np.int64)), strict=True):
                score = 0.0 if lists.scores is None else float(lists.scores[row])
                line = moses_line(name, text, next(all_features), score)
                file.write(f"{line}\n".encode())


def moses_line(name: int | str, text: str, features: Mapping[str, float], score: float) -> str:
    """The line of a hypothesis in a Moses list; InputError if the format cannot hold it."""
    if "|||" in text or LINE_BREAK.search(text):
        raise InputError(f"sentence {name!r} has the text {text[:40]!r}, which a Moses list cannot hold; write jsonl")
    for feature in features:
        if not feature or any(character.isspace() for character in feature) or feature.endswith("="):
            raise InputError(f"the feature name {feature!r} cannot be written in a Moses list; write jsonl")
    values = " ".join(f"{feature}={value!r}" for feature, value in features.items())
    return f"{name} ||| {text} ||| {values} ||| {score!r}"
