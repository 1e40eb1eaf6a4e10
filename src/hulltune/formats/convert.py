"""Lists and forests written in any format that can hold them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path as FilePath

import numpy as np

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, unknown_name
from hulltune.formats.candidates import CandidateLists
from hulltune.formats.forest_files import NamedForest, Path
from hulltune.formats.forest_set import ForestSet
from hulltune.formats.forest_text import write_forest_text
from hulltune.formats.jsonl import write_jsonl
from hulltune.formats.openfst_writing import write_openfst_text
from hulltune.formats.packed import pack
from hulltune.formats.packed_forests import pack_forests
from hulltune.formats.ranked import write_moses
from hulltune.formats.slf_writing import write_slf
from hulltune.formats.streams import without_suffix
from hulltune.names import WRITERS

_FOREST_WRITERS: dict[str, Callable[[Path, Iterable[NamedForest]], None]] = {
    "forest": write_forest_text,
    "openfst-text": write_openfst_text,
    "slf": write_slf,
}
_LIST_WRITERS: dict[str, Callable[[CandidateLists, Path], None]] = {"moses": write_moses, "jsonl": write_jsonl}
assert {"packed", *_LIST_WRITERS, *_FOREST_WRITERS} == set(WRITERS)
_BY_SUFFIX = {".hull": "packed", ".jsonl": "jsonl", ".nbest": "moses", ".moses": "moses", ".slf": "slf"}


def writer_for(path: Path, name: str | None) -> str:
    """The format to write: the one named, or the one that the name of the file tells."""
    if name is None:
        name = _BY_SUFFIX.get(without_suffix(FilePath(path)).suffix)
        if name is None:
            raise InputError(f"{os.fspath(path)}: its name does not tell a format; name one of {', '.join(WRITERS)}")
    if name not in WRITERS:
        raise unknown_name("format to write", name, WRITERS)
    return name


def write_as(data: CandidateLists | ForestSet, path: Path, name: str) -> None:
    """Write lists or forests in a format; each file appears complete or not at all.

    Forests do not become lists by writing: which of their derivations would be a choice (see kbest).
    """
    if name in _FOREST_WRITERS:
        named = named_forests(data) if isinstance(data, ForestSet) else forests_of_lists(data)
        _FOREST_WRITERS[name](path, named)
    elif isinstance(data, ForestSet):
        if name != "packed":
            raise InputError(
                f"--to {name}: is for lists, and these are forests, of which it would have to be told "
                "which derivations to write; see hulltune kbest"
            )
        pack_forests(data, path)
    elif name == "packed":
        pack(data, path)
    else:
        _LIST_WRITERS[name](data, path)


def named_forests(forests: ForestSet) -> Iterator[NamedForest]:
    """Each forest with the name it had in its file, if these differ for all sentences, and otherwise with its id."""
    names = [members[0].name if len(members) == 1 else None for members in forests.members]
    own = len(set(names)) == len(names) and None not in names
    for sentence, forest in enumerate(forests.corpus):
        yield NamedForest(forest, names[sentence] if own else str(forests.ids[sentence]))


def forests_of_lists(lists: CandidateLists) -> Iterator[NamedForest]:
    """Each list as a forest of one node, with its texts split at white space."""
    vocabulary = Vocabulary()
    for sentence, name in enumerate(lists.ids):
        first, last = int(lists.offsets[sentence]), int(lists.offsets[sentence + 1])
        forest = Forest.from_nbest(
            lists.texts[first:last],
            np.asfortranarray(lists.features[first:last]),
            feature_names=lists.feature_names,
            vocabulary=vocabulary,
        )
        yield NamedForest(forest, str(name))
