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
