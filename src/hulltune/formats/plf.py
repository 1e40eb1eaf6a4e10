"""PLF, the lattices that Moses and cdec read: nested Python tuples, one lattice a line.

A lattice is a tuple of nodes, a node a tuple of arcs, an arc ``('word', score, …, distance)``: it leads to the node
``distance`` places later. The last arcs lead to the node after the last one written. Several scores become
``score_0``, ``score_1``, …; a single one is ``score``; ``name=value`` after them (Moses) is a feature of that name, and
so is every entry of a dict (cdec): ``('word', {'name': value, …}, distance)``. An arc with one number has no distance
and leads to the next node (a confusion network). ``()`` is the lattice of an empty sentence.

Scores are taken as they are, and add up along a path: where a file has probabilities, write their logarithms. The
words ``*EPS*`` and ``<eps>``, the empty word, and ``<s>`` and ``</s>`` are not output. A small parser reads the tuples;
nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import FileEdges
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path, SourceText, whole_number
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown
from hulltune.formats.streams import not_utf8
from hulltune.formats.word_rules import SENTENCE_MARKS

NOT_OUTPUT = SENTENCE_MARKS | {"*EPS*", "<eps>"}
"""The words dropped by default."""
_HEAD = re.compile(rb"""\s*\(\s*(\(\s*(\(\s*u?['"]|\)|$)|\)\s*(\n|$)|$)""")
_BLANKS = b" \t\r"
_OPEN, _CLOSE, _COMMA = (re.compile(rb"[ \t\r]*" + mark + rb"[ \t\r]*") for mark in (rb"\(", rb"\)", b","))
_QUOTED = rb"""(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")"""
"""A text in quotes, where a backslash protects the character after it."""
_DICT = rb",[ \t\r]*\{((?:[^{}'\"]|" + _QUOTED + rb")*)\}[ \t\r]*"
_ARC = re.compile(  # Python 2 writes a u before the quotes
    rb"\([ \t\r]*u?(" + _QUOTED + rb")[ \t\r]*((?:" + _DICT + rb"|,[ \t\r]*(?:[^\x00-\x20,){]+[ \t\r]*)?)+)\)"
)
_FIELD = re.compile(_DICT + rb"|,[ \t\r]*([^\x00-\x20,){]*)[ \t\r]*")
_ENTRY = re.compile(
    rb"[ \t\r]*(?:u?(" + _QUOTED + rb")|([^\x00-\x20,:='\"]+))[ \t\r]*[:=][ \t\r]*([^\x00-\x20,]*)[ \t\r]*(,|$)"
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is PLF."""
    return _HEAD.match(head) is not None


def read_plf(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The lattices of a file, one a line; linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> from hulltune.formats.plf import read_plf
    >>> _ = Path("input.plf").write_text("((('ein', 0.75, 1), ('kein', 0.25, 1)), (('haus', 1.0, 1),))")
    >>> (named,) = read_plf(Path("input.plf"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, [1.0]).outputs()
    [['ein haus']]
    """
    source = SourceText.read(path)
    if not source.data.strip():
        raise source.fault(0, "no lattice in the file; expected a line of nested tuples")
    for number, (_, line) in enumerate(source.lines(), start=source.first_line):
        lattice = _Lattice(SourceText(source.file, line, number))
        yield NamedForest(lattice.forest(options, vocabulary))


class _Lattice:
    """The lattice of a line."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._line = source.data
        self._place = 0
        self._edges = FileEdges()
        self._width = 0
        """The number of unnamed scores of the first arc, and so of all."""
        self._nodes = 0
        try:
            for _ in self._each_item():
                for _ in self._each_item():
                    self._read_arc()
                self._nodes += 1
            if self._place < len(self._line):
                raise self._misplaced("expected the line to end after the lattice")
        except UnicodeDecodeError as error:
            raise source.fault(0, not_utf8(error)) from None

    def _each_item(self) -> Iterator[None]:
        """Go to every item of the tuple that begins here, and to its end; the caller goes over the item."""
        if not self._passes(_OPEN):
            raise self._misplaced("expected '(' or ')'")
        more = True
        while not self._passes(_CLOSE):
            if not more:
                raise self._misplaced("expected ',' or ')'")
            yield
            more = self._passes(_COMMA)

    def _passes(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the pattern matches here; then this is behind it."""
        match = pattern.match(self._line, self._place)
        self._place = self._place if match is None else match.end()
        return match is not None

    def _read_arc(self) -> None:
        arc = _ARC.match(self._line, self._place)
        if arc is None:
            raise self._misplaced("expected an arc, ('word', score, …, distance)")
        self._place = arc.end()
        word, scores = arc.group(1, 2)
        has_dicts = b"{" in scores
        fields = self._with_dicts(scores) if has_dicts else scores.translate(None, _BLANKS).split(b",")[1:]
        if fields and not fields[-1]:  # after a last comma
            fields.pop()
        if not fields and not has_dicts:
            raise self._fault("expected a score and a distance after the word")
        distance = 1  # in a confusion network every arc leads to the next node
        if (len(fields) > 1 or has_dicts) and fields and b"=" not in fields[-1]:
            digits = fields.pop()
            distance = whole_number(digits) if digits.isdigit() else 0
            if not distance:
                raise self._fault("expected the distance to a later node, a whole number from 1, at its end")
        named: list[bytes] = []
        if b"=" in scores or has_dicts:
            first = next((slot for slot, field in enumerate(fields) if b"=" in field), len(fields))
            fields, named = fields[:first], fields[first:]
        if not self._edges.heads:
            self._width = len(fields)
            for name in ["score"] if len(fields) == 1 else [f"score_{k}" for k in range(len(fields))]:
                self._edges.names[name.encode()]
        elif len(fields) != self._width:
            raise self._fault(f"{len(fields)} score(s), unlike the {self._width} of the first arc")
        columns, values = self._edges.scores(self._source, 0, fields, named)
        label = self._edges.words[word[1:-1]]
        self._edges.add(self._nodes + distance, [self._nodes], [-1, label], columns, values)

    def _with_dicts(self, text: bytes) -> list[bytes]:
        """The fields of an arc, the entries of dicts as name=value."""
        fields: list[bytes] = []
        for found in _FIELD.finditer(text):
            if found[1] is None:
                fields.append(found[2])
                continue
            place, content = 0, found[1].rstrip(_BLANKS)
            while place < len(content):
                entry = _ENTRY.match(content, place)
                if entry is None:
                    raise self._fault("expected features as {'name': value, …}")
                name = entry[2] if entry[1] is None else self._unescaped(entry[1][1:-1].decode()).encode()
                fields.append(name + b"=" + entry[3])
                place = entry.end()
        return fields

    def _fault(self, reason: str) -> InputError:
        """The error for the arc that is being read."""
        return self._source.fault(0, f"arc {len(self._edges) + 1}: {reason}")

    def _misplaced(self, expected: str) -> InputError:
        """The error for what is found here."""
        text = self._source.text(0, self._line)
        character = len(self._line[: self._place].decode())
        found = text[character:].strip()[:20]
        got = f"before {found!r}" if found else "where the line ends (is it cut off?)"
        return self._source.fault(0, f"{expected} at character {character + 1}, {got}")

    def forest(self, options: ForestOptions, vocabulary: Vocabulary) -> Forest:
        """The packed forest: the first node has an edge without output, the last one is the root."""
        edges, source = self._edges, self._source
        for arc, (head, tail) in enumerate(zip(edges.heads, edges.tails, strict=True), start=1):
            if head > self._nodes:
                reason = f"leads from node {tail} over {head - tail} nodes, but the lattice ends at node {self._nodes}"
                raise source.fault(0, f"arc {arc}: {reason}")
        edges.words.texts = [self._unescaped(text) for text in edges.words.texts]
        edges.add(0, [], [], [], [])
        options = replace(options, drop=(NOT_OUTPUT if options.drop is None else options.drop) | {""})
        where = partial(source.at, 0)
        return edges.forest(options, vocabulary, nodes=self._nodes + 1, root=self._nodes, where=where)

    def _unescaped(self, text: str) -> str:
        """A text with its backslashes resolved: Moses protects characters, and Python writes code points with them."""
        try:
            text = _ESCAPE.sub(lambda match: chr(int(match[1][1:], 16)) if len(match[1]) > 1 else match[1], text)
        except (ValueError, OverflowError):
            raise self._source.fault(0, f"{shown(text)} has an escape that is no character") from None
        if not is_text(text):
            raise self._source.fault(0, f"{shown(text)} has {LONE_SURROGATE}")
        if any(blank in text for blank in " \t\r\n"):
            raise self._source.fault(0, f"{shown(text)} has white space in it; expected none in a word or name")
        return text
