"""JSON, byte by byte: what the kernels share that read forests from it.

What is JSON here is what Python's json module takes, NaN and Infinity among it. A text is the address of its bytes.
They end in PADDING zero bytes, which are part of no JSON text, so that every search stops there. Behind them is room
for strings with escapes, which are undone there: two spellings of a string are the same bytes. Lone surrogates become
the three bytes that UTF-8 would have for them, and Python refuses them later.

Every function that can fail gives a code first: MORE (an item follows), CLOSED, or what is wrong, at the place given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.decimals import nearest_double
from hulltune.kernels.raw_bytes import ShortText, byte_at, put_byte, short_text, word_at


def codes(first: int, count: int) -> list[Any]:
    """Numbers one after the other, of a type: Numba would compile a function anew for every plain constant."""
    return [np.int64(code) for code in range(first, first + count)]


MORE, CLOSED, NO_VALUE, NO_KEY, NO_COLON, NO_COMMA, OPEN_STRING, BAD_ESCAPE, TOO_DEEP, EXTRA, ELSE = codes(0, 11)
FIRST_FREE_CODE = 11
PADDING = 8
DEEPEST = 64
"""How deeply values that are passed over may be nested."""

QUOTE, COMMA, COLON, OPEN_LIST, OPEN_OBJECT = 34, 44, 58, 91, 123
CLOSE_LIST: Any = np.int64(93)
CLOSE_OBJECT: Any = np.int64(125)
MINUS, _DOT, _ZERO_DIGIT = 45, 46, 48
HUGE = 10**15
_BACKSLASH, _U, _SPACE = 92, 117, 32
_ONE, _BASE, _TOO_LONG = np.uint64(1), np.uint64(10), np.uint64(10**18)


_NULL, _TRUE, _FALSE, _NAN, _INFINITY = (short_text(text) for text in ("null", "true", "false", "NaN", "Infinity"))


@kernel
def skip_blanks(text: int, position: int) -> int:
    """The next byte that is no white space; line ends are."""
    while byte_at(text, position) <= _SPACE and byte_at(text, position) in (32, 10, 9, 13):
        position += 1
    return position


@kernel
def begins(text: int, position: int, constant: ShortText) -> bool:
    """Whether this constant stands here."""
    return bool(word_at(text, position) & constant[1] == constant[2])


@kernel
def is_null(text: int, position: int) -> bool:
    """Whether ``null`` stands here."""
    return begins(text, position, _NULL)


@kernel
def is_key(text: int, start: int, stop: int, key: ShortText) -> bool:
    """Whether a string is this key."""
    return stop - start == key[0] and begins(text, start, key)


@kernel
def first_item(text: int, position: int, close: int) -> tuple[int, int]:
    """After an opening bracket: MORE and the first item, or CLOSED and the place after the closing one."""
    position = skip_blanks(text, position)
    if byte_at(text, position) == close:
        return CLOSED, position + 1
    return MORE, position


@kernel
def items_or_null(text: int, position: int, opening: int, close: int) -> tuple[int, int]:
    """At a list or an object: as first_item. No items are in ``null``; for anything else the code is ELSE."""
    if byte_at(text, position) == opening:
        return first_item(text, position + 1, close)
    return (CLOSED, position + 4) if is_null(text, position) else (ELSE, position)


@kernel
def next_item(text: int, position: int, close: int) -> tuple[int, int]:
    """After an item: MORE and the next item, CLOSED and the place after the bracket, or a fault."""
    position = skip_blanks(text, position)
    if byte_at(text, position) == COMMA:
        return MORE, skip_blanks(text, position + 1)
    if byte_at(text, position) == close:
        return CLOSED, position + 1
    return NO_COMMA, position


@kernel
def _hexadecimal(text: int, position: int) -> Any:
    """The number that four hexadecimal digits spell, or −1."""
    number = np.int64(0)
    for i in range(4):
        byte = np.int64(byte_at(text, position + i))
        letter = byte | 32
        if 48 <= byte <= 57:
            number = 16 * number + byte - 48
        elif 97 <= letter <= 102:
            number = 16 * number + letter - 87
        else:
            return np.int64(-1)
    return number


@kernel
def string_end(text: int, position: int) -> tuple[int, int, bool]:
    """After an opening quote: MORE, the place after the closing one, and whether there are escapes; or a fault."""
    escaped = False
    place = position
    while True:
        byte = byte_at(text, place)
        if byte == QUOTE:
            return MORE, place + 1, escaped
        if byte < _SPACE:
            return OPEN_STRING, place, False
        if byte == _BACKSLASH:
            escaped = True
            mark = byte_at(text, place + 1)
            if mark == _U:
                if _hexadecimal(text, place + 2) < 0:
                    return BAD_ESCAPE, place, False
                place += 6
            elif mark in (34, 92, 47, 98, 102, 110, 114, 116):  # " \ / b f n r t
                place += 2
            else:
                return BAD_ESCAPE, place, False
        else:
            place += 1


@kernel
def _control(mark: int) -> int:
    """What an escape of one character stands for."""
    if mark == 110:
        return 10
    if mark == 116:
        return 9
    if mark == 114:
        return 13
    if mark == 98:
        return 8
    return 12 if mark == 102 else mark


@kernel
def _write_character(text: int, place: int, character: int) -> int:
    """Write UTF-8; returns the end."""
    if character < 0x80:
        put_byte(text, place, character)
        return place + 1
    length = 2 if character < 0x800 else 3 if character < 0x10000 else 4
    for i in range(length - 1, 0, -1):
        put_byte(text, place + i, 0x80 | (character & 0x3F))
        character >>= 6
    put_byte(text, place, (0xF00 >> length) & 0xFF | character)
    return place + length


@kernel
def unescape(text: int, start: int, stop: int, spare: int) -> int:
    """Write a string, known to be right, without its escapes to ``spare``; returns the end. It gets no longer."""
    place = start
    while place < stop:
        if byte_at(text, place) != _BACKSLASH:
            put_byte(text, spare, byte_at(text, place))
            spare += 1
            place += 1
        elif byte_at(text, place + 1) != _U:
            put_byte(text, spare, _control(byte_at(text, place + 1)))
            spare += 1
            place += 2
        else:
            character = _hexadecimal(text, place + 2)
            place += 6
            if 0xD800 <= character < 0xDC00 and byte_at(text, place) == _BACKSLASH and byte_at(text, place + 1) == _U:
                low = _hexadecimal(text, place + 2)
                if 0xDC00 <= low < 0xE000:
                    character = 0x10000 + ((character - 0xD800) << 10) + low - 0xDC00
                    place += 6
            spare = _write_character(text, spare, character)
    return spare


@kernel
def read_string(text: int, position: int, spare: int) -> tuple[int, int, int, int]:
    """At a quote: MORE, where the string starts and stops once escapes are undone, and the place after it.

    A fault has its place last. The caller goes on with ``max(spare, stop)`` as the spare room.
    """
    code, after, escaped = string_end(text, position + 1)
    if code == MORE and escaped:
        return MORE, spare, unescape(text, position + 1, after - 1, spare), after
    return code, position + 1, after - 1, after


@kernel
def read_key(text: int, position: int, spare: int) -> tuple[int, int, int, int]:
    """Where a key should be: like read_string, but the last number is the place of its value."""
    if byte_at(text, position) != QUOTE:
        return NO_KEY, position, position, position
    code, start, stop, after = read_string(text, position, spare)
    if code != MORE:
        return code, start, start, after
    after = skip_blanks(text, after)
    if byte_at(text, after) != COLON:
        return NO_COLON, start, start, after
    return MORE, start, stop, skip_blanks(text, after + 1)


@kernel
def read_index(text: int, position: int) -> tuple[Any, int]:
    """A whole number from 0 (or HUGE, if that is less) and the place after it; −1 where there is none."""
    if byte_at(text, position) == MINUS and byte_at(text, position + 1) == _ZERO_DIGIT:  # −0 is 0
        position += 1
    start = position
    number = np.int64(0)
    while True:
        digit = np.int64(byte_at(text, position)) - _ZERO_DIGIT
        if digit < 0 or digit > 9:
            break
        number = min(10 * number + digit, np.int64(HUGE))
        position += 1
    leading_zero = byte_at(text, start) == _ZERO_DIGIT and position > start + 1
    if position == start or leading_zero or byte_at(text, position) in (_DOT, 69, 101):
        return np.int64(-1), start
    return number, position


@kernel
def read_number(text: int, position: int) -> tuple[float, int, bool]:
    """A number, the place after it, and whether its value is certain, or else for Python to find.

    Where there is none the place is ``position``. The value is what Python gives: 0.0 for the whole number −0.
    """
    start = position
    negative = byte_at(text, position) == MINUS
    place = position + negative
    mantissa = np.uint64(byte_at(text, place) - _ZERO_DIGIT)  # wraps round for what is no digit
    if mantissa >= _BASE:
        return 0.0, start, False
    certain = True
    whole = True
    exponent = 0
    place += 1
    if mantissa > np.uint64(0):
        while True:
            digit = np.uint64(byte_at(text, place) - _ZERO_DIGIT)
            if digit >= _BASE:
                break
            certain = certain and bool(mantissa < _TOO_LONG)
            mantissa = mantissa * _BASE + digit
            place += 1
    if byte_at(text, place) == _DOT and np.uint64(byte_at(text, place + 1) - _ZERO_DIGIT) < _BASE:
        whole = False
        place += 1
        while True:
            digit = np.uint64(byte_at(text, place) - _ZERO_DIGIT)
            if digit >= _BASE:
                break
            certain = certain and bool(mantissa < _TOO_LONG)
            mantissa = mantissa * _BASE + digit
            exponent -= 1
            place += 1
    if byte_at(text, place) in (69, 101):  # E, e
        ahead = place + 1
        negative_exponent = byte_at(text, ahead) == MINUS
        if negative_exponent or byte_at(text, ahead) == 43:
            ahead += 1
        power: Any = 0
        first_digit = ahead
        while True:
            digit = np.uint64(byte_at(text, ahead) - _ZERO_DIGIT)
            if digit >= _BASE:
                break
            power = min(power * 10 + np.int64(digit), 100_000)  # far beyond any double
            ahead += 1
        if ahead > first_digit:
            whole = False
            exponent += -power if negative_exponent else power
            place = ahead
    if not certain:
        return 0.0, place, False
    value, certain = nearest_double(mantissa, exponent)
    negative = negative and not (whole and value == 0.0)
    return (-value if negative else value), place, certain


@kernel
def _scalar_end(text: int, position: int) -> int:
    """The place after a number or a literal; ``position`` where there is none."""
    after = read_number(text, position)[1]
    if after > position:
        return after
    for literal in (_NULL, _TRUE, _FALSE, _NAN, _INFINITY):
        if begins(text, position, literal):
            return position + literal[0]
    if byte_at(text, position) == MINUS and begins(text, position + 1, _INFINITY):
        return position + 1 + _INFINITY[0]
    return position


@kernel
def skip_value(text: int, position: int) -> tuple[int, int]:
    """Pass over any value: MORE and the place after it, or a fault. Without recursion: brackets are bits of a word."""
    objects = np.uint64(0)  # the last bit tells whether the innermost bracket is an object
    depth = 0
    while True:
        byte = byte_at(text, position)
        if byte == QUOTE:
            code, position, _ = string_end(text, position + 1)
            if code != MORE:
                return code, position
        elif byte in (OPEN_LIST, OPEN_OBJECT):
            is_object = byte == OPEN_OBJECT
            code, inside = first_item(text, position + 1, CLOSE_OBJECT if is_object else CLOSE_LIST)
            if code == MORE:
                if depth == DEEPEST:
                    return TOO_DEEP, position
                depth += 1
                objects = (objects << _ONE) | np.uint64(is_object)
                position = inside
                if is_object:
                    code, position = _skip_key(text, position)
                    if code != MORE:
                        return code, position
                continue
            position = inside
        else:
            after = _scalar_end(text, position)
            if after == position:
                return NO_VALUE, position
            position = after
        while True:  # after a value
            if depth == 0:
                return MORE, position
            in_object = objects & _ONE == _ONE
            code, position = next_item(text, position, CLOSE_OBJECT if in_object else CLOSE_LIST)
            if code == CLOSED:
                depth -= 1
                objects >>= _ONE
                continue
            if code == MORE and in_object:
                code, position = _skip_key(text, position)
            if code != MORE:
                return code, position
            break


@kernel
def _skip_key(text: int, position: int) -> tuple[int, int]:
    """Like read_key, but the key is not looked at."""
    if byte_at(text, position) != QUOTE:
        return NO_KEY, position
    code, after, _ = string_end(text, position + 1)
    if code != MORE:
        return code, after
    after = skip_blanks(text, after)
    if byte_at(text, after) != COLON:
        return NO_COLON, after
    return MORE, skip_blanks(text, after + 1)
