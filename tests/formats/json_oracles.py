"""Plain readers of the JSON of cdec and Travatar through Python's json module: what the readers must agree with."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tests.formats.plain_forests import FaultError, Output, PlainEdge, PlainForest

HUGE = 10**15
TAIL = re.compile(r"\[(?:[^\]]*,)?([0-9]{1,9})\]")
BLANKS = "".join(map(chr, range(33)))


class Object:
    """A JSON object with all its pairs."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs

    def __getitem__(self, key: str) -> Any:
        """The value of a key that may occur once; None where it does not."""
        values = [value for name, value in self.pairs if name == key]
        if len(values) > 1:
            raise FaultError
        return values[0] if values else None


def parsed(content: str) -> Object:
    try:
        value = json.loads(content, object_pairs_hook=Object)
    except (ValueError, RecursionError):
        raise FaultError from None
    graph: Object = expect(value, Object)
    return graph


def expect(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise FaultError
    return value


def optional_list(value: Any) -> list[Any]:
    return [] if value is None else expect(value, list)


def index(value: Any, below: int = HUGE) -> int:
    number: int = expect(value, int)
    if not 0 <= number < below:
        raise FaultError
    return number


def name(value: Any) -> str:
    text: str = checked(expect(value, str))
    if not text:
        raise FaultError
    return text


def checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FaultError from None
    return text


def finite(value: Any) -> float:
    try:
        number = float(expect(value, (int, float)))
    except OverflowError:
        raise FaultError from None
    if not math.isfinite(number):
        raise FaultError
    return number


def unique(features: list[tuple[str, float]]) -> dict[str, float]:
    if len(dict(features)) < len(features):
        raise FaultError
    return dict(features)


def two_by_two(values: list[Any]) -> list[tuple[Any, Any]]:
    if len(values) % 2:
        raise FaultError
    return list(zip(values[::2], values[1::2], strict=True))


# ── cdec ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def cdec_json(content: str) -> PlainForest:
    rules: dict[int, Output] = {}
    names: list[str] = []
    edges: list[PlainEdge] = []
    nodes = 0
    for key, value in parsed(content).pairs:
        if key == "rules":
            for number, text in two_by_two(optional_list(value)):
                rules[index(number, 10**4000)] = target(expect(text, str))
        elif key == "features":
            names += [name(each) for each in optional_list(value)]
            if edges or len(set(names)) < len(names):
                raise FaultError
        elif key == "edges":
            edges += [cdec_edge(expect(each, Object), rules, names) for each in optional_list(value)]
        elif key == "node":
            for number in optional_list(expect(value, Object)["in_edges"]):
                if edges[index(number, len(edges))].head >= 0:
                    raise FaultError
                edges[number].head = nodes
            nodes += 1
        elif key != "is_sorted":
            raise FaultError
    if not nodes or any(edge.head < 0 or max(edge.tails, default=0) >= nodes for edge in edges):
        raise FaultError
    forest = PlainForest(nodes, nodes - 1, edges)
    forest.add_leaves()
    return forest


def cdec_edge(edge: Object, rules: dict[int, Output], names: list[str]) -> PlainEdge:
    tails = [index(tail) for tail in optional_list(edge["tail"])]
    rule = edge["rule"]
    if isinstance(rule, str):
        output = target(rule)
    elif index(rule, 10**4000) in rules:
        output = rules[rule]
    else:
        raise FaultError
    if any(isinstance(item, int) and item >= len(tails) for item in output):
        raise FaultError
    features = [
        (name(key) if isinstance(key, str) else names[index(key, len(names))], finite(value))
        for key, value in two_by_two(optional_list(edge["feats"]))
    ]
    return PlainEdge(-1, tails, output, unique(features))


def target(rule: str) -> Output:
    """The words of the target side, and i for tail i."""
    fields = [field.strip(BLANKS) for field in rule.split("|||")]
    has_left_side = len(fields) > 1 and fields[0].startswith("[") and fields[0].endswith("]")
    sides = fields[1:] if has_left_side else fields
    output: Output = []
    for token in re.split(f"[{BLANKS[0]}-{BLANKS[-1]}]+", sides[1] if len(sides) > 1 else sides[0]):
        match = TAIL.fullmatch(token)
        if match is not None and int(match[1]) == 0:
            raise FaultError
        if token:
            output.append(checked(token) if match is None else int(match[1]) - 1)
    return output


# ── Travatar ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def travatar(content: str) -> list[PlainForest]:
    """The forests of all lines."""
    lines = content.removesuffix("\n").split("\n") if content else []
    if not lines:
        raise FaultError
    return [hypergraph(parsed(line)) for line in lines]


def hypergraph(graph: Object) -> PlainForest:
    nodes = [expect(node, Object) for node in expect(graph["nodes"], list)]
    ids = [index(node["id"], HUGE + 1) for node in nodes]
    spans = [node["span"] for node in nodes]
    if len(set(ids)) < len(ids) or 0 not in ids:
        raise FaultError
    forest = PlainForest(len(nodes), ids.index(0))
    source_words = graph["words"]
    for edge in expect(graph["edges"], list):
        ends = [expect(edge, Object)["head"], *optional_list(edge["tails"])]
        if not {index(end, HUGE + 1) for end in ends} <= set(ids):
            raise FaultError
        head, *tails = (ids.index(end) for end in ends)
        features = edge["features"]
        values = [] if features is None else expect(features, Object).pairs
        output: Output = []
        for word in travatar_words(optional_list(edge["trg"])):
            if word == "<unk>":
                output += range(len(tails)) if tails else covered(spans[head], source_words)
            elif isinstance(word, str):
                output.append(word)
            else:
                output.append(index(-1 - expect(word, int), len(tails)))
        if any(isinstance(item, str) and (item.split() != [item] or not checked(item)) for item in output):
            raise FaultError
        forest.edges.append(PlainEdge(head, tails, output, unique([(name(key), finite(v)) for key, v in values])))
    return forest


def travatar_words(factors: list[Any]) -> list[Any]:
    return optional_list(expect(factors[0], Object)["words"]) if factors else []


def covered(span: Any, words: Any) -> list[str]:
    if len(expect(span, list)) != 2:
        raise FaultError
    start, stop = index(span[0]), index(span[1])
    if not start <= stop <= len([expect(word, str) for word in expect(words, list)]):
        raise FaultError
    covered_words: list[str] = words[start:stop]
    return covered_words
