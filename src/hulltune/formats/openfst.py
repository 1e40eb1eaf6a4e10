"""Lattices of OpenFst: binary vector (and const) FSTs, and its text format.

Weights are costs by convention and are negated on reading; ``Infinity`` as a final weight says that a state is not
final. Label 0 is epsilon: no word, whatever the rule. Of a transducer the output labels count.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.fst_binary import MAGIC, BinaryFst, CutOff, Header, parse_fst, parse_header
from hulltune.formats.fst_text import text_forest
from hulltune.formats.lattices import Arcs, lattice_forest, negated
from hulltune.formats.openfst_writing import write_openfst_text
from hulltune.formats.streams import BYTE_ORDER_MARK, open_bytes
from hulltune.formats.symbols import read_symbols, words_of
from hulltune.formats.word_rules import MARKS, MARKS_1_2, SPEECH, WordRule, number_words, word_rule

__all__ = [
    "KALDI_ARCS",
    "fst_forest",
    "looks_like",
    "looks_like_text",
    "read_openfst",
    "read_openfst_text",
    "write_openfst_text",
]

_ALIGNMENT = re.compile(rb",[-+.0-9eE]+,(?:[0-9]+_[0-9_]+)?\s*$")  # as in the weights of Kaldi's CompactLattice
_LINE = re.compile(rb"\s*[0-9]+(?:\s+[0-9]+(?:\s+\S+){1,3}|\s+[-+]?[0-9iI.]\S*)?\s*")
KALDI_ARCS = frozenset({"lattice4", "lattice8", "compactlattice44", "compactlattice84"})


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so is a binary FST, but not one of Kaldi's lattices."""
    try:
        return head.startswith(MAGIC) and parse_header(head, 0, "").arc_type not in KALDI_ARCS
    except (CutOff, InputError):
        return True  # the reader says what is wrong with it


def read_openfst(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The FSTs of a binary file: mostly one, but several may stand one after the other."""
    file = os.fspath(path)
    with open_bytes(path) as stream:
        data = stream.read()
    if not data:
        raise InputError(f"{file}: the file is empty; expected an FST")
    position = 0
    while position < len(data):
        try:
            fst = parse_fst(data, position, file)
        except CutOff:
            raise InputError(f"{file}: byte {len(data)}: the file ends within an FST; is it cut off?") from None
        yield NamedForest(fst_forest(fst, options, vocabulary, file))
        position = fst.end


def looks_like_text(head: bytes) -> bool:
    """Whether a file that begins so is an FST as text: lines of arcs and final states."""
    lines = head.split(b"\n")
    lines = [line for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()][:200]
    return (
        b"\0" not in head
        and bool(lines)
        and len(lines[0].split()) > 2
        and all(_LINE.fullmatch(line) is not None for line in lines)
        and not any(_ALIGNMENT.search(line) for line in lines)
    )


def read_openfst_text(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The FST of a text file. Linear in its size."""
    with open_bytes(path) as stream:
        data = stream.read().removeprefix(BYTE_ORDER_MARK)
    if not data.strip():
        raise InputError(f"{os.fspath(path)}: the file is empty; expected an FST")
    yield NamedForest(text_forest(data, options, vocabulary, file=os.fspath(path), rule=MARKS))


def fst_forest(fst: BinaryFst, options: ForestOptions, vocabulary: Vocabulary, where: str) -> Forest:
    """The forest of a binary FST."""
    from hulltune.kernels.interning import number_distinct

    symbols = fst.symbols if options.symbols is None else read_symbols(options.symbols)
    rule = word_rule(options, default_rule(fst.header, numbers=symbols is None))
    distinct, places = number_distinct(fst.labels)
    numbers = np.full(len(distinct), -1, dtype=np.int32)
    numbers[distinct != 0] = number_words(words_of(distinct[distinct != 0].tolist(), symbols, where), rule, vocabulary)
    arcs = Arcs(
        states=fst.states,
        start=fst.header.start,
        sources=fst.sources,
        targets=fst.targets,
        words=numbers[places],
        finals=fst.finals,
        features=negated(fst.features, fst.feature_names, options, costs=True),
        feature_names=fst.feature_names,
    )
    return lattice_forest(arcs, vocabulary, where=where)


def default_rule(header: Header, *, numbers: bool) -> WordRule:
    """The words that an FST of this kind does not put out, unless the caller says otherwise."""
    if header.arc_type in KALDI_ARCS:
        return SPEECH
    return MARKS_1_2 if numbers and header.arc_type == "tropicalsparsetuple" else MARKS
