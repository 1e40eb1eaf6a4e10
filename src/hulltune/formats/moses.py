"""Moses n-best lists: ``id ||| text ||| features [||| score [||| anything]]``, one hypothesis a line.

Features are written ``name= v v v`` (dense: Moses, Marian; several values become name_0, name_1, …) or ``name=v``
(sparse: cdec, Travatar, Joshua; a name left out means 0), also both on one line. The alignments and word scores that
Marian writes between text and features (``--alignment``, ``--word-scores``) are passed over. A kernel reads the bytes;
this module answers its requests (a new name, more room) and writes the messages.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int32s, Int64s
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import SparseFeatures
from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import Rows, written_features
from hulltune.formats.streams import Problems, blocks, first_line, not_utf8, open_bytes, written_atomically
from hulltune.wording import counted

EXPECTED = "expected 'id ||| text ||| features ||| score'"
UNNAMED = b"feature"
"""The name of values without a name."""


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


def _has_no_id(line: bytes) -> bool:
    """Whether the three fields of a line are a text, its features and its score: what stands for an id is the text."""
    fields = [field.split() for field in line.split(b"|||")]
    if len(fields) != 3 or len(fields[2]) != 1 or not _NUMBER.fullmatch(fields[2][0]) or not fields[1]:
        return False
    # Of one word before and "x=5" after it, that may be the text: the answer to an equation.
    surely = len(fields[0]) > 1 or (len(fields[1]) > 1 and any(b"=" in token for token in fields[1]))
    return surely and all(_FEATURE.fullmatch(token) for token in fields[1])


_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_FEATURE = re.compile(rb"(?:[^\s=]+=)?%b|[^\s=]+=" % _NUMBER.pattern)


class MosesReader:
    """A reader of one file after the other; all rows share one set of feature names.

    Memory: the values are kept once. At the end they move to the matrix, a block at a time.
    """

    def __init__(self, *, problems: Problems, missing: float | None, dtype: Any = np.float64) -> None:
        from hulltune.kernels.reading import moses_tables as moses

        self.first = 0
        """The sentence that the ids of further files count from."""
        self._kernel = moses
        self._problems = problems
        self._dtype = dtype
        self._values = GrowingArray(dtype)
        self._row_layout = GrowingArray(np.int32)
        self._text = GrowingArray(np.uint8)
        self._row_id, self._row_text = GrowingArray(np.int64), GrowingArray(np.int64)
        self._row_score = GrowingArray(np.float64)
        self._pieces: list[tuple[int, int]] = []  # rows and values of every block
        self._gaps: list[int] = []
        self._hypotheses = 0  # as written, with those that were skipped
        self._first_line = ""
        self._ids: dict[bytes, int] = {}
        self._state = np.zeros(moses.STATE_SIZE, dtype=np.int64)
        for number in (moses.LAYOUT, moses.HAS_SCORE, moses.IMPLICIT_NAME, moses.ID_LENGTH):
            self._state[number] = -1
        self._state[moses.STRICT] = missing is None
        self._last_id = np.zeros(moses.LONGEST_ID, dtype=np.uint8)
        self._names = moses.Names(
            bytes=np.zeros(1024, dtype=np.uint8),
            offsets=np.zeros(33, dtype=np.int64),
            slots=np.full(128, -1, dtype=np.int32),
            width=np.zeros(32, dtype=np.int64),
            required=np.zeros(32, dtype=np.uint8),
            stamp=np.zeros(32, dtype=np.int64),
        )
        self._layouts = moses.Layouts(
            offsets=np.zeros(65, dtype=np.int64),
            names=np.zeros(4096, dtype=np.int32),
            counts=np.zeros(4096, dtype=np.int32),
            dense=np.zeros(4096, dtype=np.uint8),
            hashes=np.zeros(64, dtype=np.uint64),
            slots=np.full(128, -1, dtype=np.int32),
        )
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

    def _read_utf8(self, block: bytes) -> None:
        """Read the lines of a block that are UTF-8; report the others."""
        while not block.isascii():
            try:
                block.decode("utf-8")
                break
            except UnicodeDecodeError as error:
                start = block.rfind(b"\n", 0, error.start) + 1
                stop = block.index(b"\n", error.start) + 1
                if start:
                    self._read_block(block[:start])
                self._fault(not_utf8(error))
                self._state[self._kernel.LINE] += 1
                block = block[stop:]
        if block:
            self._read_block(block)

    def _output_for(self, size: int) -> Any:
        """Room for the rows of a block of ``size`` bytes: a value takes at least two bytes, a line eight."""
        rows = size // 8 + 2
        return self._kernel.Output(
            values=np.empty(size // 2 + 2),
            row_layout=np.empty(rows, dtype=np.int32),
            row_id=np.empty(rows, dtype=np.int64),
            row_score=np.empty(rows),
            row_text=np.empty(rows, dtype=np.int64),
            text=np.empty(size + 1, dtype=np.uint8),
            pending=np.empty((1024, 7), dtype=np.int64),
        )

    def _read_block(self, block: bytes) -> None:
        from hulltune.kernels.reading.moses import parse_lines

        kernel, state = self._kernel, self._state
        if len(block) > len(self._output.text) - 1:
            self._output = self._output_for(len(block))
        data = np.frombuffer(block, dtype=np.uint8)
        for number in (kernel.POSITION, kernel.ROWS, kernel.VALUES, kernel.TEXT, kernel.PENDING):
            state[number] = 0
        answers: dict[int, Callable[[bytes], None]] = {
            kernel.NEW_NAME: self._new_name,
            kernel.NEW_ID: self._new_id,
            kernel.GROW_LAYOUTS: self._grow_layouts,
            kernel.GROW_PENDING: self._grow_pending,
        }
        self._line_at_start = int(state[kernel.LINE])
        faults: list[tuple[int, str]] = []
        while (
            code := parse_lines(data, len(data), state, self._names, self._layouts, self._output, self._last_id)
        ) != kernel.DONE:
            start, end = int(state[kernel.POSITION]), block.index(b"\n", int(state[kernel.POSITION]))
            lacks_id = code == kernel.NEW_ID and _has_no_id(block[start:end])
            if code in answers and not lacks_id:
                answers[code](block)
                continue
            reason = f"text, features and score, but no id before them; {EXPECTED}"
            faults.append((int(state[kernel.LINE]), reason if lacks_id else self._complaint(code, block)))
            state[kernel.POSITION] = end + 1
            state[kernel.LINE] += 1
            if not self._problems.skip:
                break
        dropped = self._settle_pending(block, faults)
        for line, reason in sorted(faults):
            self._problems.report(self._file, line, reason)
            self._gaps.append(self._hypotheses + line - self._line_at_start)  # every line is a hypothesis
        self._hypotheses += int(state[kernel.LINE]) - self._line_at_start
        if state[kernel.ROWS]:
            if not self._first_line:
                at_fault = {line for line, _ in faults}
                first = next(line for line in itertools.count(self._line_at_start) if line not in at_fault)
                self._first_line = f"{self._file}:{first}"
            self._keep(dropped)

    def _fault(self, reason: str) -> None:
        """Report the current line, which is no hypothesis."""
        self._problems.report(self._file, int(self._state[self._kernel.LINE]), reason)
        self._gaps.append(self._hypotheses)
        self._hypotheses += 1

    def _settle_pending(self, block: bytes, faults: list[tuple[int, str]]) -> set[int]:
        """Let Python read the numbers that the kernel left to it; returns the rows at fault."""
        kernel, state = self._kernel, self._state
        dropped: set[int] = set()
        for row, index, start, stop, line, name, number in self._output.pending[: state[kernel.PENDING]].tolist():
            token = block[start:stop].decode("utf-8")
            value = plain_number(token)
            if value is not None and np.isfinite(value):
                if index >= 0:
                    self._output.values[index] = value
                else:
                    self._output.row_score[row] = value
            elif row not in dropped:
                dropped.add(row)
                what = "the score" if name < 0 else f"feature {self._value_name(name, number)!r}"
                faults.append((line, f"{what} is {shown(token)}; expected a finite number"))
        state[kernel.PENDING] = 0
        return dropped

    def _value_name(self, name: int, number: int) -> str:
        text = self._name(name)
        return text if self._names.width[name] <= 1 and number == 0 else f"{text}_{number}"

    def _name(self, name: int) -> str:
        first, last = self._names.offsets[name : name + 2]
        return self._names.bytes[first:last].tobytes().decode("utf-8")

    def _keep(self, dropped: set[int]) -> None:
        """Copy the rows of a block, without those at fault."""
        kernel, output = self._kernel, self._output
        rows, values, text = (int(self._state[n]) for n in (kernel.ROWS, kernel.VALUES, kernel.TEXT))
        with np.errstate(over="ignore"):  # too large for float32: to_dataset refuses it with a message
            kept_values = output.values[:values].astype(self._dtype, copy=False)
        kept_text = output.text[:text]
        of_rows = [column[:rows] for column in (output.row_layout, output.row_id, output.row_score, output.row_text)]
        if self.first:
            of_rows[1] = np.where(of_rows[1] >= 0, of_rows[1] + self.first, of_rows[1])
        if dropped:
            keep = np.ones(rows, dtype=bool)
            keep[list(dropped)] = False
            kept_values = kept_values[np.repeat(keep, self._layout_widths()[of_rows[0]])]
            kept_text = kept_text[np.repeat(keep, of_rows[3])]
            of_rows = [column[keep] for column in of_rows]
        self._values.append(kept_values)
        self._text.append(kept_text)
        growing = (self._row_layout, self._row_id, self._row_score, self._row_text)
        for target, column in zip(growing, of_rows, strict=True):
            target.append(column)
        self._pieces.append((len(of_rows[0]), len(kept_values)))

    def _layout_widths(self) -> Int64s:
        """The number of values of every layout."""
        ends = np.concatenate([[0], np.cumsum(self._layouts.counts[: self._state[self._kernel.POOL]], dtype=np.int64)])
        bounds = ends[self._layouts.offsets[: self._state[self._kernel.LAYOUTS] + 1]]
        return np.diff(bounds)

    # Answers to the kernel.

    def _new_name(self, block: bytes) -> None:
        kernel, state, names = self._kernel, self._state, self._names
        start, stop = int(state[kernel.FIRST]), int(state[kernel.LAST])
        text = UNNAMED if start < 0 else block[start:stop]
        count = int(state[kernel.NAMES])
        if start < 0:
            known = kernel.find_name(names, np.frombuffer(UNNAMED, dtype=np.uint8), 0, len(UNNAMED))
            state[kernel.IMPLICIT_NAME] = known if known >= 0 else count
            if known >= 0:
                return
        used = int(names.offsets[count])
        if count + 1 == len(names.width):
            names = names._replace(
                offsets=_doubled(names.offsets),
                slots=np.full(2 * len(names.slots), -1, dtype=np.int32),
                width=_doubled(names.width),
                required=_doubled(names.required),
                stamp=_doubled(names.stamp),
            )
            kernel.insert_names(names, count)
        while used + len(text) > len(names.bytes):
            names = names._replace(bytes=_doubled(names.bytes))
        names.bytes[used : used + len(text)] = np.frombuffer(text, dtype=np.uint8)
        names.offsets[count + 1] = used + len(text)
        slot = -1 - kernel.find_name(names, names.bytes, used, used + len(text))
        names.slots[slot] = count
        state[kernel.NAMES] = count + 1
        self._names = names

    def _new_id(self, block: bytes) -> None:
        kernel, state = self._kernel, self._state
        text = block[int(state[kernel.FIRST]) : int(state[kernel.LAST])]
        if len(text) > len(self._last_id):
            self._last_id = np.zeros(2 * len(text), dtype=np.uint8)
        self._last_id[: len(text)] = np.frombuffer(text, dtype=np.uint8)
        state[kernel.ID_LENGTH] = len(text)
        state[kernel.ID_KEY] = -2 - self._ids.setdefault(text, len(self._ids))

    def _grow_layouts(self, block: bytes) -> None:
        layouts, count = self._layouts, int(self._state[self._kernel.LAYOUTS])
        self._layouts = self._kernel.Layouts(
            offsets=_doubled(layouts.offsets),
            names=_doubled(layouts.names),
            counts=_doubled(layouts.counts),
            dense=_doubled(layouts.dense),
            hashes=_doubled(layouts.hashes),
            slots=np.full(2 * len(layouts.slots), -1, dtype=np.int32),
        )
        self._kernel.insert_layouts(self._layouts, count)

    def _grow_pending(self, block: bytes) -> None:
        self._output = self._output._replace(pending=_doubled(self._output.pending))

    def _complaint(self, code: int, block: bytes) -> str:
        kernel, state = self._kernel, self._state
        first, last = int(state[kernel.FIRST]), int(state[kernel.LAST])
        if code == kernel.BLANK_LINE:
            return f"blank line; {EXPECTED}"
        if code == kernel.TOO_FEW_FIELDS:
            start = int(state[kernel.POSITION])
            fields = block[start : block.index(b"\n", start)].count(b"|||") + 1
            return f"{counted(fields, 'field')}; {EXPECTED}"
        if code == kernel.NO_ID:
            return f"no id before the first '|||'; {EXPECTED}"
        if code in (kernel.NO_NAME, kernel.STRAY_VALUE, kernel.LONG_SCORE):
            token = block[first:last].decode("utf-8")
            if code == kernel.NO_NAME:
                return f"no name before '=' in {token!r}; expected 'name= value' or 'name=value'"
            if code == kernel.STRAY_VALUE:
                return f"{token!r} belongs to no feature; expected 'name= value' or 'name=value'"
            return f"more than one number in the score field (after {token!r}); {EXPECTED}"
        if code == kernel.NO_SCORE:
            return f"no score, unlike the first hypothesis ({self._origin()}); {EXPECTED}"
        if code == kernel.EXTRA_SCORE:
            return f"a score, unlike the first hypothesis ({self._origin()}); expected all or none to have one"
        name = self._name(first)
        if code == kernel.NO_VALUE:
            return f"feature {name!r} has no value"
        if code == kernel.REPEATED_NAME:
            return f"feature {name!r} occurs twice"
        if code == kernel.LACKS_NAME:
            return f"lacks feature {name!r}; give it, or take what is missing as 0 (missing=0)"
        if code == kernel.EXTRA_NAME:
            return (
                f"feature {name!r} is not among those of the first hypothesis ({self._origin()}); "
                "take it as 0 there with missing=0"
            )
        assert code == kernel.WRONG_COUNT
        got, expected = int(state[kernel.COUNT]), int(self._names.width[first])
        return (
            f"feature {name!r} has {counted(got, 'value')}; expected {expected}, as before "
            "(missing=0 takes what is missing as 0)"
        )

    def _origin(self) -> str:
        return self._first_line or f"{self._file}:{self._line_at_start}"

    # The result.

    def rows(self) -> Rows:
        """All hypotheses read; the reader is empty afterwards."""
        kernel = self._kernel
        ids, keys = self._sentences()
        row_layout = self._row_layout.take()
        names, column, omitted = self._features(row_layout)
        layouts, values, pieces = self._layouts, self._values, self._pieces

        def fill(matrix: NDArray[Any], destination: Int64s) -> None:
            stop = len(row_layout)
            while pieces:  # from the end, so that values and matrix never take their full memory together
                rows, count = pieces.pop()
                start = stop - rows
                kernel.scatter(
                    values.pop(count), row_layout[start:stop], destination[start:stop], layouts, column, matrix
                )
                stop = start

        def as_rows(dtype: Any) -> SparseFeatures:
            sizes = self._layout_widths()[row_layout]
            offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            columns = np.empty(int(offsets[-1]), dtype=np.int32)
            kernel.columns_of_values(row_layout, layouts, column, columns)
            assert values.dtype == dtype
            return SparseFeatures(offsets, columns, values.take(), len(names))

        has_score = self._state[kernel.HAS_SCORE] == 1
        return Rows(
            ids=ids,
            keys=keys,
            feature_names=names,
            filled=len(values),
            fill=fill,
            as_rows=as_rows,
            text=self._text.take(),
            text_lengths=self._row_text.take(),
            scores=self._row_score.take() if has_score else None,
            omitted=omitted,
            gaps=np.array(self._gaps, dtype=np.int64),
        )

    def _sentences(self) -> tuple[list[SentenceId], Int64s]:
        """The ids in order of first appearance, and for each row the number of its id."""
        row_id = self._row_id.take()
        starts = np.flatnonzero(np.concatenate([[True], row_id[1:] != row_id[:-1]])[: len(row_id)])
        lengths = np.diff(np.append(starts, len(row_id)))
        distinct, first, inverse = np.unique(row_id[starts], return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        texts = [text.decode("utf-8") for text in self._ids]
        ids: list[SentenceId] = [n if n >= 0 else sentence_id(texts[-2 - n]) for n in distinct[order].tolist()]
        return ids, np.repeat(place[inverse.reshape(-1)], lengths)

    def _features(self, row_layout: Int32s) -> tuple[tuple[str, ...], Int64s, dict[str, int]]:
        """The feature names, the first column of every name, and the number of rows that leave each feature out."""
        kernel = self._kernel
        layouts, count = self._layouts, int(self._state[kernel.LAYOUTS])
        uses = np.bincount(row_layout, minlength=count)
        sizes = np.diff(layouts.offsets[: count + 1])
        pool = int(layouts.offsets[count])
        entry_uses = np.repeat(uses, sizes)
        used = entry_uses > 0  # ignore a layout whose only rows were at fault
        entry_names, entry_counts = layouts.names[:pool], layouts.counts[:pool]
        if not used.all():
            entry_names, entry_counts, entry_uses = entry_names[used], entry_counts[used], entry_uses[used]
        widths = np.zeros(int(self._state[kernel.NAMES]) + 1, dtype=np.int64)
        np.maximum.at(widths, entry_names, entry_counts)
        column = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int64)
        present = np.zeros(int(widths.sum()), dtype=np.int64)
        number = 0
        while len(entry_names):  # value after value of those that have more
            np.add.at(present, column[entry_names] + number, entry_uses)
            number += 1
            more = entry_counts > number
            entry_names, entry_counts, entry_uses = entry_names[more], entry_counts[more], entry_uses[more]
        names = [
            text if width == 1 else f"{text}_{k}"
            for text, width in ((self._name(n), int(widths[n])) for n in range(len(widths) - 1))
            for k in range(width)
        ]
        return tuple(names), column, {name: len(row_layout) - int(n) for name, n in zip(names, present, strict=True)}


def _doubled(values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([values, np.zeros_like(values)])


class GrowingArray:
    """An array that grows at the end, in pieces; O(1) a number on average.

    Its memory is a bytearray, which allocators extend in place if it is large. A list of pieces, joined at the end,
    would take twice the memory then.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes) // int(self.dtype.itemsize)

    def append(self, values: NDArray[Any]) -> None:
        """Add values of the array's type."""
        assert values.dtype == self.dtype
        self._bytes += np.ascontiguousarray(values).data.cast("B") if len(values) else b""

    def take(self) -> NDArray[Any]:
        """All values, without a copy; this array is empty afterwards."""
        memory, self._bytes = self._bytes, bytearray()
        return np.frombuffer(memory, dtype=self.dtype) if memory else np.zeros(0, dtype=self.dtype)

    def pop(self, count: int) -> NDArray[Any]:
        """The last ``count`` values, which leave this array; its memory shrinks."""
        size = count * self.dtype.itemsize
        values = np.frombuffer(bytes(self._bytes[len(self._bytes) - size :]), dtype=self.dtype) if size else None
        del self._bytes[len(self._bytes) - size :]
        return np.zeros(0, dtype=self.dtype) if values is None else values


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
