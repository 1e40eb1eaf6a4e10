"""Hypergraphs of older versions of cdec, one JSON object a file.

The object has ``rules`` (an id and ``[X] ||| source ||| target ||| features`` in turn), ``features`` (names), and then,
bottom-up, ``edges`` and ``node`` again and again; an ordinary parser would keep the last of them only. An edge has
``tail``, ``rule`` (an id, or the rule itself) and ``feats`` (a name or its number, and a value, in turn); a node lists
its ``in_edges``. Keys of an edge or node come in any order, each once; other keys are passed over. ``[1]`` in a target
is the first tail; blanks and control characters end a word. The last node is the root; any other node without edges is
a leaf without output, as in cdec. Values are scores (larger is better) and are taken as they are. The words ``<s>`` and
``</s>`` are not output.

Newer versions of cdec write binary archives in a layout that changes from version to version: they are not read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from typing import Any

from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import HUGE, ForestOptions, NamedForest, Path, SourceText
from hulltune.formats.json_text import (
    JsonFault,
    JsonHypergraph,
    are_finite,
    in_turn,
    is_index,
    items_of,
    members_of,
    not_finite,
    parsed,
)
from hulltune.formats.numbers import shown

_START = re.compile(rb'\s*\{\s*"(rules|features|is_sorted|edges|node)"\s*:')
_ARCHIVE = b"serialization::archive"
_EXPECTED = "expected the JSON of a cdec hypergraph"
_BLANKS = "".join(map(chr, range(33)))
_TOKEN = re.compile(r"[^\x00-\x20]+")
_TAIL = re.compile(r"\[(?:[^\]]*,)?([0-9]{1,9})\]")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a hypergraph of cdec, also of a version that is not read."""
    return _START.match(head) is not None or _ARCHIVE in head[:64]


def read_cdec_json(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The one forest of a file; linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.cdec_json import read_cdec_json
    >>> from hulltune.formats.forest_files import HUGE, ForestOptions
    >>> text = '''{"rules":[1,"[X] ||| das ||| the",2,"[S] ||| [X,1] haus ||| [1] house"],"features":["lm"],
    ... "edges":[{"tail":[],"feats":[0,-1.5],"rule":1}],"node":{"in_edges":[0],"cat":"X"},
    ... "edges":[{"tail":[0],"feats":[0,-1],"rule":2}],"node":{"in_edges":[1],"cat":"S"}}
    ... '''
    >>> _ = Path("house.json").write_text(text)
    >>> (named,) = read_cdec_json(Path("house.json"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"lm": 1.0}).outputs()
    [['the house']]
    """
    source = SourceText.read(path)
    if _ARCHIVE in source.data[:64]:
        raise InputError(
            f"{source.file}: a binary archive of cdec, whose layout changes from version to version; "
            "let cdec write forest text instead (--show_target_graph DIR)"
        )
    graph, parts = _Hypergraph(), parsed(source, _EXPECTED)
    with graph.faults_in(source):
        for key, value in parts.items() if isinstance(parts, dict) else parts:
            graph.item = ""
            graph.add(key, value)
        graph.check()
    root = graph.nodes - 1
    graph.edges.add_leaves(graph.nodes, root)
    where = partial(source.at, 0)
    yield NamedForest(graph.edges.forest(options, vocabulary, nodes=graph.nodes, root=root, where=where))


class _Hypergraph(JsonHypergraph):
    """The parts of a file in their order."""

    def __init__(self) -> None:
        super().__init__()
        self._rules: dict[int, list[int]] = {}
        """The labels of every rule by its id."""
        self._declared = 0
        """The number of features that the file has numbered."""

    def add(self, key: str, value: Any) -> None:
        """Take the value of a key of the file."""
        if key == "node":
            self._add_node(value)
        elif key == "rules":
            self._add_rules(items_of({key: value}, key))
        elif key == "features":
            self._add_names(items_of({key: value}, key))
        elif key == "edges":
            for edge in items_of({key: value}, key):
                self.item = f"edge {len(self.edges)}"
                self._add_edge(members_of(edge))
        elif key != "is_sorted":
            raise JsonFault(f"unknown key {shown(key)}; expected rules, features, edges, node or is_sorted")

    def _add_rules(self, entries: list[Any]) -> None:
        for identity, rule in zip(*in_turn(entries, "rules"), strict=True):
            if not is_index(identity) or type(rule) is not str:
                raise JsonFault(f"rules has {shown(identity)} and {shown(rule)}; expected ids and rules in turn")
            self._rules[identity] = self._target(rule)

    def _target(self, rule: str) -> list[int]:
        """The labels of a rule ``[X] ||| source ||| target ||| features``; all but the target may be missing."""
        sides = rule.split("|||")
        target = sides[-1]
        if len(sides) > 2:
            left_side = sides[0].strip(_BLANKS)
            target = sides[2] if left_side.startswith("[") and left_side.endswith("]") else sides[1]
        labels: list[int] = []
        words = self.edges.words
        for token in _TOKEN.findall(target):
            tail = _TAIL.fullmatch(token) if token[0] == "[" else None
            labels.append(words[token] if tail is None else -int(tail[1]))
            if tail is not None and labels[-1] == 0:
                raise JsonFault(f"rule {shown(rule)} names tail 0; expected numbers from 1")
        return labels

    def _add_names(self, added: list[Any]) -> None:
        """Take the names of the numbered features."""
        names = self.edges.names
        if len(self.edges):
            raise JsonFault("features after edges; expected them before")
        for name in added:
            if not isinstance(name, str) or not name or name in names:
                raise JsonFault(f"features has {shown(name)}; expected names, each once")
            self._declared = names[name] + 1

    def _add_edge(self, edge: dict[str, Any]) -> None:
        """Take an edge; its head is known once a node lists it."""
        tails = items_of(edge, "tail")
        for tail in tails:
            if not is_index(tail) or tail > HUGE:
                raise JsonFault(f"tail has {shown(tail)}; expected a list of numbers of nodes")
        columns, values = self._features(*in_turn(items_of(edge, "feats"), "feats"))
        labels = self._labels(edge.get("rule"))
        if labels and -min(labels) > len(tails):
            raise JsonFault(f"its rule names tail [{-min(labels)}], beyond those that it has: {shown(tails)}")
        self.edges.add(-1, tails, labels, columns, values)

    def _features(self, columns: list[Any], values: list[Any]) -> tuple[list[int], list[float]]:
        """The columns and values of an edge, whose features have their names or the numbers of these."""
        names, declared = self.edges.names, self._declared
        for slot, key in enumerate(columns):
            if type(key) is str and key:
                columns[slot] = names[key]
            elif not is_index(key) or key >= declared:
                raise JsonFault(f"no feature {shown(key)}; expected a name or a number of one")
        if len(set(columns)) < len(columns):
            twice = next(column for slot, column in enumerate(columns) if column in columns[:slot])
            raise JsonFault(f"feature {shown(names.texts[twice])} occurs twice")
        if not are_finite(values):
            raise not_finite([names.texts[column] for column in columns], values)
        return columns, values

    def _labels(self, rule: Any) -> list[int]:
        """The labels of an edge's rule, which is written in full or as an id."""
        if isinstance(rule, str):
            return self._target(rule)
        if is_index(rule) and rule in self._rules:
            return self._rules[rule]
        raise JsonFault(
            f"rule {shown(rule)} is not among the {len(self._rules)} before it; expected a hypergraph that cdec wrote "
            "with its rules"
        )

    def _add_node(self, node: Any) -> None:
        """Take a node, which becomes the head of its edges."""
        heads = self.edges.heads
        self.item = f"node {self.nodes}"
        for edge in items_of(members_of(node), "in_edges"):
            if not is_index(edge) or edge >= len(heads) or heads[edge] >= 0:
                raise JsonFault(f"no edge {shown(edge)}; expected edges before it, each in one node")
            heads[edge] = self.nodes
        self.nodes += 1

    def check(self) -> None:
        """Refuse faults that show only at the end of the file."""
        self.item = ""
        if not self.nodes:
            raise JsonFault("no node; is the file cut off?")
        if -1 in self.edges.heads:
            raise JsonFault(f"edge {self.edges.heads.index(-1)} is in no node")
        last = max(self.edges.tails, default=0)
        if last >= self.nodes:
            edge = bisect_right(self.edges.tail_offsets, self.edges.tails.index(last)) - 1
            raise JsonFault(f"edge {edge}: no node {last}; expected 0 to {self.nodes - 1}")
