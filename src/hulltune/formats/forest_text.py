"""Forest text: hypergraphs as cdec and Moses write them for each other, one or several in a file.

A forest is a line ``nodes edges``, then for each node, bottom-up, a line with its number of incoming edges and a line
for each of them: ``words [tail] words ||| name=value …``, where ``[k]`` is the output of node k and a name left out
is 0. The last node is the root; any other node without edges is a leaf without output. ``0 0`` is a forest without a
derivation: the decoder found nothing, and the sentence counts as an empty output. Moses writes comments
(``# …``) before the counts and a third column, the number of source words covered: both are passed over. It counts the
components of a feature from 1 here, and from 0 in its lists and ini files; here they count from 0. Values are scores
(larger is better) and are taken as they are. The words ``<s>`` and ``</s>`` are not output.

The writer puts the name of a forest, if it has one, into a comment ``# name …``. Reading gives back what was written:
the same nodes, edges, tails, words, feature names and values, to the bit.

Joshua writes a dialect, one forest a file: the line above the edges of a node has its number, from 1, and nodes may be
left out. It does not write the goal node, so that the root stands above all nodes that are not the tail of an edge, and
the features of the goal (the language model at the sentence end) are missing.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
from array import array
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice, pairwise
from typing import IO, NamedTuple, cast

import numpy as np

from hulltune.data.features import SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import FileEdges
from hulltune.formats.forest_files import HUGE, ForestOptions, NamedForest, Path, SourceText, whole_number
from hulltune.formats.numbers import LONE_SURROGATE, shown
from hulltune.formats.streams import not_utf8
from hulltune.formats.writing import written_atomically
from hulltune.wording import counted

_HEADER = re.compile(rb"[ \t\r]*(\d{1,18})[ \t\r]+(\d{1,18})[ \t\r]*")
_NAME = b"# name "
_EMPTY = (b"0", b"0")
"""The only line of a forest without nodes."""
_TAIL = re.compile(r"\[[0-9]+\]")
_COMPONENT = re.compile(r"(.+)_(0|[1-9][0-9]{0,8})")
_OLD_JOSHUA = (b"#SENT:", b"#I ")
_COUNT = re.compile(rb"[ \t\r]*\d{1,18}[ \t\r]*")

Lines = Iterator[tuple[int, bytes]]
"""The remaining lines of a file, each with its place."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is forest text."""
    nodes = _first_nodes(head)
    if len(nodes) == 1 and nodes[0][0] > nodes[0][1]:  # cut off within its first node: the reader says so
        return True
    return all(number == edges for number, edges in nodes) if nodes else _only_empty(head)


def looks_like_joshua(head: bytes) -> bool:
    """Whether a file that begins with these bytes is from Joshua: numbers of nodes from 1, not counts of edges."""
    nodes = _first_nodes(head)
    numbers = [number for number, _ in nodes]
    return bool(nodes) and numbers == list(range(1, len(nodes) + 1)) and any(n != edges for n, edges in nodes)


def _only_empty(head: bytes) -> bool:
    """Whether all forests are without nodes."""
    lines = {tuple(line.split()) for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")}
    return lines == {_EMPTY}


def _first_nodes(head: bytes) -> list[tuple[int, int]]:
    """The first nodes of a forest: the number above the edges of each, and how many edges follow it.

    An empty list for other formats.
    """
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
    """The forests of a file; linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.forest_text import read_forest_text
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> text = '''2 3
    ... 2
    ... the ||| lm=-1
    ... a ||| lm=-2
    ... 1
    ... [0] house ||| lm=-1
    ... '''
    >>> _ = Path("house.hg").write_text(text)
    >>> (named,) = read_forest_text(Path("house.hg"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"lm": 1.0}).outputs()
    [['the house']]
    """
    source = SourceText.read(path)
    lines = source.lines()
    header: _Header | None = _first_header(source, lines)
    while header is not None:
        forest = _TextForest(source, header, lines, limit=header.nodes)
        forest.read_edges()
        edges = forest.edges
        if forest.has_covered:
            _count_from_0(edges)
        nodes = max(header.nodes, 1)  # "0 0" has a root without edges
        edges.add_leaves(nodes, nodes - 1)
        where = partial(source.at, header.place)
        yield NamedForest(edges.forest(options, vocabulary, nodes=nodes, root=nodes - 1, where=where), header.name)
        header = _next_header(source, lines)


def read_joshua(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The one forest of a file of Joshua; linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.forest_text import read_joshua
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> text = '''# target ||| features
    ... 2 3
    ... 1
    ... the ||| lm_0=-1.5
    ... a ||| lm_0=-2.0
    ... 2
    ... <s> [1] house </s> ||| lm_0=-1.0
    ... '''
    >>> _ = Path("house.hg").write_text(text)
    >>> (named,) = read_joshua(Path("house.hg"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"lm_0": 1.0}).outputs()
    [['the house']]
    """
    source = SourceText.read(path)
    if source.data.startswith(_OLD_JOSHUA):
        raise source.fault(
            0, "a hypergraph of an old Joshua, whose rules are in another file; dump it with a newer one (dump_hg)"
        )
    lines = source.lines()
    header = _first_header(source, lines)
    forest = _TextForest(source, header, lines, limit=HUGE + 1)
    root = _put_under_one_root(forest, forest.read_numbered_nodes())
    where = partial(source.at, header.place)
    yield NamedForest(forest.edges.forest(options, vocabulary, nodes=root + 1, root=root, where=where))


class _Header(NamedTuple):
    """The first line of a forest, its start and end, and the name in the comments before it."""

    place: int
    end: int
    nodes: int
    edges: int
    name: str | None


def _first_header(source: SourceText, lines: Lines) -> _Header:
    """The first line of the first forest; a file without forests is refused."""
    header = _next_header(source, lines)
    if header is None:
        raise source.fault(0, "no forest in the file; expected a line with the numbers of nodes and edges")
    return header


def _next_header(source: SourceText, lines: Lines) -> _Header | None:
    """The first line of the next forest, after comments and blank lines, or None at the end."""
    name = None
    for place, line in lines:
        content = line.strip()
        if content and not content.startswith(b"#"):
            end = place + len(line) + 1
            return _Header(place, end, *_counts(source, place, line, len(source.data) - end), name)
        if content.startswith(_NAME):
            name = source.text(place, line).strip()[len(_NAME) :].strip()
    return None


def _counts(source: SourceText, place: int, line: bytes, left: int) -> tuple[int, int]:
    """The numbers of nodes and edges; refused if the remaining bytes have no room for so many."""
    match = _HEADER.fullmatch(line)
    if match is None:
        text = source.text(place, line).strip()
        raise source.fault(place, f"{shown(text)}; expected the numbers of nodes and edges of a forest")
    nodes, edges = int(match[1]), int(match[2])
    if 2 * nodes + 4 * edges > left:  # the shortest lines: "0" and "|||"
        raise source.fault(
            place,
            f"{counted(nodes, 'node')} and {counted(edges, 'edge')}, but only {counted(left, 'byte')} of text "
            "after that; is the file cut off?",
        )
    return nodes, edges


class _TextForest:
    """The header and edges of a forest that is being read; tails must be below ``limit``."""

    def __init__(self, source: SourceText, header: _Header, lines: Lines, *, limit: int) -> None:
        self.source = source
        self.edges = FileEdges()
        self.has_covered = False
        """Whether an edge has a third column, the source words covered: then Moses wrote the forest."""
        self._header, self._lines, self._limit = header, lines, limit

    def read_edges(self) -> None:
        """Read the edges: for each node their number, and a line for each edge."""
        header, edges = self._header, self.edges
        end = header.end
        for node in range(header.nodes):
            place, line = next((both for both in self._lines if not both[1].startswith(b"#")), (0, None))
            if line is None:
                raise self._ends_early()
            count = _count(line)
            if count is None:
                raise self._no_count(place, line)
            wanted = len(edges) + count
            if wanted > header.edges:
                raise self._too_many_edges(place)
            for place, line in islice(self._lines, count):
                self.add_edge(place, line, node)
            if len(edges) < wanted:
                raise self._ends_early()
            end = place + len(line) + 1
        if len(edges) < header.edges:
            found = f"{counted(len(edges), 'edge')} into all nodes"
            raise self.source.fault(end, f"{found}, fewer than the {header.edges} of the first line")

    def read_numbered_nodes(self) -> list[int]:
        """Read the edges as Joshua writes them, with its numbers of nodes; returns the places of their lines."""
        source, header = self.source, self._header
        places: list[int] = []
        nodes, node = 0, 0
        for place, line in self._lines:
            number = _count(line)
            if number is not None:
                if number <= node:
                    found = f"node {line.decode().strip()} after a node with no smaller number"
                    raise source.fault(place, f"{found}; expected ascending numbers")
                if nodes == header.nodes:
                    raise source.fault(place, f"more nodes than the {header.nodes} of the first line")
                nodes, node = nodes + 1, number
            elif not nodes:
                raise self._no_count(place, line)
            elif len(places) == header.edges:
                raise self._too_many_edges(place)
            else:
                self.add_edge(place, line, node)
                places.append(place)
        if (nodes, len(places)) != (header.nodes, header.edges):
            raise self._ends_early()
        return places

    def add_edge(self, place: int, line: bytes, head: int) -> None:
        """Add the edge on the line at this place: ``words [tail] words ||| name=value …``."""
        split, words = self.source.split, self.edges.words
        output, bars, rest = line.partition(b"|||")
        if not bars:
            raise self.source.fault(place, "no '|||'; expected 'words [tail] words ||| name=value …'")
        spelled, covered, _ = rest.partition(b"|||")
        self.has_covered = self.has_covered or bool(covered)
        tails: list[int] = []
        labels: list[int] = []
        try:
            for token in split(output):
                if token.startswith(b"[") and token.endswith(b"]") and token[1:-1].isdigit():
                    tails.append(whole_number(token[1:-1]))
                    labels.append(-len(tails))
                    if tails[-1] >= self._limit:
                        reason = f"no node {shown(token.decode())}; expected [0] to [{self._limit - 1}]"
                        raise self.source.fault(place, reason)
                else:
                    labels.append(words[token])
            columns, values = self.edges.scores(self.source, place, [], split(spelled))
        except UnicodeDecodeError as error:
            raise self.source.fault(place, not_utf8(error)) from None
        self.edges.add(head, tails, labels, columns, values)

    def _no_count(self, place: int, line: bytes) -> InputError:
        text = self.source.text(place, line).strip()
        return self.source.fault(place, f"{shown(text)}; expected the number of edges into the next node")

    def _too_many_edges(self, place: int) -> InputError:
        return self.source.fault(place, f"more edges than the {self._header.edges} of the first line")

    def _ends_early(self) -> InputError:
        found = f"after {len(self.edges)} of {counted(self._header.edges, 'edge')}"
        return self.source.fault(len(self.source.data), f"the file ends within a forest, {found}")


def _count(line: bytes) -> int | None:
    """The number on a line, or None if there is anything else."""
    digits = line.strip(b" \t\r")
    return whole_number(digits) if digits.isdigit() else None


def _put_under_one_root(forest: _TextForest, places: list[int]) -> int:
    """Number the nodes from 0, and add a root above those that are no tails; returns the root."""
    edges = forest.edges
    number = {name: node for node, name in enumerate(sorted(set(edges.heads)))}
    for place, (first, last) in zip(places, pairwise(edges.tail_offsets), strict=True):
        for tail in edges.tails[first:last]:
            if tail not in number:
                raise forest.source.fault(place, f"no node [{tail}]; expected one that has edges")
    edges.heads = array("q", [number[head] for head in edges.heads])
    edges.tails = array("q", [number[tail] for tail in edges.tails])
    root = len(number)
    for top in sorted(set(range(root)).difference(edges.tails)):
        edges.add(root, [top], [-1], [], [])
    return root


def _count_from_0(edges: FileEdges) -> None:
    """Number the components of Moses' features from 0, like its lists and its ini files: TM0_1 becomes TM0_0.

    Moses writes all components of a feature on every edge that has features. So names ``stem_k`` are components if
    all edges with features have all of them, or if they are stem_1, stem_2, … without a gap; the others, and those
    with a stem_0 beside them, are sparse features, whose names end in a number by chance.
    """
    names = edges.names.texts
    groups: dict[str, dict[int, int]] = {}
    for column, name in enumerate(names):
        if (match := _COMPONENT.fullmatch(name)) is not None:
            groups.setdefault(match[1], {})[int(match[2])] = column
    if not groups:
        return
    uses = np.bincount(np.array(edges.columns), minlength=len(names))
    filled = np.count_nonzero(np.diff(np.array(edges.value_offsets)))
    for stem, columns in groups.items():
        complete = len(columns) > 1 and set(columns) == set(range(1, len(columns) + 1))
        if 0 not in columns and (complete or all(uses[column] == filled for column in columns.values())):
            for number, column in columns.items():
                names[column] = f"{stem}_{number - 1}"


def write_forest_text(path: Path, forests: Iterable[NamedForest]) -> None:
    """Write forests one after the other, compressed if the name ends in .gz, .bz2 or .xz; linear in their size.

    The first edge of a dense forest names all features, so that none is lost; other edges leave zeros out. The format
    cannot hold an edge that does not put out each of its tails once, nor words or names with white space or bars: they
    are refused.

    >>> from pathlib import Path
    >>> from hulltune import Forest, Vocabulary
    >>> from hulltune.formats.forest_files import ForestOptions, NamedForest
    >>> from hulltune.formats.forest_text import read_forest_text, write_forest_text
    >>> arcs = [(0, 1, "wreck", [-1.0]), (0, 1, "recognise", [-2.0]), (1, 2, "speech", [-1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["score"])
    >>> write_forest_text(Path("u1.hg"), [NamedForest(lattice, "u1")])
    >>> (named,) = read_forest_text(Path("u1.hg"), ForestOptions(), Vocabulary())
    >>> named.forest
    Forest(lattice: 4 nodes, 5 edges, 1 feature)
    """
    with written_atomically(path) as file, _compressed(file, os.fspath(path)) as stream:
        for number, named in enumerate(forests):
            what = f"forest {number}" if named.name is None else f"forest {named.name!r}"
            try:
                stream.write("".join(_spell(named)).encode("utf-8"))
            except UnicodeEncodeError:
                raise InputError(f"{what}: a word or name has {LONE_SURROGATE}") from None
            except InputError as error:
                raise InputError(f"{what}: {error}; it cannot be written as forest text") from None


def _compressed(file: IO[bytes], name: str) -> AbstractContextManager[IO[bytes]]:
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
    """The output of every edge, with [k] for node k."""
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
    """The features of every edge: the stored ones if sparse, else all of the first edge and then those not zero."""
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
