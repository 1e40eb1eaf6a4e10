"""Text to token ids: code points in, ids of a reference vocabulary out, with no Python object per token.

Lines lie end to end in one array of code points; ``offsets[i]`` to ``offsets[i + 1]`` is line i. A token of an
output matters to a metric only if some reference has it, so tokens that no reference has all get the id -1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel

SPACES, CHARACTERS, MTEVAL_13A, JIWER_WORDS, CHRF_WORDS = range(5)
"""How a line becomes tokens: str.split; each character but white space; mteval-v13a; jiwer; chrF's words."""

_WORD, _SYMBOL, _DIGIT, _POINT, _DASH, _SPACE = range(6)

# FNV-1a's constants (Fowler, Noll, Vo) as signed 64-bit numbers, over code points instead of bytes. Hashes only
# choose a slot: equal tokens are decided by comparing their code points.
_HASH_START = np.int64(-3750763034362895579)
_HASH_PRIME = np.int64(1099511628211)


class Vocabulary(NamedTuple):
    """Distinct tokens: ``codes[starts[k]:ends[k]]`` is token k; ``table`` is an open-addressing table of k + 1."""

    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    hashes: NDArray[np.int64]
    table: NDArray[np.int32]


@kernel
def is_space(code: int) -> bool:
    """What str.isspace() says of one character."""
    if code < 128:
        return code == 32 or 9 <= code <= 13 or 28 <= code <= 31
    return (
        code in (0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000) or 0x2000 <= code <= 0x200A
    )


@kernel
def _mteval_class(code: int) -> int:
    """The classes of characters that mteval-v13a tells apart."""
    if code >= 128:
        return _SPACE if is_space(code) else _WORD
    if 97 <= code <= 122 or 65 <= code <= 90:
        return _WORD
    if is_space(code):
        return _SPACE
    if 48 <= code <= 57:
        return _DIGIT
    if code in (44, 46):  # , .
        return _POINT
    if code == 45:
        return _DASH
    # The ASCII punctuation but ' , - . : each is a token wherever it stands.
    if 33 <= code <= 38 or 40 <= code <= 43 or code == 47 or 58 <= code <= 64 or 91 <= code <= 96:
        return _SYMBOL
    if 123 <= code <= 126:
        return _SYMBOL
    return _WORD


@kernel
def _is_ascii_punctuation(code: int) -> bool:
    """What string.punctuation holds."""
    return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126


@kernel
def _point_starts_a_number(codes: NDArray[np.int32], at: int, first: int, last: int) -> bool:
    """Whether mteval-v13a leaves the point or comma at ``at``, which no digit touches on its left, on the next digit.

    Its substitutions eat the points of a run in pairs, the character before the run counting as one of them if it
    is no digit. The last point of a run of two or more is left over when the pairs do not come out even.
    """
    if at + 1 >= last or _mteval_class(codes[at + 1]) != _DIGIT:
        return False
    run_start = at
    while run_start > first and _mteval_class(codes[run_start - 1]) == _POINT:
        run_start -= 1
    length = at + 1 - run_start
    after_digit = run_start > first and _mteval_class(codes[run_start - 1]) == _DIGIT
    return length > 1 and (length % 2 == 1) == after_digit


@kernel
def _mteval_end(codes: NDArray[np.int32], start: int, first: int, last: int) -> int:
    """Where the mteval-v13a token that starts at ``start`` ends."""
    kind = _mteval_class(codes[start])
    if kind == _SYMBOL or (kind == _POINT and not _point_starts_a_number(codes, start, first, last)):
        return start + 1
    before = _mteval_class(codes[start - 1]) if start > first else _SPACE
    if kind == _DASH and before == _DIGIT:
        return start + 1
    end = start + 1
    while end < last:
        before = kind
        kind = _mteval_class(codes[end])
        if kind == _WORD or kind == _DIGIT:
            end += 1
        elif kind == _DASH and before != _DIGIT:
            end += 1
        elif (
            kind == _POINT
            and before == _DIGIT
            and end + 1 < last
            and _mteval_class(codes[end + 1]) == _DIGIT
        ):
            end += 1
        else:
            break
    return end


@kernel
def _spaces_end(codes: NDArray[np.int32], start: int, last: int) -> int:
    end = start + 1
    while end < last and not is_space(codes[end]):
        end += 1
    return end


@kernel
def _jiwer_end(codes: NDArray[np.int32], start: int, last: int) -> int:
    """jiwer splits at a blank or at a longer run of white space: a single tab inside a line belongs to its word."""
    end = start + 1
    while end < last:
        run_end = end
        while run_end < last and is_space(codes[run_end]):
            run_end += 1
        if run_end == end:
            end += 1
        elif run_end == last or run_end - end > 1 or codes[end] == 32:
            return end
        else:
            end = run_end
    return end


@kernel
def _chrf_end(codes: NDArray[np.int32], start: int, first: int, last: int) -> int:
    """chrF++ cuts off the last character of a word if it is punctuation, else the first if that is."""
    end = _spaces_end(codes, start, last)
    whole = start == first or is_space(codes[start - 1])
    if whole and end - start > 1:
        if _is_ascii_punctuation(codes[end - 1]):
            return end - 1
        if _is_ascii_punctuation(codes[start]):
            return start + 1
    return end


@kernel
def _token_end(codes: NDArray[np.int32], start: int, first: int, last: int, mode: int) -> int:
    if mode == MTEVAL_13A:
        return _mteval_end(codes, start, first, last)
    if mode == SPACES:
        return _spaces_end(codes, start, last)
    if mode == CHRF_WORDS:
        return _chrf_end(codes, start, first, last)
    if mode == JIWER_WORDS:
        return _jiwer_end(codes, start, last)
    return start + 1


@kernel
def _hash(codes: NDArray[np.int32], start: int, end: int) -> int:
    value = _HASH_START
    for at in range(start, end):
        value = (value ^ np.int64(codes[at])) * _HASH_PRIME
    return value


@kernel
def _find(
    vocabulary: Vocabulary, codes: NDArray[np.int32], start: int, end: int, value: int
) -> tuple[int, int]:
    """The id of a token, or -1, and the slot where it is or would go."""
    mask = len(vocabulary.table) - 1
    # The low bits of FNV-1a are its weak ones on short keys.
    slot = (value ^ (value >> 32)) & mask
    while True:
        token = np.int64(vocabulary.table[slot]) - 1
        if token < 0:
            return -1, slot
        if vocabulary.hashes[token] == value:
            known = vocabulary.starts[token]
            if vocabulary.ends[token] - known == end - start:
                at = start
                while at < end and codes[at] == vocabulary.codes[known + at - start]:
                    at += 1
                if at == end:
                    return token, slot
        slot = (slot + 1) & mask


@kernel
def build_vocabulary(
    codes: NDArray[np.int32], offsets: NDArray[np.int64], modes: NDArray[np.int8]
) -> tuple[Vocabulary, NDArray[np.int32], NDArray[np.int64]]:
    """The distinct tokens of the lines, the lines as ids (0, 1, ... in order of appearance), and their offsets.

    ``modes[i]`` says how line i becomes tokens. O(code points).
    """
    token_offsets = np.zeros(len(offsets), np.int64)
    starts = np.empty(len(codes), np.int64)
    ends = np.empty(len(codes), np.int64)
    count = 0
    for line in range(len(offsets) - 1):
        first, last = offsets[line], offsets[line + 1]
        at = first
        while at < last:
            if is_space(codes[at]):
                at += 1
                continue
            end = _token_end(codes, at, first, last, modes[line])
            starts[count] = at
            ends[count] = end
            count += 1
            at = end
        token_offsets[line + 1] = count
    size = 16
    while size < 3 * count:
        size *= 2
    vocabulary = Vocabulary(
        codes,
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.zeros(size, np.int32),
    )
    ids = np.empty(count, np.int32)
    known = 0
    for k in range(count):
        value = _hash(codes, starts[k], ends[k])
        token, slot = _find(vocabulary, codes, starts[k], ends[k], value)
        if token < 0:
            token = known
            known += 1
            vocabulary.starts[token] = starts[k]
            vocabulary.ends[token] = ends[k]
            vocabulary.hashes[token] = value
            vocabulary.table[slot] = token + 1
        ids[k] = token
    return vocabulary, ids, token_offsets


@kernel
def token_ids(
    codes: NDArray[np.int32], offsets: NDArray[np.int64], modes: NDArray[np.int8], vocabulary: Vocabulary
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The lines as ids of the vocabulary, -1 for tokens that it does not have, and their offsets: O(code points)."""
    ids = np.empty(len(codes), np.int32)  # too long, but pages that nobody touches cost nothing
    token_offsets = np.zeros(len(offsets), np.int64)
    count = 0
    for line in range(len(offsets) - 1):
        first, last = offsets[line], offsets[line + 1]
        at = first
        while at < last:
            if is_space(codes[at]):
                at += 1
                continue
            end = _token_end(codes, at, first, last, modes[line])
            ids[count] = _find(vocabulary, codes, at, end, _hash(codes, at, end))[0]
            count += 1
            at = end
        token_offsets[line + 1] = count
    return ids, token_offsets


@kernel
def characters(
    codes: NDArray[np.int32], offsets: NDArray[np.int64], keep_spaces: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The code points of the lines, with or without white space, and their offsets."""
    kept = np.empty(len(codes), np.int32)
    kept_offsets = np.zeros(len(offsets), np.int64)
    count = 0
    for line in range(len(offsets) - 1):
        for at in range(offsets[line], offsets[line + 1]):
            if keep_spaces or not is_space(codes[at]):
                kept[count] = codes[at]
                count += 1
        kept_offsets[line + 1] = count
    return kept, kept_offsets
