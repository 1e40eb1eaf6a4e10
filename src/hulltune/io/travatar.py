"""Forests of Travatar: JSON, one hypergraph a line.

``nodes`` have an ``id`` and the ``span`` of source words that they cover; ``edges`` have a ``head``, ``tails``,
``features`` and the target ``trg`` (a list, of whose first entry ``words`` are the output): a text is a word, also one
that looks like a number, and −1, −2, … are the output of the first, second, … tail. Node 0 is the root. The word
``<unk>`` stands for the source words that the head covers or, in an edge with tails, for the output of all tails in
order, as Travatar has it. Values are scores (larger is better) and are taken as they are. The words ``<s>`` and
``</s>`` are not output.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from typing import Any

from hulltune.errors import InputError
from hulltune.forest.vocabulary import Vocabulary
from hulltune.io.forest_files import ForestOptions, NamedForest, Path
from hulltune.io.numbers import LONE_SURROGATE, is_text, json_number, shown
from hulltune.io.problems import Problems
from hulltune.io.raw_builder import RawBuilder
from hulltune.io.raw_edges import RawEdges
from hulltune.io.streams import numbered_lines

UNKNOWN = "<unk>"
_START = re.compile(rb'\s*\{\s*"nodes"\s*:')
_EXPECTED = "expected the JSON of a hypergraph with nodes, edges and words"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this has forests of Travatar."""
    return _START.match(head) is not None


def read_travatar(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a file, one a line; linear in its size."""
    line = 0
    for line, text in numbered_lines(path, Problems()):
        where = f"{os.fspath(path)}:{line}"
        edges, root = _Hypergraph(where).read(text)
        yield NamedForest(edges.forest(options, vocabulary, root=root, where=where.__str__))
    if line == 0:
        raise InputError(f"{os.fspath(path)}:1: no forest in the file; {_EXPECTED}")


class _Hypergraph:
    """Reads one line."""

    def __init__(self, where: str) -> None:
        self._where = where

    def _fault(self, reason: str) -> InputError:
        return InputError(f"{self._where}: {reason}")

    def read(self, text: str) -> tuple[RawEdges, int]:
        """The edges, and the root."""
        try:
            graph = json.loads(text)
        except RecursionError:
            raise self._fault(f"nested too deeply; {_EXPECTED}") from None
        except ValueError as error:
            reason = "blank line" if not text.strip() else f"no JSON ({error})"
            raise self._fault(f"{reason}; {_EXPECTED}") from None
        nodes = self._list(graph, "nodes", "the hypergraph")
        number: dict[int, int] = {}
        for node in nodes:
            name: Any = node.get("id") if isinstance(node, dict) else None
            if not _is_index(name):
                raise self._fault(f"node {shown(node)} has no id; expected a whole number from 0")
            if name in number:
                raise self._fault(f"two nodes have the id {name}")
            number[name] = len(number)
        if 0 not in number:
            raise self._fault("no node has the id 0, which is that of the root")
        builder, heads = RawBuilder(), []
        words = graph.get("words")
        for count, edge in enumerate(self._list(graph, "edges", "the hypergraph")):
            what = f"edge {count}"
            if not isinstance(edge, dict):
                raise self._fault(f"{what} is {shown(edge)}; expected an object")
            ends = [edge.get("head"), *self._list(edge, "tails", what, optional=True)]
            for end in ends:
                if not _is_index(end) or end not in number:
                    raise self._fault(f"{what}: no node {shown(end)}; expected one of the {len(number)} nodes")
            head, *tails = (number[end] for end in ends)
            output = self._output(edge, len(tails), what)
            if UNKNOWN in output:
                output = self._known(output, len(tails), nodes[head], words, what)
            builder.add(tails, output, self._features(edge, what))
            heads.append(head)
        return builder.edges(len(nodes), heads), number[0]

    def _list(self, holder: Any, key: str, what: str, *, optional: bool = False) -> list[Any]:
        value = holder.get(key) if isinstance(holder, dict) else None
        if value is None and optional:
            return []
        if not isinstance(value, list):
            got = shown(holder) if not isinstance(holder, dict) else f"{key} = {shown(value)}"
            raise self._fault(f"{what} has no list of {key} (got {got}); {_EXPECTED}")
        return value

    def _output(self, edge: dict[str, Any], arity: int, what: str) -> list[str | int]:
        """The words of the target; −1 − i for tail i, which is how Travatar writes it too."""
        factors = self._list(edge, "trg", what, optional=True)
        if not factors:
            return []
        output = self._list(factors[0], "words", f"the target of {what}", optional=isinstance(factors[0], dict))
        for word in output:
            if isinstance(word, str):
                if not word or any(character.isspace() for character in word) or not is_text(word):
                    raise self._fault(f"{what}: {shown(word)} is empty or has white space, or {LONE_SURROGATE}")
            elif isinstance(word, bool) or not isinstance(word, int) or not -arity <= word <= -1:
                raise self._fault(f"{what}: {shown(word)} in its words; expected a text, or −1 to −{arity} for a tail")
        return output

    def _known(
        self, output: list[str | int], arity: int, head: dict[str, Any], words: Any, what: str
    ) -> list[str | int]:
        """The output with what <unk> stands for."""
        stands_for: list[Any] = [-1 - tail for tail in range(arity)]
        if not arity:
            span = head.get("span")
            if not (isinstance(span, list) and len(span) == 2 and _is_index(span[0]) and _is_index(span[1])):
                raise self._fault(f"{what} puts out {UNKNOWN}, but its head has the span {shown(span)}")
            if not isinstance(words, list) or not all(isinstance(word, str) and is_text(word) for word in words):
                raise self._fault(f"{what} puts out {UNKNOWN}; expected source words in a list of texts")
            stands_for = words[span[0] : span[1]]
        return [item for word in output for item in (stands_for if word == UNKNOWN else [word])]

    def _features(self, edge: dict[str, Any], what: str) -> list[tuple[str, float]]:
        features = edge.get("features") or {}
        if not isinstance(features, dict):
            raise self._fault(f"{what}: features is {shown(features)}; expected an object")
        found = []
        for name, value in features.items():
            number = json_number(value)
            if number is None or not math.isfinite(number):
                raise self._fault(f"{what}: feature {shown(name)} is {shown(value)}; expected a finite number")
            if not name or not is_text(name):
                raise self._fault(f"{what}: the feature name {shown(name)} is empty or has {LONE_SURROGATE}")
            found.append((name, number))
        return found


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
