"""A worker process that kills itself at a named place, so many times: python -m … PLACE FILE TIMES [SIGNAL]."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from hulltune.search.cluster import process


def main() -> None:
    wanted, file, times = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

    def reached(place: str) -> None:
        if place == wanted and (not file.exists() or file.stat().st_size < times):
            with file.open("ab") as record:
                record.write(b".")
            if len(sys.argv) > 4:
                raise MemoryError
            os.kill(os.getpid(), signal.SIGKILL)

    process.reached = reached
    process.main()


if __name__ == "__main__":
    main()
