"""A worker process that kills itself at a named place: python -m … PLACE FILE TIMES [memory] [EVERY].

It does so at most TIMES, each leaving a byte in the file; at every EVERYth visit of the place alone; and by the lack of
memory if that is named.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path

from hulltune.search.cluster import process


def main() -> None:
    wanted, file, times = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    kind, every = [*sys.argv[4:], "", ""][:2]
    visits = itertools.count(1)

    def reached(place: str) -> None:
        if place != wanted or next(visits) % int(every or 1):
            return
        if not file.exists() or file.stat().st_size < times:
            with file.open("ab") as record:
                record.write(b".")
            if kind == "memory":
                raise MemoryError
            os.kill(os.getpid(), signal.SIGKILL)

    process.reached = reached
    process.main()


if __name__ == "__main__":
    main()
