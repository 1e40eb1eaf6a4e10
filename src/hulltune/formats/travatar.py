"""Forests of Travatar: JSON, one hypergraph a line.

``nodes`` have an ``id`` and the ``span`` of source words that they cover; ``edges`` have a ``head``, ``tails``,
``features`` and the target ``trg`` (a list, of whose first entry ``words`` are the output): a text is a word, also one
that looks like a number, and −1, −2, … are the output of the first, second, … tail. Node 0 is the root. As in
Travatar, the word ``<unk>`` stands for the source words that the head covers or, in an edge with tails, for the output
of all tails in order. Values are scores (larger is better) and are taken as they are. The words ``<s>`` and ``</s>``
are not output.

Keys come in any order. If one of these keys occurs twice in an object, it is refused; other keys are passed over.
"""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import FileEdges
from hulltune.formats.forest_files import HUGE, ForestOptions, NamedForest, Path, SourceText
from hulltune.formats.json_text import JsonFaults, are_finite, is_index, parsed
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown

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
        graph = _Hypergraph(source)
        where = partial(source.at, 0)
        yield NamedForest(graph.edges.forest(options, vocabulary, nodes=graph.nodes, root=graph.root, where=where))
    if source is None:
        raise InputError(f"{os.fspath(path)}:1: no forest in the file; {_EXPECTED}")


class _Hypergraph:
    """The hypergraph of a line."""

    def __init__(self, source: SourceText) -> None:
        self.edges = FileEdges()
        self._ids: list[int] = []
        self._spans: list[Any] = []
        self._faults = JsonFaults(source)
        graph = self._faults.members(parsed(source, _EXPECTED), ("nodes", "edges", "words"))
        for key in ("nodes", "edges"):
            if not isinstance(graph.get(key), list):
                raise self._faults.fault(
                    f"the hypergraph has no list of {key} (got {shown(graph.get(key))}); {_EXPECTED}"
                )
        self._source_words = graph.get("words")
        for number, node in enumerate(graph["nodes"]):
            self._faults.item = f"nodes, item {number}"
            self._add_node(node)
        for edge in graph["edges"]:
            self._faults.item = f"edge {len(self.edges)}"
            self._add_edge(edge)
        self._faults.item = ""
        self._faults.check_texts("feature name", self.edges.names.texts)
        self.nodes, self.root = len(self._ids), self._number_nodes()
        if UNKNOWN in self.edges.words:
            self._replace_unknown(self.edges.words[UNKNOWN])
        self._check_words()

    def _add_node(self, node: Any) -> None:
        members = self._faults.members(node, ("id", "span"))
        if not is_index(members.get("id")):
            raise self._faults.fault(f"{shown(members)} has no id; expected a whole number from 0")
        self._ids.append(min(members["id"], HUGE))
        self._spans.append(members.get("span"))

    def _add_edge(self, edge: Any) -> None:
        members = self._faults.members(edge, ("head", "tails", "trg", "features"))
        columns, values = self._features(members.get("features"))
        tails = self._faults.items(members, "tails")
        for slot, tail in enumerate(tails):
            if type(tail) is not int or not 0 <= tail <= HUGE:
                tails[slot] = self._identity(tail)
        labels = self._labels(self._faults.items(members, "trg"), len(tails))
        self.edges.add(self._identity(members.get("head")), tails, labels, columns, values)

    def _identity(self, node: Any) -> int:
        """The id of a node, cut to what an array can hold."""
        if type(node) is not int or node < 0:
            raise self._faults.fault(f"no node {shown(node)}; expected the id of one")
        return min(node, HUGE)

    def _features(self, features: Any) -> tuple[list[int], list[float]]:
        """The columns and values of an edge."""
        if features is None:
            return [], []
        members = self._faults.members(features, dict(features) if isinstance(features, tuple) else ())
        if "" in members:
            raise self._faults.fault("a feature name is empty")
        values = list(members.values())
        if not are_finite(values):
            raise self._faults.not_finite(list(members), values)
        known = self.edges.names
        return [known[name] for name in members], values

    def _labels(self, targets: list[Any], arity: int) -> list[int]:
        """The words of the first target by number, and −1, −2, … for the tails."""
        if not targets:
            return []
        known = self.edges.words
        words = self._faults.items(self._faults.members(targets[0], ["words"]), "words")
        for slot, word in enumerate(words):
            if type(word) is str:
                words[slot] = known[word]
            elif type(word) is not int or not -arity <= word < 0:
                raise self._faults.fault(
                    f"{shown(word)} in its words; expected a text, or −1, −2, … for one of its tails"
                )
        return words

    def _number_nodes(self) -> int:
        """Number the nodes by their places in the list instead of their ids; returns the root."""
        edges, ids = self.edges, self._ids
        number = {identity: place for place, identity in enumerate(ids)}
        if len(number) < len(ids):
            twice = min(identity for place, identity in enumerate(ids) if number[identity] != place)
            raise self._faults.fault(f"two nodes have the id {twice}")
        if 0 not in number:
            raise self._faults.fault("no node has the id 0, which is that of the root")
        for ends, offsets in ((edges.heads, range(len(edges) + 1)), (edges.tails, edges.tail_offsets)):
            for slot, end in enumerate(ends):
                if end not in number:
                    edge = bisect_right(offsets, slot) - 1
                    raise self._faults.fault(f"edge {edge}: no node {end}; expected one of the {len(ids)} nodes")
                ends[slot] = number[end]
        return number[0]

    def _replace_unknown(self, unknown: int) -> None:
        """Replace ``<unk>``, the word with this number, by the words or tails that it stands for."""
        edges = self.edges
        labels, offsets = edges.labels, edges.label_offsets
        edges.labels, edges.label_offsets = array("i"), array("q", [0])
        for edge, (first, last) in enumerate(pairwise(offsets)):
            for label in labels[first:last]:
                if label != unknown:
                    edges.labels.append(label)
                elif arity := edges.tail_offsets[edge + 1] - edges.tail_offsets[edge]:
                    edges.labels.extend(range(-1, -1 - arity, -1))
                else:
                    edges.labels.extend([edges.words[word] for word in self._covered(edge)])
            edges.label_offsets.append(len(edges.labels))

    def _covered(self, edge: int) -> list[str]:
        """The source words that the head of an edge covers."""
        words, span = self._source_words, self._spans[self.edges.heads[edge]]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise self._faults.fault(f"edge {edge} puts out {UNKNOWN}; expected source words in a list of texts")
        if (
            isinstance(span, list)
            and [type(end) for end in span] == [int, int]
            and 0 <= span[0] <= span[1] <= len(words)
        ):
            return words[span[0] : span[1]]
        reason = f"edge {edge} puts out {UNKNOWN}, but its head has the span {shown(span)}"
        raise self._faults.fault(f"{reason}; expected the first and last of the {len(words)} source words")

    def _check_words(self) -> None:
        """Refuse words that are empty, or have white space or a lone surrogate in them."""
        edges = self.edges
        for number, word in enumerate(edges.words.texts):
            if word.split() != [word] or not is_text(word):
                place = edges.labels.index(number) if number in edges.labels else 0
                edge = bisect_right(edges.label_offsets, place) - 1
                raise self._faults.fault(f"edge {edge}: {shown(word)} is empty or has white space, or {LONE_SURROGATE}")
