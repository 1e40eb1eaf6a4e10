"""How a command answers: files that are written, what is said on standard output, and that Ctrl-C waits for both."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hulltune.cli.parser import show_together
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.loop import LoopResult
    from hulltune.tuning import TuneResult

Result = TypeVar("Result", "TuneResult", "LoopResult")

OUT_SUFFIXES = {".json": "result", ".ini": "moses", ".txt": "lines"}


def add_result_files(group: Any) -> None:
    """Where a result of tuning goes."""
    group.add_argument("--out", metavar="FILE", action="append", help=".json (result), .ini (Moses), .txt; repeatable")
    loudness = group.add_argument("--json", action="store_true", help="print one JSON object; no progress")
    group.add_argument("--quiet", action="store_true", help=argparse.SUPPRESS)
    show_together(loudness, "--json, --quiet")


def checked_outputs(names: Sequence[str] | None) -> list[Path]:
    """Files that can be written later: better to learn of a typo before a long run than after it."""
    return [_checked_output(name) for name in names or []]


def _checked_output(name: str) -> Path:
    path = Path(name)
    if path.suffix not in OUT_SUFFIXES:
        raise InputError(f"--out: {name!r} has no known suffix; expected .json (result), .ini (Moses) or .txt (lines)")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out: {name}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"--out: {name}: is a folder; expected the name of a file")
    return path


def give_result(result: Result, outputs: Sequence[Path], *, summary: Callable[[Result], str], as_json: bool) -> None:
    """Write the result, and print it: as JSON or as its summary."""
    for path in outputs:
        _write_result(result, path)
    print(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else summary(result))


def _write_result(result: TuneResult | LoopResult, path: Path) -> None:
    """The whole result as JSON, or its weights alone; atomically."""
    from hulltune.formats import write_weights

    if path.suffix == ".json":
        result.save(path)
    else:
        write_weights(result.weights, path, format=OUT_SUFFIXES[path.suffix])


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C while a result is written: it is there, and it will not take long."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def write_lines(lines: Iterable[str], path: str | Path | None) -> None:
    """A text a line: into a file, which is replaced as a whole, or to standard output where None is named."""
    if path is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    from hulltune.formats.streams import written_atomically

    with written_atomically(path) as file:
        for line in lines:
            file.write(f"{line}\n".encode())
