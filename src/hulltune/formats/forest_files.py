"""The types that every reader of forests takes and returns, whatever the format."""

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

    Feature names may differ from forest to forest; a corpus has their union.
    """

    forest: Forest
    name: str | None = None
    model: Mapping[str, float] | None = field(default=None, repr=False)
    """The weights by which the decoder ranked, where the file has them (the scales in a header of SLF)."""
    notes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the caller should know of the file, each with an example."""


@dataclass(frozen=True)
class ForestOptions:
    """Options for reading forests. None stands for the convention of the format (docs/formats.md)."""

    negate: bool | frozenset[str] | None = None
    """The features that change their sign (costs become scores): all, none, or those named."""
    drop: frozenset[str] | None = None
    """Words that are not output: marks of sentence ends, silence, fillers, epsilon."""
    symbols: Path | None = None
    """A table of words, for formats that may have numbers in their place."""


ForestReader = Callable[[Path, ForestOptions, Vocabulary], Iterator[NamedForest]]
"""A function that reads the forests of a file in order and numbers their words in the vocabulary."""
