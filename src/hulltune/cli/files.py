"""Files of commands: reading what options name, refusing to overwrite it, and writing answers."""

from __future__ import annotations

import glob
import json
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from hulltune.cli.command import note
from hulltune.cli.options import RESULT_SUFFIXES, Answer, Data
from hulltune.cli.values import FILE, METRIC_FILES, NameOrFile, Written
from hulltune.errors import InputError
from hulltune.wording import counted, listed

if TYPE_CHECKING:
    from hulltune.arrays import Floats
    from hulltune.data.dataset import Dataset, References
    from hulltune.loop import LoopResult
    from hulltune.metrics import Metric
    from hulltune.tuning import TuneResult

ANSWERS, QUESTIONS = "answers.sqlite", "questions.jsonl"
"""The store of a metric that waits for answers, and the file of its questions, unless options name others."""
MOST_SHOWN = 20
"""The most faults and files that a note names."""


# Reading.


def read(data: Data, *, quiet: bool = False) -> Dataset:
    """The lists or forests that the options of a command name; notes on standard error say what was left out."""
    from hulltune.formats.read import read_with

    found = read_with(data.reading, list(data.lists))
    if found.skipped:
        note(f"skipped {counted(len(found.skipped), 'fault')}:")
        for fault in found.skipped[:MOST_SHOWN]:
            print(f"  {fault}", file=sys.stderr)
        if len(found.skipped) > MOST_SHOWN:
            print(f"  … and {len(found.skipped) - MOST_SHOWN} more", file=sys.stderr)
    if found.left_out and not quiet:
        names = listed((Path(name).name for name in found.left_out), MOST_SHOWN)
        note(f"left out {counted(len(found.left_out), 'file')} in no known format of forests: {names}")
    return found


def read_scored(data: Data, *others: Metric, quiet: bool = False) -> Dataset:
    """The lists or forests of a command for its metric and others, with references from files, or with their own.

    References are read first: they are short, so a mistake in their name is found at once.
    """
    references = read_references(data.ref)
    return with_references(read(data, quiet=quiet), references, data.metric, *others, any_order=data.any_order)


def with_references(
    dataset: Dataset, references: References | None, *metrics: Metric, any_order: bool = False
) -> Dataset:
    """The dataset with these references, or its own, for metrics; notes say what does not fit."""
    from hulltune.tuning.inputs import judged

    return judged(dataset, references, *metrics, any_order=any_order)


def read_references(files: Sequence[str]) -> References | None:
    """The references in some files; None if there are no files."""
    from hulltune.formats import as_references

    return as_references([Path(file) for file in files]) if files else None


def start_for(lists: Dataset, path: str | None) -> str | dict[str, float] | None:
    """The first weights. For forests, weights of features that no forest has are left out: they change nothing."""
    if path is None or lists.is_lists:
        return path
    return weights_for(lists, path, missing=0.0)


def weights_for(lists: Dataset, path: str, *, missing: float | str | None = None) -> dict[str, float]:
    """The weights of a file for these lists; a feature without a weight has 0.

    A weight for an unknown feature is an error for lists, unless ``missing`` features count as 0; for forests it is
    left out with a note.
    """
    from hulltune.formats import read_weights
    from hulltune.formats.weights import normalisation_in

    weights = read_weights(path)
    lists.check_normalisation(normalisation_in(path), path)
    left_out = [name for name in lists.feature_names if name not in weights]
    if len(left_out) == len(lists.feature_names):
        raise InputError(
            f"{path}: has no weight for any feature of the lists ({listed(lists.feature_names, 8)}); "
            f"it has {listed(weights, 8)}"
        )
    unknown = [name for name in weights if name not in lists.feature_names]
    if unknown and (missing is not None or not lists.is_lists):
        note(f"the {'lists' if lists.is_lists else 'forests'} have no {listed(unknown)}: taken as 0")
        weights = {name: weight for name, weight in weights.items() if name not in unknown}
    elif unknown:
        raise InputError(
            f"{path}: a weight for {unknown[0]!r}, which is no feature of the lists "
            f"(their features: {listed(lists.feature_names, 20)}); remove it, or give --missing 0"
        )
    if left_out:
        note(f"{path} has no weight for {listed(left_out)}: taken as 0")
    return weights


def weight_vector(lists: Dataset, path: str, *, missing: float | str | None = None) -> Floats:
    """The weights of a file in the order of the features."""
    from hulltune.data.forest import feature_vector

    return feature_vector(weights_for(lists, path, missing=missing), lists.feature_names, "weights")


def while_waiting(metric: Metric, store: str | None, questions: str | None = None) -> tuple[str | None, str | None]:
    """The store and the file of questions: those that options name, or of a metric that waits, those of this folder."""
    return (store or ANSWERS, questions or QUESTIONS) if metric.waits else (store, questions)


# Refusing to overwrite.


def check_outputs(ctx: click.Context) -> None:
    """Refuse the outputs of a command that are among its inputs, or twice the same file."""
    inputs = [("--metric", file) for file in ctx.meta.get(METRIC_FILES, ())]
    outputs: list[tuple[str, str]] = []
    for param in ctx.command.params:
        name = param.metavar or "" if isinstance(param, click.Argument) else param.opts[-1]
        given = ctx.params.get(param.name or "")
        values = list(given) if isinstance(given, (tuple, list)) else [given]
        files = [(name, each[0] if isinstance(each, tuple) else each) for each in values if each]
        kind = param.type.types[0] if isinstance(param.type, click.Tuple) else param.type
        if isinstance(kind, Written):
            outputs += files
        elif (kind is FILE or isinstance(kind, NameOrFile)) and param.name != "start":  # a run may go on in its file
            inputs += files
    refuse_overwriting(inputs, outputs)


def refuse_overwriting(inputs: Iterable[tuple[str, str]], outputs: Iterable[tuple[str, str]]) -> None:
    """Refuse an output that is an input or another output, under this or another name (a link, a relative path).

    Both have the name of the option and that of the file. Folders hold their files, and patterns stand for those that
    match. Pipes, terminals and devices are no files that could be lost.
    """
    written = list(outputs)
    exists = any(os.path.exists(path) for _, path in written)
    read = {file: (option, given) for option, given in inputs for file in _files(given)} if exists else {}
    places: dict[str, str] = {}
    for option, path in written:
        place = os.path.realpath(path)
        if place in places and path != "-" and not _is_special(path):
            raise InputError(f"{option}: {path} is written by {places[place]}, too; give each a file of its own")
        places[place] = option
        for file in read.keys() & _files(path):
            other, name = read[file]
            alias = "" if name == path else f" ({name})"
            raise InputError(
                f"{option}: {path} is what {other} reads{alias}, and would be overwritten; name another file"
            )


def _is_special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _files(path: str) -> set[tuple[int, int]]:
    """The files that a name stands for, each as what tells it whatever its name is: its device and its number there."""
    found = set()
    is_pattern = glob.has_magic(path) and not os.path.exists(path)
    for each in glob.glob(path) if is_pattern else ["/dev/stdin" if path == "-" else path]:
        inside = [os.path.join(folder, name) for folder, _, names in os.walk(each) for name in names]
        for file in inside if os.path.isdir(each) else [each]:
            with suppress(OSError):  # whoever reads it says so
                at = os.stat(file)
                if stat.S_ISREG(at.st_mode):
                    found.add((at.st_dev, at.st_ino))
    return found


# Writing.


def give_result(result: TuneResult | LoopResult, answer: Answer, *, ini: str = "") -> None:
    """Write the result to files, atomically, and print it as JSON or as a summary.

    A file of the suffix .ini has all sections of ``ini``, the text of the one that it replaces.
    """
    from hulltune.formats import write_weights

    for path in map(Path, answer.out):
        if path.suffix == ".json":
            result.save(path)
        else:
            write_weights(
                result.weights,
                path,
                format=RESULT_SUFFIXES[path.suffix],
                normalisation=getattr(result, "normalisation", None),
                ini=ini,
            )
    print(json.dumps(result.to_dict(), ensure_ascii=False) if answer.as_json else result.summary())


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
