"""PLF, the lattices that Moses and cdec read: nested Python tuples, one lattice a line.

A lattice is a tuple of nodes, a node a tuple of arcs, an arc ``('word', score, …, distance)``: it leads to the node
that comes so much later. The last arcs lead to the node after the last one written. Several scores become
``score_0``, ``score_1``, …; a single one is ``score``; ``name=value`` after them is a feature of that name. An arc with
one number has no distance and leads to the next node (a confusion network). ``()`` is the lattice of an empty sentence.

Scores are taken as they are, and add up along a path: where a file has probabilities, write their logarithms. The
words ``*EPS*`` and ``<eps>``, the empty word, and ``<s>`` and ``</s>`` are not output. The tuples are read by a small
parser of their own; nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown
from hulltune.formats.positional import name_columns, repeated
from hulltune.formats.raw_edges import SENTENCE_MARKS, RawEdges
from hulltune.formats.source_text import SourceText

NOT_OUTPUT = SENTENCE_MARKS | {"*EPS*", "<eps>"}
"""The words that are dropped by default."""
_HEAD = re.compile(rb"""\s*\(\s*(\(\s*(\(\s*u?['"]|\)|$)|\)\s*(\n|$)|$)""")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is PLF."""
    return _HEAD.match(head) is not None


def read_plf(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The lattices of a file, one a line; linear in its size, most of it in a kernel."""
    source = SourceText.read(path)
    if not source.data.strip():
        raise source.fault(0, "no lattice in the file; expected a line of nested tuples")
    position = 0
    line = source.first_line
    while position < len(source.data):
        end = source.data.index(b"\n", position) + 1
        yield NamedForest(_read_lattice(SourceText(source.file, source.data[position:end], line), options, vocabulary))
        position = end
        line += 1


def _read_lattice(source: SourceText, options: ForestOptions, vocabulary: Vocabulary) -> Forest:
    from hulltune.kernels import plf as kernel

    code, state, arcs, columns, values, words, names, pending = kernel.parse_lattice(source.array)
    if code:
        raise _complaint(source, code, int(state[kernel.POSITION]))
    nodes, edges = int(state[kernel.NODES]) + 1, arcs.shape[1] - 1
    heads, tails = arcs[kernel.HEAD, :edges], arcs[kernel.TAIL, :edges]
    if edges and heads.max() >= nodes:
        arc = int(np.argmax(heads >= nodes))
        raise source.fault(
            0,
            f"arc {arc + 1} leads from node {tails[arc]} over {heads[arc] - tails[arc]} nodes, "
            f"but the lattice ends at node {nodes - 1}",
        )
    width = _width(source, arcs[kernel.VALUE], columns)
    positional = ["score"] if width == 1 else [f"score_{k}" for k in range(width)]
    own_names = source.texts(names)
    twice = repeated(arcs[kernel.VALUE], columns)
    if twice is not None:
        raise source.fault(0, f"feature {own_names[twice[1]]!r} occurs twice in arc {twice[0] + 1}")
    columns, feature_names = name_columns(source, columns, values, pending, positional, own_names)
    texts = source.texts(words)
    if any(mark in "".join(texts) for mark in " \t\r\\"):
        texts = [_unescaped(source, text) for text in texts]
    raw = RawEdges(
        nodes=nodes,
        heads=heads,
        tail_offsets=np.arange(edges + 1),
        tails=tails,
        label_offsets=2 * np.arange(edges + 1),
        labels=np.stack([np.full(edges, -1), arcs[kernel.WORD, :edges]], axis=1).reshape(-1).astype(np.int32),
        value_offsets=arcs[kernel.VALUE],
        columns=columns,
        values=values,
        words=texts,
        names=feature_names,
    )
    options = replace(options, drop=(NOT_OUTPUT if options.drop is None else options.drop) | {""})
    whole = raw.with_edges(np.zeros(1, dtype=np.int64))  # the empty path to the first node
    return whole.forest(options, vocabulary, root=nodes - 1, where=lambda: source.at(0))


def _width(source: SourceText, value_ends: Any, columns: Any) -> int:
    """How many scores without a name every arc has."""
    totals = np.concatenate([[0], np.cumsum(columns >= 0)])[value_ends]
    counts = np.diff(totals)
    if len(counts) and counts.min() != counts.max():
        arc = int(np.argmax(counts != counts[0]))
        raise source.fault(0, f"arc {arc + 1} has {counts[arc]} score(s), unlike the {counts[0]} of the first arc")
    return int(counts[0]) if len(counts) else 0


def _unescaped(source: SourceText, text: str) -> str:
    """A word without backslashes: Moses protects characters with them, and Python writes code points so."""
    if "\\" in text:
        try:
            text = _ESCAPE.sub(lambda match: chr(int(match[1][1:], 16)) if len(match[1]) > 1 else match[1], text)
        except (ValueError, OverflowError):
            raise source.fault(0, f"{shown(text)} has an escape that is no character") from None
        if not is_text(text):
            raise source.fault(0, f"{shown(text)} has {LONE_SURROGATE}")
    if any(blank in text for blank in " \t\r\n"):
        raise source.fault(0, f"the word {shown(text)} has white space in it; expected one word an arc")
    return text


def _complaint(source: SourceText, code: int, position: int) -> InputError:
    from hulltune.kernels import plf as kernel

    found = source.text(position, min(position + 200, len(source.data))).strip()[:20] if source.data else ""
    where = f"at character {len(source.text(0, position)) + 1}"
    got = f"{where}, before {found!r}" if found else f"{where}, where the line ends (is it cut off?)"
    reasons = {
        kernel.NO_OPENING: "expected '(' or ')'",
        kernel.NO_COMMA: "expected ',' or ')'",
        kernel.NO_QUOTE: "expected a word in quotes",
        kernel.OPEN_QUOTE: "expected the quotes of a word to be closed",
        kernel.NO_SCORE: "expected a score and a distance after the word",
        kernel.BAD_DISTANCE: "expected the distance to a later node, a whole number from 1",
        kernel.NO_NAME: "expected a name before '='",
        kernel.LATE_SCORE: "expected scores without a name before those with one",
        kernel.MORE: "expected the line to end after the lattice",
    }
    return source.fault(0, f"{reasons[code]} {got}")
