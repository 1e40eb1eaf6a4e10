"""Numbers, sentence ids and texts in files: what counts as one, and how messages show it."""

from __future__ import annotations

from typing import Any

from hulltune.arrays import as_whole
from hulltune.data.dataset import SentenceId

_LONGEST_NUMBER = 18
LONE_SURROGATE = "a lone surrogate in it, which is no character"


def plain_number(token: str) -> float | None:
    """The number that an ASCII token spells, or None. Also nan and inf: the caller refuses them."""
    try:
        return None if "_" in token or not token.isascii() else float(token)
    except ValueError:
        return None


def sentence_id(text: str) -> SentenceId:
    """The id that a text in a file spells: a number if it is all digits, otherwise a name."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else text


def json_id(value: Any) -> SentenceId | None:
    """The id that a value spells: a number from 0, or the text of anything else; None where nothing is meant.

    Nothing is a blank text, a missing value of any library, and what has parts of its own (lists, objects).
    """
    if type(value) is str and value.isprintable():
        text = value.strip()
        return sentence_id(text) if text else None
    if isinstance(value, float) and value.is_integer():  # numbers beside a missing one, as pandas has them
        value = int(value)
    number = as_whole(value)
    if number is not None and 0 <= number < 10**_LONGEST_NUMBER:
        return number
    if value is None or isinstance(value, (bytes, list, dict, set)) or getattr(value, "ndim", 0) != 0:
        return None
    text = str(value).strip()
    if not text or (text in ("nan", "NaN", "<NA>", "NaT") and not isinstance(value, str)):
        return None
    if not text.isprintable():  # ids are written into lines
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return sentence_id(text)


def is_missing(value: Any) -> bool:
    """Whether a value is None, or what pandas has in its place. It need not be a number that is missing: not NaN."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_text(text: str) -> bool:
    """Whether a string can be written as UTF-8. JSON can spell lone surrogates, which cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def shown(value: Any) -> str:
    """A value for a message, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
