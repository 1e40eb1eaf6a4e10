"""Forest text: hypergraphs as cdec and Moses write them for each other, one or several in a file.

A forest is a line ``nodes edges``, then for each node, bottom-up, a line with its number of incoming edges and a line
for each of them: ``words [tail] words ||| name=value …``, where ``[k]`` is the output of node k and a name left out
is 0. The last node is the root; another node without edges is a leaf that puts out nothing. ``0 0`` is a forest without
a derivation, the sign of a decoder that found nothing: its sentence counts as an empty output. Moses writes comments
(``# …``) before the counts and a third column, the number of source words covered: both are passed over. Values are
scores (larger is better) and are taken as they are. The words ``<s>`` and ``</s>`` are not output.

A forest that is written has its name, if it has one, in a comment ``# name …``. What is read back is what was written:
the same nodes, edges, tails, words, feature names and values, to the bit.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import IO, Any, cast

import numpy as np

from hulltune.data.features import SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.numbers import LONE_SURROGATE, shown
from hulltune.formats.raw_edges import RawEdges
from hulltune.formats.source_text import SourceText
from hulltune.formats.streams import written_atomically
from hulltune.wording import counted

_HEADER = re.compile(rb"[ \t\r]*(\d{1,18})[ \t\r]+(\d{1,18})[ \t\r]*")
_NAME = b"# name "
_EMPTY = (b"0", b"0")
"""The first and only line of a forest without a node: a decoder that found nothing writes it."""
_TAIL = re.compile(r"\[[0-9]+\]")
_COUNT = re.compile(rb"[ \t\r]*\d{1,18}[ \t\r]*")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is forest text."""
    nodes = first_nodes(head)
    if len(nodes) == 1 and nodes[0][0] > nodes[0][1]:  # cut off within its first node, as its reader will say
        return True
    return all(number == edges for number, edges in nodes) if nodes else _only_empty(head)


def _only_empty(head: bytes) -> bool:
    """Whether there is nothing but forests without a node."""
    lines = {tuple(line.split()) for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")}
    return lines == {_EMPTY}


def first_nodes(head: bytes) -> list[tuple[int, int]]:
    """The first nodes of a forest: the number before their edges, and how many edges follow; none for other formats."""
    lines = iter([line for line in head.split(b"\n")[: 1 if head.count(b"\n") == 0 else -1] if line.strip()])
    header = next((line for line in lines if not line.startswith(b"#") and tuple(line.split()) != _EMPTY), b"")
    if not _HEADER.fullmatch(header):
        return []
    nodes: list[tuple[int, int]] = []
    for line in lines:
        if _COUNT.fullmatch(line):
            nodes.append((int(line), 0))
        elif b"|||" in line and nodes:
            nodes[-1] = (nodes[-1][0], nodes[-1][1] + 1)
        elif _HEADER.fullmatch(line):  # the next forest of the file
            return nodes
        elif not line.startswith(b"#"):
            return []
    return nodes[:-1] if len(nodes) > 1 else nodes  # the last one may be cut off


def read_forest_text(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a file; linear in its size, most of it in a kernel."""
    source = SourceText.read(path)
    name, start, position = find_header(source, 0)
    if start == len(source.data):
        raise source.fault(0, "no forest in the file; expected a line with the numbers of nodes and edges")
    while start < len(source.data):
        forest, position = _read_forest(source, start, position, options, vocabulary)
        yield NamedForest(forest, name)
        name, start, position = find_header(source, position)


def find_header(source: SourceText, position: int) -> tuple[str | None, int, int]:
    """The name that comments give the next forest, and where its first line begins and ends."""
    name = None
    while position < len(source.data):
        end = source.data.index(b"\n", position) + 1
        line = source.data[position:end].strip()
        if line and not line.startswith(b"#"):
            return name, position, end
        if line.startswith(_NAME):
            name = source.text(position, end).strip()[len(_NAME) :].strip()
        position = end
    return name, position, position


def _read_forest(
    source: SourceText, start: int, position: int, options: ForestOptions, vocabulary: Vocabulary
) -> tuple[Forest, int]:
    """The forest whose first line is ``start:position``, and where it ends."""
    edges, _, position = read_nodes(source, start, position, numbered=False)
    root = edges.nodes - 1
    forest = edges.with_leaves(root).forest(options, vocabulary, root=root, where=lambda: source.at(start))
    return forest, position


def read_nodes(source: SourceText, start: int, position: int, *, numbered: bool) -> tuple[RawEdges, Any, int]:
    """The edges of the forest whose first line is ``start:position``, where each begins, and where the forest ends."""
    from hulltune.kernels import forest_text as kernel

    nodes, edges = _counts(source, start, position)
    code, state, offsets, (tails, labels, columns, values), words, names, pending = kernel.parse_nodes(
        source.array, position, len(source.data), nodes, edges, numbered
    )
    if code:
        raise _complaint(source, code, state, nodes, edges)
    feature_names = source.texts(names)
    source.settle(pending, values, feature_names)
    raw = RawEdges(
        nodes=max(nodes, 1),  # of "0 0" the root is still there, without edges
        heads=offsets[kernel.HEAD, :edges],
        tail_offsets=offsets[kernel.TAIL],
        tails=tails,
        label_offsets=offsets[kernel.LABEL],
        labels=labels,
        value_offsets=offsets[kernel.VALUE],
        columns=columns,
        values=values,
        words=source.texts(words),
        names=feature_names,
    )
    return raw, offsets[kernel.LINE], int(state[kernel.POSITION])


def _counts(source: SourceText, start: int, end: int) -> tuple[int, int]:
    """The numbers of nodes and edges, believed only as far as the rest of the file has room for them."""
    match = _HEADER.fullmatch(source.data, start, end - 1)
    if match is None:
        raise source.fault(start, f"{shown(source.line(start))}; expected the numbers of nodes and edges of a forest")
    nodes, edges = int(match[1]), int(match[2])
    left = len(source.data) - end
    if 2 * nodes + 4 * edges > left:  # the shortest lines: "0" and "|||"
        raise source.fault(
            start,
            f"{counted(nodes, 'node')} and {counted(edges, 'edge')}, but only {counted(left, 'byte')} of text "
            "after that; is the file cut off?",
        )
    return nodes, edges


def _complaint(source: SourceText, code: int, state: Any, nodes: int, edges: int) -> InputError:
    from hulltune.kernels import forest_text as kernel

    position, first, last, edge = state[[kernel.POSITION, kernel.FIRST, kernel.LAST, kernel.EDGES]].tolist()
    if code == kernel.ENDS_EARLY:
        return source.fault(position, f"the file ends within a forest, after {edge} of {counted(edges, 'edge')}")
    if code == kernel.BAD_COUNT:
        reason = f"{shown(source.line(position))}; expected the number of edges into the next node"
        return source.fault(position, reason)
    if code == kernel.TOO_FEW_EDGES:
        return source.fault(
            position, f"{counted(edge, 'edge')} into all nodes, fewer than the {edges} that the first line tells of"
        )
    if code == kernel.NO_BARS:
        return source.fault(position, "no '|||'; expected 'words [tail] words ||| name=value …'")
    if code == kernel.TOO_MANY_NODES:
        return source.fault(position, f"more nodes than the {nodes} that the first line tells of")
    if code == kernel.TOO_MANY_EDGES:
        return source.fault(position, f"more edges than the {edges} that the first line tells of")
    token = source.text(first, last)
    if code == kernel.NOT_ASCENDING:
        reason = f"node {token} after a node with no smaller number; expected ascending numbers"
    elif code == kernel.TAIL_OUT_OF_RANGE:
        reason = f"no node {shown(token)}; expected [0] to [{nodes - 1}]"
    elif code == kernel.NO_EQUALS:
        reason = f"{shown(token)} is no feature; expected 'name=value'"
    elif code == kernel.NO_NAME:
        reason = f"no name before '=' in {shown(token)}; expected 'name=value'"
    else:
        assert code == kernel.REPEATED_NAME
        reason = f"feature {shown(token.rpartition('=')[0])} occurs twice"
    return source.fault(position, reason)


def write_forest_text(path: Path, forests: Iterable[NamedForest]) -> None:
    """Write forests one after the other, compressed if the name ends in .gz, .bz2 or .xz; linear in their size.

    The first edge of a dense forest names all features, so that none is lost; other edges leave zeros out. Forests
    with an edge that does not put out each of its tails once, and words or names with white space or bars, have no
    spelling in this format and are refused.
    """
    with written_atomically(path) as file, _packed(file, os.fspath(path)) as stream:
        for number, named in enumerate(forests):
            what = f"forest {number}" if named.name is None else f"forest {named.name!r}"
            try:
                stream.write("".join(_spell(named)).encode("utf-8"))
            except UnicodeEncodeError:
                raise InputError(f"{what}: a word or name has {LONE_SURROGATE}") from None
            except InputError as error:
                raise InputError(f"{what}: {error}; it cannot be written as forest text") from None


def _packed(file: IO[bytes], name: str) -> AbstractContextManager[IO[bytes]]:
    suffix = os.path.splitext(name)[1]
    if suffix == ".gz":
        return cast(AbstractContextManager[IO[bytes]], gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    if suffix == ".bz2":
        return cast(AbstractContextManager[IO[bytes]], bz2.BZ2File(file, "wb"))
    if suffix == ".xz":
        return cast(AbstractContextManager[IO[bytes]], lzma.LZMAFile(file, "wb"))
    if suffix == ".zst":
        raise InputError(f"{name}: forest text is not written as zstd; expected .gz, .bz2, .xz or no compression")
    return nullcontext(file)


def _spell(named: NamedForest) -> Iterator[str]:
    """The lines of a forest."""
    forest, name = named.forest, named.name
    if name is not None:
        if not name or name != name.strip() or "\n" in name:
            raise InputError(f"the name {shown(name)} is empty, or has white space at its ends or a line end in it")
        yield f"# name {name}\n"
    yield f"{forest.nodes} {forest.edges}\n"
    outputs, features = _outputs(forest), _feature_texts(forest)
    for first, last in pairwise(forest.edge_offsets.tolist()):
        yield f"{last - first}\n"
        for _ in range(last - first):
            yield f"{next(outputs)} ||| {next(features)}\n"


def _outputs(forest: Forest) -> Iterator[str]:
    """What every edge puts out, with [k] for node k."""
    words: dict[int, str] = {}
    for label in np.unique(forest.labels[forest.labels >= 0]).tolist():
        words[label] = _checked(forest.vocabulary[label], "word")
        if _TAIL.fullmatch(words[label]):
            raise InputError(f"the word {words[label]!r} would be read as a node")
    labels, tails = forest.labels.tolist(), forest.tails.tolist()
    label_ends, tail_ends = forest.label_offsets.tolist(), forest.tail_offsets.tolist()
    for edge in range(forest.edges):
        row = labels[label_ends[edge] : label_ends[edge + 1]]
        first, arity = tail_ends[edge], tail_ends[edge + 1] - tail_ends[edge]
        if sorted(-1 - label for label in row if label < 0) != list(range(arity)):
            raise InputError(f"edge {edge} does not put out each of its {arity} tails once")
        yield " ".join([words[label] if label >= 0 else f"[{tails[first - 1 - label]}]" for label in row])


def _feature_texts(forest: Forest) -> Iterator[str]:
    """The features of every edge: those stored, or all of the first edge and then those that are not zero."""
    names = [_checked(name, "feature name") for name in forest.feature_names]
    features = forest.features
    if isinstance(features, SparseFeatures):
        columns, values, ends = features.columns.tolist(), features.values.tolist(), features.offsets.tolist()
        for first, last in pairwise(ends):
            row: dict[int, float] = {}
            for i in range(first, last):  # a column that is there twice counts twice
                row[columns[i]] = row[columns[i]] + values[i] if columns[i] in row else values[i]
            yield " ".join([f"{names[column]}={_shortest(value)}" for column, value in row.items()])
        return
    for edge, row in enumerate(features.values.tolist()):
        pairs = zip(names, row, strict=True)
        yield " ".join([f"{n}={_shortest(v)}" for n, v in pairs if v or not edge or str(v) == "-0.0"])


def _checked(text: str, what: str) -> str:
    if not text or "|||" in text or any(blank in text for blank in " \t\r\n"):
        raise InputError(f"the {what} {shown(text)} is empty, or has white space or '|||' in it")
    return text


def _shortest(value: float) -> str:
    """The shortest decimal that reads back as this double."""
    return repr(value).removesuffix(".0")
