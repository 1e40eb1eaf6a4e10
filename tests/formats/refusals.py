"""Calls that may refuse their input, and only in the proper way."""

from __future__ import annotations

from collections.abc import Callable

from hulltune import InputError


def refusal(call: Callable[[], object]) -> str | None:
    """The message with which a call refuses its input, or None where it does not; any other error goes through."""
    try:
        call()
    except InputError as error:
        return str(error)
    return None


def assert_refused(call: Callable[[], object], start: str) -> None:
    """Check that a call refuses its input with a message of one line that starts like this."""
    said = refusal(call)
    assert said is not None
    assert said.startswith(start)
    assert "\n" not in said
