"""Lattices in HTK's standard lattice format (SLF), one a file; words on nodes (PocketSphinx) or on links (HTK, Kaldi).

``a=`` becomes the feature acoustic, ``l=`` language, ``n=`` ngram, ``r=`` pronunciation, ``ds=`` duration; any other
field of links with numbers in it keeps its name. They are log-likelihoods, converted to natural logarithms if
``base=`` says so. The feature words counts the words that are put out. Scales and penalties of the header are no
features: they are what is to be tuned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.slf_reading import read_file
from hulltune.formats.slf_writing import write_slf

__all__ = ["looks_like", "read_slf", "write_slf"]

_HEAD = re.compile(rb"^(?:VERSION|V)=\S+\s|^(?:NODES|N)=[0-9]+\s+(?:LINKS|L)=[0-9]+\s", flags=re.MULTILINE)


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so is in this format."""
    return b"\0" not in head and _HEAD.search(head) is not None


def read_slf(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The lattice of a file, named by its UTTERANCE; linear in its size."""
    yield read_file(path, options, vocabulary)
