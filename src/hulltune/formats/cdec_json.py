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
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.json_text import JsonReader, Steps, are_finite, is_index
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown
from hulltune.formats.raw_edges import RawEdges
from hulltune.formats.source_text import HUGE, SourceText

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
    graph = _Hypergraph(source)
    root = graph.nodes - 1
    graph.edges.add_leaves(graph.nodes, root)
    where = partial(source.at, 0)
    yield NamedForest(graph.edges.forest(options, vocabulary, nodes=graph.nodes, root=root, where=where))


class _Hypergraph:
    """The parts of a file in their order."""

    def __init__(self, source: SourceText) -> None:
        self.nodes = 0
        self.edges = RawEdges()
        self._reader = JsonReader(source, _EXPECTED)
        self._rules: dict[int, list[int]] = {}
        """The labels of every rule by its id."""
        self._declared = 0
        """The number of features that the file has numbered."""
        self._read()
        self._check(source)

    def _read(self) -> None:
        reader = self._reader
        if not reader.begins("{"):
            raise reader.wrong("got", f"; {_EXPECTED}", reader.place)
        for place, key in reader.each_key():
            if key == "node":
                self._read_node()
            elif key == "is_sorted":
                reader.value()
            elif key not in ("rules", "features", "edges"):
                reason = f"unknown key {shown(key)}; expected rules, features, edges, node or is_sorted"
                raise reader.fault(place, reason)
            elif key == "features" and self.edges.heads:
                raise reader.fault(place, "features after edges; expected them before")
            elif reader.begins("null"):
                reader.value()
            elif not reader.begins("["):
                raise reader.fault(place, f"{shown(key)} is {reader.got(reader.place)}; expected a list")
            elif key == "rules":
                self._read_rules()
            elif key == "features":
                self._read_names()
            else:
                start = reader.place
                for slot, edge in enumerate(reader.value()):
                    self._read_edge(edge, (start, slot))
        reader.end()
        if not self.nodes:
            raise reader.fault(reader.place, "no node; is the file cut off?")

    def _read_rules(self) -> None:
        """Read ids and rules in turn."""
        reader, start = self._reader, self._reader.place
        rules = reader.value()
        expected = "expected ids and rules in turn"
        for slot in range(0, len(rules), 2):
            identity = rules[slot]
            if type(identity) is not int or identity < 0:
                raise reader.wrong("rules has", f" in the place of an id; {expected}", start, slot)
            if slot + 1 == len(rules):
                raise reader.fault(reader.find(start, slot), f"rules has an odd number of entries; {expected}")
            rule = rules[slot + 1]
            if type(rule) is not str:
                raise reader.wrong("rules has", f" in the place of a rule; {expected}", start, slot + 1)
            self._rules[identity] = self._target(rule, (start, slot + 1))

    def _target(self, rule: str, steps: Steps) -> list[int]:
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
                raise self._reader.wrong("rule", " names tail 0; expected numbers from 1", *steps)
        return labels

    def _read_names(self) -> None:
        """Read the names of the numbered features."""
        reader, start, names = self._reader, self._reader.place, self.edges.names
        for slot, name in enumerate(reader.value()):
            if not isinstance(name, str) or not name:
                raise reader.wrong("features has", "; expected names", start, slot)
            if name in names:
                raise reader.wrong("feature", " is named twice", start, slot)
            self._declared = names[name] + 1

    @property
    def _edge(self) -> str:
        """The edge being read, for messages."""
        return f"edge {len(self.edges.heads)}"

    def _read_edge(self, edge: Any, steps: Steps) -> None:
        """Read an edge; its head is known once a node lists it."""
        if not isinstance(edge, tuple):
            raise self._reader.wrong(f"{self._edge} is", "; expected an object", *steps)
        members = dict(edge)
        if len(members) < len(edge):
            self._reader.refuse_repeated(edge, ("tail", "rule", "feats"), *steps)
        tails = self._tails(members, steps)
        columns, values = self._features(members, steps)
        labels = self._labels(members, steps)
        if labels and -min(labels) > len(tails):
            before = f"{self._edge}: its rule names tail [{-min(labels)}], beyond those that it has:"
            raise self._reader.wrong(before, "", *steps)
        self.edges.add(-1, tails, labels, columns, values)

    def _tails(self, members: dict[str, Any], steps: Steps) -> list[int]:
        tails = members.get("tail")
        if tails is None:
            return []
        before, after = "tail has", "; expected a list of numbers of nodes"
        if not isinstance(tails, list):
            raise self._reader.wrong(f"{self._edge}: {before}", after, *steps, "tail")
        for slot, tail in enumerate(tails):
            if type(tail) is not int or tail < 0:
                raise self._reader.wrong(f"{self._edge}: {before}", after, *steps, "tail", slot)
            if tail > HUGE:
                tails[slot] = HUGE
        return tails

    def _features(self, members: dict[str, Any], steps: Steps) -> tuple[list[int], list[float]]:
        """The columns and values of an edge: names (or their numbers) and values alternate in the file."""
        feats = members.get("feats")
        if feats is None:
            return [], []
        reader, names, declared = self._reader, self.edges.names, self._declared
        if not isinstance(feats, list):
            raise reader.wrong(f"{self._edge}: feats is", "; expected names and values in turn", *steps, "feats")
        columns, values = feats[::2], feats[1::2]
        for slot, key in enumerate(columns):
            if type(key) is int and 0 <= key < declared:
                continue
            if type(key) is not str or not key:
                after = "; expected a name or a number of one"
                raise reader.wrong(f"{self._edge}: no feature", after, *steps, "feats", 2 * slot)
            columns[slot] = names[key]
        if len(values) < len(columns):
            place = reader.find(*steps, "feats", len(feats) - 1)
            raise reader.fault(place, f"{self._edge}: feats has an odd number of entries; expected names and values")
        if len(set(columns)) < len(columns):
            slot = next(slot for slot, column in enumerate(columns) if column in columns[:slot])
            place = reader.find(*steps, "feats", 2 * slot + 1)
            raise reader.fault(place, f"{self._edge}: feature {shown(names.texts[columns[slot]])} occurs twice")
        if not are_finite(values):
            slot = next(slot for slot, value in enumerate(values) if not are_finite([value]))
            raise reader.not_finite(self._edge, names.texts[columns[slot]], *steps, "feats", 2 * slot + 1)
        return columns, values

    def _labels(self, members: dict[str, Any], steps: Steps) -> list[int]:
        """The labels of an edge's rule, which is written in full or as an id."""
        rule = members.get("rule")
        if isinstance(rule, str):
            return self._target(rule, (*steps, "rule"))
        if is_index(rule) and rule in self._rules:
            return self._rules[rule]
        if rule is not None:
            after = f" is not among the {len(self._rules)} rules before it"
            raise self._reader.wrong(f"{self._edge}: rule", after, *steps, "rule")
        place = self._reader.find(*steps, "rule") if "rule" in members else self._reader.find(*steps)
        reason = f"{self._edge} has no rule; expected a hypergraph that cdec wrote with its rules"
        raise self._reader.fault(place, reason)

    def _read_node(self) -> None:
        """Read a node, which becomes the head of its edges."""
        reader, start, heads = self._reader, self._reader.place, self.edges.heads
        node = reader.value()
        if not isinstance(node, tuple):
            raise reader.wrong(f"node {self.nodes} is", "; expected an object with in_edges", start)
        reader.refuse_repeated(node, ["in_edges"], start)
        edges = dict(node).get("in_edges")
        if edges is not None and not isinstance(edges, list):
            raise reader.wrong(f"node {self.nodes}: in_edges is", "; expected a list", start, "in_edges")
        for slot, edge in enumerate(edges or []):
            if not is_index(edge) or edge >= len(heads):
                after = f"; expected one of the {len(heads)} before it"
                raise reader.wrong(f"node {self.nodes}: no edge", after, start, "in_edges", slot)
            if heads[edge] >= 0:
                place = reader.find(start, "in_edges", slot)
                raise reader.fault(place, f"edge {edge} is in two nodes, {heads[edge]} and {self.nodes}")
            heads[edge] = self.nodes
        self.nodes += 1

    def _check(self, source: SourceText) -> None:
        """Refuse faults that show only at the end of the file."""
        edges = self.edges
        if -1 in edges.heads:
            raise source.fault(0, f"edge {edges.heads.index(-1)} is in no node")
        if max(edges.tails, default=0) >= self.nodes:
            slot, tail = next((slot, tail) for slot, tail in enumerate(edges.tails) if tail >= self.nodes)
            edge = bisect_right(edges.tail_offsets, slot) - 1
            raise source.fault(0, f"edge {edge}: no node {tail}; expected 0 to {self.nodes - 1}")
        for what, texts in (("feature name", edges.names.texts), ("word", edges.words.texts)):
            for text in texts:
                if not is_text(text):
                    raise source.fault(0, f"the {what} {shown(text)} has {LONE_SURROGATE}")
