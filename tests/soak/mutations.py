"""Mutations of inputs: of bytes, of lines and fields, of numbers, and of JSON by its structure."""

from __future__ import annotations

import json
import random
import re
from typing import Any

NASTY_TEXTS = [
    b"nan", b"-inf", b"inf", b"1e999", b"-1e-999", b"1e308", b"-0", b"0x1p3", b"1_0", b"007", b"+1", b"1.", b".5",
    b"--1", b"-1", b"99999999999999999999", b"9223372036854775807", b"-9223372036854775808", b"4294967296",
    b"2147483648", b"", b" ", b"\t", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\x0b", b"\x85",
    b"\xe2\x80\xa8", b"\xd9\xa3", b"\xc3\xa9", b"|||", b"||| |||", b"=", b":", b"#", b'"', b"'", b"\\u0000", b"{", b"}",
    b"[", b"]", b"[[[[[[[[", b"null", b"true",
]  # fmt: skip
NASTY_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 1e-320, float("nan"), float("inf"), 10**18, 10**19,
    10**30, -(10**30), 2**31, 2**32, 2**63, "", " ", "a", "0", "\0", "\ud800", "é", "x" * 300, [], {}, [[]], [None],
    {"": None}, [1, 2], ["a"], {"a": 1},
]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
DEEP = 100_000


def mutated(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """The data after one to four mutations; ``others`` are inputs of the same kind to take parts from."""
    for _ in range(dice.choice((1, 1, 1, 2, 3, 4))):
        if data.lstrip()[:1] in (b"{", b"[") and dice.random() < 0.5:
            data = _mutated_json(data, dice)
        else:
            data = dice.choice((_bytes, _bytes, _numbers, _numbers, _lines, _fields, _splice))(data, others, dice)
    return data[: 1 << 20]


def flipped(data: bytes, dice: random.Random) -> bytes:
    """The data with some bytes changed, a part set to another byte, or cut off or lengthened."""
    changed = bytearray(data or b"\0")
    kind = dice.random()
    if kind < 0.5:
        for _ in range(dice.choice((1, 1, 1, 2, 8))):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    elif kind < 0.7:
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    elif kind < 0.85:
        first = dice.randrange(len(changed))
        part = changed[first : first + dice.choice((4, 8, 16, 64))]
        changed[first : first + len(part)] = bytes([dice.choice((0, 255, dice.randrange(256)))]) * len(part)
    elif kind < 0.95:
        del changed[dice.randrange(len(changed)) :]
    else:
        changed += dice.randbytes(dice.randint(1, 64))
    return bytes(changed)


def _bytes(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    if not data:
        return dice.choice(NASTY_TEXTS)
    first = dice.randrange(len(data))
    last = min(len(data), first + dice.choice((1, 1, 2, 4, 16, 64)))
    kind = dice.randrange(6)
    if kind == 0:
        return flipped(data, dice)
    if kind == 1:
        return data[:first] + data[last:]
    if kind == 2:
        return data[:last] + data[first:]  # a part twice
    if kind == 3:
        return data[:first] + dice.choice(NASTY_TEXTS) + data[last:]
    if kind == 4:
        return data[:first] + dice.choice(NASTY_TEXTS) + data[first:]
    return data[:first]


def _numbers(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return _bytes(data, others, dice)
    one = dice.choice(found)
    new = dice.choice((dice.choice(NASTY_TEXTS), b"%d" % dice.randint(-3, 20), b"%r" % dice.uniform(-5, 5)))
    if dice.random() < 0.3:
        new = dice.choice(found)[0]
    return data[: one.start()] + new + data[one.end() :]


def _lines(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    kind = dice.randrange(6)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[dice.randrange(len(lines))])
    elif kind == 2:
        dice.shuffle(lines)
    elif kind == 3:
        lines.insert(place, b"")
    elif kind == 4:
        lines[place] = lines[place] + lines[dice.randrange(len(lines))]
    else:
        other = dice.choice(others).split(b"\n")
        lines[place] = other[dice.randrange(len(other))]
    return b"\n".join(lines)


def _fields(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """Change a field of a line between separators that occur in it."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    separators = [mark for mark in (b" ||| ", b"|||", b"\t", b" ", b",", b"=", b":", b"/") if mark in lines[place]]
    if not separators:
        return _bytes(data, others, dice)
    mark = dice.choice(separators)
    fields = lines[place].split(mark)
    one = dice.randrange(len(fields))
    kind = dice.randrange(4)
    if kind == 0:
        del fields[one]
    elif kind == 1:
        fields.insert(one, dice.choice(fields))
    elif kind == 2:
        fields[one] = dice.choice(NASTY_TEXTS)
    else:
        dice.shuffle(fields)
    lines[place] = mark.join(fields)
    return b"\n".join(lines)


def _splice(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    other = dice.choice(others)
    first, second = dice.randint(0, len(data)), dice.randint(0, len(other))
    return data[:first] + other[second:]


def _mutated_json(data: bytes, dice: random.Random) -> bytes:
    """JSON (or lines of it) with a value, a name or the depth changed; bytes if it cannot be parsed."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    whole = dice.random() < 0.5
    text = data if whole else lines[place]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _bytes(data, [data], dice)
    new = json_text(changed_value(value, dice), dice)
    if whole:
        return new
    lines[place] = new
    return b"\n".join(lines)


def json_text(value: Any, dice: random.Random) -> bytes:
    """A value as JSON; now and then nested very deeply, or with a name twice."""
    text = json.dumps(value)
    if dice.random() < 0.02:
        text = text.replace("null", "[" * DEEP + "]" * DEEP, 1) if "null" in text else "[" * DEEP + text
    elif dice.random() < 0.05 and text.startswith("{") and len(text) > 2:
        text = text[:-1] + ", " + text[1:]
    return text.encode()


def changed_value(value: Any, dice: random.Random) -> Any:
    """A copy of a JSON value with one node of it changed."""
    if isinstance(value, (dict, list)) and value and dice.random() < 0.8:
        copy: Any = dict(value) if isinstance(value, dict) else list(value)
        key = dice.choice(list(copy)) if isinstance(copy, dict) else dice.randrange(len(copy))
        kind = dice.random()
        if kind < 0.1:
            del copy[key]
        elif kind < 0.2 and isinstance(copy, list):
            copy.insert(key, copy[dice.randrange(len(copy))])
        elif kind < 0.2:
            copy[dice.choice(["", "x", "é", str(key) + "0"])] = copy.pop(key)
        else:
            copy[key] = changed_value(copy[key], dice)
        return copy
    if isinstance(value, (int, float)) and not isinstance(value, bool) and dice.random() < 0.4:
        return dice.choice((value + 1, value - 1, -value, value * 2, value + 0.5, str(value), [value]))
    return dice.choice(NASTY_VALUES)
