"""Reading of the lists, forests, references and weights that the options of a command name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.answers import note
from hulltune.cli.options import DataOptions, ReadingOptions
from hulltune.errors import InputError
from hulltune.wording import counted, listed

if TYPE_CHECKING:
    from hulltune.arrays import Floats
    from hulltune.data.dataset import Dataset, References
    from hulltune.metrics import Metric
    from hulltune.options import Reading

MOST_SHOWN = 20


def read(options: DataOptions, *, quiet: bool = False) -> Dataset:
    """The lists or forests that the options of a command name; notes on standard error say what was left out."""
    if len(options.add) != len(options.name):
        raise InputError(
            f"--add, --name: got {counted(len(options.add), 'file')} and {counted(len(options.name), 'name')}; "
            "expected a name for each file"
        )
    from hulltune.formats import OptionError
    from hulltune.formats.read import read_with

    reading = reading_of(
        options, on_error=options.on_error, add=tuple(zip(options.add, options.name, strict=True)),
        features=options.features, id_column=options.id_column, text_column=options.text_column,
        ref_column=options.ref_column, source_column=options.source_column, ignore=options.ignore,
    )  # fmt: skip
    try:
        found = read_with(reading, list(options.lists))
    except OptionError as error:
        raise InputError(f"--{error.option.replace('_', '-')}: {error.reason}") from None
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


def reading_of(options: ReadingOptions, **further: Any) -> Reading:
    """The options of reading, from the options of a command."""
    from hulltune.options import Reading

    return Reading(
        format=options.format,
        missing=options.missing,
        ids=options.ids or "order",
        negate=options.negate,
        drop=options.drop,
        symbols=options.symbols,
        threads=options.threads,
        **further,
    )


def read_scored(options: DataOptions, ref: Sequence[str], *metrics: Metric, quiet: bool = False) -> Dataset:
    """The lists or forests of a command for metrics, with references from files, or with their own.

    References are read first: they are short, so a mistake in their name is found at once.
    """
    references = read_references(ref)
    return with_references(read(options, quiet=quiet), references, *metrics)


def with_references(dataset: Dataset, references: References | None, *metrics: Metric) -> Dataset:
    """The dataset with these references, or its own, for metrics; notes say what does not fit."""
    from hulltune.tuning.inputs import judged

    return judged(dataset, references, *metrics)


def read_references(files: Sequence[str]) -> References | None:
    """The references in some files; None if there are no files."""
    from hulltune.formats import as_references

    return as_references([Path(file) for file in files]) if files else None


def start_for(lists: Dataset, path: str | None) -> str | dict[str, float] | None:
    """The first weights. For forests, weights of features that no forest has are left out: they change nothing."""
    if path is None or lists.is_lists:
        return path
    return weights_for(lists, path, missing=0.0)


def weights_for(lists: Dataset, path: str, *, missing: float | None = None) -> dict[str, float]:
    """The weights of a file for these lists; a feature without a weight has 0.

    A weight for an unknown feature is an error for lists, unless ``missing`` features count as 0; for forests it is
    left out with a note.
    """
    from hulltune.formats import read_weights

    weights = read_weights(path)
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


def weight_vector(lists: Dataset, path: str, *, missing: float | None = None) -> Floats:
    """The weights of a file in the order of the features."""
    from hulltune.data.forest import feature_vector

    return feature_vector(weights_for(lists, path, missing=missing), lists.feature_names, "weights")
