"""Forests of Travatar: JSON, one hypergraph a line.

``nodes`` have an ``id`` and the ``span`` of source words that they cover; ``edges`` have a ``head``, ``tails``,
``features`` and the target ``trg`` (a list, of whose first entry ``words`` are the output): a text is a word, also one
that looks like a number, and −1, −2, … are the output of the first, second, … tail. Node 0 is the root. The word
``<unk>`` stands for the source words that the head covers or, in an edge with tails, for the output of all tails in
order, as Travatar has it. Values are scores (larger is better) and are taken as they are. The words ``<s>`` and
``</s>`` are not output.

Keys come in any order. One of these that occurs twice in an object is refused; others are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.json_text import JsonText
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown
from hulltune.formats.raw_edges import RawEdges
from hulltune.formats.source_text import Integers, SourceText

UNKNOWN = "<unk>"
_START = re.compile(rb'\s*\{\s*"nodes"\s*:')
_EXPECTED = "expected the JSON of a hypergraph with nodes, edges and words"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this has forests of Travatar."""
    return _START.match(head) is not None


def read_travatar(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a file, one a line; linear in its size, most of it in a kernel."""
    source = None
    for source in SourceText.lines(path):
        edges, root = _read_hypergraph(source)
        yield NamedForest(edges.forest(options, vocabulary, root=root, where=partial(source.at, 0)))
    if source is None:
        raise InputError(f"{os.fspath(path)}:1: no forest in the file; {_EXPECTED}")


def _read_hypergraph(source: SourceText) -> tuple[RawEdges, int]:
    """The edges of a line, and the root."""
    from hulltune.kernels import travatar_codes as kernel
    from hulltune.kernels.travatar import parse_hypergraph

    text = JsonText(source, _EXPECTED)
    if source.data.isspace():
        raise source.fault(0, f"blank line; {_EXPECTED}")
    code, state, nodes, edges, (tails, labels, columns, values), words, names, pending = parse_hypergraph(
        text.buffer, len(source.data)
    )
    if code != kernel.DONE:
        raise _complaint(text, code, state, names)
    feature_names = text.texts(names)
    for name in feature_names:
        if not is_text(name):
            raise source.fault(0, f"the feature name {shown(name)} has {LONE_SURROGATE}")
    source.settle(pending, values, feature_names)
    raw = RawEdges(
        nodes=nodes.shape[1],
        heads=edges[kernel.HEAD, :-1],
        tail_offsets=edges[kernel.TAIL],
        tails=tails,
        label_offsets=edges[kernel.LABEL],
        labels=labels,
        value_offsets=edges[kernel.VALUE],
        columns=columns,
        values=values,
        words=text.texts(words),
        names=feature_names,
    )
    raw, root = _with_numbered_nodes(source, raw, nodes[kernel.ID])
    if UNKNOWN in raw.words:
        spans = nodes[[kernel.SPAN_START, kernel.SPAN_STOP]]
        raw = _with_known_words(text, raw, spans, state[kernel.SOURCE_START], state[kernel.SOURCE_STOP])
    _check_words(source, raw)
    return raw, root


def _with_numbered_nodes(source: SourceText, raw: RawEdges, ids: Integers) -> tuple[RawEdges, int]:
    """The same with nodes by their place instead of their id, and the place of the root."""
    in_order = np.argsort(ids, kind="stable")
    sorted_ids = ids[in_order]
    if (sorted_ids[1:] == sorted_ids[:-1]).any():
        twice = sorted_ids[1:][sorted_ids[1:] == sorted_ids[:-1]][0]
        raise source.fault(0, f"two nodes have the id {twice}")
    if not len(ids) or sorted_ids[0]:
        raise source.fault(0, "no node has the id 0, which is that of the root")
    is_plain = sorted_ids[-1] == len(ids) - 1
    numbered = []
    for ends, offsets in ((raw.heads, np.arange(len(raw.heads) + 1)), (raw.tails, raw.tail_offsets)):
        places = np.minimum(ends, len(ids) - 1) if is_plain else np.searchsorted(sorted_ids[:-1], ends)
        wrong = sorted_ids[places] != ends
        if wrong.any():
            slot = int(wrong.argmax())
            edge = int(offsets.searchsorted(slot, side="right")) - 1
            raise source.fault(0, f"edge {edge}: no node {ends[slot]}; expected one of the {len(ids)} nodes")
        numbered.append(in_order[places])
    return replace(raw, heads=numbered[0], tails=numbered[1]), int(in_order[0])


def _with_known_words(text: JsonText, raw: RawEdges, spans: Integers, source_start: int, source_stop: int) -> RawEdges:
    """The same with what ``<unk>`` stands for in its place; some microseconds for each."""
    words = {word: number for number, word in enumerate(raw.words)}
    source_words: Any = text.value(source_start, source_stop) if source_stop else None
    if not isinstance(source_words, list) or not all(isinstance(word, str) for word in source_words):
        source_words = None
    places = np.flatnonzero(raw.labels == words[UNKNOWN])
    edges = raw.label_offsets.searchsorted(places, side="right") - 1
    growth = np.zeros(len(raw.heads), dtype=np.int64)
    pieces: list[NDArray[np.int32]] = []
    copied = 0
    for place, edge in zip(places.tolist(), edges.tolist(), strict=True):
        arity = int(raw.tail_offsets[edge + 1] - raw.tail_offsets[edge])
        labels = [-1 - tail for tail in range(arity)]
        if not arity:
            start, stop = spans[:, raw.heads[edge]].tolist()
            span = text.value(start, stop) if stop else None
            covered = _covered(text.source, edge, span, source_words)
            labels = [words.setdefault(word, len(words)) for word in covered]
        growth[edge] += len(labels) - 1
        pieces += [raw.labels[copied:place], np.array(labels, dtype=np.int32)]
        copied = place + 1
    return replace(
        raw,
        label_offsets=raw.label_offsets + np.concatenate([[0], np.cumsum(growth)]),
        labels=np.concatenate([*pieces, raw.labels[copied:]]),
        words=list(words),
    )


def _covered(source: SourceText, edge: int, span: Any, source_words: list[str] | None) -> list[str]:
    """The source words that a node with this span covers."""
    if source_words is None:
        raise source.fault(0, f"edge {edge} puts out {UNKNOWN}; expected source words in a list of texts")
    if (
        not isinstance(span, list)
        or [type(end) for end in span] != [int, int]
        or not 0 <= span[0] <= span[1] <= len(source_words)
    ):
        raise source.fault(
            0,
            f"edge {edge} puts out {UNKNOWN}, but its head has the span {shown(span)}; "
            f"expected the first and last of the {len(source_words)} source words",
        )
    return source_words[span[0] : span[1]]


def _check_words(source: SourceText, raw: RawEdges) -> None:
    """No word may be empty, or have white space or a lone surrogate in it."""
    joined = "\n".join(raw.words)
    if is_text(joined) and joined.split() == raw.words:
        return
    for number, word in enumerate(raw.words):
        if word.split() != [word] or not is_text(word):
            edge = int(raw.label_offsets.searchsorted((raw.labels == number).argmax(), side="right")) - 1
            raise source.fault(0, f"edge {edge}: {shown(word)} is empty or has white space, or {LONE_SURROGATE}")


def _complaint(text: JsonText, code: int, state: Any, names: Integers) -> InputError:
    from hulltune.kernels import travatar_codes as kernel
    from hulltune.kernels.json_text import FIRST_FREE_CODE

    position, edge = int(state[kernel.FAULT]), f"edge {state[kernel.EDGES]}"
    if code < FIRST_FREE_CODE:
        return text.complaint(code, position)
    got = text.got(position) if position >= 0 else "none"
    if code in (kernel.REPEATED_NAME, kernel.BAD_VALUE):
        name = shown(text.texts(names)[state[kernel.NAME]])
        if code == kernel.REPEATED_NAME:
            return text.source.fault(position, f"{edge}: feature {name} occurs twice")
        return text.source.fault(position, f"{edge}: feature {name} is {got}; expected a finite number")
    reasons = {
        kernel.NO_GRAPH: f"got {got}; {_EXPECTED}",
        kernel.NO_NODES: f"the hypergraph has no list of nodes (got {got}); {_EXPECTED}",
        kernel.NO_EDGES: f"the hypergraph has no list of edges (got {got}); {_EXPECTED}",
        kernel.BAD_NODE: f"node {got} has no id; expected a whole number from 0",
        kernel.BAD_EDGE: f"{edge} is {got}; expected an object",
        kernel.NO_HEAD: f"{edge} has no head: {got}",
        kernel.BAD_NODE_NUMBER: f"{edge}: no node {got}; expected the id of one",
        kernel.BAD_TAILS: f"{edge} has no list of tails (got {got}); {_EXPECTED}",
        kernel.BAD_TARGET: f"{edge} has no list of targets as its trg (got {got}); {_EXPECTED}",
        kernel.BAD_FACTOR: f"the target of {edge} is {got}; expected an object with words",
        kernel.BAD_WORDS: f"the target of {edge} has no list of words (got {got}); {_EXPECTED}",
        kernel.BAD_WORD: f"{edge}: {got} in its words; expected a text, or −1, −2, … for one of its tails",
        kernel.BAD_FEATURES: f"{edge}: features is {got}; expected an object",
        kernel.NO_NAME: f"{edge}: a feature name is empty",
        kernel.REPEATED_KEY: f"a key occurs twice: {got}",
    }
    return text.source.fault(position, reasons[code])
