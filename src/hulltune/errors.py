"""The error for wrong input: one line that names what was got and what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_LISTED = 50
"""The most known names in a message."""
NEAR = 0.65
"""The likeness (0 to 1) from which on a name is suggested for another: two letters of three, but not one of two."""


LONGEST = 800
"""The most characters of a message; of a longer one, with the names of 10,000 features say, the middle is left out."""


class InputError(ValueError):
    """The caller's data or options are wrong. The message stands alone: it is shown without a traceback."""

    def __init__(self, message: str) -> None:
        if len(message) > LONGEST:
            message = f"{message[: LONGEST * 2 // 3]} … {message[-LONGEST // 4 :]}"
        super().__init__(message)


class OptionError(InputError):
    """An option that does not apply to the data that are read: its name and the reason."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option, self.reason = option, reason


class Note(UserWarning):
    """Something that the caller should know, though the result is right; the program shows it as a line."""


def check_most(name: str, number: int, most: int) -> None:
    """Refuse a number that is larger than allowed."""
    if number > most:
        raise InputError(f"{name}: expected at most {most:,}, got {number:,}")


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not known: it suggests the nearest one and lists them."""
    names = sorted(known)
    spelled = {known_name.lower(): known_name for known_name in names}
    near = difflib.get_close_matches(name.lower(), spelled, n=1, cutoff=NEAR)
    hint = f"; did you mean {spelled[near[0]]!r}?" if near else ""
    others = f", … {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    return InputError(f"unknown {kind} {name!r}{hint} (known: {', '.join(names[:MOST_LISTED])}{others})")
