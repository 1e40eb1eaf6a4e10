"""Hypergraphs that Joshua dumps, one a file.

A first line ``# target ||| features``, a line ``nodes edges``, then for each node, bottom-up, a line with its number
and a line for each edge into it: ``words [tail] words ||| name=value …``. It looks like forest text, where the line
before the edges says how many there are. The goal node is not written: the root stands above all nodes that are not
the tail of an edge, so that the features of the goal (the language model at the end of the sentence) are missing.
Values are scores (larger is better) and are taken as they are. The words ``<s>`` and ``</s>`` are not output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.forest_text import find_header, first_nodes, read_nodes
from hulltune.formats.raw_edges import RawEdges
from hulltune.formats.source_text import SourceText

_OLD = (b"#SENT:", b"#I ")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is a hypergraph of Joshua: nodes have numbers from 1, not counts."""
    nodes = first_nodes(head)
    numbers = [number for number, _ in nodes]
    return bool(nodes) and numbers == list(range(1, len(nodes) + 1)) and any(n != edges for n, edges in nodes)


def read_joshua(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The one forest of a file; linear in its size, most of it in a kernel."""
    source = SourceText.read(path)
    if source.data.startswith(_OLD):
        raise source.fault(
            0, "a hypergraph of an old Joshua, whose rules are in another file; dump it with a newer one (dump_hg)"
        )
    _, start, position = find_header(source, 0)
    if start == len(source.data):
        raise source.fault(0, "no forest in the file; expected a line with the numbers of nodes and edges")
    edges, lines, _ = read_nodes(source, start, position, numbered=True)
    edges = _under_one_root(source, edges, lines)
    yield NamedForest(edges.forest(options, vocabulary, root=edges.nodes - 1, where=lambda: source.at(start)))


def _under_one_root(source: SourceText, edges: RawEdges, lines: Any) -> RawEdges:
    """The same with nodes numbered from 0, and a root above those that are no tails."""
    numbers, heads = np.unique(edges.heads, return_inverse=True)
    tails = np.searchsorted(numbers, edges.tails)
    unknown = tails == len(numbers)
    unknown[~unknown] = numbers[tails[~unknown]] != edges.tails[~unknown]
    if unknown.any():
        slot = int(np.argmax(unknown))
        edge = int(np.searchsorted(edges.tail_offsets, slot, side="right")) - 1
        raise source.fault(int(lines[edge]), f"no node [{edges.tails[slot]}]; expected one that has edges")
    tops = np.flatnonzero(np.bincount(tails, minlength=len(numbers)) == 0)
    root = len(numbers)
    whole = replace(edges, nodes=root + 1, heads=heads.reshape(-1).astype(np.int64), tails=tails.astype(np.int64))
    return whole.with_edges(np.full(len(tops), root), tops)
