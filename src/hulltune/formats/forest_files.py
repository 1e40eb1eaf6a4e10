"""What every reader of forests takes and gives, whatever the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary

Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class NamedForest:
    """A forest of a file, and its name there (an utterance id, a sentence number), if the format has one.

    Feature names may differ from forest to forest; who makes a corpus of them takes the union.
    """

    forest: Forest
    name: str | None = None
    model: Mapping[str, float] | None = field(default=None, repr=False)
    """The weights by which the decoder ranks, where the file itself has them (the scales in a header of SLF)."""


@dataclass(frozen=True)
class ForestOptions:
    """How forests are read. What is None follows the convention of the format (docs/formats.md)."""

    negate: bool | frozenset[str] | None = None
    """Whether features change their sign (costs become scores): all, none, or those named."""
    drop: frozenset[str] | None = None
    """Words that are not output: marks of sentence ends, silence, fillers, epsilon."""
    symbols: Path | None = None
    """A table of words, for formats that may have numbers in their place."""


ForestReader = Callable[[Path, ForestOptions, Vocabulary], Iterator[NamedForest]]
"""Reads the forests of a file in order; their words get numbers of the vocabulary."""
