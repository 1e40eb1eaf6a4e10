"""Lattices in HTK's standard lattice format (SLF), one a file; words on nodes (PocketSphinx) or on links (HTK, Kaldi).

``a=`` becomes the feature acoustic, ``l=`` language, ``n=`` ngram, ``r=`` pronunciation, ``ds=`` duration; any other
field of links with numbers in it keeps its name, and one with anything else in it is ignored (NamedForest.notes).
They are log-likelihoods, converted to natural logarithms if ``base=`` says so. The feature words counts the words of
the output. Scales and penalties of the header are no features: they are the weights to be tuned. The nodes of a file
without ``I=`` lines (Moses) are those from 0 to ``N=`` − 1.

A kernel reads nodes and links; this module reads the header and what the kernel cannot, and writes the messages.
Lattices are written with words on links.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.data.features import DenseFeatures
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import Arcs, lattice_forest, negated
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path, SourceText
from hulltune.formats.lattice_writing import PlainLattice, plain_lattice, write_each
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.streams import PIECE
from hulltune.formats.word_rules import SPEECH, number_words, word_rule
from hulltune.memory import check_memory

if TYPE_CHECKING:
    from hulltune.kernels.reading import slf

FEATURE_OF_KEY = {
    "a": "acoustic",
    "acoustic": "acoustic",
    "l": "language",
    "language": "language",
    "n": "ngram",
    "ngram": "ngram",
    "r": "pronunciation",
    "ds": "duration",
}
NULL = "!NULL"
"""The word of a node or link without one."""
WORDS = "words"
"""The feature that counts words, whose weight is the word insertion penalty or bonus."""
_IGNORED_KEYS = frozenset({"t", "time", "v", "var", "d", "div", "s", "states", "p"})
_OF_LATTICES = {"V": "VERSION", "U": "UTTERANCE", "S": "SUBLAT", "N": "NODES", "L": "LINKS"}
RESERVED_KEYS = _IGNORED_KEYS | {"I", "J", "S", "E", "W", "L", "START", "END", "WORD"}
"""The fields of nodes and links that are no features."""
_MOST_KEYS = 256
PATH_SCORES = (
    "links without I= lines that form a tree, as Moses writes them: its scores are those of the whole path up to a "
    "link, and do not add up; tune on -output-search-graph-extended"
)
MOST_FEATURES = 200
"""The most features that are written: readers take _MOST_KEYS fields in all."""
BYTES_PER_LINE = 300
"""The memory that reading takes at its peak, beside the file itself, for each node or link."""
_FIELD = re.compile(r'([^\s=]+)=("(?:[^"\n]*)"(?=\s|$)|\S*)')
_EXPECTED = (
    "expected a node 'I=0 …' or a link 'J=0 S=0 E=1 …': fields key=value, each once, with whole numbers from 0 for "
    "these four, and a word for W= (!NULL for none)"
)
_VARIANT = re.compile(r"(.+)\([0-9]+\)")
_EXTRA = re.compile(r"x[1-9]")
_MARKED = re.compile(rb"[\"')\\]")
"""What a word has that is not written as it is meant; see ``_word``."""
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_HEAD = re.compile(rb"^(?:VERSION|V)=\S+\s|^(?:NODES|N)=[0-9]+\s+(?:LINKS|L)=[0-9]+\s", flags=re.MULTILINE)
SCALES = {
    "acoustic": ("acscale", "1"),
    "language": ("lmscale", "1"),
    "ngram": ("ngscale", "1"),
    "pronunciation": ("prscale", "1"),
    "duration": ("duscale", "0"),
    "words": ("wdpenalty", "0"),
} | {f"x{number}": (f"x{number}scale", "0") for number in range(1, 10)}
"""The header field that scales a feature, and its default (by HTK; by SRILM for its own fields)."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is SLF."""
    return b"\0" not in head and _HEAD.search(head) is not None


def read_slf(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The lattice of a file, named by its UTTERANCE; linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.slf import read_slf
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> text = '''UTTERANCE=u1
    ... N=2 L=2
    ... I=0
    ... I=1
    ... J=0 S=0 E=1 W=wreck a=-1 l=-3
    ... J=1 S=0 E=1 W=recognise a=-2 l=-1
    ... '''
    >>> _ = Path("u1.slf").write_text(text)
    >>> (named,) = read_slf(Path("u1.slf"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"acoustic": 1.0, "language": 1.0}).outputs()
    [['recognise']]
    """
    reader = _SlfFile(SourceText.read(path))
    reader.parse()
    yield reader.named_forest(options, vocabulary)


class _SlfFile:
    """The tables that the kernel fills, and the forest made of them."""

    def __init__(self, source: SourceText) -> None:
        from hulltune.kernels.reading import interning, slf

        self._kernel = slf
        self._interning = interning
        self._source = source
        self._file, data = source.file, source.data
        self._bytes = np.frombuffer(data, dtype=np.uint8)
        self._header: dict[str, str] = {}
        self._columns: list[str] = []
        self._notes: dict[str, str] = {}
        self._implied = False
        """Whether the file has links alone, and its nodes follow from the header."""
        source.check_utf8()
        self._state = np.zeros(slf.STATE_SIZE, dtype=np.int64)
        self._state[slf.LINE] = 1
        self._keys = slf.Keys(
            of_byte=np.full(256, slf.UNKNOWN, dtype=np.int64),
            texts=interning.empty_texts(_MOST_KEYS),
            of_text=np.full(_MOST_KEYS, slf.UNKNOWN, dtype=np.int64),
        )
        self._roles = {"I": slf.NUMBER, "J": slf.NUMBER, "W": slf.WORD, "WORD": slf.WORD}
        self._roles |= {"S": slf.START, "START": slf.START, "E": slf.END, "END": slf.END}
        self._roles |= dict.fromkeys(_IGNORED_KEYS, slf.IGNORED)
        for key, role in self._roles.items():
            if len(key) == 1:
                self._keys.of_byte[ord(key)] = role
        lines = data.count(b"\n")
        if len(data) > PIECE:
            check_memory(BYTES_PER_LINE * lines, f"{source.file}: a lattice of {lines:,} lines")
        self._words = interning.empty_texts(lines + 1)
        start, end, word, line = np.empty((4, lines), dtype=np.int64)
        self._rows = slf.Rows(start, end, word, line, np.empty((lines, 4)))
        self._pending = np.empty((64, 4), dtype=np.int64)

    def parse(self) -> None:
        """Read all lines."""
        kernel, state = self._kernel, self._state
        while True:
            code = kernel.parse_lines(
                self._bytes, len(self._bytes), state, self._keys, self._words, self._rows, self._pending
            )
            if code == kernel.DONE:
                break
            if code == kernel.NEW_KEY:
                self._add_key(int(state[kernel.FIRST]), int(state[kernel.LAST]))
            elif code == kernel.GROW_PENDING:
                self._pending = np.concatenate([self._pending, np.empty_like(self._pending)])
            elif code == kernel.HEADER:
                self._read_header()
            else:
                got = shown(self._source.line_at(int(state[kernel.POSITION])))
                raise self._error(int(state[kernel.LINE]), f"got {got}; {_EXPECTED}")
        self._settle_pending()

    def _error(self, line: int, reason: str) -> InputError:
        return self._source.fault_of_line(line, reason)

    # Answers to the kernel.

    def _read_header(self) -> None:
        """Read header lines up to the next node, link or blank line."""
        kernel, state, data = self._kernel, self._state, self._source.data
        while True:
            place = int(state[kernel.POSITION])
            self._read_header_line(self._source.line_at(place), int(state[kernel.LINE]))
            place = data.index(b"\n", place) + 1
            state[kernel.POSITION] = place
            state[kernel.LINE] += 1
            if place == len(data) or data.startswith((b"I=", b"J=", b" ", b"\t", b"\r", b"\n", b"#"), place):
                return

    def _read_header_line(self, line: str, number: int) -> None:
        place = 0
        for field in _FIELD.finditer(line):
            if line[place : field.start()].strip():
                break
            place = field.end()
            key = _OF_LATTICES.get(field[1], field[1])
            if key in self._header:
                raise self._error(number, f"a second {field[1]}=; expected one lattice a file")
            if key == "SUBLAT":
                raise self._error(number, "lattices within lattices (SUBLAT=) are not supported; expand them first")
            self._header[key] = field[2].strip('"')
        if line[place:].strip():
            got = shown(line[place:].split()[0])
            raise self._error(number, f"expected key=value, got {got}; a node begins with I=, a link with J=")

    def _add_key(self, first: int, last: int) -> None:
        line = int(self._state[self._kernel.LINE])
        key = self._source.data[first:last].decode("utf-8")
        if key == "L":
            raise self._error(line, "lattices within lattices (L= on a node) are not supported; expand them first")
        if not key:
            raise self._error(line, "no key before '='; expected key=value")
        role = self._roles.get(key)
        if role is None:
            role = self._column(FEATURE_OF_KEY.get(key, key))
        if last - first == 1:
            self._keys.of_byte[self._source.data[first]] = role
            return
        number = int(self._interning.intern(self._keys.texts, self._bytes, first, last))
        if number + 1 == _MOST_KEYS:
            raise self._error(line, f"more than {_MOST_KEYS} different fields")
        self._keys.of_text[number] = role

    def _column(self, name: str) -> int:
        if name not in self._columns:
            self._columns.append(name)
            self._state[self._kernel.COLUMNS] += 1
            self._rows = self._rows._replace(values=self._with_column(self._rows.values))
        return self._columns.index(name)

    def _with_column(self, values: Floats) -> Floats:
        """The values with room for one more column, NaN in the rows read before: they lack the field."""
        width = len(self._columns)
        if width > values.shape[1]:
            values = np.concatenate([values, np.empty_like(values)], axis=1)
        values[:, width - 1] = np.nan
        return values

    def _settle_pending(self) -> None:
        """Let Python read the numbers that the kernel left to it."""
        odd: dict[int, list[tuple[int, str]]] = {}
        for row, column, start, stop in self._pending[: self._state[self._kernel.PENDING]].tolist():
            token = self._source.data[start:stop].decode("utf-8")
            value = plain_number(token)
            if value is None and not _is_score(self._columns[column]):
                odd.setdefault(column, []).append((row, token))
            elif value is None or not math.isfinite(value):
                raise self._bad_value(row, column, token)
            else:
                self._rows.values[row, column] = value
        rows = self._state[self._kernel.ROWS]
        for column, found in odd.items():
            if 2 * len(found) <= np.count_nonzero(~np.isnan(self._rows.values[:rows, column])):
                raise self._bad_value(found[0][0], column, found[0][1])  # most are numbers: this one is a fault
            self._notes[f"the field {self._columns[column]}= holds no numbers, and is ignored"] = shown(found[0][1])
        if odd:
            self._rows = self._rows._replace(values=np.delete(self._rows.values, list(odd), axis=1))
            self._columns = [name for column, name in enumerate(self._columns) if column not in odd]

    def _bad_value(self, row: int, column: int, token: str) -> InputError:
        reason = f"feature {self._columns[column]!r} is {token!r}; expected a finite number"
        return self._error(int(self._rows.line[row]), reason)

    # The forest.

    def named_forest(self, options: ForestOptions, vocabulary: Vocabulary) -> NamedForest:
        """The forest of the lines read."""
        is_link = self._rows.target[: self._state[self._kernel.ROWS]] >= 0
        self._links, self._nodes = self._chosen(is_link), self._chosen(~is_link)
        if not len(self._nodes.line) and len(self._links.line):
            self._nodes = self._implied_nodes()
        self._check_counts()
        self._rows = self._links  # large lattices need the memory of all lines for what follows
        numbers = self._nodes.source
        sources, targets = (self._places(column, numbers) for column in (self._links.source, self._links.target))
        start, end = self._ends(numbers, sources, targets)
        if self._implied and np.bincount(targets[targets != end], minlength=1).max() <= 1:
            self._notes[PATH_SCORES] = f"{len(numbers)} nodes"
        words, start_word = self._output(options, vocabulary, start, targets)
        self._source = SourceText(self._file, b"")  # large lattices need its memory, too
        self._bytes, self._words = self._bytes[:0].copy(), self._interning.empty_texts(1)
        of_node = sources if self._header.get("dir", "f").startswith("b") else targets
        features, names = self._features(of_node, words, start_word)
        arcs = Arcs(
            states=len(numbers),
            start=start,
            sources=sources,
            targets=targets,
            words=words,
            finals=np.array([end], dtype=np.int64),
            features=negated(features, names, options, costs=False),
            feature_names=names,
            start_word=start_word,
            state_names=numbers,
        )
        lines = self._links.line
        forest = lattice_forest(
            arcs, vocabulary, where=self._file, describe_row=lambda row: f"{self._file}:{lines[row - 1]}"
        )
        model = header_weights(self._header, names)
        return NamedForest(forest, self._header.get("UTTERANCE") or None, model, self._notes)

    def _implied_nodes(self) -> slf.Rows:
        """Nodes without a word, as many as the header says, for links that stand alone."""
        spelled = self._header.get("NODES", "")
        is_number = spelled.isascii() and spelled.isdigit() and len(spelled) < 18
        if not is_number or not 0 < int(spelled) <= 2 * len(self._links.line) + 2:
            return self._nodes  # refused with the counts
        count = int(spelled)
        self._implied = True
        nothing = np.full(count, -1, dtype=np.int64)
        values = np.full((count, self._links.values.shape[1]), np.nan)
        return self._links._replace(
            source=np.arange(count, dtype=np.int64), target=nothing, word=nothing, line=nothing, values=values
        )

    def _chosen(self, mask: Bools) -> slf.Rows:
        chosen = np.flatnonzero(mask)
        return self._kernel.Rows._make(column[chosen] for column in self._rows)

    def _check_counts(self) -> None:
        """Refuse other numbers of nodes or links than the header has: the file may be cut off."""
        if not self._header and not len(self._rows.line[: self._state[self._kernel.ROWS]]):
            raise InputError(f"{self._file}: the file is empty; expected a lattice")
        for key, letter, what, got in (
            ("NODES", "N", "nodes (I=)", len(self._nodes.line)),
            ("LINKS", "L", "links (J=)", len(self._links.line)),
        ):
            if key not in self._header:
                raise InputError(f"{self._file}: no {letter}= in the header; expected N= nodes and L= links")
            if self._header[key] != str(got):
                declared = f"{letter}={self._header[key]}"
                raise InputError(
                    f"{self._file}: {declared} in the header, but the file has {got} {what}; is it cut off?"
                )

    def _places(self, numbers: Int64s, of_nodes: Int64s) -> Int64s:
        """The places among all nodes of the nodes with these numbers."""
        count = len(of_nodes)
        if np.array_equal(of_nodes, np.arange(count)):
            places, unknown = numbers, numbers >= count
        else:
            order = np.argsort(of_nodes, kind="stable")
            ordered = of_nodes[order]
            twice = np.flatnonzero(ordered[1:] == ordered[:-1])
            if len(twice):
                line = int(self._nodes.line[order[twice[0] + 1]])
                raise self._error(line, f"a second node I={ordered[twice[0]]}; expected every number once")
            found = np.minimum(np.searchsorted(ordered, numbers), count - 1)
            places, unknown = order[found], ordered[found] != numbers
        if np.any(unknown):
            link = int(np.flatnonzero(unknown)[0])
            raise self._error(
                int(self._links.line[link]), f"a link to or from node {numbers[link]}, which has no I= line"
            )
        return np.asarray(places, dtype=np.int64)

    def _ends(self, numbers: Int64s, sources: Int64s, targets: Int64s) -> tuple[int, int]:
        """The start and end node: of the header, or the only nodes that no link enters or leaves."""
        ends: list[int] = []
        for key, touched, verb in (("start", targets, "enters"), ("end", sources, "leaves")):
            if key in self._header:
                node = self._header[key]
                is_number = node.isdigit() and node.isascii() and len(node) <= 18
                place = np.flatnonzero(numbers == int(node)) if is_number else numbers[:0]
                if not len(place):
                    raise InputError(f"{self._file}: {key}={node} in the header, but there is no node I={node}")
                ends.append(int(place[0]))
                continue
            free = np.flatnonzero(np.bincount(touched, minlength=len(numbers)) == 0)
            if self._implied and len(free) > 1:  # Moses also writes paths that end early, where they were recombined
                free = np.intersect1d(free, [0 if key == "start" else len(numbers) - 1])
            if len(free) != 1:
                got = f"{len(free)} nodes ({', '.join(map(str, numbers[free[:5]]))}, …)" if len(free) else "no node"
                raise InputError(
                    f"{self._file}: {got} that no link {verb}; expected exactly one, or {key}= in the header"
                )
            ends.append(int(free[0]))
        return ends[0], ends[1]

    def _output(
        self, options: ForestOptions, vocabulary: Vocabulary, start: int, targets: Int64s
    ) -> tuple[Int32s, int]:
        """The word of every link, or of the node that it enters, and the word of the start node; −1 for none."""
        rule = word_rule(options, SPEECH, nothing=NULL)
        count, data = int(self._words.size[0]), self._source.data
        spans = zip(self._words.starts[:count].tolist(), self._words.stops[:count].tolist(), strict=True)
        joined = b"\n".join([data[first:last] for first, last in spans])
        texts = joined.decode("utf-8").split("\n")[:count]  # one call for all words: another thread may go on
        if _MARKED.search(joined):
            texts = list(map(_word, texts))
        number = np.append(number_words(texts, rule, vocabulary), np.int32(-1))  # the last stands for no word
        on_nodes, on_links = number[self._nodes.word], self._links.word
        if NULL in texts:  # a link without a word of its own
            on_links = np.where(on_links == texts.index(NULL), -1, on_links)
        if not np.any(on_links >= 0):
            return on_nodes[targets], int(on_nodes[start])
        if np.any(on_nodes >= 0):
            line = int(self._nodes.line[np.flatnonzero(on_nodes >= 0)[0]])
            raise self._error(
                line, "a word on a node, though links have words too; expected words on nodes or on links"
            )
        return number[on_links], -1

    def _features(self, of_node: Int64s, words: Int32s, start_word: int) -> tuple[DenseFeatures, tuple[str, ...]]:
        """The features and their names: a row for the start, for every link and for the end.

        A link without a value has that of its node, or 0.
        """
        links, width = len(words), len(self._columns)
        values = self._links.values[:, :width]
        of_nodes = self._nodes.values[of_node, :width]
        values = np.where(np.isnan(values), of_nodes, values)
        matrix = np.zeros((links + 2, width + 1), order="F")
        matrix[1:-1, :width] = np.where(np.isnan(values), 0.0, self._in_natural_logs(values))
        matrix[0, width] = start_word >= 0
        matrix[1:-1, width] = words >= 0
        if WORDS in self._columns:  # a file may have its own count
            return DenseFeatures(np.asfortranarray(matrix[:, :width])), tuple(self._columns)
        return DenseFeatures(matrix), (*self._columns, WORDS)

    def _in_natural_logs(self, values: Floats) -> Floats:
        base = plain_number(self._header.get("base", "2.71828182845905"))
        if base is None or not math.isfinite(base) or base < 0 or base == 1:
            raise InputError(f"{self._file}: base={self._header['base']} in the header; expected a base of logarithms")
        if abs(base - math.e) < 1e-3:  # e, with however many digits
            return values
        likelihoods = np.array([name in FEATURE_OF_KEY.values() or _EXTRA.fullmatch(name) for name in self._columns])
        if base > 0:
            return np.where(likelihoods, values * math.log(base), values)
        impossible = np.argwhere(likelihoods & ~(values > 0) & ~np.isnan(values))
        if len(impossible):
            link, column = impossible[0]
            got = f"feature {self._columns[column]!r} is {values[link, column]}"
            raise self._error(int(self._links.line[link]), f"{got}; base=0 says it is a probability, expected above 0")
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(likelihoods, np.log(values), values)


def _word(text: str) -> str:
    """A word without quotes and without the number of a pronunciation variant, its escapes (\\ooo) resolved."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1] or text
    if text.endswith(")") and (variant := _VARIANT.fullmatch(text)) is not None:
        text = variant[1]
    if "\\" in text:
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 8)) if len(match[1]) == 3 else match[1], text)
    return text


def _is_score(name: str) -> bool:
    """Whether a feature has a field of its own in SLF, which must hold numbers."""
    return name in FEATURE_OF_KEY.values() or name == WORDS or re.fullmatch("x[0-9]+", name) is not None


def scale_of(name: str) -> tuple[str, str | None]:
    """The header field that scales a feature, and its usual value, if it has one."""
    return SCALES.get(name, (f"{name}scale", None))


def header_weights(header: Mapping[str, str], names: Sequence[str]) -> dict[str, float] | None:
    """The weight of each feature by the scales of the header, or None if the header does not determine it.

    It does not if it has no scale of any feature, or lacks one without a usual value, if a field is no number, or if
    scores are probabilities (base=0).
    """
    keys = [scale_of(name) for name in names]
    if not any(key in header for key, _ in keys) or any(usual is None and key not in header for key, usual in keys):
        return None
    scales = {name: plain_number(header.get(key, usual or "")) for name, (key, usual) in zip(names, keys, strict=True)}
    base = plain_number(header.get("base", "2.71828182845905"))
    if not base or any(scale is None or not math.isfinite(scale) for scale in scales.values()):
        return None
    weights = {name: float(scales[name] or 0.0) for name in names}
    if "words" in weights and abs(base - math.e) >= 1e-3:  # like scores, the penalty is converted to natural logarithms
        weights["words"] *= math.log(base)
    return weights


# Writing.

_KEY_OF_FEATURE = {name: key for key, name in reversed(FEATURE_OF_KEY.items())}
_UNSAFE = re.compile(r"[\s\\\"]|^'|'$|\((?=[0-9]+\)$)")


def write_slf(path: str | os.PathLike[str], forests: Iterable[NamedForest]) -> None:
    """Write a lattice to a file, or several into a folder (``name.slf``); see docs/speech-formats.md.

    The feature words is left out if it counts the words, as readers count them again. A feature without a field in SLF
    is written under its own name. The header has the scales of the decoder, if they are known (``NamedForest.model``).
    Floats are read back to the bit.

    >>> from pathlib import Path
    >>> from hulltune import Forest, Vocabulary
    >>> from hulltune.formats.forest_files import ForestOptions, NamedForest
    >>> from hulltune.formats.slf import read_slf, write_slf
    >>> arcs = [(0, 1, "wreck", [-1.0]), (0, 1, "recognise", [-2.0]), (1, 2, "speech", [-1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["score"])
    >>> write_slf(Path("u1.slf"), [NamedForest(lattice, "u1")])
    >>> (named,) = read_slf(Path("u1.slf"), ForestOptions(), Vocabulary())
    >>> named.forest
    Forest(lattice: 4 nodes, 5 edges, 2 features)
    """
    write_each(path, forests, ".slf", _spelled)


def _spelled(named: NamedForest) -> str:
    forest = named.forest
    if len(forest.feature_names) > MOST_FEATURES:
        raise InputError(
            f"{len(forest.feature_names):,} features, but SLF names all of them on every link; expected at most "
            f"{MOST_FEATURES} (write forest or packed)"
        )
    lattice = plain_lattice(forest, final_weights=False)
    keys = [_key(name) for name in forest.feature_names]
    values = forest.features.toarray()
    columns = [column for column in range(len(keys)) if not _counts_words(forest, lattice, values, column)]
    lines = ["VERSION=1.0"]
    if named.name is not None:
        lines.append(f"UTTERANCE={_quoted(named.name)}")
    lines += _scales(named)
    lines.append(f"start={lattice.start} end={next(iter(lattice.finals))}")
    lines.append(f"N={lattice.states} L={len(lattice.arcs)}")
    lines += [f"I={state}" for state in range(lattice.states)]
    rows = values.tolist()
    nothing = [0.0] * len(keys)
    for number, (source, target, word, edge) in enumerate(lattice.arcs):
        row = rows[edge] if edge >= 0 else nothing
        fields = "".join(f" {keys[column]}={row[column]!r}" for column in columns)
        lines.append(f"J={number} S={source} E={target} W={NULL if word is None else _escaped(word)}{fields}")
    return "\n".join(lines) + "\n"


def _scales(named: NamedForest) -> list[str]:
    """The header line with the scales of the decoder, if they are known; none where two features share a field."""
    names = named.forest.feature_names
    keys = [scale_of(name)[0] for name in names]
    if named.model is None or len(set(keys)) < len(keys):
        return []
    return [" ".join(f"{key}={named.model.get(name, 0.0)!r}" for name, key in zip(names, keys, strict=True))]


def _key(name: str) -> str:
    key = _KEY_OF_FEATURE.get(name, name)
    if name in RESERVED_KEYS or (name in FEATURE_OF_KEY and FEATURE_OF_KEY[name] != name) or not name:
        raise InputError(f"a feature cannot be named {name!r} in SLF, where that is another field; rename it")
    if re.search(r"[\s=\"]", name):
        raise InputError(f"a feature cannot be named {name!r} in SLF, where blanks, quotes and '=' divide fields")
    return key


def _counts_words(forest: Forest, lattice: PlainLattice, values: np.ndarray, column: int) -> bool:
    """Whether a column is the feature words as readers count it."""
    if forest.feature_names[column] != WORDS:
        return False
    words = np.zeros(forest.edges)
    edge = -1
    for arc in lattice.arcs:
        edge = arc.edge if arc.edge >= 0 else edge
        words[edge] += arc.word is not None
    return bool(np.array_equal(values[:, column], words))


def _escaped(word: str) -> str:
    """A word as one field: blanks, quotes and the bracket of a seeming pronunciation variant become octal numbers."""
    return _UNSAFE.sub(lambda match: "".join(f"\\{ord(character):03o}" for character in match[0]), word)


def _quoted(name: str) -> str:
    if '"' in name or "\n" in name or "\r" in name:
        raise InputError(f"an utterance cannot be named {name!r} in SLF; expected no quotes and line ends")
    return f'"{name}"' if re.search(r"\s", name) or not name else name
