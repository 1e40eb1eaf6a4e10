"""Refusal of outputs that would take the place of what a command reads, or of each other."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator

import rich_click as click

from hulltune.cli.values import FILE, METRIC_FILES, WRITTEN, NameOrFile
from hulltune.errors import InputError

IN_PLACE = "start"
"""The option whose file may be replaced by the result: a run that goes on from its earlier result."""


def check_command(ctx: click.Context) -> None:
    """Refuse the outputs of a command that are among its inputs."""
    inputs = [("--metric", file) for file in ctx.meta.get(METRIC_FILES, ())]
    outputs: list[tuple[str, str]] = []
    for param in ctx.command.params:
        name = param.metavar or "" if isinstance(param, click.Argument) else param.opts[-1]
        given = ctx.params.get(param.name or "")
        files = [(name, each) for each in (given if isinstance(given, (tuple, list)) else [given]) if each]
        if param.type is WRITTEN:
            outputs += files
        elif param.name != IN_PLACE and (param.type is FILE or isinstance(param.type, NameOrFile)):
            inputs += files
    refuse_overwriting(inputs, outputs)


def refuse_overwriting(inputs: Iterable[tuple[str, str]], outputs: Iterable[tuple[str, str]]) -> None:
    """Refuse an output that is an input or another output, under this or another name (a link, a relative path).

    Both have the name of the option and that of the file. Folders hold their files, and patterns stand for those that
    match. Pipes, terminals and devices are no files that could be lost.
    """
    places: dict[str, str] = {}
    known: dict[tuple[int, int], tuple[str, str]] = {}
    written = list(outputs)
    if any(os.path.exists(path) for _, path in written):
        known = {key: (option, path) for option, given in inputs for key, path in _files(given)}
    for option, path in written:
        place = os.path.realpath(path)
        if place in places and path != "-" and not _is_special(path):
            raise InputError(f"{option}: {path} is written by {places[place]}, too; give each a file of its own")
        places[place] = option
        for key, _ in _files(path):
            if key in known:
                other, name = known[key]
                alias = "" if name == path else f" ({name})"
                raise InputError(
                    f"{option}: {path} is what {other} reads{alias}, and would be overwritten; name another file"
                )


def _is_special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _files(path: str) -> Iterator[tuple[tuple[int, int], str]]:
    """The files that a name stands for: what tells each of them, whatever its name is, and a name."""
    if path == "-":
        paths = ["/dev/stdin"]
    elif glob.has_magic(path) and not os.path.exists(path):
        paths = [*glob.glob(path)]
    else:
        paths = [path]
    for each in paths:
        try:
            found = os.stat(each)
        except OSError:  # whoever reads it says so
            continue
        if stat.S_ISREG(found.st_mode):
            yield (found.st_dev, found.st_ino), path
        elif stat.S_ISDIR(found.st_mode):
            for folder, _, names in os.walk(each):
                for file in (os.path.join(folder, name) for name in names):
                    if os.path.isfile(file):
                        yield (os.stat(file).st_dev, os.stat(file).st_ino), file
