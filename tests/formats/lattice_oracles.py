"""Slow, simple readers of lattices, a writer of binary FSTs, and the paths of a lattice.

Two lattices are the same if they have the same paths: the words of a path, and the feature values of its arcs that have
any, to the bit and in order.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hulltune.data import Forest, Vocabulary
from hulltune.formats.forest_files import ForestOptions, ForestReader, NamedForest

Row = tuple[float, ...]
PathOf = tuple[tuple[str, ...], tuple[Row, ...]]


@dataclass
class Lattice:
    """Arcs (source, target, word or None, values), final states with values, and the words at the start."""

    start: int
    arcs: list[tuple[int, int, str | None, Row]] = field(default_factory=list)
    finals: dict[int, Row] = field(default_factory=dict)
    start_words: tuple[str, ...] = ()
    start_row: Row = ()
    name: str | None = None

    def paths(self) -> Counter[PathOf]:
        found: Counter[PathOf] = Counter()

        def follow(state: int, words: tuple[str, ...], rows: tuple[Row, ...]) -> None:
            if state in self.finals:
                found[words, kept((*rows, self.finals[state]))] += 1
            for source, target, word, row in self.arcs:
                if source == state:
                    follow(target, words if word is None else (*words, word), (*rows, row))

        follow(self.start, self.start_words, (self.start_row,))
        return found


def kept(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(row for row in rows if any(row))


def forest_paths(forest: Forest) -> Counter[PathOf]:
    """The paths of a forest whose edges have at most one tail."""
    values = [tuple(row) for row in forest.features.toarray().tolist()]

    def derivations(node: int) -> list[PathOf]:
        found: list[PathOf] = []
        for edge in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
            labels = forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]].tolist()
            tails = forest.edge_tails(edge).tolist()
            assert labels[: len(tails)] == [-1] * len(tails)
            words = forest.vocabulary.words(labels[len(tails) :])
            before = derivations(tails[0]) if tails else [((), ())]
            found += [((*first, *words), (*rows, values[edge])) for first, rows in before]
        return found

    return Counter((words, kept(rows)) for words, rows in derivations(forest.root))


def read_all(reader: ForestReader, path: Path, content: bytes | str | None = None, **options: Any) -> list[NamedForest]:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(reader(path, ForestOptions(**options), Vocabulary()))


# Text.


def slow_slf(text: str, dropped: Callable[[str], bool]) -> tuple[Lattice, tuple[str, ...]]:
    """The lattice of a well-formed SLF file, and its feature names."""
    header: dict[str, str] = {}
    nodes: dict[int, dict[str, str]] = {}
    links: list[dict[str, str]] = []
    for line in text.splitlines():
        fields = dict(item.split("=", 1) for item in line.split() if not line.startswith("#"))
        if "I" in fields:
            nodes[int(fields["I"])] = fields
        elif "J" in fields:
            links.append(fields)
        else:
            header |= fields
    long_names = {"a": "acoustic", "l": "language", "n": "ngram", "r": "pronunciation"}
    keys = list(dict.fromkeys(key for link in links for key in link if key not in ("J", "S", "E", "W", "p", "v", "t")))
    names = (*(long_names.get(key, key) for key in keys), "words")

    def word(fields: dict[str, str]) -> str | None:
        text = fields.get("W", "!NULL")
        return None if dropped(text) else text

    start = int(header["start"])
    start_word = word(nodes[start])
    lattice = Lattice(start, name=header.get("UTTERANCE"), finals={int(header["end"]): ()})
    if start_word is not None:
        lattice.start_words, lattice.start_row = (start_word,), (*[0.0] * len(keys), 1.0)
    for link in links:
        put_out = word(link) if "W" in link else word(nodes[int(link["E"])])
        row = (*(float(link.get(key, 0)) for key in keys), float(put_out is not None))
        lattice.arcs.append((int(link["S"]), int(link["E"]), put_out, row))
    return lattice, names


def slow_fst_text(text: str, *, transducer: bool, width: int, nothing: str) -> Lattice:
    """The lattice of a well-formed text FST whose weights are ``width`` costs, which are negated."""

    def costs(weight: str) -> Row:
        return tuple(0 - float(piece) for piece in weight.split(",")[:width])

    lines = [line.split() for line in text.splitlines() if line.split()]
    lattice = Lattice(int(lines[0][0]))
    label = 3 if transducer else 2
    for fields in lines:
        if len(fields) <= 2:
            if len(fields) == 1 or not math.isinf(costs(fields[1])[0]):
                lattice.finals[int(fields[0])] = costs(fields[1]) if len(fields) == 2 else (0.0,) * width
        else:
            row = costs(fields[label + 1]) if len(fields) > label + 1 else (0.0,) * width
            word = None if fields[label] == nothing else fields[label]
            lattice.arcs.append((int(fields[0]), int(fields[1]), word, row))
    return lattice


# Binary.


@dataclass
class BinaryArc:
    label: int
    weight: bytes
    target: int
    input_label: int = 7


@dataclass
class BinaryState:
    final: bytes
    arcs: list[BinaryArc] = field(default_factory=list)


def text_bytes(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<i", len(raw)) + raw


def binary_fst(
    arc_type: str,
    states: Sequence[BinaryState],
    *,
    start: int = 0,
    fst_type: str = "vector",
    version: int = 2,
    flags: int = 0,
    count: int | None = None,
    tables: bytes = b"",
) -> bytes:
    """A vector FST as OpenFst writes it; a weight is given as its bytes."""
    count = len(states) if count is None else count
    body = b"".join(
        state.final
        + struct.pack("<q", len(state.arcs))
        + b"".join(
            struct.pack("<ii", arc.input_label, arc.label) + arc.weight + struct.pack("<i", arc.target)
            for arc in state.arcs
        )
        for state in states
    )
    head = struct.pack("<i", 2125659606) + text_bytes(fst_type) + text_bytes(arc_type)
    head += struct.pack("<iiQqqq", version, flags, 3, start, count, 0)
    return head + tables + body


def binary_const(states: Sequence[BinaryState], *, aligned: bool, start: int = 0) -> bytes:
    """A const FST with standard arcs."""
    arcs = [arc for state in states for arc in state.arcs]
    data = struct.pack("<i", 2125659606) + text_bytes("const") + text_bytes("standard")
    data += struct.pack("<iiQqqq", 2, 4 * aligned, 3, start, len(states), len(arcs))
    data += bytes(-len(data) % 16 if aligned else 0)
    place = 0
    for state in states:
        data += state.final + struct.pack("<IIII", place, len(state.arcs), 0, 0)
        place += len(state.arcs)
    data += bytes(-len(data) % 16 if aligned else 0)
    return data + b"".join(
        struct.pack("<ii", arc.input_label, arc.label) + arc.weight + struct.pack("<i", arc.target) for arc in arcs
    )


def symbol_table(words: dict[int, str], name: str = "words") -> bytes:
    data = struct.pack("<i", 2125658996) + text_bytes(name) + struct.pack("<qq", len(words), len(words))
    return data + b"".join(text_bytes(word) + struct.pack("<q", key) for key, word in words.items())


def floats(*values: float, double: bool = False) -> bytes:
    return struct.pack(f"<{len(values)}{'d' if double else 'f'}", *values)


def compact(graph: float, acoustic: float, ids: Sequence[int] = ()) -> bytes:
    return floats(graph, acoustic) + struct.pack(f"<i{len(ids)}i", len(ids), *ids)


def sparse_tuple(values: dict[int, float], default: float = 0.0) -> bytes:
    """ucam-smt's weight: the first pair, if there is one, stands before the number of the others."""
    pairs = list(values.items())
    data = struct.pack("<f", default) + (struct.pack("<if", *pairs[0]) if pairs else struct.pack("<ii", -1, 1))
    return data + struct.pack("<q", max(len(pairs) - 1, 0)) + b"".join(struct.pack("<if", *pair) for pair in pairs[1:])
