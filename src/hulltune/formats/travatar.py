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
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.json_text import JsonReader, are_finite, is_index
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown
from hulltune.formats.raw_edges import RawEdges
from hulltune.formats.source_text import HUGE, SourceText

UNKNOWN = "<unk>"
_START = re.compile(rb'\s*\{\s*"nodes"\s*:')
_EXPECTED = "expected the JSON of a hypergraph with nodes, edges and words"
_NO_ID = "; expected the id of one"


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
        self.edges = RawEdges()
        self._ids: list[int] = []
        self._spans: list[Any] = []
        self._places: list[int] = []
        """The places of nodes, for messages."""
        self._source_words: Any = None
        self._source = source
        self._reader = JsonReader(source, _EXPECTED)
        self._read()
        for name in self.edges.names.texts:
            if not is_text(name):
                raise source.fault(0, f"the feature name {shown(name)} has {LONE_SURROGATE}")
        self.nodes, self.root = len(self._ids), self._number_nodes()
        if UNKNOWN in self.edges.words:
            self._replace_unknown(self.edges.words[UNKNOWN])
        self._check_words()

    def _read(self) -> None:
        reader = self._reader
        if not reader.begins("{"):
            raise reader.wrong("got", f"; {_EXPECTED}", reader.place)
        seen: set[str] = set()
        for place, key in reader.each_key():
            if key in seen and key in ("nodes", "edges", "words"):
                raise reader.wrong("a key occurs twice:", "", place)
            seen.add(key)
            if key in ("nodes", "edges"):
                if not reader.begins("["):
                    raise reader.wrong(f"the hypergraph has no list of {key} (got", f"); {_EXPECTED}", reader.place)
                read = self._read_node if key == "nodes" else self._read_edge
                for start, item in reader.each_item():
                    read(item, start)
            elif key == "words":
                self._source_words = reader.value()
            else:
                reader.value()
        reader.end()
        for key in ("nodes", "edges"):
            if key not in seen:
                raise self._source.fault(0, f"the hypergraph has no list of {key} (got none); {_EXPECTED}")

    def _read_node(self, node: Any, start: int) -> None:
        members = dict(node) if isinstance(node, tuple) else {}
        if not is_index(members.get("id")):
            raise self._reader.wrong("node", " has no id; expected a whole number from 0", start)
        if len(members) < len(node):
            self._reader.refuse_repeated(node, ("id", "span"), start)
        self._ids.append(min(members["id"], HUGE))
        self._spans.append(members.get("span"))
        self._places.append(start)

    @property
    def _edge(self) -> str:
        """The edge being read, for messages."""
        return f"edge {len(self.edges.heads)}"

    def _read_edge(self, edge: Any, start: int) -> None:
        if not isinstance(edge, tuple):
            raise self._reader.wrong(f"{self._edge} is", "; expected an object", start)
        members = dict(edge)
        if len(members) < len(edge):
            self._reader.refuse_repeated(edge, ("head", "tails", "trg", "features"), start)
        columns, values = self._features(members.get("features"), start)
        tails = self._tails(members.get("tails"), start)
        labels = self._labels(members.get("trg"), len(tails), start)
        if "head" not in members:
            raise self._reader.wrong(f"{self._edge} has no head:", "", start)
        head = members["head"]
        if not is_index(head):
            raise self._reader.wrong(f"{self._edge}: no node", _NO_ID, start, "head")
        self.edges.add(min(head, HUGE), tails, labels, columns, values)

    def _tails(self, tails: Any, start: int) -> list[int]:
        if tails is None:
            return []
        if not isinstance(tails, list):
            raise self._reader.wrong(f"{self._edge} has no list of tails (got", f"); {_EXPECTED}", start, "tails")
        for slot, tail in enumerate(tails):
            if type(tail) is not int or tail < 0:
                raise self._reader.wrong(f"{self._edge}: no node", _NO_ID, start, "tails", slot)
            if tail > HUGE:
                tails[slot] = HUGE
        return tails

    def _features(self, features: Any, start: int) -> tuple[list[int], list[float]]:
        """The columns and values of an edge."""
        if features is None:
            return [], []
        if not isinstance(features, tuple):
            raise self._reader.wrong(f"{self._edge}: features is", "; expected an object", start, "features")
        members = dict(features)
        if "" in members:
            raise self._source.fault(0, f"{self._edge}: a feature name is empty")
        if len(members) < len(features):
            names = [name for name, _ in features]
            twice = next(name for slot, name in enumerate(names) if name in names[:slot])
            raise self._source.fault(0, f"{self._edge}: feature {shown(twice)} occurs twice")
        values = list(members.values())
        if not are_finite(values):
            name = next(name for name, value in features if not are_finite([value]))
            raise self._reader.not_finite(self._edge, name, start, "features", name)
        known = self.edges.names
        return [known[name] for name in members], values

    def _labels(self, targets: Any, arity: int, start: int) -> list[int]:
        """The words of the first target by number, and −1, −2, … for the tails."""
        reader, known = self._reader, self.edges.words
        if targets is None or targets == []:
            return []
        if not isinstance(targets, list):
            raise reader.wrong(f"{self._edge} has no list of targets as its trg (got", f"); {_EXPECTED}", start, "trg")
        if not isinstance(targets[0], tuple):
            after = "; expected an object with words"
            raise reader.wrong(f"the target of {self._edge} is", after, start, "trg", 0)
        target = dict(targets[0])
        if len(target) < len(targets[0]):
            reader.refuse_repeated(targets[0], ["words"], start, "trg", 0)
        words = target.get("words")
        if words is None:
            return []
        if not isinstance(words, list):
            before = f"the target of {self._edge} has no list of words (got"
            raise reader.wrong(before, f"); {_EXPECTED}", start, "trg", 0, "words")
        for slot, word in enumerate(words):
            if type(word) is str:
                words[slot] = known[word]
            elif type(word) is not int or not -arity <= word < 0:
                after = " in its words; expected a text, or −1, −2, … for one of its tails"
                raise reader.wrong(f"{self._edge}:", after, start, "trg", 0, "words", slot)
        return words

    def _number_nodes(self) -> int:
        """Number the nodes by their places in the list instead of their ids; returns the root."""
        edges, ids = self.edges, self._ids
        number = {identity: place for place, identity in enumerate(ids)}
        if len(number) < len(ids):
            twice = min(identity for place, identity in enumerate(ids) if number[identity] != place)
            raise self._source.fault(0, f"two nodes have the id {twice}")
        if 0 not in number:
            raise self._source.fault(0, "no node has the id 0, which is that of the root")
        for ends, offsets in ((edges.heads, range(len(edges.heads) + 1)), (edges.tails, edges.tail_offsets)):
            for slot, end in enumerate(ends):
                if end not in number:
                    edge = bisect_right(offsets, slot) - 1
                    raise self._source.fault(0, f"edge {edge}: no node {end}; expected one of the {len(ids)} nodes")
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
        words, node = self._source_words, self.edges.heads[edge]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise self._source.fault(0, f"edge {edge} puts out {UNKNOWN}; expected source words in a list of texts")
        span = self._spans[node]
        if (
            isinstance(span, list)
            and [type(end) for end in span] == [int, int]
            and 0 <= span[0] <= span[1] <= len(words)
        ):
            return words[span[0] : span[1]]
        got = None if span is None else self._reader.got(self._reader.find(self._places[node], "span"))
        reason = f"edge {edge} puts out {UNKNOWN}, but its head has the span {got}"
        raise self._source.fault(0, f"{reason}; expected the first and last of the {len(words)} source words")

    def _check_words(self) -> None:
        """Refuse words that are empty, or have white space or a lone surrogate in them."""
        edges = self.edges
        for number, word in enumerate(edges.words.texts):
            if word.split() != [word] or not is_text(word):
                place = edges.labels.index(number) if number in edges.labels else 0
                edge = bisect_right(edges.label_offsets, place) - 1
                reason = f"{shown(word)} is empty or has white space, or {LONE_SURROGATE}"
                raise self._source.fault(0, f"edge {edge}: {reason}")
