"""Lattices written in OpenFst's text format, for fstcompile: one FST a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from hulltune.errors import InputError
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.fst_binary import PAIR, SINGLE
from hulltune.formats.fst_text import EPSILON, is_number
from hulltune.formats.lattice_writing import plain_lattice, write_each

_NUMBERED = re.compile(r"f([1-9][0-9]{0,8})")


def write_openfst_text(path: str | os.PathLike[str], forests: Iterable[NamedForest]) -> None:
    """Write a lattice as an acceptor to a file, or several into a folder (``name.txt``); see docs/speech-formats.md.

    Weights are costs, the negated features: one number for the feature score, a pair for score_0 and score_1, and a
    sparse tuple ``0,key,value,…`` for any others, whose key is k if they are named f1, f2, …, or their place from 1.
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
    nothing = "0" if "0" not in words and all(map(is_number, words)) else EPSILON
    if "0" in words and all(map(is_number, words)) and all(arc.word is not None for arc in lattice.arcs):
        raise InputError("all labels are numbers, so that the word '0' would be epsilon; expected another word too")
    lines: list[str] = []
    for source, target, word, edge in lattice.arcs:
        label = nothing if word is None else _label(word, nothing)
        lines.append(f"{source}\t{target}\t{label}\t{weights[edge] if edge >= 0 else no_weight}")
    lines += [f"{state}\t{weights[edge] if edge >= 0 else no_weight}" for state, edge in lattice.finals.items()]
    if keys is not None:  # the first weight names all features, also those that are 0 everywhere
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
