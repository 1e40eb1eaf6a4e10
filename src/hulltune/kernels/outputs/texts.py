"""Packed texts and features of hypotheses: hashes, equal rows, copies in another order, lengths."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bytes, Int32s, Int64s, Reals, RealTable, UInt64s
from hulltune.kernels.load.kernel import kernel, part

Words: TypeAlias = NDArray[np.uint64]

_SEED, _PRIME, _MIX, _SHIFT = (np.uint64(n) for n in (14695981039346656037, 1099511628211, 0x9E3779B97F4A7C15, 29))
_MINUS_ZERO = np.uint64(1 << 63)


@kernel
def hash_texts(text: Bytes, offsets: Int64s) -> Words:
    """A 64-bit hash of every text."""
    hashes = np.empty(len(offsets) - 1, dtype=np.uint64)
    for i in range(len(hashes)):
        value = _SEED
        for position in range(offsets[i], offsets[i + 1]):
            value = (value ^ np.uint64(text[position])) * _PRIME
        hashes[i] = value
    return hashes


@kernel
def hash_column(bits: UInt64s, hashes: UInt64s) -> None:
    """Mix a column of doubles, given as bit patterns, into the hashes of its rows; the two zeros are equal."""
    for i in range(len(hashes)):
        word = bits[i]
        if word == _MINUS_ZERO:
            word = np.uint64(0)
        value = (hashes[i] ^ word) * _MIX
        hashes[i] = value ^ (value >> _SHIFT)


@part
def _same_text(text: Bytes, offsets: Int64s, a: int, b: int) -> bool:
    length = offsets[a + 1] - offsets[a]
    if offsets[b + 1] - offsets[b] != length:
        return False
    for i in range(length):  # noqa: SIM110  # Numba has no generators here
        if text[offsets[a] + i] != text[offsets[b] + i]:
            return False
    return True


@kernel
def first_equals(text: Bytes, text_offsets: Int64s, features: RealTable, hashes: UInt64s, offsets: Int64s) -> Int64s:
    """The first row of the same list with equal text and equal features, for every row; a row may be that one itself.

    Equal hashes are only a hint: rows are compared in full, so that distinct ones are never taken for equal. Expected
    time linear in rows.
    """
    first = np.empty(len(hashes), dtype=np.int64)
    longest = 1
    for sentence in range(len(offsets) - 1):
        longest = max(longest, offsets[sentence + 1] - offsets[sentence])
    size = 4
    while size < 2 * longest:
        size *= 2
    slots = np.empty(size, dtype=np.int64)
    for sentence in range(len(offsets) - 1):
        begin, end = offsets[sentence], offsets[sentence + 1]
        size = 4
        while size < 2 * (end - begin):
            size *= 2
        slots[:size] = -1
        mask = size - 1
        for row in range(begin, end):
            slot = np.int64(hashes[row] & np.uint64(mask))
            first[row] = row
            while slots[slot] >= 0:
                other = slots[slot]
                if hashes[other] == hashes[row] and _same_text(text, text_offsets, other, row):
                    same = True
                    for column in range(features.shape[1]):
                        if features[other, column] != features[row, column]:
                            same = False
                            break
                    if same:
                        first[row] = other
                        break
                slot = (slot + 1) & mask
            if first[row] == row:
                slots[slot] = row
    return first


@kernel
def gather_texts(text: Bytes, offsets: Int64s, rows: Int64s, out: Bytes, out_offsets: Int64s) -> None:
    """Copy the texts of ``rows`` one after the other; ``out`` may be ``text`` where the rows only move down."""
    position = 0
    for i in range(len(rows)):
        start, stop = offsets[rows[i]], offsets[rows[i] + 1]
        for source in range(start, stop):
            out[position] = text[source]
            position += 1
        out_offsets[i + 1] = position


@kernel
def compact_column(values: Reals, rows: Int64s, out: Reals) -> None:
    """Copy ``values[rows[i]]`` to ``out[i]`` by increasing i, so that the two may overlap where rows only move down."""
    for i in range(len(rows)):
        out[i] = values[rows[i]]


class Layouts(NamedTuple):
    """The columns of layouts, which rows share: layout k has ``columns[starts[k]:starts[k + 1]]``."""

    starts: Int64s
    columns: Int32s


@kernel
def fill_matrix(values: Reals, row_layout: Int32s, destination: Int64s, layouts: Layouts, matrix: RealTable) -> None:
    """Write the values of rows, which stand one after the other, into the rows ``destination`` of a matrix."""
    index = 0
    for row in range(len(row_layout)):
        layout = row_layout[row]
        for place in range(layouts.starts[layout], layouts.starts[layout + 1]):
            matrix[destination[row], layouts.columns[place]] = values[index]
            index += 1


@kernel
def columns_of_rows(row_layout: Int32s, layouts: Layouts, columns: Int32s) -> None:
    """Write the columns of the values of all rows, one after the other."""
    index = 0
    for row in range(len(row_layout)):
        layout = row_layout[row]
        for place in range(layouts.starts[layout], layouts.starts[layout + 1]):
            columns[index] = layouts.columns[place]
            index += 1


@kernel
def count_columns(row_layout: Int32s, layouts: Layouts, counts: Int64s) -> None:
    """Add to ``counts`` the number of rows with each column."""
    for layout in row_layout:
        for place in range(layouts.starts[layout], layouts.starts[layout + 1]):
            counts[layouts.columns[place]] += 1


@kernel
def count_words_and_characters(text: Bytes, offsets: Int64s) -> Int64s:
    """Words (runs of bytes other than ASCII white space) and code points of every text."""
    counts = np.zeros((2, len(offsets) - 1), dtype=np.int64)
    for i in range(len(offsets) - 1):
        inside = False
        for position in range(offsets[i], offsets[i + 1]):
            byte = text[position]
            blank = byte == 32 or 9 <= byte <= 13
            counts[0, i] += not blank and not inside
            counts[1, i] += byte & 0xC0 != 0x80
            inside = not blank
    return counts


@kernel
def code_points(data: Bytes, data_offsets: Int64s, offsets: Int64s, labels: Int32s) -> tuple[bool, Int32s, Int64s]:
    """Whether all bytes are UTF-8, the code points of many texts laid end to end, and the offsets of the texts.

    Text i has the words ``labels[offsets[i]:offsets[i + 1]]`` with blanks between them; word k is
    ``data[data_offsets[k]:data_offsets[k + 1]]``. Forms that are too long, and surrogates, count as no UTF-8.
    """
    most = labels.size
    for label in labels:
        most += data_offsets[label + 1] - data_offsets[label]
    codes, ends = np.empty(most, np.int32), np.zeros(offsets.size, np.int64)
    count = 0
    for text in range(offsets.size - 1):
        for place in range(offsets[text], offsets[text + 1]):
            if place > offsets[text]:
                codes[count] = 32
                count += 1
            at, end = data_offsets[labels[place]], data_offsets[labels[place] + 1]
            while at < end:
                code = np.int32(data[at])
                at += 1
                if code >= 128:
                    more = 1 if 0xC2 <= code < 0xE0 else 2 if 0xE0 <= code < 0xF0 else 3 if 0xF0 <= code < 0xF5 else 0
                    if more == 0 or at + more > end:
                        return False, codes, ends
                    code &= (1 << (6 - more)) - 1
                    for _ in range(more):
                        if data[at] & 0xC0 != 0x80:
                            return False, codes, ends
                        code = (code << 6) | np.int32(data[at] & 0x3F)
                        at += 1
                    is_long = (more == 2 and code < 0x800) or (more == 3 and not 0x10000 <= code <= 0x10FFFF)
                    if is_long or 0xD800 <= code < 0xE000:
                        return False, codes, ends
                codes[count] = code
                count += 1
        ends[text + 1] = count
    return True, codes[:count], ends
