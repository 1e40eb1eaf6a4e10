"""Search graphs of phrase-based Moses (-output-search-graph, -output-search-graph-extended): lattices of phrases.

Every line is a hypothesis of a sentence, the sentences one after the other; the name of a forest is the number of its
sentence. A hypothesis ``hyp=`` continues ``back=`` with the words of ``out=``; if it was recombined, its path goes on
from ``recombined=``. Hypotheses with ``forward=-1`` are complete, and the root stands above them.

The plain form has one score, the weighted one of the step: feature ``transition``. The extended form has the scores of
the models instead: the vector ``core=(…)`` becomes ``core_0``, ``core_1``, … in the order of Moses, and features with
names follow; versions that write ``d: v v lm: v`` give ``d_0``, ``d_1``, …, ``lm``. All are scores (larger is better)
and are taken as they are. The words ``<s>`` and ``</s>`` are not output.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Container, Iterator
from functools import partial
from itertools import groupby

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import FileEdges, refuse_clashes
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path, SourceText, whole_number
from hulltune.formats.numbers import shown
from hulltune.formats.streams import blocks, not_utf8, open_bytes

_LINE = re.compile(rb"\s*\d+ hyp=\d+ ")
_SENTENCE = re.compile(rb"\d+(?![^ \t\r])")
_USUAL = re.compile(
    rb"""\d+ [ ] hyp=(\d{1,15}) [ ] stack=\d+ [ ] back=(\d{1,15}) [ ] score=[^\x00-\x20]* [ ] transition=([^\x00-\x20]*)
    (?: [ ] recombined=(\d{1,15}) )? [ ] forward=(-1|\d{1,15}) [ ] fscore=[^\x00-\x20]* [ ] covered=[^\x00-\x20]* [ ]
    (?: out=(.*) | scores="core=\(([^)\x00-\x20]*)\)([^"\x00-\x1f]*)" [ ] out="[^|]*\|([^|]*)" [ ]* )""",
    re.VERBOSE,
)
"""The usual line of Moses. Some versions have fewer or more fields, or another order."""
_FIELD = re.compile(rb"([^\x00-\x20=]+)=([^\x00-\x20]*)")
_NUMBERS = (b"hyp", b"back", b"recombined", b"forward")
_LONG_FIELD = re.compile(rb"[ \t\r](out=|scores=\[|scores=|\[)")
"""The start of a field that may have blanks in it."""
_CONTROLS = rb"\x00-\x08\x0a-\x0c\x0e-\x1f"
_QUOTED = re.compile(rb'"(?:core=\(([^)%b]*)\)|<<([^>%b]*)>>)([^"%b]*)"' % (_CONTROLS, _CONTROLS, _CONTROLS))
_IN_BRACKETS = re.compile(rb"([^]%b]*)\]" % _CONTROLS)
_BAD_SCORES = 'its scores cannot be read; expected scores="core=(v,v,…) name=v …" or [ name: v v … ]'
_COMPLETE = -1

_Labels = tuple[bytes, ...]
"""The contents of brackets: labels like ``d:``, and an empty text for every score."""
_Scores = tuple[str, _Labels, list[bytes], list[bytes]]
"""The kind of scores (``transition``, ``core`` or ``brackets``), their labels, the unnamed ones, and ``name=value``."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a search graph of Moses."""
    return _LINE.match(head) is not None


def read_moses_graph(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a file, read sentence by sentence; linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.moses_graph import read_moses_graph
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> text = '''7 hyp=0 stack=0
    ... 7 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=-1 fscore=0 covered=0-1 out=it is
    ... '''
    >>> _ = Path("graph.osg").write_text(text)
    >>> (named,) = read_moses_graph(Path("graph.osg"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"transition": 1.0}).outputs()
    [['it is']]
    """
    for number, source in _sentences(path):
        if number is None:
            _, line = next(source.lines())
            raise source.fault(
                0,
                f"{shown(source.text(0, line).strip())}; expected '0 hyp=1 stack=1 back=0 …' as phrase-based Moses "
                "writes (from moses_chart, take -output-search-graph-hypergraph)",
            )
        yield NamedForest(_Sentence(source).forest(options, vocabulary), str(number))


def _sentences(path: Path) -> Iterator[tuple[int | None, SourceText]]:
    """The number (or None) and the text of every run of lines with the same sentence number."""
    file = os.fspath(path)
    first_line = 1
    with open_bytes(path) as stream:
        lines = (line for block in blocks(stream) for line in block[:-1].split(b"\n"))
        for number, group in groupby(lines, _sentence_number):
            data = b"\n".join([*group, b""])
            yield number, SourceText(file, data, first_line)
            first_line += data.count(b"\n")
    if first_line == 1:
        raise InputError(f"{file}:1: no search graph in the file; expected lines like '0 hyp=1 stack=1 back=0 …'")


def _sentence_number(line: bytes) -> int | None:
    digits = _SENTENCE.match(line)
    return None if digits is None else whole_number(digits[0])


class _Sentence:
    """The hypotheses of one sentence. The first one decides the kind and number of unnamed scores."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._place = 0
        """The place of the line being read."""
        self._edges = FileEdges()
        self._kind = ""
        self._labels: _Labels = ()
        self._unnamed: list[int] = []
        """The columns of unnamed scores."""
        self._hypotheses: list[int] = []
        self._forwards: list[int] = []
        """The ``forward=`` of each hypothesis; 0 if it has none."""
        self._places: list[int] = []
        self._after_start = 0
        """The ``forward=`` of hypothesis 0."""
        for place, line in source.lines():
            self._place = place
            try:
                self._read(line)
            except UnicodeDecodeError as error:
                raise self._fault(not_utf8(error)) from None

    def _fault(self, reason: str) -> InputError:
        return self._source.fault(self._place, reason)

    def _read(self, line: bytes) -> None:
        """Read the hypothesis of a line."""
        usual = _USUAL.fullmatch(line)
        if usual is None:
            self._read_fields(line)
            return
        number, back, transition, recombined, forward, out, core, named, target = usual.groups()
        if core is None:
            scores: _Scores = "transition", (), [transition], []
            labels = self._words(out)
        else:
            scores = self._core(core, named)
            labels = self._words(target)
        hypothesis = int(number)
        head = int(recombined) if recombined else hypothesis
        self._add(hypothesis, head, int(back), int(forward), scores, labels)

    def _read_fields(self, line: bytes) -> None:
        """Read a hypothesis whose fields may come in any order."""
        numbers, transition, scores, out = self._split(line)
        hypothesis, back, forward = numbers.get(b"hyp"), numbers.get(b"back"), numbers.get(b"forward", 0)
        if hypothesis is None:
            raise self._fault("no field hyp=")
        if back is None:
            if hypothesis or scores or out is not None:  # scores or words of hypothesis 0 would be lost
                raise self._fault("no field back=, which only a bare hypothesis 0 may lack; is the line cut off?")
            self._after_start = forward
            return
        if out is None:
            raise self._fault("no field out=; is the line cut off?")
        if scores is None:
            if transition is None:
                raise self._fault("neither transition= nor scores=; expected one of them")
            scores = "transition", (), [transition], []
        self._add(hypothesis, numbers.get(b"recombined", hypothesis), back, forward, scores, self._words(out))

    def _split(self, line: bytes) -> tuple[dict[bytes, int], bytes | None, _Scores | None, bytes | None]:
        """The fields of a line: numbers by their key, the transition, the scores, and the words of the output."""
        numbers: dict[bytes, int] = {}
        transition: bytes | None = None
        scores: _Scores | None = None
        has_source = False
        rest = line.lstrip(b"0123456789")
        while True:
            long_field = _LONG_FIELD.search(rest)
            for token in self._source.split(rest if long_field is None else rest[: long_field.start()]):
                field = _FIELD.fullmatch(token)
                if field is None:
                    raise self._fault(f"{shown(token.decode())} is no field; expected 'key=value'")
                key, value = field.groups()
                if key == b"transition":
                    transition = value
                elif key == b"forward" and value.startswith(b"-"):
                    numbers[key] = _COMPLETE
                elif key in _NUMBERS:
                    if not value.isdigit():
                        raise self._fault(f"{shown(token.decode())} is not a whole number from 0")
                    numbers[key] = whole_number(value)
            if long_field is None:
                return numbers, transition, scores, None
            key, rest = long_field[1], rest[long_field.end() :]
            if key == b"out=":
                return numbers, transition, scores, self._target(rest) if has_source else rest
            if scores is not None:
                raise self._fault(_BAD_SCORES)
            has_source = key != b"["
            scores, rest = self._split_quoted(rest) if key == b"scores=" else self._split_brackets(rest)

    def _split_quoted(self, rest: bytes) -> tuple[_Scores, bytes]:
        """The scores in quotes, and the rest of the line."""
        match = _QUOTED.match(rest)
        if match is None:
            raise self._fault(_BAD_SCORES)
        left = rest[match.end() :]
        if left and not left.startswith((b" ", b"\t", b"\r")):
            wrong = shown(f"scores={(match[0] + left[:1]).decode()}")
            raise self._fault(f"{wrong} is no field; expected 'key=value'")
        return self._core(match[1] if match[2] is None else match[2], match[3]), left

    def _core(self, core: bytes, named: bytes) -> _Scores:
        """The scores of ``core=(…)``, with commas or blanks between them, and named scores, with blanks."""
        if b",," in b"," + core.translate(None, b" \t\r"):
            raise self._fault(_BAD_SCORES)
        split = self._source.split
        return "core", (), split(core.replace(b",", b" ")), split(named)

    def _split_brackets(self, rest: bytes) -> tuple[_Scores, bytes]:
        """The scores in brackets, and the rest of the line."""
        match = _IN_BRACKETS.match(rest)
        if match is None:
            raise self._fault(_BAD_SCORES)
        tokens = self._source.split(match[1])
        labels = tuple(token if token.endswith(b":") else b"" for token in tokens)
        values = [token for token in tokens if not token.endswith(b":")]
        return ("brackets", labels, values, []), b" " + rest[match.end() :]

    def _target(self, out: bytes) -> bytes:
        """The target of ``source|target``, which may stand in quotes."""
        out = out.rstrip(b" \t\r")
        if out.startswith(b'"') and out.endswith(b'"') and len(out) > 1:
            out = out[:-1]
        _, bar, target = out.partition(b"|")
        if not bar:
            raise self._fault("no '|' in out=; expected 'source|target' after scores=")
        if b"|" in target:
            raise self._fault("more than one '|' in out=; expected 'source|target' with one factor each")
        return target

    def _words(self, target: bytes) -> list[int]:
        """The labels of an edge: its tail and its words, without the costs that old versions add."""
        if b", pC=" in target:
            target = target[: target.rindex(b", pC=")]
        words = self._edges.words
        return [-1, *[words[word] for word in self._source.split(target)]]

    def _add(self, hypothesis: int, head: int, back: int, forward: int, scores: _Scores, labels: list[int]) -> None:
        """Add the edge of a hypothesis."""
        kind, score_labels, tokens, named = scores
        names = self._edges.names
        if not self._kind:
            self._kind, self._labels, self._unnamed = kind, score_labels, list(range(len(tokens)))
            names.texts.extend(_names(kind, score_labels, len(tokens)))
        elif kind != self._kind or len(tokens) != len(self._unnamed) or score_labels != self._labels:
            raise self._fault("its scores differ in number or kind from those of the sentence's first hypothesis")
        columns = self._unnamed.copy()
        for token in named:
            name, _, value = token.rpartition(b"=")
            if not name:
                raise self._fault(f"{shown(token.decode())} is no feature; expected 'name=value'")
            columns.append(names[name])
            tokens.append(value)
        if len(named) > 1 and len(set(columns)) < len(columns):
            twice = next(column for slot, column in enumerate(columns) if column in columns[:slot])
            raise self._fault(f"feature {shown(names.texts[twice])} occurs twice")
        values = self._edges.numbers(self._source, self._place, tokens, columns)
        self._edges.add(head, [back], labels, columns, values)
        self._hypotheses.append(hypothesis)
        self._forwards.append(forward)
        self._places.append(self._place)

    def forest(self, options: ForestOptions, vocabulary: Vocabulary) -> Forest:
        """The packed forest: hypothesis 0 has an edge without output, and the root stands above the complete ones."""
        edges, source = self._edges, self._source
        refuse_clashes(source, edges.names.texts, len(self._unnamed))
        node_names = sorted({0, *edges.heads})
        number = {name: node for node, name in enumerate(node_names)}
        self._check_links(number)
        complete = {head for head, after in zip(edges.heads, self._forwards, strict=True) if after == _COMPLETE}
        if self._places and not complete:
            reason = "no hypothesis of this sentence is complete (forward=-1); is the file cut off?"
            raise source.fault(self._places[-1], reason)
        edges.heads = array("q", [number[head] for head in edges.heads])
        edges.tails = array("q", [number[tail] for tail in edges.tails])
        root = len(number)
        edges.add(number[0], [], [], [], [])
        for name in sorted(complete):
            edges.add(root, [number[name]], [-1], [], [])
        where = partial(source.at, 0)
        return edges.forest(options, vocabulary, nodes=root + 1, root=root, where=where, node_names=node_names)

    def _check_links(self, nodes: Container[int]) -> None:
        """Refuse a hypothesis whose ``back=`` or ``forward=`` is not there.

        ``forward=`` is not checked in old versions, which write brackets: they give a recombined hypothesis the number
        of the winner.
        """
        for place, back in zip(self._places, self._edges.tails, strict=True):
            if back not in nodes:
                raise self._source.fault(place, f"back={back}, but this sentence has no such node")
        if self._kind == "brackets":
            return
        known = {0, _COMPLETE, *self._hypotheses}
        for place, after in zip([*self._places, 0], [*self._forwards, self._after_start], strict=True):
            if after not in known:
                reason = f"forward={after}, but this sentence has no such hypothesis; is the file cut off?"
                raise self._source.fault(place, reason)


def _names(kind: str, labels: _Labels, count: int) -> list[str]:
    """The names given to unnamed scores."""
    if kind != "brackets":
        return ["transition"] if kind == "transition" else [f"core_{k}" for k in range(count)]
    names: list[str] = []
    name = "score"
    for label in labels:
        if label:
            name = label[:-1].decode() or "score"
        else:
            names.append(name)
    return [name if names.count(name) == 1 else f"{name}_{names[:k].count(name)}" for k, name in enumerate(names)]
