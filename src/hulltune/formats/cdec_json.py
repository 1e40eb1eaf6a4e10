"""Hypergraphs of older versions of cdec, one JSON object a file.

The object has ``rules`` (an id and ``[X] ||| source ||| target ||| features`` in turn), ``features`` (names), and then,
bottom-up, ``edges`` and ``node`` again and again; an ordinary parser would keep the last of them only. An edge has
``tail``, ``rule`` (an id, or the rule itself) and ``feats`` (a name or its number, and a value, in turn); a node lists
its ``in_edges``. Keys of an edge or node come in any order. If one of these keys occurs twice, the file is refused;
other keys are passed over. ``[1]`` in a target is the first tail; blanks and control characters end a word. The last
node is the root; any other node without edges is a leaf without output, as in cdec. Values are scores (larger is
better) and are taken as they are. The words ``<s>`` and ``</s>`` are not output.

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
from hulltune.formats.forest_building import FileEdges
from hulltune.formats.forest_files import HUGE, ForestOptions, NamedForest, Path, SourceText
from hulltune.formats.json_text import JsonFaults, are_finite, is_index, parsed
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
    >>> from hulltune.formats.forest_files import ForestOptions
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
    graph = _Hypergraph(JsonFaults(source))
    parts = parsed(source, _EXPECTED)
    for key, value in parts.items() if isinstance(parts, dict) else parts:
        graph.add(key, value)
    graph.check()
    root = graph.nodes - 1
    graph.edges.add_leaves(graph.nodes, root)
    where = partial(source.at, 0)
    yield NamedForest(graph.edges.forest(options, vocabulary, nodes=graph.nodes, root=root, where=where))


class _Hypergraph:
    """The parts of a file in their order."""

    def __init__(self, faults: JsonFaults) -> None:
        self.nodes = 0
        self.edges = FileEdges()
        self._faults = faults
        self._rules: dict[int, list[int]] = {}
        """The labels of every rule by its id."""
        self._declared = 0
        """The number of features that the file has numbered."""

    def add(self, key: str, value: Any) -> None:
        """Take the value of a key of the file."""
        self._faults.item = ""
        if key == "node":
            self._add_node(value)
        elif key not in ("rules", "features", "edges", "is_sorted"):
            raise self._faults.fault(f"unknown key {shown(key)}; expected rules, features, edges, node or is_sorted")
        elif key == "features" and self.edges.heads:
            raise self._faults.fault("features after edges; expected them before")
        elif key != "is_sorted":
            items = self._faults.items({key: value}, key)
            if key == "rules":
                self._add_rules(items)
            elif key == "features":
                self._add_names(items)
            else:
                for edge in items:
                    self._faults.item = f"edge {len(self.edges)}"
                    self._add_edge(edge)

    def _add_rules(self, rules: list[Any]) -> None:
        expected = "expected ids and rules in turn"
        if len(rules) % 2:
            raise self._faults.fault(f"rules has an odd number of entries; {expected}")
        for identity, rule in zip(rules[::2], rules[1::2], strict=True):
            if not is_index(identity):
                raise self._faults.fault(f"rules has {shown(identity)} in the place of an id; {expected}")
            if type(rule) is not str:
                raise self._faults.fault(f"rules has {shown(rule)} in the place of a rule; {expected}")
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
            if tail is None:
                labels.append(words[token])
            elif int(tail[1]) > 0:
                labels.append(-int(tail[1]))
            else:
                raise self._faults.fault(f"rule {shown(rule)} names tail 0; expected numbers from 1")
        return labels

    def _add_names(self, added: list[Any]) -> None:
        """Take the names of the numbered features."""
        names = self.edges.names
        for name in added:
            if not isinstance(name, str) or not name:
                raise self._faults.fault(f"features has {shown(name)}; expected names")
            if name in names:
                raise self._faults.fault(f"feature {shown(name)} is named twice")
            self._declared = names[name] + 1

    def _add_edge(self, edge: Any) -> None:
        """Take an edge; its head is known once a node lists it."""
        members = self._faults.members(edge, ("tail", "rule", "feats"))
        tails = self._faults.items(members, "tail")
        for slot, tail in enumerate(tails):
            if type(tail) is not int or tail < 0:
                raise self._faults.fault(f"tail has {shown(tail)}; expected a list of numbers of nodes")
            if tail > HUGE:
                tails[slot] = HUGE
        columns, values = self._features(self._faults.items(members, "feats"))
        labels = self._labels(members)
        if labels and -min(labels) > len(tails):
            raise self._faults.fault(f"its rule names tail [{-min(labels)}], beyond those that it has: {shown(tails)}")
        self.edges.add(-1, tails, labels, columns, values)

    def _features(self, feats: list[Any]) -> tuple[list[int], list[float]]:
        """The columns and values of an edge: names (or their numbers) and values alternate in the file."""
        names, declared = self.edges.names, self._declared
        columns, values = feats[::2], feats[1::2]
        for slot, key in enumerate(columns):
            if type(key) is int and 0 <= key < declared:
                continue
            if type(key) is not str or not key:
                raise self._faults.fault(f"no feature {shown(key)}; expected a name or a number of one")
            columns[slot] = names[key]
        if len(values) < len(columns):
            raise self._faults.fault("feats has an odd number of entries; expected names and values")
        if len(set(columns)) < len(columns):
            twice = next(column for slot, column in enumerate(columns) if column in columns[:slot])
            raise self._faults.fault(f"feature {shown(names.texts[twice])} occurs twice")
        if not are_finite(values):
            raise self._faults.not_finite([names.texts[column] for column in columns], values)
        return columns, values

    def _labels(self, members: dict[str, Any]) -> list[int]:
        """The labels of an edge's rule, which is written in full or as an id."""
        rule = members.get("rule")
        if isinstance(rule, str):
            return self._target(rule)
        if is_index(rule) and rule in self._rules:
            return self._rules[rule]
        if rule is not None:
            raise self._faults.fault(f"rule {shown(rule)} is not among the {len(self._rules)} rules before it")
        raise self._faults.fault("no rule; expected a hypergraph that cdec wrote with its rules")

    def _add_node(self, node: Any) -> None:
        """Take a node, which becomes the head of its edges."""
        heads, faults = self.edges.heads, self._faults
        faults.item = f"node {self.nodes}"
        for edge in faults.items(faults.members(node, ["in_edges"]), "in_edges"):
            if not is_index(edge) or edge >= len(heads):
                raise faults.fault(f"no edge {shown(edge)}; expected one of the {len(heads)} before it")
            if heads[edge] >= 0:
                raise faults.fault(f"edge {edge} is in node {heads[edge]} already")
            heads[edge] = self.nodes
        self.nodes += 1

    def check(self) -> None:
        """Refuse faults that show only at the end of the file."""
        edges, faults = self.edges, self._faults
        faults.item = ""
        if not self.nodes:
            raise faults.fault("no node; is the file cut off?")
        if -1 in edges.heads:
            raise faults.fault(f"edge {edges.heads.index(-1)} is in no node")
        if max(edges.tails, default=0) >= self.nodes:
            slot, tail = next((slot, tail) for slot, tail in enumerate(edges.tails) if tail >= self.nodes)
            edge = bisect_right(edges.tail_offsets, slot) - 1
            raise faults.fault(f"edge {edge}: no node {tail}; expected 0 to {self.nodes - 1}")
        faults.check_texts("feature name", edges.names.texts)
        faults.check_texts("word", edges.words.texts)
