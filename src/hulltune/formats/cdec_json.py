"""Hypergraphs of older cdec, one JSON object a file.

The object has ``rules`` (an id and ``[X] ||| source ||| target ||| features`` in turn), ``features`` (names), and then,
bottom-up, ``edges`` and ``node`` again and again; an ordinary parser would keep the last of them only. An edge has
``tail``, ``rule`` (an id, or the rule itself) and ``feats`` (a name or its number, and a value, in turn); a node lists
its ``in_edges``. Keys of an edge or node come in any order; one of these that occurs twice is refused, others are
passed over. ``[1]`` in a target is the first tail; blanks and control characters end a word. The last node is the root;
another node without edges is a leaf that puts out nothing, as cdec has it. Values are scores (larger is better) and are
taken as they are. The words ``<s>`` and ``</s>`` are not output.

Newer versions of cdec write binary archives in a layout that changes from version to version: they are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.json_text import JsonText
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown
from hulltune.formats.raw_edges import RawEdges
from hulltune.formats.source_text import Integers, SourceText

_START = re.compile(rb'\s*\{\s*"(rules|features|is_sorted|edges|node)"\s*:')
_ARCHIVE = b"serialization::archive"
_EXPECTED = "expected the JSON of a cdec hypergraph"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is a hypergraph of cdec, also one that cannot be read."""
    return _START.match(head) is not None or _ARCHIVE in head[:64]


def read_cdec_json(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The one forest of a file; linear in its size, most of it in a kernel."""
    source = SourceText.read(path)
    if _ARCHIVE in source.data[:64]:
        raise InputError(
            f"{source.file}: a binary archive of cdec, whose layout changes from version to version; "
            "let cdec write forest text instead (--show_target_graph DIR)"
        )
    edges = _read_hypergraph(source)
    root = edges.nodes - 1
    yield NamedForest(edges.with_leaves(root).forest(options, vocabulary, root=root, where=lambda: source.at(0)))


def _read_hypergraph(source: SourceText) -> RawEdges:
    """All edges; the last node is the root."""
    from hulltune.kernels import cdec_codes as kernel
    from hulltune.kernels.cdec_json import parse_hypergraph

    text = JsonText(source, _EXPECTED)
    code, state, edges, (tails, columns, values), label_offsets, labels, words, names, pending = parse_hypergraph(
        text.buffer, len(source.data)
    )
    if code != kernel.DONE:
        raise _complaint(text, code, state, edges, names)
    feature_names = text.texts(names)
    source.settle(pending, values, feature_names)
    raw = RawEdges(
        nodes=int(state[kernel.NODES]),
        heads=edges[kernel.HEAD, :-1],
        tail_offsets=edges[kernel.TAIL],
        tails=tails,
        label_offsets=label_offsets,
        labels=labels,
        value_offsets=edges[kernel.VALUE],
        columns=columns,
        values=values,
        words=text.texts(words),
        names=feature_names,
    )
    _check(source, raw)
    return raw


def _check(source: SourceText, raw: RawEdges) -> None:
    """What can be known only at the end."""
    loose = raw.heads < 0
    if loose.any():
        raise source.fault(0, f"edge {loose.argmax()} is in no node")
    beyond = raw.tails >= raw.nodes
    if beyond.any():
        slot = int(beyond.argmax())
        edge = int(raw.tail_offsets.searchsorted(slot, side="right")) - 1
        raise source.fault(0, f"edge {edge}: no node {raw.tails[slot]}; expected 0 to {raw.nodes - 1}")
    for what, texts in (("feature name", raw.names), ("word", raw.words)):
        if not is_text("".join(texts)):
            wrong = next(text for text in texts if not is_text(text))
            raise source.fault(0, f"the {what} {shown(wrong)} has {LONE_SURROGATE}")


def _complaint(text: JsonText, code: int, state: Any, edges: Integers, names: Integers) -> InputError:
    from hulltune.kernels import cdec_codes as kernel
    from hulltune.kernels.json_text import FIRST_FREE_CODE

    position, detail = int(state[kernel.FAULT]), int(state[kernel.DETAIL])
    if code < FIRST_FREE_CODE:
        return text.complaint(code, position)
    if code == kernel.NO_NODE:
        return text.source.fault(position, "no node; is the file cut off?")
    if code == kernel.ODD_RULES:
        return text.source.fault(position, "rules has an odd number of entries; expected ids and rules in turn")
    edge, node = f"edge {state[kernel.EDGES]}", f"node {state[kernel.NODES]}"
    if code == kernel.ODD_FEATURES:
        return text.source.fault(position, f"{edge}: feats has an odd number of entries; expected names and values")
    got = text.got(position)
    if code == kernel.NO_LIST:
        return text.source.fault(position, f"{got} is {text.got(detail)}; expected a list")
    if code in (kernel.REPEATED_NAME, kernel.BAD_VALUE):
        name = shown(text.texts(names)[detail])
        if code == kernel.REPEATED_NAME:
            return text.source.fault(position, f"{edge}: feature {name} occurs twice")
        return text.source.fault(position, f"{edge}: feature {name} is {got}; expected a finite number")
    if code == kernel.EDGE_IN_TWO_NODES:
        other = edges[kernel.HEAD, detail]
        return text.source.fault(position, f"edge {detail} is in two nodes, {other} and {state[kernel.NODES]}")
    reasons = {
        kernel.NO_GRAPH: f"got {got}; {_EXPECTED}",
        kernel.UNKNOWN_KEY: f"unknown key {got}; expected rules, features, edges, node or is_sorted",
        kernel.BAD_RULE_ID: f"rules has {got} in the place of an id; expected ids and rules in turn",
        kernel.BAD_RULE: f"rules has {got} in the place of a rule; expected ids and rules in turn",
        kernel.NAMES_TAIL_ZERO: f"rule {got} names tail 0; expected numbers from 1",
        kernel.LATE_NAMES: "features after edges; expected them before",
        kernel.BAD_NAME: f"features has {got}; expected names",
        kernel.NAMED_TWICE: f"feature {got} is named twice",
        kernel.BAD_EDGE: f"{edge} is {got}; expected an object",
        kernel.REPEATED_KEY: f"a key occurs twice: {got}",
        kernel.BAD_TAIL: f"{edge}: tail has {got}; expected a list of numbers of nodes",
        kernel.NO_RULE: f"{edge} has no rule; expected a hypergraph that cdec wrote with its rules",
        kernel.UNKNOWN_RULE: f"{edge}: rule {got} is not among the {state[kernel.IDS]} rules before it",
        kernel.TOO_FEW_TAILS: f"{edge}: its rule names tail [{detail}], beyond those that it has: {got}",
        kernel.BAD_FEATURES: f"{edge}: feats is {got}; expected names and values in turn",
        kernel.UNKNOWN_NAME: f"{edge}: no feature {got}; expected a name or a number of one",
        kernel.BAD_NODE: f"{node} is {got}; expected an object with in_edges",
        kernel.BAD_IN_EDGES: f"{node}: in_edges is {got}; expected a list",
        kernel.UNKNOWN_EDGE: f"{node}: no edge {got}; expected one of the {state[kernel.EDGES]} before it",
    }
    return text.source.fault(position, reasons[code])
