"""Answers of commands: exit codes, notes, files, and standard output."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.loop import LoopResult
    from hulltune.metrics import Metric
    from hulltune.tuning import TuneResult

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes. A metric that waits for answers has its own one (3)."""
ANSWERS, QUESTIONS = "answers.sqlite", "questions.jsonl"
"""The store of a metric that waits for answers, and the file of its questions, unless options name others."""
OUT_SUFFIXES = {".json": "result", ".ini": "moses", ".txt": "lines"}


ARGUMENTS = "hulltune.arguments"
"""Where the context of a command keeps the arguments of the command line."""


def command_line() -> str:
    """The command line that is running, as it could be typed again."""
    import rich_click as click

    context = click.get_current_context()
    return shlex.join(["hulltune", *(() if context is None else context.meta.get(ARGUMENTS, ()))])


def note(message: str) -> None:
    """Print a line on standard error."""
    print(f"hulltune: {message}", file=sys.stderr)


def checked_outputs(names: Sequence[str]) -> list[Path]:
    """The output files of a command, checked before a long run so that a typing error does not lose its result."""
    return [_checked_output(name) for name in names]


def _checked_output(name: str) -> Path:
    path = Path(name)
    if path.suffix not in OUT_SUFFIXES:
        raise InputError(f"--out: {name!r} has no known suffix; expected .json (result), .ini (Moses) or .txt (lines)")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out: {name}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"--out: {name}: is a folder; expected the name of a file")
    return path


def checked_report(name: str, metric: Metric) -> None:
    """Check the file of a report, and that its metric can tell all that a report shows, before a long run."""
    path = Path(name)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report: {name!r} has no known suffix; expected .html")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--report: {name}: there is no folder {path.parent}")
    if metric.waits:
        raise InputError(
            f"--report: {metric.name} waits for answers, and a report needs those for every output that wins somewhere"
        )


def give_result(result: TuneResult | LoopResult, outputs: Sequence[Path], *, as_json: bool) -> None:
    """Write the result to files, and print it as JSON or as a summary."""
    for path in outputs:
        _write_result(result, path)
    print(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result.summary())


def _write_result(result: TuneResult | LoopResult, path: Path) -> None:
    """Write the whole result as JSON, or only its weights, atomically."""
    from hulltune.formats import write_weights

    if path.suffix == ".json":
        result.save(path)
    else:
        write_weights(result.weights, path, format=OUT_SUFFIXES[path.suffix])


def write_lines(lines: Iterable[str], path: str | Path | None) -> None:
    """Write texts, one a line: to a file, which is replaced atomically, or to standard output for None."""
    if path is None:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    from hulltune.formats.writing import written_atomically

    with written_atomically(path) as file:
        for line in lines:
            file.write(f"{line}\n".encode())
