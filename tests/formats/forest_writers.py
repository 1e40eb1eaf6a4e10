"""Writers of the formats that hulltune only reads, as the decoders write them: for tests and timings."""

from __future__ import annotations

import json
from itertools import groupby

from tests.formats.plain_forests import PlainEdge, PlainForest


def cdec_json(forest: PlainForest, *, names_first: bool = True) -> str:
    """One object with repeated keys; zeros left out; rules by number, or in the edges if names are not listed."""
    names = sorted({name for edge in forest.edges for name in edge.features})
    by_head = {node: [edge for edge in forest.edges if edge.head == node] for node in range(forest.nodes)}
    parts: list[str] = []
    rules: list[int | str] = []
    written = 0
    for node in range(forest.nodes):
        edges = []
        for edge in by_head[node]:
            target = " ".join(f"[{item + 1}]" if isinstance(item, int) else item for item in edge.output)
            rule = f"[X] ||| quelle ||| {target} ||| p=1"
            if names_first:
                rules += [len(rules) // 2 + 1, rule]
            feats = [
                item
                for name, value in edge.features.items()
                if value
                for item in (names.index(name) if names_first else name, value)
            ]
            edges.append(
                {"tail": edge.tails, "spans": [0, 1, -1, -1], "feats": feats, "rule": rules[-2] if rules else rule}
            )
        numbers = list(range(written, written + len(edges)))
        written += len(edges)
        parts += [f'"edges":{json.dumps(edges)}', f'"node":{json.dumps({"in_edges": numbers, "cat": "X"})}']
    head = [f'"rules":{json.dumps(rules)}', f'"features":{json.dumps(names)}'] if names_first else []
    return "{" + ",".join([*head, *parts]) + "}\n"


def travatar_json(forest: PlainForest) -> str:
    """One line; the root gets the number 0."""
    nodes = [{"sym": "X", "span": [0, 1], "id": number} for number in range(forest.nodes)]
    edges = []
    for number, edge in enumerate(forest.edges):
        record: dict[str, object] = {"id": number, "head": forest.root - edge.head}
        if edge.tails:
            record["tails"] = [forest.root - tail for tail in edge.tails]
        if edge.output:
            words = [-1 - item if isinstance(item, int) else item for item in edge.output]
            record["trg"] = [{"words": words, "label": "X"}]
        if edge.features:
            record["features"] = {name: value for name, value in edge.features.items() if value}
        edges.append(record)
    return json.dumps({"nodes": nodes, "edges": edges, "words": ["quelle"]}) + "\n"


def joshua(forest: PlainForest) -> str:
    """Nodes from 1; the root is not written, and its edges must each have one tail and no features."""
    edges = [edge for edge in forest.edges if edge.head != forest.root]
    lines = ["# target ||| features", f"{forest.nodes - 1} {len(edges)}"]
    for head, group in groupby(edges, key=lambda edge: edge.head):
        lines.append(str(head + 1))
        lines += [f"{_words(edge, 1)} ||| {_features(edge)}" for edge in group]
    return "\n".join(lines) + "\n"


def moses_graph(lattice: PlainForest, sentence: int, *, extended: bool = False) -> str:
    """A lattice whose node 0 is the start; edges to the root have nothing, all others put out their tail and words."""
    lines = [f"{sentence} hyp=0 stack=0" + (" forward=1 fscore=-1.5" if extended else "")]
    finals = {edge.tails[0] for edge in lattice.edges if edge.head == lattice.root}
    steps = [edge for edge in lattice.edges if edge.tails and edge.head != lattice.root]
    first: dict[int, int] = {}
    for number, edge in enumerate(steps):
        first.setdefault(edge.head, number + 1)
    for number, edge in enumerate(steps):
        recombined = f" recombined={first[edge.head]}" if first[edge.head] != number + 1 else ""
        after = next((n + 1 for n, other in enumerate(steps) if other.tails[0] == edge.head), -1)
        forward = -1 if edge.head in finals else after
        back = first.get(edge.tails[0], 0)
        words = " ".join(str(item) for item in edge.output[1:])
        values = list(edge.features.values())
        core, named = values[:-1], f"last={values[-1]!r}"
        scores = f' scores="core=({",".join(map(repr, core))}) {named}"' if extended else ""
        out = f'"quell wort|{words} "' if extended else f"{words} "
        lines.append(
            f"{sentence} hyp={number + 1} stack=1 back={back} score=-1 transition={values[0]!r}{recombined} "
            f"forward={forward} fscore=-2.5 covered=0-0{scores} out={out}"
        )
    return "\n".join(lines) + "\n"


def plf(lattice: PlainForest) -> str:
    """A lattice whose edges put out their tail and one word, and lead to later nodes."""
    nodes = [
        tuple(
            (edge.output[1], *edge.features.values(), edge.head - node)
            for edge in lattice.edges
            if edge.tails == [node]
        )
        for node in range(lattice.nodes - 1)
    ]
    return repr(tuple(nodes)) + "\n"


def _words(edge: PlainEdge, base: int) -> str:
    return " ".join(f"[{edge.tails[item] + base}]" if isinstance(item, int) else item for item in edge.output)


def _features(edge: PlainEdge) -> str:
    return " ".join(f"{name}={value!r}" for name, value in edge.features.items())
