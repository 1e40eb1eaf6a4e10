"""Actors that kill themselves, or run out of memory, at a named place, so many times."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from hulltune.search.cluster.actors import ShardActor


def killed_actor(wanted: str, file: Path, times: int, *, memory: bool = False) -> type[ShardActor]:
    """A kind of actor that is killed, or has no memory, at a place; each time leaves a byte in a file."""

    class Killed(ShardActor):
        """Ray gets this class by value: its workers need not see the tests."""

        def reached(self, place: str) -> None:
            if place == wanted and (not file.exists() or file.stat().st_size < times):
                with file.open("ab") as record:
                    record.write(b".")
                if memory:
                    raise MemoryError
                os.kill(os.getpid(), signal.SIGKILL)

    return Killed
