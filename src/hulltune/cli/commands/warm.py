"""``hulltune warm``: all kernels compiled for the CPU of this machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hulltune.cli.answers import DONE, note
from hulltune.cli.help import command
from hulltune.cli.options import quiet_option
from hulltune.wording import counted

EXAMPLES = "hulltune warm"


@command(group="get started", examples=EXAMPLES)
@quiet_option()
def warm(quiet: bool) -> int:
    """Compile all kernels for the CPU of this machine, ahead of time.

    Kernels come compiled with the package for all CPUs of the last ten years. Those made for the very CPU are a tenth
    faster. They are kept with the package if you can write there (as when you build an image), and otherwise in your
    cache folder, or in the one that NUMBA_CACHE_DIR names.
    """
    from hulltune.kernels.load.building import build, writable_folder

    folder = writable_folder()
    began = time.monotonic()
    with _shown(quiet=quiet) as tell:
        path, count = build(folder, native=True, tell=tell)
    print(f"{counted(count, 'kernel')} compiled for this CPU in {time.monotonic() - began:.0f} s: {path}")
    return DONE


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A function that shows how many calls of kernels are compiled: by a bar on a terminal, by one line elsewhere."""
    if quiet:
        yield lambda call, done, of: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("compiling"), BarColumn(24), MofNCompleteColumn(), TextColumn("{task.fields[text]}"))
        with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("compiling", total=None, text="…")
            yield lambda call, done, of: bar.update(task, total=of, completed=done, text=call.partition("(")[0])
    else:
        note("compiling all kernels for this CPU")
        yield lambda call, done, of: None
