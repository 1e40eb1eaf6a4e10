"""Lists, references and weights as the options of a command name them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.parser import comma_separated
from hulltune.errors import InputError
from hulltune.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hulltune.data.dataset import Dataset, References

MOST_SHOWN = 20


def read(args: argparse.Namespace, *, files: Sequence[str] | None = None, add: Sequence[str] = ()) -> Dataset:
    """The lists or forests of a command, with a note on what was skipped. Other files are read in the same way."""
    from hulltune.formats import OptionError, Reading

    names = args.name or []
    added = list(add if files is not None else args.add or [])
    if len(added) != len(names):
        raise InputError(
            f"--add, --name: got {counted(len(added), 'file')} and {counted(len(names), 'name')}; "
            "expected a name for each file"
        )
    reading = Reading(
        format=args.format,
        missing=missing_value(args.missing),
        on_error=args.on_error,
        add=list(zip(added, names, strict=True)),
        features=args.features,
        **forest_options(args),
    )
    try:
        found = reading.read(list(args.lists if files is None else files))
    except OptionError as error:
        raise InputError(f"--{error.option.replace('_', '-')}: {error.reason}") from None
    if found.is_lists and args.ids is not None:
        raise InputError("--ids: is for forests, and these are lists, which name their sentences themselves")
    if found.skipped:
        note(f"skipped {counted(len(found.skipped), 'fault')}:")
        for fault in found.skipped[:MOST_SHOWN]:
            print(f"  {fault}", file=sys.stderr)
        if len(found.skipped) > MOST_SHOWN:
            print(f"  … and {len(found.skipped) - MOST_SHOWN} more", file=sys.stderr)
    if found.left_out and not getattr(args, "quiet", False):
        shown = ", ".join(Path(name).name for name in found.left_out[:MOST_SHOWN])
        note(f"left out {counted(len(found.left_out), 'file')} in no format of forests: {shown}")
    return found


def forest_options(args: argparse.Namespace) -> dict[str, Any]:
    """How forests are read, as ``read`` takes it."""
    return {
        "ids": args.ids or "order",
        "negate": _negated(args.negate),
        "drop": args.drop,
        "symbols": args.symbols,
    }


def missing_value(text: str | None) -> float | None:
    """What a feature that is missing counts as; None if it must not be."""
    if text not in (None, "0"):
        raise InputError(f"--missing: got {text!r}; expected 0")
    return None if text is None else 0.0


def _negated(text: str | None) -> bool | list[str] | None:
    """Which features change their sign: "all", "none", or some by name."""
    if text is None or text in ("all", "none"):
        return None if text is None else text == "all"
    return comma_separated(text)


def say_what_is_left_out(lists: Dataset, references: References | None) -> None:
    """A note on reference lines that no forest is of."""
    if references is not None and not lists.is_lists:
        unused = len(references) - len(lists)
        if unused > 0:
            lists.matched(references)  # raises where lines must not be left out: then there is nothing to note
            note(f"left out {unused} of {counted(len(references), 'reference line')}, for which there is no forest")


def read_scored(args: argparse.Namespace) -> tuple[Dataset, Dataset]:
    """The lists or forests of a command as they are, and with their references."""
    lists = read(args)
    return lists, with_references(lists, args)


def with_references(lists: Dataset, args: argparse.Namespace) -> Dataset:
    """Lists or forests with the references of a command, or their own."""
    from hulltune.formats import as_references

    references = as_references(reference_files(args.ref))
    say_what_is_left_out(lists, references)
    return lists.matched(references)


def start_for(lists: Dataset, path: str | None) -> str | dict[str, float] | None:
    """The first weights. Of those for forests, one for a feature that no forest has is left out, as it weighs 0."""
    if path is None or lists.is_lists:
        return path
    return weights_for(lists, path, missing="0")


def reference_files(names: Sequence[str] | None) -> list[Path] | None:
    """The reference files, if any are given."""
    return [Path(name) for name in names] if names else None


def weights_for(lists: Dataset, path: str, *, missing: str | None = None) -> dict[str, float]:
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
    if unknown and (missing is not None or not lists.is_lists):
        note(f"the {'lists' if lists.is_lists else 'forests'} have no {', '.join(unknown)}: taken as 0")
        weights = {name: weight for name, weight in weights.items() if name not in unknown}
    elif unknown:
        raise InputError(
            f"{path}: a weight for {unknown[0]!r}, which the lists do not have "
            f"(their features: {', '.join(lists.feature_names[:20])})"
        )
    if left_out:
        note(f"{path} has no weight for {', '.join(left_out)}: taken as 0")
    return weights


def weight_vector(lists: Dataset, path: str, *, missing: str | None = None) -> NDArray[np.float64]:
    """The same in the order of the features."""
    from hulltune.data.forest import feature_vector

    return feature_vector(weights_for(lists, path, missing=missing), lists.feature_names, "weights")


def metric_list(texts: Sequence[str] | None) -> list[str] | None:
    """Metrics of a repeatable option, each of which may name several between commas, if they have no options."""
    if texts is None:
        return None
    return [name for text in texts for name in ([text] if ":" in text else text.split(",")) if name.strip()]


def note(message: str) -> None:
    """A line on standard error."""
    print(f"hulltune: {message}", file=sys.stderr)
