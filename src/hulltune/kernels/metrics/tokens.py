"""Text to token ids: code points in, ids of a reference vocabulary out, with no Python object per token.

Lines lie end to end in one array of code points; ``offsets[i]`` to ``offsets[i + 1]`` is line i. A token of
an output matters only if some reference has it: all others get the id -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int8s, Int32s, Int64s
from hulltune.kernels.load.kernel import borrowing, inlined, kernel, part

Int = Any  # a Python int or a NumPy integer: the same thing once compiled
Bool = Any

SPACES, CHARACTERS, MTEVAL_13A, JIWER_WORDS, CHRF_WORDS = range(5)
"""Ways to split a line into tokens: str.split; each character but white space; mteval-v13a; jiwer; chrF's words."""

_WORD, _DIGIT, _DASH, _POINT, _SYMBOL, _SPACE = range(6)  # classes up to _DIGIT never end a token

_MIX = np.int64(-7046029254386353131)  # 2^64 / golden ratio, odd, as a signed number: Fibonacci hashing
_LONG = np.int64(-9223372036854775808)  # the sign bit marks keys that are only hashes
_SHORT_TOKEN = 8
FIRST_SLOTS, SLOTS_PER_TOKEN = 1 << 12, 3
"""The slots of a table at first, and the least for each token that it has or may get."""


def _ascii_classes() -> NDArray[np.int8]:
    """The classes of characters that mteval-v13a tells apart, for ASCII.

    Each of the punctuation characters but ' , - . is a token wherever it stands.
    """
    classes = np.full(128, _WORD, np.int8)
    classes[[ord(c) for c in '!"#$%&()*+/:;<=>?@[\\]^_`{|}~']] = _SYMBOL
    classes[[ord(c) for c in "0123456789"]] = _DIGIT
    classes[[ord(c) for c in ".,"]] = _POINT
    classes[ord("-")] = _DASH
    classes[[code for code in range(128) if chr(code).isspace()]] = _SPACE
    return classes


_ASCII_CLASSES = _ascii_classes()


class Vocabulary(NamedTuple):
    """Distinct tokens: ``codes[starts[k]:ends[k]]`` is token k, ``keys[k]`` its key (see ``_key``).

    ``table`` is an open-addressing table of k + 1, 0 for empty, of a power-of-two size.
    """

    codes: Int32s
    starts: Int64s
    ends: Int64s
    keys: Int64s
    table: Int32s


@inlined
def is_space(code: Int) -> Bool:
    """Whether a character is white space, as str.isspace() says."""
    if 32 < code < 0x85:
        return False
    if code <= 32:
        return code == 32 or 9 <= code <= 13 or 28 <= code <= 31
    return code in (0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000) or 0x2000 <= code <= 0x200A


@inlined
def _mteval_class(code: Int) -> Int:
    if code < 128:
        return np.int64(_ASCII_CLASSES[code])
    return _SPACE if is_space(code) else _WORD


@inlined
def _is_ascii_punctuation(code: Int) -> Bool:
    """Whether string.punctuation has a character."""
    return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126


@borrowing
def _point_starts_a_number(codes: Int32s, at: Int, first: Int, last: Int) -> Bool:
    """Whether mteval-v13a cuts before the point or comma at ``at``, but not between it and the next digit.

    Its substitutions consume the points of a run in pairs; the character before the run counts as one of them if it is
    no digit. The last of two or more points is left over when the pairs do not come out even.
    """
    if at + 1 >= last or _mteval_class(codes[at + 1]) != _DIGIT:
        return False
    run_start = at
    while run_start > first and _mteval_class(codes[run_start - 1]) == _POINT:
        run_start -= 1
    length = at + 1 - run_start
    after_digit = run_start > first and _mteval_class(codes[run_start - 1]) == _DIGIT
    return length > 1 and (length % 2 == 1) == after_digit


@inlined
def _key(codes: Int32s, start: Int, end: Int, packed: Int, seen: Int) -> Int:
    """A number that stands for a token: the token itself, 7 bits a character, if it is ASCII and short.

    The scan has packed the characters behind a leading 1, which tells lengths apart, and has or'ed them into
    ``seen``. Other tokens get a hash with the sign bit set: equal keys of those do not prove equal tokens.

    Profiled: a token costs its mispredicted branches, one for each loop over its characters. Scanning and
    packing in one loop, and comparing keys instead of characters, leaves one of three.
    """
    if end - start <= _SHORT_TOKEN and seen < 128:
        return packed
    key = np.int64(end - start)
    for at in range(start, end):
        key = (key ^ np.int64(codes[at])) * _MIX
        key ^= (key >> 32) & 0xFFFFFFFF
    return key | _LONG


@inlined
def _mteval_token(codes: Int32s, start: Int, first: Int, last: Int) -> tuple[Int, Int]:
    """The end of the mteval-v13a token that starts at ``start``, and its key."""
    code = np.int64(codes[start])
    packed, seen, end = 128 | code, code, start + 1
    kind = _mteval_class(code)
    if (
        kind == _SYMBOL
        or (kind == _POINT and not _point_starts_a_number(codes, start, first, last))
        or (kind == _DASH and start > first and _mteval_class(codes[start - 1]) == _DIGIT)
    ):
        return end, packed
    while end < last:
        code = np.int64(codes[end])
        if not 97 <= code | 32 <= 122:  # most characters are letters
            kind = _mteval_class(code)
            if kind > _DIGIT:
                after_digit = 48 <= codes[end - 1] <= 57
                if kind == _DASH:
                    if after_digit:
                        break
                elif not (kind == _POINT and after_digit and end + 1 < last and 48 <= codes[end + 1] <= 57):
                    break
        packed = (packed << 7) | code
        seen |= code
        end += 1
    return end, _key(codes, start, end, packed, seen)


@inlined
def _spaces_token(codes: Int32s, start: Int, last: Int) -> tuple[Int, Int]:
    packed, seen, end = np.int64(1), np.int64(0), start
    while end < last:
        code = np.int64(codes[end])
        if is_space(code):
            break
        packed = (packed << 7) | code
        seen |= code
        end += 1
    return end, _key(codes, start, end, packed, seen)


@inlined
def _jiwer_token(codes: Int32s, start: Int, last: Int) -> tuple[Int, Int]:
    """The end of the jiwer token that starts at ``start``, and its key.

    jiwer splits at a blank or at a run of white space: a single tab inside a line belongs to its word.
    """
    packed, seen, end = np.int64(1), np.int64(0), start
    while end < last:
        code = np.int64(codes[end])
        if is_space(code) and (code == 32 or end + 1 == last or is_space(codes[end + 1])):
            break
        packed = (packed << 7) | code
        seen |= code
        end += 1
    return end, _key(codes, start, end, packed, seen)


@inlined
def _chrf_end(codes: Int32s, start: Int, first: Int, last: Int) -> Int:
    """The end of the chrF++ token that starts at ``start``.

    chrF++ cuts off the last character of a word if it is punctuation, else the first if that is.
    """
    end = start + 1
    while end < last and not is_space(codes[end]):
        end += 1
    whole = start == first or is_space(codes[start - 1])
    if whole and end - start > 1:
        if _is_ascii_punctuation(codes[end - 1]):
            return end - 1
        if _is_ascii_punctuation(codes[start]):
            return start + 1
    return end


@inlined
def _token(codes: Int32s, start: Int, first: Int, last: Int, mode: Int) -> tuple[Int, Int]:
    """The end of the token that starts at ``start``, and its key."""
    if mode == MTEVAL_13A:
        return _mteval_token(codes, start, first, last)
    if mode == SPACES:
        return _spaces_token(codes, start, last)
    if mode == JIWER_WORDS:
        return _jiwer_token(codes, start, last)
    end = _chrf_end(codes, start, first, last) if mode == CHRF_WORDS else start + 1
    packed, seen = np.int64(1), np.int64(0)
    for at in range(start, end):
        packed = (packed << 7) | np.int64(codes[at])
        seen |= np.int64(codes[at])
    return end, _key(codes, start, end, packed, seen)


@inlined
def _find(vocabulary: Vocabulary, codes: Int32s, start: Int, end: Int, key: Int) -> tuple[Int, Int]:
    """The id of a token, or -1, and the slot where it is or would go."""
    mask = len(vocabulary.table) - 1
    slot = ((key * _MIX) >> 32) & mask
    while True:
        token = np.int64(vocabulary.table[slot]) - 1
        if token < 0:
            return -1, slot
        if vocabulary.keys[token] == key:
            if key > 0:
                return token, slot
            known = vocabulary.starts[token]
            if vocabulary.ends[token] - known == end - start:
                at = start
                while at < end and codes[at] == vocabulary.codes[known + at - start]:
                    at += 1
                if at == end:
                    return token, slot
        slot = (slot + 1) & mask


def build_vocabulary(codes: Int32s, offsets: Int64s, modes: NDArray[np.int8]) -> tuple[Vocabulary, Int32s, Int64s]:
    """The distinct tokens of the lines, the lines as ids in order of appearance, and their offsets.

    ``modes[i]`` is the way to split line i. O(code points).
    """
    starts, ends, keys, table, ids, token_offsets = vocabulary_arrays(codes, offsets, modes)
    return Vocabulary(codes, starts, ends, keys, table), ids, token_offsets


@kernel
def vocabulary_arrays(
    codes: Int32s, offsets: Int64s, modes: Int8s
) -> tuple[Int64s, Int64s, Int64s, Int32s, Int32s, Int64s]:
    """The arrays of a Vocabulary besides the codes, the lines as ids, and the offsets of the lines."""
    token_offsets = np.zeros(len(offsets), np.int64)
    ids = np.empty(len(codes), np.int32)  # too long, but pages that nobody touches cost nothing
    vocabulary = _with_room(codes, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), FIRST_SLOTS)
    count, known = 0, 0
    for line in range(len(offsets) - 1):
        first, last = offsets[line], offsets[line + 1]
        slots = len(vocabulary.table)
        while slots < SLOTS_PER_TOKEN * (known + last - first):
            slots *= 2
        if slots > len(vocabulary.table):
            starts, ends, keys = vocabulary.starts[:known], vocabulary.ends[:known], vocabulary.keys[:known]
            vocabulary = _with_room(codes, starts, ends, keys, slots)
        if modes[line] == MTEVAL_13A:  # a loop for each mode, as in token_ids
            count, known = _add_line(codes, first, last, MTEVAL_13A, vocabulary, known, ids, count)
        elif modes[line] == SPACES:
            count, known = _add_line(codes, first, last, SPACES, vocabulary, known, ids, count)
        else:
            count, known = _add_line(codes, first, last, modes[line], vocabulary, known, ids, count)
        token_offsets[line + 1] = count
    starts, ends, keys = vocabulary.starts[:known], vocabulary.ends[:known], vocabulary.keys[:known]
    return starts, ends, keys, vocabulary.table, ids[:count], token_offsets


@part
def _with_room(codes: Int32s, starts: Int64s, ends: Int64s, keys: Int64s, slots: Int) -> Vocabulary:
    """The vocabulary of some distinct tokens, with room for more: a table of so many slots."""
    most = slots // SLOTS_PER_TOKEN
    vocabulary = Vocabulary(
        codes,
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.zeros(slots, np.int32),
    )
    for token in range(len(keys)):
        slot = ((keys[token] * _MIX) >> 32) & (slots - 1)
        while vocabulary.table[slot] > 0:
            slot = (slot + 1) & (slots - 1)
        _put(vocabulary, token, slot, starts[token], ends[token], keys[token])
    return vocabulary


@borrowing
def _put(vocabulary: Vocabulary, token: Int, slot: Int, start: Int, end: Int, key: Int) -> None:
    vocabulary.starts[token] = start
    vocabulary.ends[token] = end
    vocabulary.keys[token] = key
    vocabulary.table[slot] = token + 1


@borrowing
def _add_line(
    codes: Int32s, first: Int, last: Int, mode: Int, vocabulary: Vocabulary, known: Int, ids: Int32s, count: Int
) -> tuple[Int, Int]:
    """Append the ids of one line to ``ids[:count]``, and its new tokens to the ``known`` ones, for which there is room;
    returns both counts.
    """
    at = first
    while at < last:
        if is_space(codes[at]):
            at += 1
            continue
        end, key = _token(codes, at, first, last, mode)
        token, slot = _find(vocabulary, codes, at, end, key)
        if token < 0:
            token = known
            known += 1
            _put(vocabulary, token, slot, at, end, key)
        ids[count] = token
        count += 1
        at = end
    return count, known


@borrowing
def _encode_line(
    codes: Int32s,
    first: Int,
    last: Int,
    mode: Int,
    vocabulary: Vocabulary,
    ids: Int32s,
    count: Int,
) -> Int:
    """Append the ids of one line to ``ids[:count]``; returns the new count."""
    at = first
    while at < last:
        if is_space(codes[at]):
            at += 1
            continue
        end, key = _token(codes, at, first, last, mode)
        ids[count] = _find(vocabulary, codes, at, end, key)[0]
        count += 1
        at = end
    return count


@kernel
def token_ids(codes: Int32s, offsets: Int64s, modes: Int8s, vocabulary: Vocabulary) -> tuple[Int32s, Int64s]:
    """The lines as ids of the vocabulary, -1 for tokens that it lacks, and their offsets."""
    ids = np.empty(len(codes), np.int32)  # too long, but pages that nobody touches cost nothing
    token_offsets = np.zeros(len(offsets), np.int64)
    count = 0
    for line in range(len(offsets) - 1):
        first, last = offsets[line], offsets[line + 1]
        # Profiled: a loop for each mode, with the mode as a constant, is twice as fast as one for all.
        if modes[line] == MTEVAL_13A:
            count = _encode_line(codes, first, last, MTEVAL_13A, vocabulary, ids, count)
        elif modes[line] == SPACES:
            count = _encode_line(codes, first, last, SPACES, vocabulary, ids, count)
        elif modes[line] == JIWER_WORDS:
            count = _encode_line(codes, first, last, JIWER_WORDS, vocabulary, ids, count)
        elif modes[line] == CHRF_WORDS:
            count = _encode_line(codes, first, last, CHRF_WORDS, vocabulary, ids, count)
        else:
            count = _encode_line(codes, first, last, CHARACTERS, vocabulary, ids, count)
        token_offsets[line + 1] = count
    return ids, token_offsets


@kernel
def characters(codes: Int32s, offsets: Int64s, keep_spaces: bool) -> tuple[Int32s, Int64s]:
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
