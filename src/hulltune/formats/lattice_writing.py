"""Write lattices to formats whose arcs hold one word at most: split arcs, and name files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hulltune.data.features import rows_with_values
from hulltune.data.forest import Forest
from hulltune.errors import InputError
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.writing import folder_written_atomically, written_atomically
from hulltune.wording import counted


class PlainArc(NamedTuple):
    """An arc with the features of ``edge`` of the forest, or with none where that is −1."""

    source: int
    target: int
    word: str | None
    edge: int


@dataclass(frozen=True)
class PlainLattice:
    """Arcs, the first of which leaves the start, and final states with the edge of their features, or −1."""

    states: int
    start: int
    arcs: list[PlainArc]
    finals: dict[int, int]


def plain_lattice(forest: Forest, *, final_weights: bool) -> PlainLattice:
    """The arcs of a forest in the order of its edges. O(edges + words).

    With ``final_weights``, edges that only end a path become final weights. The start of the forest stays the start if
    it is one state without a weight; otherwise there is a new one.
    """
    if forest.arity > 1:
        raise InputError("a hypergraph, whose edges have several tails; expected a lattice or a list")
    if not forest.edges:
        raise InputError("a forest without derivations; expected at least one path")
    heads = np.repeat(np.arange(forest.nodes), np.diff(forest.edge_offsets)).tolist()
    has_tail = np.diff(forest.tail_offsets) == 1
    tails = np.full(forest.edges, -1, dtype=np.int64)
    tails[has_tail] = forest.tails
    words = [_words(forest, edge, bool(has_tail[edge])) for edge in range(forest.edges)]
    weighted = rows_with_values(forest.features).tolist()
    starts = np.flatnonzero(~has_tail)
    states, start = forest.nodes, forest.nodes
    left_out: set[int] = set()
    if len(starts) == 1:
        edge = int(starts[0])
        only = forest.edge_offsets[heads[edge] + 1] - forest.edge_offsets[heads[edge]] == 1
        if only and not words[edge] and not weighted[edge]:
            start = heads[edge]
            left_out.add(edge)
    states += start == forest.nodes
    finals = {forest.root: -1}
    first = int(forest.edge_offsets[forest.root])
    ending = range(first, forest.edges)
    if final_weights and start != forest.root and all(has_tail[edge] and not words[edge] for edge in ending):
        ends = tails[first:].tolist()
        if len(set(ends)) == len(ends) and (len(ends) > 1 or weighted[first]):
            finals = dict(zip(ends, ending, strict=True))
            left_out.update(ending)
    arcs: list[PlainArc] = []
    for edge in range(forest.edges):
        if edge in left_out:
            continue
        source = int(tails[edge]) if has_tail[edge] else start
        feature_row = edge
        for word in words[edge][:-1]:
            arcs.append(PlainArc(source, states, word, feature_row))
            source, feature_row = states, -1
            states += 1
        arcs.append(PlainArc(source, heads[edge], words[edge][-1] if words[edge] else None, feature_row))
    return PlainLattice(states, start, arcs, finals)


def _words(forest: Forest, edge: int, has_tail: bool) -> tuple[str, ...]:
    labels = forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]].tolist()
    if has_tail:
        if labels[:1] != [-1]:
            raise InputError(
                f"edge {edge} puts out words before those of its tail; expected a lattice read from the left"
            )
        labels = labels[1:]
    if any(label < 0 for label in labels):
        raise InputError(f"edge {edge} repeats the output of its tail; expected a lattice")
    return forest.vocabulary.words(labels)


def write_each(
    path: str | os.PathLike[str], forests: Iterable[NamedForest], suffix: str, text: Callable[[NamedForest], str]
) -> None:
    """Write forests in a format that holds one a file: a single one to ``path``, or all into the folder ``path``.

    Files in the folder are named after the forests, or by their numbers from 0. ``path`` is a folder if one exists
    there, if it ends with a slash, or if it has no suffix and there are several forests. Nothing is written unless
    all forests can be.
    """
    target = Path(path)
    all_forests = list(forests)
    into_folder = target.is_dir() or os.fspath(path).endswith(("/", os.sep))
    if len(all_forests) > 1 and not into_folder:
        if target.suffix or target.exists():
            raise InputError(
                f"{target}: {counted(len(all_forests), 'lattice')}, but this format holds one a file; give a folder"
            )
        into_folder = True
    if not all_forests and not into_folder:
        raise InputError(f"{target}: no lattice to write; expected one")
    contents: dict[str, bytes] = {}
    for number, forest in enumerate(all_forests):
        name = str(number) if forest.name is None else forest.name
        if into_folder and (
            name in contents or name in ("", ".", "..") or "/" in name or os.sep in name or "\0" in name
        ):
            reason = "a second lattice of the name" if name in contents else "no file can have the name"
            raise InputError(f"{target}: {reason} {name!r}")
        try:
            contents[name] = text(forest).encode("utf-8")
        except InputError as error:
            raise InputError(f"{target / f'{name}{suffix}' if into_folder else target}: {error}") from None
    if not into_folder:
        with written_atomically(target) as stream:
            stream.write(*contents.values())
        return
    with folder_written_atomically(target) as folder:
        for name, content in contents.items():
            with written_atomically(folder / f"{name}{suffix}") as stream:
                stream.write(content)
