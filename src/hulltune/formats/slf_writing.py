"""Lattices written in HTK's standard lattice format: words on links, one lattice a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import numpy as np

from hulltune.data.forest import Forest
from hulltune.errors import InputError
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.lattice_writing import PlainLattice, plain_lattice, write_each
from hulltune.formats.slf_reading import FEATURE_OF_KEY, NULL, RESERVED_KEYS, WORDS

_KEY_OF_FEATURE = {name: key for key, name in reversed(FEATURE_OF_KEY.items())}
_UNSAFE = re.compile(r"[\s\\\"]|^'|'$|\((?=[0-9]+\)$)")


def write_slf(path: str | os.PathLike[str], forests: Iterable[NamedForest]) -> None:
    """Write a lattice to a file, or several into a folder (``name.slf``); see docs/speech-formats.md.

    The feature words is not written where it counts the words, as readers count them; other features whose name is not
    among those of SLF are written under their own name. Floats are written so that they are read back to the bit.
    """
    write_each(path, forests, ".slf", _text)


def _text(named: NamedForest) -> str:
    forest = named.forest
    lattice = plain_lattice(forest, final_weights=False)
    keys = [_key(name) for name in forest.feature_names]
    values = forest.features.toarray()
    columns = [column for column in range(len(keys)) if not _counts_words(forest, lattice, values, column)]
    lines = ["VERSION=1.0"]
    if named.name is not None:
        lines.append(f"UTTERANCE={_quoted(named.name)}")
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


def _key(name: str) -> str:
    key = _KEY_OF_FEATURE.get(name, name)
    if name in RESERVED_KEYS or (name in FEATURE_OF_KEY and FEATURE_OF_KEY[name] != name) or not name:
        raise InputError(f"a feature cannot be named {name!r} in SLF, where that is another field; rename it")
    if re.search(r"[\s=\"]", name):
        raise InputError(f"a feature cannot be named {name!r} in SLF, where blanks, quotes and '=' divide fields")
    return key


def _counts_words(forest: Forest, lattice: PlainLattice, values: np.ndarray, column: int) -> bool:
    """Whether a column is what readers make of the words themselves."""
    if forest.feature_names[column] != WORDS:
        return False
    words = np.zeros(forest.edges)
    edge = -1
    for arc in lattice.arcs:
        edge = arc.edge if arc.edge >= 0 else edge
        words[edge] += arc.word is not None
    return bool(np.array_equal(values[:, column], words))


def _escaped(word: str) -> str:
    """A word as one field: blanks, quotes and what looks like a pronunciation variant as octal numbers."""
    return _UNSAFE.sub(lambda match: "".join(f"\\{ord(character):03o}" for character in match[0]), word)


def _quoted(name: str) -> str:
    if '"' in name or "\n" in name or "\r" in name:
        raise InputError(f"an utterance cannot be named {name!r} in SLF; expected no quotes and line ends")
    return f'"{name}"' if re.search(r"\s", name) or not name else name
