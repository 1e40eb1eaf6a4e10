"""Search graphs of phrase-based Moses (-output-search-graph, -output-search-graph-extended): lattices of phrases.

Every line is a hypothesis of a sentence, the sentences one after the other; the name of a forest is the number of its
sentence. A hypothesis ``hyp=`` continues ``back=`` with the words of ``out=``; where it was recombined, its path goes
on from ``recombined=``. Those with ``forward=-1`` are complete, and the root stands above them.

The plain form has one score, the weighted one of the step: feature ``transition``. The extended form has those of the
models instead: the vector ``core=(…)`` becomes ``core_0``, ``core_1``, … in the order of Moses, features with names
follow; versions that write ``d: v v lm: v`` give ``d_0``, ``d_1``, …, ``lm``. All are scores (larger is better) and are
taken as they are. The words ``<s>`` and ``</s>`` are not output.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.numbers import shown
from hulltune.formats.positional import name_columns
from hulltune.formats.raw_edges import RawEdges
from hulltune.formats.source_text import Integers, SourceText
from hulltune.formats.streams import blocks, open_bytes

_LINE = re.compile(rb"\s*\d+ hyp=\d+ ")
_SPARSEST = 16
"""Numbers a table of them may have room for, of each that there is: beyond, a search is cheaper than the memory."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is a search graph of Moses."""
    return _LINE.match(head) is not None


def read_moses_graph(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a file, read sentence by sentence; linear in its size, most of it in a kernel."""
    for number, source, lines in _sentences(path):
        if number < 0:
            raise source.fault(
                0,
                f"{shown(source.line(0))}; expected '0 hyp=1 stack=1 back=0 …' as phrase-based Moses writes "
                "(from moses_chart, take -output-search-graph-hypergraph)",
            )
        yield NamedForest(_read_sentence(source, lines, options, vocabulary), str(number))


def _sentences(path: Path) -> Iterator[tuple[int, SourceText, int]]:
    """The lines of every sentence, and how many; a sentence may go over several blocks of the file."""
    from hulltune.kernels.moses_graph_fields import next_sentence

    file = os.fspath(path)
    parts: list[bytes] = []
    line, sentence, lines = 1, -2, 0
    with open_bytes(path) as stream:
        for block in blocks(stream):
            array = np.frombuffer(block, dtype=np.uint8)
            position = 0
            while True:
                stop, number, more = next_sentence(array, position, len(block), sentence)
                lines += more
                if more:
                    parts.append(block[position:stop])
                if stop == len(block):
                    break
                if parts:
                    yield sentence, _joined(parts, file, line), lines
                position, sentence = stop, int(number)
                line, lines = line + lines, 0
    if not parts:
        raise InputError(f"{file}:1: no search graph in the file; expected lines like '0 hyp=1 stack=1 back=0 …'")
    del block, array  # their memory is for what is made of the sentence
    yield sentence, _joined(parts, file, line), lines


def _joined(parts: list[bytes], file: str, line: int) -> SourceText:
    """The parts of a sentence in one, and no longer apart."""
    data = b"".join(parts)
    parts.clear()
    return SourceText(file, data, line)


def _read_sentence(source: SourceText, lines: int, options: ForestOptions, vocabulary: Vocabulary) -> Forest:
    from hulltune.kernels import moses_graph as kernel

    code, state, table, labels, columns, values, words, names, pending = kernel.parse_sentence(source.array, lines)
    if code:
        raise _complaint(source, code, state)
    edges = table.shape[1] - 1
    style = int(state[kernel.LAYOUT]) % 4
    positional = _names(source, style, state)
    own_names = source.texts(names)
    columns, feature_names = name_columns(source, columns, values, pending, positional, own_names)
    _, heads, backs, forwards = table[: kernel.LINE, :edges]
    number = _Numbers(np.append(heads, 0))
    _check_links(source, table, number, int(state[kernel.START]), style != kernel.BRACKETS)
    root = number.count
    finals = np.unique(heads[forwards == kernel.FINAL])
    if edges and not len(finals):
        last = int(table[kernel.LINE, edges - 1])
        raise source.fault(last, "no hypothesis of this sentence is complete (forward=-1); is the file cut off?")
    raw = RawEdges(
        nodes=root + 1,
        heads=number.of(heads),
        tail_offsets=np.arange(edges + 1),
        tails=number.of(backs),
        label_offsets=table[kernel.LABEL],
        labels=labels,
        value_offsets=table[kernel.VALUE],
        columns=columns,
        values=values,
        words=source.texts(words),
        names=feature_names,
        node_names=number.distinct,
    )
    whole = raw.with_edges(np.zeros(1, dtype=np.int64))  # the empty path to hypothesis 0
    whole = whole.with_edges(np.full(len(finals), root), number.of(finals))
    return whole.forest(options, vocabulary, root=root, where=lambda: source.at(0))


class _Numbers:
    """Distinct numbers, from 0, in order: the place of each among them. By a table where that is not too empty."""

    def __init__(self, given: Integers) -> None:
        largest = int(given.max())
        self._table: Integers | None = None
        if largest <= _SPARSEST * len(given):
            present = np.zeros(largest + 1, dtype=np.bool_)
            present[given] = True
            self._table = np.where(present, np.cumsum(present) - 1, -1)
            self.distinct = np.flatnonzero(present)
        else:
            self.distinct = np.unique(given)
        self.count = len(self.distinct)

    def of(self, asked: Integers) -> Integers:
        """The place of each; −1 for those that are not there."""
        if self._table is not None:
            table = self._table
            places = table[np.clip(asked, 0, len(table) - 1)]
            return np.where((asked < 0) | (asked >= len(table)), -1, places)
        places = np.minimum(np.searchsorted(self.distinct, asked), self.count - 1)
        return np.where(self.distinct[places] == asked, places, -1)


def _check_links(source: SourceText, table: Any, nodes: _Numbers, start: int, every_hypothesis: bool) -> None:
    """Refuse a hypothesis that continues one that is not there or, where a file has every hypothesis under its own
    number (old versions write that of the winner), that is continued by one that is not there.
    """
    from hulltune.kernels import moses_graph as kernel

    hypotheses, _, backs, forwards = table[: kernel.LINE, :-1]
    unknown = np.flatnonzero(nodes.of(backs) < 0)
    if len(unknown):
        edge = int(unknown[0])
        raise source.fault(int(table[kernel.LINE, edge]), f"back={backs[edge]}, but this sentence has no such node")
    after = np.append(forwards, start)
    unknown = np.flatnonzero((after > 0) & (_Numbers(np.append(hypotheses, 0)).of(after) < 0))
    if len(unknown) and every_hypothesis:
        edge = int(unknown[0])
        place = int(table[kernel.LINE, edge]) if edge < len(forwards) else 0
        reason = f"forward={after[edge]}, but this sentence has no such hypothesis; is the file cut off?"
        raise source.fault(place, reason)


def _names(source: SourceText, style: int, state: Any) -> list[str]:
    """The names of scores that have none of their own."""
    from hulltune.kernels import moses_graph as kernel

    dense = int(state[kernel.DENSE])
    if style == kernel.NAMED:
        return [f"core_{k}" for k in range(dense)]
    if style != kernel.BRACKETS:
        return ["transition"][:dense]
    labels: list[str] = []
    label = "score"
    for token in re.split("[ \t\r]+", source.text(int(state[kernel.SCORES]), int(state[kernel.SCORES_END]))):
        if token.endswith(":"):
            label = token[:-1] or "score"
        elif token:
            labels.append(label)
    assert len(labels) == dense
    return [
        label if labels.count(label) == 1 else f"{label}_{labels[:k].count(label)}" for k, label in enumerate(labels)
    ]


def _complaint(source: SourceText, code: int, state: Any) -> InputError:
    from hulltune.kernels import moses_graph as kernel
    from hulltune.kernels import moses_graph_fields as codes

    position = int(state[kernel.POSITION])
    token = shown(source.text(int(state[kernel.FIRST]), int(state[kernel.LAST])))
    reasons = {
        codes.NO_SENTENCE: "no number of a sentence at its start",
        codes.BAD_FIELD: f"{token} is no field; expected 'key=value'",
        codes.BAD_NUMBER: f"{token} is not a whole number from 0",
        codes.BAD_SCORES: 'its scores cannot be read; expected scores="core=(v,v,…) name=v …" or [ name: v v … ]',
        codes.NO_HYPOTHESIS: "no field hyp=",
        codes.NO_BACK: "no field back=, and not hypothesis 0 alone; is the line cut off?",
        codes.NO_OUT: "no field out=; is the line cut off?",
        codes.NO_TRANSITION: "neither transition= nor scores=; expected one of them",
        codes.NO_SOURCE: "no '|' in out=; expected 'source|target' after scores=",
        codes.FACTORED: "more than one '|' in out=; expected 'source|target' with one factor each",
        codes.NO_NAME: f"{token} is no feature; expected 'name=value'",
        codes.REPEATED_NAME: f"feature {token} occurs twice",
        codes.SCORES_DIFFER: "its scores differ in number or kind from those of the sentence's first hypothesis",
    }
    return source.fault(position, reasons[code])
