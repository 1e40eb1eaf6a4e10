"""Reference files: plain text, a line a sentence; several files give several references for each."""

from __future__ import annotations

import os
from collections.abc import Iterable

from hulltune.errors import InputError
from hulltune.formats.candidates import CandidateLists
from hulltune.formats.problems import Problems
from hulltune.formats.streams import numbered_lines
from hulltune.wording import counted

References = tuple[tuple[str, ...], ...]


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


def match_references(lists: CandidateLists, references: References | None = None) -> tuple[CandidateLists, References]:
    """Lists and references with sentence i in both at place i; from the lists themselves where none are given.

    Reference line i is for id i (or, where ids are no numbers, for the i-th id). A sentence without hypotheses stays,
    with an empty list; a sentence without a reference is an error.
    """
    if references is not None:
        return lists.aligned_to(len(references)), references
    if lists.references is None:
        raise InputError("no references: the lists carry none, and no reference file was given")
    for sentence, texts in enumerate(lists.references):
        if not texts and lists.offsets[sentence + 1] > lists.offsets[sentence]:
            raise InputError(f"sentence {lists.ids[sentence]!r} has hypotheses but no reference")
    return lists, lists.references
