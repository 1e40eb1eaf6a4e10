"""References by sentence, from plain text files with a line a sentence, or from texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from hulltune.data.dataset import References
from hulltune.errors import InputError
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.wording import counted

__all__ = ["References", "ReferencesLike", "as_references", "read_references"]

ReferencesLike: TypeAlias = (
    str | os.PathLike[str] | Sequence[str] | Sequence[os.PathLike[str]] | Sequence[Sequence[str]] | None
)
"""The name of a file (several as Path objects), a text for each sentence, or a sequence of texts for each."""


def read_references(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> References:
    """The references of every sentence, one from each file. A blank line is an empty reference; linear."""
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not files:
        raise InputError("references: expected at least one file, got none")
    columns = [[text.strip() for _, text in numbered_lines(file, Problems())] for file in files]
    for file, column in zip(files, columns, strict=True):
        if not column:
            raise InputError(f"{os.fspath(file)}: the file is empty; expected a reference a line")
        if len(column) != len(columns[0]):
            raise InputError(
                f"{os.fspath(file)} has {counted(len(column), 'line')}, but {os.fspath(files[0])} has "
                f"{len(columns[0])}; expected as many, line i of each for sentence i"
            )
    return tuple(zip(*columns, strict=True))


def as_references(references: ReferencesLike) -> References | None:
    """References by sentence. A list of strings is texts; several files are given as Path objects."""
    if references is None:
        return None
    if isinstance(references, (str, os.PathLike)):
        return read_references(references)
    items: list[Any] = list(references)
    if not items:
        raise InputError("references: expected a text for each sentence, got an empty sequence")
    if all(isinstance(item, os.PathLike) for item in items):
        return read_references(items)
    if all(isinstance(item, str) for item in items):
        if len(items) < 10 and all(os.path.isfile(item) for item in items):
            raise InputError(
                "references: a list of strings is a text for each sentence, but these are names of files; "
                "give several files as pathlib.Path objects"
            )
        return tuple((text,) for text in items)
    for sentence, texts in enumerate(items):
        if isinstance(texts, str) or not (isinstance(texts, Iterable) and all(isinstance(text, str) for text in texts)):
            raise InputError(f"references: sentence {sentence} has {texts!r}; expected a sequence of texts")
    return tuple(tuple(texts) for texts in items)
