"""Places between the steps of a loop, where it may be ended without harm."""

from __future__ import annotations


def reached(place: str) -> None:
    """Called between all steps that leave something on disk: tests end the process at each of these places."""
