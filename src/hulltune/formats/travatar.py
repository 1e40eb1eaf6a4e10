"""Forests of Travatar: JSON, one hypergraph a line.

``nodes`` have an ``id`` and the ``span`` of source words that they cover; ``edges`` have a ``head``, ``tails``,
``features`` and the target ``trg`` (a list, of whose first entry ``words`` are the output): a text is a word, also one
that looks like a number, and −1, −2, … are the output of the first, second, … tail. Node 0 is the root. As in
Travatar, the word ``<unk>`` stands for the source words that the head covers or, in an edge with tails, for the output
of all tails in order. Values are scores (larger is better) and are taken as they are. The words ``<s>`` and ``</s>``
are not output.

Keys come in any order, each once in an object; other keys are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path, SourceText
from hulltune.formats.json_text import (
    JsonFault,
    JsonHypergraph,
    are_finite,
    is_index,
    items_of,
    members_of,
    not_finite,
    parsed,
)
from hulltune.formats.numbers import shown

UNKNOWN = "<unk>"
_START = re.compile(rb'\s*\{\s*"nodes"\s*:')
_EXPECTED = "expected the JSON of a hypergraph with nodes, edges and words"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes has forests of Travatar."""
    return _START.match(head) is not None


def read_travatar(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a file, one a line; linear in its size.

    >>> import json
    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> from hulltune.formats.travatar import read_travatar
    >>> edge = {"id": 0, "head": 0, "trg": [{"words": ["a", "house"]}], "features": {"lm": -3}}
    >>> forest = {"nodes": [{"id": 0, "sym": "S", "span": [0, 1]}], "edges": [edge], "words": ["ein", "haus"]}
    >>> _ = Path("house.json").write_text(json.dumps(forest))
    >>> (named,) = read_travatar(Path("house.json"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"lm": 1.0}).outputs()
    [['a house']]
    """
    source = None
    for source in SourceText.read_by_line(path):
        if source.data.isspace():
            raise source.fault(0, f"blank line; {_EXPECTED}")
        graph, described = _Hypergraph(), parsed(source, _EXPECTED)
        with graph.faults_in(source):
            root = graph.read(members_of(described))
        where = partial(source.at, 0)
        yield NamedForest(graph.edges.forest(options, vocabulary, nodes=graph.nodes, root=root, where=where))
    if source is None:
        raise InputError(f"{os.fspath(path)}:1: no forest in the file; {_EXPECTED}")


class _Hypergraph(JsonHypergraph):
    """The hypergraph of a line."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[int, int] = {}
        """The place of each node in the list by its id."""
        self._spans: list[Any] = []
        self._source_words: Any = None

    def read(self, graph: dict[str, Any]) -> int:
        """Read all nodes and edges; returns the root."""
        for key in ("nodes", "edges"):
            if not isinstance(graph.get(key), list):
                raise JsonFault(f"the hypergraph has no list of {key} (got {shown(graph.get(key))}); {_EXPECTED}")
        self._source_words = graph.get("words")
        for place, node in enumerate(graph["nodes"]):
            self.item = f"nodes, item {place}"
            self._add_node(members_of(node))
        self.item = ""
        if 0 not in self._places:
            raise JsonFault("no node has the id 0, which is that of the root")
        for number, edge in enumerate(graph["edges"]):
            self.item = f"edge {number}"
            self._add_edge(members_of(edge))
        self.item = ""
        for word in self.edges.words.texts:
            if word.split() != [word]:
                raise JsonFault(f"the word {shown(word)} is empty or has white space in it")
        return self._places[0]

    def _add_node(self, node: dict[str, Any]) -> None:
        identity: Any = node.get("id")
        if not is_index(identity):
            raise JsonFault(f"{shown(node)} has no id; expected a whole number from 0")
        if identity in self._places:
            raise JsonFault(f"a second node with the id {identity}")
        self._places[identity] = self.nodes
        self._spans.append(node.get("span"))
        self.nodes += 1

    def _add_edge(self, edge: dict[str, Any]) -> None:
        head, *tails = [self._place_of(node) for node in (edge.get("head"), *items_of(edge, "tails"))]
        features = {} if edge.get("features") is None else members_of(edge["features"])
        values = list(features.values())
        if not are_finite(values):
            raise not_finite(list(features), values)
        if "" in features:
            raise JsonFault("a feature name is empty")
        names = self.edges.names
        labels = self._labels(items_of(edge, "trg"), head, len(tails))
        self.edges.add(head, tails, labels, [names[name] for name in features], values)

    def _place_of(self, node: Any) -> int:
        """The place of the node with this id."""
        place = self._places.get(node) if type(node) is int else None
        if place is None:
            raise JsonFault(f"no node {shown(node)}; expected one of the {self.nodes} nodes by its id")
        return place

    def _labels(self, targets: list[Any], head: int, arity: int) -> list[int]:
        """The words of the first target by number, and −1, −2, … for the tails."""
        labels: list[int] = []
        known = self.edges.words
        for word in items_of(members_of(targets[0]), "words") if targets else ():
            if word == UNKNOWN:
                labels += range(-1, -1 - arity, -1) if arity else [known[each] for each in self._covered(head)]
            elif type(word) is str:
                labels.append(known[word])
            elif type(word) is int and -arity <= word < 0:
                labels.append(word)
            else:
                raise JsonFault(f"{shown(word)} in its words; expected a text, or −1, −2, … for one of its tails")
        return labels

    def _covered(self, node: int) -> list[str]:
        """The source words that a node covers."""
        words, span = self._source_words, self._spans[node]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise JsonFault(f"puts out {UNKNOWN}; expected source words in a list of texts")
        if (
            not isinstance(span, list)
            or list(map(type, span)) != [int, int]
            or not 0 <= span[0] <= span[1] <= len(words)
        ):
            raise JsonFault(
                f"puts out {UNKNOWN}, but its head has the span {shown(span)}; expected the first and last of the "
                f"{len(words)} source words"
            )
        return words[span[0] : span[1]]
