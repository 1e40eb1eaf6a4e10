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
from hulltune.formats.forest_building import FileEdges
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
"""The usual line of Moses, which is read in a third of the time of lines with other fields, or in another order."""
_OUT = re.compile(rb"[ \t\r]out=")
_SCORES = re.compile(rb"""[ \t\r](scores=)?(?:"(?:core=\(([^)]*)\)|<<([^>]*)>>)([^"]*)"|\[([^]]*)\])(?=[ \t\r]|$)""")
"""The scores of models: those without names and those with names in quotes, or labelled ones in brackets."""
_BAD_SCORES = 'its scores cannot be read; expected scores="core=(v,v,…) name=v …" or [ name: v v … ]'
_COMPLETE = -1

_Labels = tuple[bytes, ...]
"""The contents of brackets: labels like ``d:``, and an empty text for every score."""


_Scores = tuple[str, list[bytes], list[bytes], _Labels]
"""The kind of scores (transition, core or brackets), those without a name, those as name=value, and their labels."""


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
        self._layout: tuple[str, int, _Labels] | None = None
        """The kind of scores, the number of those without a name, and the labels."""
        self._hypotheses: list[int] = []
        self._forwards: list[int] = []
        """The ``forward=`` of each hypothesis; 0 if it has none."""
        self._places: list[int] = []
        self._after_start = 0
        """The ``forward=`` of hypothesis 0."""
        for self._place, line in source.lines():
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
        scores: _Scores = ("transition", [transition], [], ()) if core is None else self._core(core, named)
        labels = self._words(out if core is None else target)
        self._add((int(number), int(forward)), int(recombined or number), int(back), scores, labels)

    def _read_fields(self, line: bytes) -> None:
        """Read a hypothesis whose fields come in any order, but for ``out=`` at the end."""
        start, *outs = _OUT.split(line, 1)
        found = _SCORES.search(start)
        if found is not None:
            start = start[: found.start()] + start[found.end() :]
        if b"scores=" in start:
            raise self._fault(_BAD_SCORES)
        fields = self._fields(start)
        hypothesis, back = self._number(fields, b"hyp"), self._number(fields, b"back")
        forward = self._number(fields, b"forward") or 0
        if hypothesis is None:
            raise self._fault("no field hyp=")
        if back is None:
            if hypothesis or found or outs:  # scores or words of hypothesis 0 would be lost
                raise self._fault("no field back=, which only a bare hypothesis 0 may lack; is the line cut off?")
            self._after_start = forward
            return
        if not outs:
            raise self._fault("no field out=; is the line cut off?")
        recombined = self._number(fields, b"recombined")
        labels = self._words(outs[0] if found is None or found[1] is None else self._target(outs[0]))
        scores = self._scores(found, fields.get(b"transition"))
        self._add((hypothesis, forward), hypothesis if recombined is None else recombined, back, scores, labels)

    def _fields(self, text: bytes) -> dict[bytes, bytes]:
        """The fields after the number of the sentence by their keys; the last of a key counts."""
        tokens = self._source.split(text)[1:]
        for token in tokens:
            if b"=" not in token:
                raise self._fault(f"{shown(token.decode())} is no field; expected 'key=value'")
        return dict([token.split(b"=", 1) for token in tokens])

    def _number(self, fields: dict[bytes, bytes], key: bytes) -> int | None:
        value = fields.get(key)
        if value is None or value.isdigit():
            return None if value is None else whole_number(value)
        if key == b"forward" and value.startswith(b"-"):
            return _COMPLETE
        raise self._fault(f"{shown((key + b'=' + value).decode())} is not a whole number from 0")

    def _scores(self, found: re.Match[bytes] | None, transition: bytes | None) -> _Scores:
        """The scores of a line: in quotes or brackets, or the transition."""
        if found is None:
            if transition is None:
                raise self._fault("neither transition= nor scores=; expected one of them")
            return "transition", [transition], [], ()
        if found[5] is None:
            return self._core(found[2] if found[3] is None else found[3], found[4])
        tokens = self._source.split(found[5])
        values = [token for token in tokens if not token.endswith(b":")]
        return "brackets", values, [], tuple(token if token.endswith(b":") else b"" for token in tokens)

    def _core(self, core: bytes, named: bytes) -> _Scores:
        """The scores of ``core=(…)``, with commas or blanks between them, and named scores, with blanks."""
        if b",," in b"," + core.translate(None, b" \t\r"):
            raise self._fault(_BAD_SCORES)
        split = self._source.split
        return "core", split(core.replace(b",", b" ")), split(named), ()

    def _target(self, out: bytes) -> bytes:
        """The target of ``source|target``, which may stand in quotes."""
        out = out.rstrip(b" \t\r")
        if out.count(b"|") != 1:
            raise self._fault(f"{out.count(b'|')} of '|' in out=; expected 'source|target' with one factor each")
        return out.removesuffix(b'"').partition(b"|")[2] if out.startswith(b'"') else out.partition(b"|")[2]

    def _words(self, target: bytes) -> list[int]:
        """The labels of an edge: its tail and its words, without the costs that old versions add."""
        if b", pC=" in target:
            target = target[: target.rindex(b", pC=")]
        words = self._edges.words
        return [-1, *[words[word] for word in self._source.split(target)]]

    def _add(self, step: tuple[int, int], head: int, back: int, scores: _Scores, labels: list[int]) -> None:
        """Add the edge of a hypothesis, whose ``hyp=`` and ``forward=`` are the step."""
        kind, unnamed, named, score_labels = scores
        layout = (kind, len(unnamed), score_labels)
        if self._layout is None:
            self._layout = layout
            for name in _names(*layout):
                self._edges.names[name.encode()]
        elif layout != self._layout:
            raise self._fault("its scores differ in number or kind from those of the sentence's first hypothesis")
        columns, values = self._edges.scores(self._source, self._place, unnamed, named)
        self._edges.add(head, [back], labels, columns, values)
        self._hypotheses.append(step[0])
        self._forwards.append(step[1])
        self._places.append(self._place)

    def forest(self, options: ForestOptions, vocabulary: Vocabulary) -> Forest:
        """The packed forest: hypothesis 0 has an edge without output, and the root stands above the complete ones."""
        edges, source = self._edges, self._source
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
        if self._layout is not None and self._layout[0] == "brackets":
            return
        known = {0, _COMPLETE, *self._hypotheses}
        for place, after in zip([*self._places, 0], [*self._forwards, self._after_start], strict=True):
            if after not in known:
                reason = f"forward={after}, but this sentence has no such hypothesis; is the file cut off?"
                raise self._source.fault(place, reason)


def _names(kind: str, count: int, labels: _Labels) -> list[str]:
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
