"""Hypergraphs of older cdec, one JSON object a file.

The object has ``rules`` (an id and ``[X] ||| source ||| target ||| features`` in turn), ``features`` (names), and then,
bottom-up, ``edges`` and ``node`` again and again. An ordinary parser would keep the last of them only; here pairs are
kept. An edge has ``tail``, ``rule`` (an id, or the rule itself) and ``feats`` (a name or its number, and a value, in
turn); a node lists its ``in_edges``. ``[1]`` in a target is the first tail. The last node is the root; another node
without edges is a leaf that puts out nothing, as cdec has it. Values are scores (larger is better) and are taken as
they are. The words ``<s>`` and ``</s>`` are not output.

Newer versions of cdec write binary archives in a layout that changes from version to version: they are not read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from hulltune.errors import InputError
from hulltune.forest.vocabulary import Vocabulary
from hulltune.io.forest_files import ForestOptions, NamedForest, Path
from hulltune.io.numbers import LONE_SURROGATE, is_text, json_number, shown
from hulltune.io.raw_builder import RawBuilder
from hulltune.io.source_text import SourceText

_START = re.compile(rb'\s*\{\s*"(rules|features|is_sorted|edges|node)"\s*:')
_ARCHIVE = b"serialization::archive"
_TAIL = re.compile(r"\[(?:[^\]]*,)?([0-9]{1,9})\]")
_HUGE = 1 << 31
_EXPECTED = "expected the JSON of a cdec hypergraph"

Output = list[str | int]


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is a hypergraph of cdec, also one that cannot be read."""
    return _START.match(head) is not None or _ARCHIVE in head[:64]


def read_cdec_json(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The one forest of a file; linear in its size."""
    source = SourceText.read(path)
    if _ARCHIVE in source.data[:64]:
        raise InputError(
            f"{source.file}: a binary archive of cdec, whose layout changes from version to version; "
            "let cdec write forest text instead (--show_target_graph DIR)"
        )
    pairs = _parse(source)
    edges, root = _Hypergraph(source).read(pairs)
    yield NamedForest(edges.with_leaves(root).forest(options, vocabulary, root=root, where=lambda: source.at(0)))


class _Pairs(list[tuple[str, Any]]):
    """A JSON object in which some key occurs more than once."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: …" for key, _ in self) + "}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Pairs:
    record = dict(pairs)
    return record if len(record) == len(pairs) else _Pairs(pairs)


def _parse(source: SourceText) -> Iterable[tuple[str, Any]]:
    text = source.text(0, len(source.data)).rstrip()
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise source.fault(0, f"nested too deeply; {_EXPECTED}") from None
    except json.JSONDecodeError as error:
        where = f"{source.file}:{error.lineno}"
        cut = " (is the file cut off?)" if error.pos >= len(text) else ""
        raise InputError(f"{where}: no JSON at column {error.colno}: {error.msg}{cut}; {_EXPECTED}") from None
    except ValueError as error:
        raise source.fault(0, f"no JSON ({error}); {_EXPECTED}") from None
    if not isinstance(value, dict | _Pairs):
        raise source.fault(0, f"got {shown(value)}; {_EXPECTED}")
    return value.items() if isinstance(value, dict) else value


class _Hypergraph:
    """Takes the pairs of a file one after the other."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._rules: dict[Any, Output] = {}
        self._names: list[str] = []
        self._builder: RawBuilder | None = None  # from the first edge on, when features have their columns
        self._edges = 0
        self._heads: dict[int, int] = {}
        self._nodes = 0

    def read(self, pairs: Iterable[tuple[str, Any]]) -> tuple[Any, int]:
        """All edges, and the root."""
        readers = {"rules": self._add_rules, "features": self._add_names, "edges": self._add_edges}
        for key, value in pairs:
            if key in readers:
                if value is not None and (not isinstance(value, list) or isinstance(value, _Pairs)):
                    raise self._fault(f"{key!r} is {shown(value)}; expected a list")
                readers[key](value or [])
            elif key == "node":
                self._add_node(value)
            elif key != "is_sorted":
                raise self._fault(f"unknown key {shown(key)}; expected rules, features, edges, node or is_sorted")
        if not self._nodes:
            raise self._fault("no node; is the file cut off?")
        for edge in range(self._edges):
            if edge not in self._heads:
                raise self._fault(f"edge {edge} is in no node")
        builder = self._builder or RawBuilder(self._names)
        edges = builder.edges(self._nodes, [self._heads[edge] for edge in range(self._edges)])
        beyond = edges.tails >= self._nodes
        if beyond.any():
            slot = int(beyond.argmax())
            edge = int(edges.tail_offsets.searchsorted(slot, side="right")) - 1
            raise self._fault(f"edge {edge}: no node {edges.tails[slot]}; expected 0 to {self._nodes - 1}")
        return edges, self._nodes - 1

    def _fault(self, reason: str) -> InputError:
        return self._source.fault(0, reason)

    def _add_rules(self, rules: list[Any]) -> None:
        for number, text in _two_by_two(rules, self._fault, "rules"):
            if not _is_index(number) or not isinstance(text, str):
                raise self._fault(f"rules has {shown(number)} and {shown(text)}; expected an id and a rule")
            self._rules[number] = self._target(text)

    def _target(self, rule: str) -> Output:
        """The target side of a rule: words, and −1 − i for tail i."""
        if not is_text(rule):
            raise self._fault(f"rule {shown(rule)} has {LONE_SURROGATE}")
        fields = [field.strip() for field in rule.split("|||")]
        has_left_side = len(fields) > 1 and fields[0].startswith("[") and fields[0].endswith("]")
        sides = fields[1:] if has_left_side else fields
        target = sides[1] if len(sides) > 1 else sides[0]
        output: Output = []
        for token in target.split():
            match = _TAIL.fullmatch(token)
            output.append(token if match is None else -int(match[1]))
        if 0 in output:
            raise self._fault(f"rule {shown(rule)} names tail 0; expected numbers from 1")
        return output

    def _add_names(self, names: list[Any]) -> None:
        if self._builder is not None:
            raise self._fault("features after edges; expected them before")
        for name in names:
            if not isinstance(name, str) or not name or not is_text(name):
                raise self._fault(f"features has {shown(name)}; expected names")
            if name in self._names:
                raise self._fault(f"feature {shown(name)} is named twice")
            self._names.append(name)

    def _add_edges(self, edges: list[Any]) -> None:
        if self._builder is None and edges:
            self._builder = RawBuilder(self._names)
        for edge in edges:
            number = self._edges
            if isinstance(edge, _Pairs):
                raise self._fault(f"edge {number} has a key twice: {shown(edge)}")
            if not isinstance(edge, dict):
                raise self._fault(f"edge {number} is {shown(edge)}; expected an object")
            tails = edge.get("tail") or []
            if not isinstance(tails, list) or not all(_is_index(tail) and tail < _HUGE for tail in tails):
                raise self._fault(f"edge {number}: tail is {shown(tails)}; expected numbers of nodes")
            self._add_edge(number, tails, self._output(edge, number, len(tails)), edge.get("feats") or [])
            self._edges += 1

    def _add_edge(self, edge: int, tails: list[int], output: Output, feats: Any) -> None:
        """Numbers of names and plain values, as cdec mostly writes them, go the short way; pack finds NaN."""
        assert self._builder is not None
        if isinstance(feats, list) and len(feats) % 2 == 0:
            columns, values = feats[::2], feats[1::2]
            plain = set(map(type, columns)) <= {int} and set(map(type, values)) <= {int, float}
            if plain and len(set(columns)) == len(columns) and all(0 <= n < len(self._names) for n in columns):
                try:
                    self._builder.add_row(tails, output, columns, list(map(float, values)))
                    return
                except OverflowError:
                    pass  # a whole number that is no double: said below
        self._builder.add(tails, output, self._features(feats, edge))

    def _output(self, fields: dict[str, Any], edge: int, arity: int) -> Output:
        rule = fields.get("rule")
        if isinstance(rule, str):
            output = self._target(rule)
        elif _is_index(rule) and rule in self._rules:
            output = self._rules[rule]
        elif rule is None:
            raise self._fault(f"edge {edge} has no rule; expected a hypergraph that cdec wrote with its rules")
        else:
            raise self._fault(f"edge {edge}: rule {shown(rule)} is not among the {len(self._rules)} rules before it")
        for label in output:
            if isinstance(label, int) and -label > arity:
                raise self._fault(f"edge {edge}: its rule names tail [{-label}], but it has {arity} tail(s)")
        return output

    def _features(self, values: Any, edge: int) -> list[tuple[str, float]]:
        if not isinstance(values, list) or isinstance(values, _Pairs):
            raise self._fault(f"edge {edge}: feats is {shown(values)}; expected names and values in turn")
        features: dict[str, float] = {}
        for name, value in _two_by_two(values, self._fault, f"edge {edge}: feats"):
            if _is_index(name) and name < len(self._names):
                name = self._names[name]
            if not isinstance(name, str) or not name or not is_text(name):
                raise self._fault(f"edge {edge}: no feature {shown(name)}; expected a name or a number of one")
            number = json_number(value)
            if number is None or not math.isfinite(number):
                raise self._fault(f"edge {edge}: feature {name!r} is {shown(value)}; expected a finite number")
            if name in features:
                raise self._fault(f"edge {edge}: feature {name!r} occurs twice")
            features[name] = number
        return list(features.items())

    def _add_node(self, node: Any) -> None:
        edges = node.get("in_edges") if isinstance(node, dict) else None
        if not isinstance(node, dict) or not isinstance(edges or [], list):
            raise self._fault(f"node {self._nodes} is {shown(node)}; expected an object with in_edges")
        for edge in edges or []:
            if not _is_index(edge) or edge >= self._edges:
                raise self._fault(
                    f"node {self._nodes}: no edge {shown(edge)}; expected one of the {self._edges} before it"
                )
            if edge in self._heads:
                raise self._fault(f"edge {edge} is in two nodes, {self._heads[edge]} and {self._nodes}")
            self._heads[edge] = self._nodes
        self._nodes += 1


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _two_by_two(values: list[Any], fault: Any, what: str) -> Iterator[tuple[Any, Any]]:
    if len(values) % 2:
        raise fault(f"{what} has {len(values)} entries; expected an even number")
    return zip(values[::2], values[1::2], strict=True)
