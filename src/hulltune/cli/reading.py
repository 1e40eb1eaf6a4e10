"""Lists, references and weights as the options of a command name them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.answers import note
from hulltune.cli.options import DataOptions, ReadingOptions
from hulltune.errors import InputError
from hulltune.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hulltune.formats import CandidateLists, ForestSet
    from hulltune.formats.references import References
    from hulltune.tuning.inputs import ForestData, ListData

MOST_SHOWN = 20


def read(options: DataOptions, *, quiet: bool = False) -> CandidateLists | ForestSet:
    """The lists or forests that the options of a command name, with a note on what was left out."""
    from hulltune.formats.read_forests import has_forests

    are_forests = has_forests(list(options.lists), options.format)
    return _forests(options, quiet) if are_forests else _lists(options)


def _lists(options: DataOptions) -> CandidateLists:
    from hulltune.formats import read_lists
    from hulltune.formats.read_forests import matching_files

    for option in ("ids", "negate", "drop", "symbols"):
        if getattr(options, option) is not None:
            raise InputError(f"--{option}: is for forests, and these are lists, which name their sentences themselves")
    if len(options.add) != len(options.name):
        raise InputError(
            f"--add, --name: got {counted(len(options.add), 'file')} and {counted(len(options.name), 'name')}; "
            "expected a name for each file"
        )
    lists = read_lists(
        [file for path in options.lists for file in matching_files(path)],
        format=options.format,
        missing=options.missing,
        on_error=options.on_error,
        add=list(zip(options.add, options.name, strict=True)),
        builtin_features=options.features,
    )
    if lists.skipped:
        note(f"skipped {counted(len(lists.skipped), 'fault')}:")
        for fault in lists.skipped[:MOST_SHOWN]:
            print(f"  {fault}", file=sys.stderr)
        if len(lists.skipped) > MOST_SHOWN:
            print(f"  … and {len(lists.skipped) - MOST_SHOWN} more", file=sys.stderr)
    return lists


def _forests(options: DataOptions, quiet: bool) -> ForestSet:
    from hulltune.formats import read_forests

    for option, given in (
        ("--add", options.add),
        ("--features", options.features),
        ("--on-error", options.on_error != "raise"),
    ):
        if given:
            raise InputError(f"{option}: is for lists; forests are read as they are, whole or not at all")
    found = read_forests(options.lists, format=options.format, missing=options.missing, **forest_options(options))
    if found.left_out and not quiet:
        names = ", ".join(Path(name).name for name in found.left_out[:MOST_SHOWN])
        note(f"left out {counted(len(found.left_out), 'file')} in no format of forests: {names}")
    return found


def forest_options(options: ReadingOptions) -> dict[str, Any]:
    """How forests are read, as ``read_forests`` takes it."""
    return {
        "ids": options.ids or "order",
        "negate": options.negate,
        "drop": options.drop,
        "symbols": options.symbols,
    }


def _are_lists(lists: CandidateLists | ForestSet) -> bool:
    from hulltune.formats import CandidateLists

    return isinstance(lists, CandidateLists)


def say_what_is_left_out(lists: CandidateLists | ForestSet, references: References | None) -> None:
    """A note on reference lines that no forest is of."""
    from hulltune.formats import ForestSet

    if references is not None and isinstance(lists, ForestSet):
        unused = len(references) - len(lists)
        if unused > 0:
            lists.matched(references)  # raises where lines must not be left out: then there is nothing to note
            note(f"left out {unused} of {counted(len(references), 'reference line')}, for which there is no forest")


def read_scored(
    options: DataOptions, ref: Sequence[str], *, quiet: bool = False
) -> tuple[CandidateLists | ForestSet, ListData | ForestData]:
    """The lists or forests of a command as they are, and with their references."""
    lists = read(options, quiet=quiet)
    return lists, with_references(lists, ref)


def with_references(lists: CandidateLists | ForestSet, ref: Sequence[str]) -> ListData | ForestData:
    """Lists or forests with the references of a command, or their own."""
    from hulltune.tuning.inputs import tuning_data

    references = read_references(ref)
    say_what_is_left_out(lists, references)
    return tuning_data(lists, references)


def read_references(files: Sequence[str]) -> References | None:
    """The references of these files, if any are given."""
    from hulltune.tuning.inputs import as_references

    return as_references([Path(file) for file in files]) if files else None


def start_for(lists: CandidateLists | ForestSet, path: str | None) -> str | dict[str, float] | None:
    """The first weights. Of those for forests, one for a feature that no forest has is left out, as it weighs 0."""
    if path is None or _are_lists(lists):
        return path
    return weights_for(lists, path, missing=0.0)


def weights_for(lists: CandidateLists | ForestSet, path: str, *, missing: float | None = None) -> dict[str, float]:
    """The weights of a file for these lists: one that is left out is 0. One that the lists do not know is an error,
    unless what they are missing is taken as 0, as it always is in forests.
    """
    from hulltune.formats import read_weights

    weights = read_weights(path)
    left_out = [name for name in lists.feature_names if name not in weights]
    if len(left_out) == len(lists.feature_names):
        raise InputError(
            f"{path}: has no weight for any feature of the lists ({', '.join(lists.feature_names[:8])}); "
            f"it has {', '.join(list(weights)[:8])}"
        )
    unknown = [name for name in weights if name not in lists.feature_names]
    if unknown and (missing is not None or not _are_lists(lists)):
        note(f"the {'lists' if _are_lists(lists) else 'forests'} have no {', '.join(unknown)}: taken as 0")
        weights = {name: weight for name, weight in weights.items() if name not in unknown}
    elif unknown:
        raise InputError(
            f"{path}: a weight for {unknown[0]!r}, which the lists do not have "
            f"(their features: {', '.join(lists.feature_names[:20])})"
        )
    if left_out:
        note(f"{path} has no weight for {', '.join(left_out)}: taken as 0")
    return weights


def weight_vector(lists: CandidateLists | ForestSet, path: str, *, missing: float | None = None) -> NDArray[np.float64]:
    """The weights of a file in the order of the features."""
    from hulltune.data.forest import feature_vector

    return feature_vector(weights_for(lists, path, missing=missing), lists.feature_names, "weights")
