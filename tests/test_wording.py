"""Numbers and their nouns agree, wherever they are told."""

from __future__ import annotations

import pytest

from hulltune.errors import LONGEST, InputError, unknown_name
from hulltune.wording import counted


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (2, "file", "2 files"),
        (1, "hypothesis", "1 hypothesis"),
        (12_000, "new hypothesis", "12,000 new hypotheses"),
        (3, "box", "3 boxes"),
        (2, "line search", "2 line searches"),
    ],
)
def test_a_number_of_things(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said


def test_a_long_message_loses_its_middle() -> None:
    message = str(unknown_name("feature", "x", [f"feature_{k}" for k in range(10_000)]))
    assert len(message) <= LONGEST
    assert message.startswith("unknown feature 'x'")
    assert message.endswith("9,950 more)")
    assert " … " in message
    assert str(InputError("x" * LONGEST)) == "x" * LONGEST
