"""Lattices of OpenFst: binary vector (and const) FSTs, and its text format.

Weights are costs by convention and are negated on reading; a state with the final weight ``Infinity`` is not final.
Label 0 is epsilon: no word, whatever the rule, and so are the marks of HiFST (999999991 to 999999999). The words of a
transducer are its output labels.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import Arcs, lattice_forest, negated
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path, SourceText
from hulltune.formats.fst_binary import MAGIC, PAIR, SINGLE, BinaryFst, CutOff, Header, parse_fst, parse_header
from hulltune.formats.fst_text import EPSILON, is_number, text_forest
from hulltune.formats.lattice_writing import plain_lattice, write_each
from hulltune.formats.streams import open_bytes
from hulltune.formats.symbols import SPECIAL, is_word, read_symbols, words_of
from hulltune.formats.word_rules import MARKS, MARKS_1_2, SPEECH, WordRule, number_words, word_rule

_ALIGNMENT = re.compile(rb",[-+.0-9eE]+,(?:[0-9]+_[0-9_]+)?\s*$")  # the weights of Kaldi's CompactLattice
_LINE = re.compile(rb"\s*[0-9]+(?:\s+[0-9]+(?:\s+\S+){1,3}|\s+[-+]?[0-9iI.]\S*)?\s*")
KALDI_ARCS = frozenset({"lattice4", "lattice8", "compactlattice44", "compactlattice84"})


ARCHIVES = {struct.pack("<i", 2125656924): "sttable", struct.pack("<i", 5656924): "stlist"}
"""The first bytes of OpenFst's archives (FAR), and their types."""


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a binary FST, but no lattice of Kaldi; or an archive of FSTs."""
    if head[:4] in ARCHIVES:
        return True  # the reader says how to read it
    try:
        return head.startswith(MAGIC) and parse_header(head, 0, "").arc_type not in KALDI_ARCS
    except (CutOff, InputError):
        return True  # the reader says what is wrong with it


def read_openfst(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The FSTs of a binary file, one after the other; most files have one.

    >>> import struct
    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> from hulltune.formats.openfst import read_openfst
    >>> head = struct.pack("<ii6si8siiQqqq", 2125659606, 6, b"vector", 8, b"standard", 2, 0, 3, 0, 2, 0)
    >>> states = struct.pack("<fqiififq", float("inf"), 1, 7, 7, 0.5, 1, 0.0, 0)     # an arc with label 7 and cost 0.5
    >>> _ = Path("u1.fst").write_bytes(head + states)
    >>> (named,) = read_openfst(Path("u1.fst"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"score": 1.0}).outputs()
    [['7']]
    """
    file = os.fspath(path)
    with open_bytes(path) as stream:
        data = stream.read()
    if not data:
        raise InputError(f"{file}: the file is empty; expected an FST")
    if data[:4] in ARCHIVES:
        raise InputError(
            f"{file}: an archive of OpenFst (FAR, {ARCHIVES[data[:4]]}), which is not read; unpack it with "
            "farextract --filename_suffix=.fst, and give the folder of FSTs"
        )
    position = 0
    while position < len(data):
        try:
            fst = parse_fst(data, position, file)
        except CutOff:
            raise InputError(f"{file}: byte {len(data)}: the file ends within an FST; is it cut off?") from None
        yield NamedForest(fst_forest(fst, options, vocabulary, file))
        position = fst.end


def looks_like_text(head: bytes) -> bool:
    """Whether a file that begins with these bytes is an FST as text: lines of arcs and final states."""
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
    """The FST of a text file. Linear in its size.

    >>> from pathlib import Path
    >>> from hulltune import Vocabulary, decode
    >>> from hulltune.formats.openfst import read_openfst_text
    >>> from hulltune.formats.forest_files import ForestOptions
    >>> text = '''0 1 a 0.5
    ... 0 1 the 0.75
    ... 1 2 house 2
    ... 2
    ... '''
    >>> _ = Path("u1.txt").write_text(text)
    >>> (named,) = read_openfst_text(Path("u1.txt"), ForestOptions(), Vocabulary())
    >>> decode(named.forest, {"score": 1.0}).outputs()
    [['a house']]
    """
    source = SourceText.read(path)
    if not source.data.strip():
        raise InputError(f"{source.file}: the file is empty; expected an FST")
    yield NamedForest(text_forest(source, options, vocabulary, rule=MARKS))


def fst_forest(fst: BinaryFst, options: ForestOptions, vocabulary: Vocabulary, where: str) -> Forest:
    """The forest of a binary FST."""
    from hulltune.kernels.reading.interning import number_distinct

    symbols = fst.symbols if options.symbols is None else read_symbols(options.symbols)
    rule = word_rule(options, default_rule(fst.header, numbers=symbols is None))
    distinct, places = number_distinct(fst.labels)
    numbers = np.full(len(distinct), -1, dtype=np.int32)
    are_words = np.array([is_word(label, symbols) for label in distinct.tolist()], dtype=bool)
    numbers[are_words] = number_words(words_of(distinct[are_words].tolist(), symbols, where), rule, vocabulary)
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
    """The rule by which an FST of this kind drops words, unless the caller names another."""
    if header.arc_type in KALDI_ARCS:
        return SPEECH
    return MARKS_1_2 if numbers and header.arc_type == "tropicalsparsetuple" else MARKS


# Writing.

_NUMBERED = re.compile(r"f([1-9][0-9]{0,8})")


def write_openfst_text(path: str | os.PathLike[str], forests: Iterable[NamedForest]) -> None:
    """Write a lattice as an acceptor to a file, or several into a folder (``name.txt``); see docs/speech-formats.md.

    Weights are costs, the negated features: one number for the feature score, a pair for score_0 and score_1, and a
    sparse tuple ``0,key,value,…`` for other features. The key of fk is k if all names are like that; otherwise keys
    are the places of the features, from 1.

    >>> from pathlib import Path
    >>> from hulltune import Forest, Vocabulary
    >>> from hulltune.formats.forest_files import ForestOptions, NamedForest
    >>> from hulltune.formats.openfst import read_openfst_text, write_openfst_text
    >>> arcs = [(0, 1, "wreck", [-1.0]), (0, 1, "recognise", [-2.0]), (1, 2, "speech", [-1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["score"])
    >>> write_openfst_text(Path("u1.txt"), [NamedForest(lattice, "u1")])
    >>> (named,) = read_openfst_text(Path("u1.txt"), ForestOptions(), Vocabulary())
    >>> named.forest
    Forest(lattice: 4 nodes, 5 edges, 1 feature)
    """
    write_each(path, forests, ".txt", _text)


def _text(named: NamedForest) -> str:
    forest = named.forest
    lattice = plain_lattice(forest, final_weights=True)
    keys = _keys(forest.feature_names)
    rows = (0 - forest.features.toarray()).tolist()
    weights = [_weight(row, keys) for row in rows]
    no_weight = _weight([0.0] * len(forest.feature_names), keys)
    words = {arc.word for arc in lattice.arcs if arc.word is not None}
    numbers = all(map(is_number, words))
    misread = sorted(word for word in words if word == "0" or int(word) in SPECIAL) if numbers else []
    nothing = "0" if numbers and not misread else EPSILON
    if misread and all(arc.word is not None for arc in lattice.arcs):
        raise InputError(
            f"all labels are numbers, so that the word {misread[0]!r} would be epsilon; expected another word too"
        )
    lines: list[str] = []
    for source, target, word, edge in lattice.arcs:
        label = nothing if word is None else _label(word, nothing)
        lines.append(f"{source}\t{target}\t{label}\t{weights[edge] if edge >= 0 else no_weight}")
    lines += [f"{state}\t{weights[edge] if edge >= 0 else no_weight}" for state, edge in lattice.finals.items()]
    if keys is not None:  # the first weight names all features, so that those that are 0 everywhere are not lost
        edge = lattice.arcs[0].edge if lattice.arcs else next(iter(lattice.finals.values()))
        row = rows[edge] if edge >= 0 else [0.0] * len(keys)
        lines[0] = lines[0][: lines[0].rindex("\t") + 1] + _weight(row, keys, zeros=True)
    return "".join(line.rstrip("\t") + "\n" for line in lines)


def _label(word: str, nothing: str) -> str:
    if not word or word == nothing or any(blank in word for blank in " \t\r\n"):
        raise InputError(f"the word {word!r} cannot be written as a label; expected no blanks, and not {nothing!r}")
    return word


def _keys(names: Sequence[str]) -> list[int] | None:
    """The keys of the features in sparse tuples, or None if they are written as one number or two."""
    if tuple(names) in ((), SINGLE, PAIR):
        return None
    numbered = [int(match[1]) for name in names if (match := _NUMBERED.fullmatch(name))]
    return numbered if len(numbered) == len(names) else list(range(1, len(names) + 1))


def _weight(costs: list[float], keys: list[int] | None, *, zeros: bool = False) -> str:
    if keys is None:
        return ",".join(map(repr, costs))
    pairs = [f"{key},{cost!r}" for key, cost in zip(keys, costs, strict=True) if cost or zeros]
    return ",".join(["0", *pairs])
