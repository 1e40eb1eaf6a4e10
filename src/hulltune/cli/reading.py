"""Lists, references and weights as the options of a command name them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.io import CandidateLists

MOST_SHOWN = 20


def read(args: argparse.Namespace, *, files: Sequence[str] | None = None, add: Sequence[str] = ()) -> CandidateLists:
    """The lists of a command, with a note on what was skipped. Other files are read in the same way."""
    from hulltune.io import read_lists

    names = args.name or []
    added = (args.add or []) if files is None else add
    if len(added) != len(names):
        raise InputError(f"--add, --name: got {len(added)} files and {len(names)} names; expected a name for each file")
    if args.missing not in (None, "0"):
        raise InputError(f"--missing: got {args.missing!r}; expected 0")
    lists = read_lists(
        args.lists if files is None else files,
        format=args.format,
        missing=None if args.missing is None else 0.0,
        on_error=args.on_error,
        add=list(zip(added, names, strict=True)),
        builtin_features=args.features,
    )
    if lists.skipped:
        note(f"skipped {len(lists.skipped)} faults:")
        for fault in lists.skipped[:MOST_SHOWN]:
            print(f"  {fault}", file=sys.stderr)
        if len(lists.skipped) > MOST_SHOWN:
            print(f"  … and {len(lists.skipped) - MOST_SHOWN} more", file=sys.stderr)
    return lists


def reference_files(names: Sequence[str] | None) -> list[Path] | None:
    """The reference files, if any are given."""
    return [Path(name) for name in names] if names else None


def weights_for(lists: CandidateLists, path: str, *, missing: str | None = None) -> dict[str, float]:
    """The weights of a file for these lists: one that is left out is 0. One that the lists do not know is an error,
    unless what they are missing is taken as 0.
    """
    from hulltune.io import read_weights

    weights = read_weights(path)
    left_out = [name for name in lists.feature_names if name not in weights]
    if len(left_out) == len(lists.feature_names):
        raise InputError(
            f"{path}: has no weight for any feature of the lists ({', '.join(lists.feature_names[:8])}); "
            f"it has {', '.join(list(weights)[:8])}"
        )
    unknown = [name for name in weights if name not in lists.feature_names]
    if unknown and missing is not None:
        note(f"the lists have no {', '.join(unknown)}: taken as 0")
        weights = {name: weight for name, weight in weights.items() if name not in unknown}
    elif unknown:
        raise InputError(
            f"{path}: a weight for {unknown[0]!r}, which the lists do not have "
            f"(their features: {', '.join(lists.feature_names[:20])})"
        )
    if left_out:
        note(f"{path} has no weight for {', '.join(left_out)}: taken as 0")
    return weights


def metric_list(texts: Sequence[str] | None) -> list[str] | None:
    """Metrics of a repeatable option, each of which may name several between commas, if they have no options."""
    if texts is None:
        return None
    return [name for text in texts for name in ([text] if ":" in text else text.split(",")) if name.strip()]


def note(message: str) -> None:
    """A line on standard error."""
    print(f"hulltune: {message}", file=sys.stderr)
