"""Hypergraphs that Joshua dumps, one a file.

A first line ``# target ||| features``, a line ``nodes edges``, then for each node, bottom-up, a line with its number
and a line for each edge into it: ``words [tail] words ||| name=value …``. It looks like forest text, where the line
before the edges says how many there are. Joshua does not write the goal node: here the root stands above all nodes
that are not the tail of an edge, and the features of the goal (the language model at the sentence end) are missing.
Values are scores (larger is better) and are taken as they are. The words ``<s>`` and ``</s>`` are not output.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.forest_text import Lines, TextForest, first_header, first_nodes, read_count
from hulltune.formats.source_text import HUGE, SourceText

_OLD = (b"#SENT:", b"#I ")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is from Joshua: numbers of nodes from 1, not counts of edges."""
    nodes = first_nodes(head)
    numbers = [number for number, _ in nodes]
    return bool(nodes) and numbers == list(range(1, len(nodes) + 1)) and any(n != edges for n, edges in nodes)


def read_joshua(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The one forest of a file; linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.joshua import read_joshua
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> text = '''# target ||| features
    ... 2 3
    ... 1
    ... the ||| lm_0=-1.5
    ... a ||| lm_0=-2.0
    ... 2
    ... <s> [1] house </s> ||| lm_0=-1.0
    ... '''
    >>> _ = Path("house.hg").write_text(text)
    >>> (named,) = read_joshua(Path("house.hg"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"lm_0": 1.0}).outputs()
    [['the house']]
    """
    source = SourceText.read(path)
    if source.data.startswith(_OLD):
        raise source.fault(
            0, "a hypergraph of an old Joshua, whose rules are in another file; dump it with a newer one (dump_hg)"
        )
    lines = source.lines()
    header = first_header(source, lines)
    forest = TextForest(source, header, HUGE + 1)
    places = _read_edges(forest, lines)
    root = _put_under_one_root(forest, places)
    where = partial(source.at, header.place)
    yield NamedForest(forest.edges.forest(options, vocabulary, nodes=root + 1, root=root, where=where))


def _read_edges(forest: TextForest, lines: Lines) -> list[int]:
    """Read the edges, with heads and tails as they are in the file; returns the places of their lines."""
    source, header = forest.source, forest.header
    places: list[int] = []
    nodes, node = 0, 0
    for place, line in lines:
        number = read_count(line)
        if number is not None:
            if number <= node:
                reason = f"node {line.decode().strip()} after a node with no smaller number; expected ascending numbers"
                raise source.fault(place, reason)
            if nodes == header.nodes:
                raise source.fault(place, f"more nodes than the {header.nodes} of the first line")
            nodes, node = nodes + 1, number
        elif not nodes:
            raise forest.no_count(place, line)
        elif len(places) == header.edges:
            raise forest.too_many_edges(place)
        else:
            forest.add_edge(place, line, node)
            places.append(place)
    if (nodes, len(places)) != (header.nodes, header.edges):
        raise forest.ends_early()
    return places


def _put_under_one_root(forest: TextForest, places: list[int]) -> int:
    """Number the nodes from 0, and add a root above those that are no tails; returns the root."""
    edges = forest.edges
    number = {name: node for node, name in enumerate(sorted(set(edges.heads)))}
    for place, (first, last) in zip(places, pairwise(edges.tail_offsets), strict=True):
        for tail in edges.tails[first:last]:
            if tail not in number:
                raise forest.source.fault(place, f"no node [{tail}]; expected one that has edges")
    edges.heads = array("q", [number[head] for head in edges.heads])
    edges.tails = array("q", [number[tail] for tail in edges.tails])
    root = len(number)
    for top in sorted(set(range(root)).difference(edges.tails)):
        edges.add(root, [top], [-1], [], [])
    return root
