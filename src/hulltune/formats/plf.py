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
from itertools import islice

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import FileEdges, refuse_clashes
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path, SourceText, whole_number
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown
from hulltune.formats.streams import not_utf8
from hulltune.formats.word_rules import SENTENCE_MARKS

NOT_OUTPUT = SENTENCE_MARKS | {"*EPS*", "<eps>"}
"""The words dropped by default."""
_HEAD = re.compile(rb"""\s*\(\s*(\(\s*(\(\s*u?['"]|\)|$)|\)\s*(\n|$)|$)""")
_BLANKS = b" \t\r"
_OPEN, _CLOSE, _COMMA, _NEWLINE = b"(),\n"
_WORD = re.compile(rb"""u?(?:'([^'\\\n]*(?:\\.[^'\\\n]*)*)'|"([^"\\\n]*(?:\\.[^"\\\n]*)*)")[ \t\r]*""")
"""A word in quotes, where a backslash protects the character after it. Python 2 writes a ``u`` before the quotes."""
_QUOTED = rb"""'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*\""""
_DICT = re.compile(rb",[ \t\r]*\{((?:[^{}'\"\n]|" + _QUOTED + rb")*)\}[ \t\r]*")
_ENTRY = re.compile(
    rb"[ \t\r]*(?:u?(" + _QUOTED + rb")|([^\x00-\x20,:='\"]+))[ \t\r]*[:=][ \t\r]*([^\x00-\x20,]*)[ \t\r]*(,|$)"
)
_NUMBERS = re.compile(rb"(?:" + _DICT.pattern + rb"|,[ \t\r]*[^\x00-\x20,){]*[ \t\r]*)*")
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
        lattice = _Lattice(SourceText(source.file, line + b"\n", number))
        yield NamedForest(lattice.forest(options, vocabulary))


class _Lattice:
    """The lattice of a line. A place is the number of bytes before it; the line end stops every search."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._data = source.data
        self._edges = FileEdges()
        self._unnamed: list[int] = []
        """The columns of unnamed scores, as many as the first arc has."""
        self._nodes = 0
        try:
            self._read()
        except UnicodeDecodeError as error:
            raise source.fault(0, not_utf8(error)) from None

    def _read(self) -> None:
        """Read the nodes and their arcs."""
        data = self._data
        place = self._opened(self._skip_blanks(0))
        while data[place] != _CLOSE:
            place = self._opened(place)
            while data[place] != _CLOSE:
                place = self._after_item(self._read_arc(self._opened(place)))
            self._nodes += 1
            place = self._after_item(place + 1)
        place = self._skip_blanks(place + 1)
        if data[place] != _NEWLINE:
            raise self._fault(place, "expected the line to end after the lattice")

    def _skip_blanks(self, place: int) -> int:
        while self._data[place] in _BLANKS:
            place += 1
        return place

    def _opened(self, place: int) -> int:
        """The place after an opening parenthesis and blanks."""
        if self._data[place] != _OPEN:
            raise self._fault(place, "expected '(' or ')'")
        return self._skip_blanks(place + 1)

    def _after_item(self, place: int) -> int:
        """The place after a node or arc, its comma and blanks."""
        place = self._skip_blanks(place)
        if self._data[place] == _COMMA:
            return self._skip_blanks(place + 1)
        if self._data[place] != _CLOSE:
            raise self._fault(place, "expected ',' or ')'")
        return place

    def _read_arc(self, start: int) -> int:
        """Add the arc whose word is at ``start``; returns the place after it."""
        word = _WORD.match(self._data, start)
        if word is None:
            place = start + self._data.startswith(b"u", start)
            is_open = self._data.startswith((b"'", b'"'), place)
            raise self._fault(
                place, "expected the quotes of a word to be closed" if is_open else "expected a word in quotes"
            )
        numbers = _NUMBERS.match(self._data, word.end())
        assert numbers is not None  # the pattern matches an empty text
        end = numbers.end()
        if self._data[end] != _CLOSE:
            raise self._fault(end, "expected ',' or ')'")
        entries, plain, has_distance = (
            self._take_dicts(numbers[0], end) if b"{" in numbers[0] else ([], numbers[0], False)
        )
        tokens = plain.translate(None, _BLANKS).split(b",")[1:]
        if tokens and not tokens[-1]:  # after a last comma
            tokens.pop()
        if not tokens and plain is numbers[0]:
            raise self._fault(end, "expected a score and a distance after the word")
        distance = 1  # in a confusion network every arc leads to the next node
        if len(tokens) > 1 or (tokens and has_distance):
            digits = tokens.pop()
            distance = whole_number(digits) if digits.isdigit() else 0
            if not distance:
                place = self._place_of(len(tokens), numbers.start())
                raise self._fault(place, "expected the distance to a later node, a whole number from 1")
        names = self._take_names(tokens, numbers.start()) if b"=" in plain else []
        columns = self._columns(len(tokens) - len(names), names + [name for name, _ in entries])
        tokens += [value for _, value in entries]
        values = self._edges.numbers(self._source, 0, tokens, columns)
        label = self._edges.words[word[1] if word[2] is None else word[2]]
        self._edges.add(self._nodes + distance, [self._nodes], [-1, label], columns, values)
        return end + 1

    def _take_dicts(self, text: bytes, end: int) -> tuple[list[tuple[bytes, bytes]], bytes, bool]:
        """The names and values in the dicts of an arc, its other fields, and whether the last of them is a distance.

        The arc ends at ``end``, for messages.
        """
        entries: list[tuple[bytes, bytes]] = []
        for found in _DICT.finditer(text):
            place, content = 0, found[1].rstrip(_BLANKS)
            while place < len(content):
                entry = _ENTRY.match(content, place)
                if entry is None:
                    raise self._fault(end, "expected the features {'name': value, …}")
                name = entry[2] if entry[1] is None else entry[1][1:-1]
                if b"\\" in name:
                    name = self._unescaped(name.decode()).encode()
                if not name or any(blank in name for blank in _BLANKS):
                    raise self._fault(end, "expected a name without blanks for every feature")
                entries.append((name, entry[3]))
                place = entry.end()
        return entries, _DICT.sub(b"", text), not text.rstrip(_BLANKS + b",").endswith(b"}")

    def _take_names(self, tokens: list[bytes], start: int) -> list[bytes]:
        """Take the names off the named scores, which must come last. The first comma is at ``start``."""
        names: list[bytes] = []
        for slot, token in enumerate(tokens):
            name, equals, value = token.partition(b"=")
            if equals and not name:
                raise self._fault(self._place_of(slot, start), "expected a name before '='")
            if names and not equals:
                place = self._place_of(slot, start)
                raise self._fault(place, "expected scores without a name before those with one")
            if equals:
                names.append(name)
                tokens[slot] = value
        return names

    def _columns(self, width: int, names: list[bytes]) -> list[int]:
        """The columns of ``width`` unnamed scores and of scores with these names."""
        arc = len(self._edges.heads) + 1
        known = self._edges.names
        if arc == 1:
            self._unnamed = list(range(width))
            known.texts.extend(["score"] if width == 1 else [f"score_{k}" for k in range(width)])
        elif width != len(self._unnamed):
            counts = f"{width} score(s), unlike the {len(self._unnamed)} of the first arc"
            raise self._source.fault(0, f"arc {arc} has {counts}")
        if len(set(names)) < len(names):
            twice = next(name for slot, name in enumerate(names) if name in names[:slot]).decode()
            raise self._source.fault(0, f"feature {twice!r} occurs twice in arc {arc}")
        return self._unnamed + [known[name] for name in names]

    def _place_of(self, slot: int, start: int) -> int:
        """The place of a score or distance; the comma before the first one is at ``start``. Dicts do not count."""
        commas = re.compile(_DICT.pattern + rb"|(,[ \t\r]*)").finditer(self._data, start)
        return next(islice((comma for comma in commas if comma[2] is not None), slot, None)).end()

    def _fault(self, place: int, expected: str) -> InputError:
        """The error for a breach of the grammar at this place of the line."""
        text = self._source.text(0, self._data)
        character = len(self._data[:place].decode())
        found = text[character:].strip()[:20]
        got = f"before {found!r}" if found else "where the line ends (is it cut off?)"
        return self._source.fault(0, f"{expected} at character {character + 1}, {got}")

    def forest(self, options: ForestOptions, vocabulary: Vocabulary) -> Forest:
        """The packed forest: the first node has an edge without output, the last one is the root."""
        edges, source = self._edges, self._source
        for arc, (head, tail) in enumerate(zip(edges.heads, edges.tails, strict=True), start=1):
            if head > self._nodes:
                reason = f"over {head - tail} nodes, but the lattice ends at node {self._nodes}"
                raise source.fault(0, f"arc {arc} leads from node {tail} {reason}")
        refuse_clashes(source, edges.names.texts, len(self._unnamed))
        edges.words.texts = [self._unescaped(word) for word in edges.words.texts]
        edges.add(0, [], [], [], [])
        options = replace(options, drop=(NOT_OUTPUT if options.drop is None else options.drop) | {""})
        where = partial(source.at, 0)
        return edges.forest(options, vocabulary, nodes=self._nodes + 1, root=self._nodes, where=where)

    def _unescaped(self, word: str) -> str:
        """A word with its backslashes resolved: Moses protects characters, and Python writes code points with them."""
        if "\\" in word:
            try:
                word = _ESCAPE.sub(lambda match: chr(int(match[1][1:], 16)) if len(match[1]) > 1 else match[1], word)
            except (ValueError, OverflowError):
                raise self._source.fault(0, f"{shown(word)} has an escape that is no character") from None
            if not is_text(word):
                raise self._source.fault(0, f"{shown(word)} has {LONE_SURROGATE}")
        if any(blank in word for blank in " \t\r\n"):
            raise self._source.fault(0, f"the word {shown(word)} has white space in it; expected one word an arc")
        return word
