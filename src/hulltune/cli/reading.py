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

    from hulltune.formats import CandidateLists, ForestSet
    from hulltune.formats.references import References
    from hulltune.tuning.inputs import ForestData, ListData

MOST_SHOWN = 20


def read(
    args: argparse.Namespace, *, files: Sequence[str] | None = None, add: Sequence[str] = ()
) -> CandidateLists | ForestSet:
    """The lists or forests of a command, with a note on what was skipped. Other files are read in the same way."""
    from hulltune.formats.read_forests import has_forests

    paths = list(args.lists if files is None else files)
    missing_value(args.missing)
    return _forests(args, paths) if has_forests(paths, args.format) else _lists(args, paths, files is None, add)


def read_candidate_lists(args: argparse.Namespace) -> CandidateLists:
    """The lists of a command that is for lists alone."""
    return _lists(args, list(args.lists), True, ())


def _lists(args: argparse.Namespace, paths: list[str], own: bool, add: Sequence[str]) -> CandidateLists:
    from hulltune.formats import read_lists
    from hulltune.formats.read_forests import matching_files

    for option in ("ids", "negate", "drop", "symbols"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option}: is for forests, and these are lists, which name their sentences themselves")
    names = args.name or []
    added = (args.add or []) if own else add
    if len(added) != len(names):
        raise InputError(
            f"--add, --name: got {counted(len(added), 'file')} and {counted(len(names), 'name')}; "
            "expected a name for each file"
        )
    lists = read_lists(
        [file for path in paths for file in matching_files(path)],
        format=args.format,
        missing=missing_value(args.missing),
        on_error=args.on_error,
        add=list(zip(added, names, strict=True)),
        builtin_features=args.features,
    )
    if lists.skipped:
        note(f"skipped {counted(len(lists.skipped), 'fault')}:")
        for fault in lists.skipped[:MOST_SHOWN]:
            print(f"  {fault}", file=sys.stderr)
        if len(lists.skipped) > MOST_SHOWN:
            print(f"  … and {len(lists.skipped) - MOST_SHOWN} more", file=sys.stderr)
    return lists


def _forests(args: argparse.Namespace, paths: list[str]) -> ForestSet:
    from hulltune.formats import read_forests

    for option, given in (("--add", args.add), ("--features", args.features), ("--on-error", args.on_error != "raise")):
        if given:
            raise InputError(f"{option}: is for lists; forests are read as they are, whole or not at all")
    found = read_forests(
        paths,
        format=args.format,
        missing=missing_value(args.missing),
        **forest_options(args),
    )
    if found.left_out and not getattr(args, "quiet", False):
        names = ", ".join(Path(name).name for name in found.left_out[:MOST_SHOWN])
        note(f"left out {counted(len(found.left_out), 'file')} in no format of forests: {names}")
    return found


def forest_options(args: argparse.Namespace) -> dict[str, Any]:
    """How forests are read, as ``read_forests`` takes it."""
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


def read_scored(args: argparse.Namespace) -> tuple[CandidateLists | ForestSet, ListData | ForestData]:
    """The lists or forests of a command as they are, and with their references."""
    lists = read(args)
    return lists, with_references(lists, args)


def with_references(lists: CandidateLists | ForestSet, args: argparse.Namespace) -> ListData | ForestData:
    """Lists or forests with the references of a command, or their own."""
    from hulltune.tuning.inputs import as_references, tuning_data

    references = as_references(reference_files(args.ref))
    say_what_is_left_out(lists, references)
    return tuning_data(lists, references)


def start_for(lists: CandidateLists | ForestSet, path: str | None) -> str | dict[str, float] | None:
    """The first weights. Of those for forests, one for a feature that no forest has is left out, as it weighs 0."""
    if path is None or _are_lists(lists):
        return path
    return weights_for(lists, path, missing="0")


def reference_files(names: Sequence[str] | None) -> list[Path] | None:
    """The reference files, if any are given."""
    return [Path(name) for name in names] if names else None


def weights_for(lists: CandidateLists | ForestSet, path: str, *, missing: str | None = None) -> dict[str, float]:
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


def weight_vector(lists: CandidateLists | ForestSet, path: str, *, missing: str | None = None) -> NDArray[np.float64]:
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
