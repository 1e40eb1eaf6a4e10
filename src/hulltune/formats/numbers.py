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
    """The id that a value spells, or None if it is neither a whole number from 0 nor a string that is not blank."""
    if isinstance(value, str) and value.strip() and value.isprintable():
        return sentence_id(value.strip())
    number = as_whole(value)
    return number if number is not None and 0 <= number < 10**_LONGEST_NUMBER else None


def is_text(text: str) -> bool:
    """Whether a string can be written as UTF-8. JSON can spell lone surrogates, which cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def shown(value: Any) -> str:
    """A value for a message, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
