"""What to do with a line at fault: raise, or skip it and keep the reason."""

from __future__ import annotations

from hulltune.data.dataset import Skipped
from hulltune.errors import InputError, unknown_name
from hulltune.names import ON_ERROR


class Problems:
    """Collects faults where they may be skipped, and raises the first one where not."""

    def __init__(self, on_error: str = "raise") -> None:
        if on_error not in ON_ERROR:
            raise unknown_name("way to handle errors", on_error, ON_ERROR)
        self.skip = on_error == "skip"
        self.skipped: list[Skipped] = []

    def report(self, file: str, line: int, reason: str) -> None:
        """A fault at a line: raises InputError, or remembers it and returns."""
        fault = Skipped(file, line, reason)
        if not self.skip:
            raise InputError(str(fault))
        self.skipped.append(fault)
