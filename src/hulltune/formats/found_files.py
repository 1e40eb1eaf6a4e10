"""The files of names, patterns and folders, each with its format."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.forest_files import Path
from hulltune.formats.packed import LISTS, packed_kind
from hulltune.formats.records import Columns
from hulltune.formats.registry import ENOUGH, recognised_forests, sniff, sniff_folder
from hulltune.formats.streams import Source, names_in, suffix_of
from hulltune.names import FOREST_FORMATS
from hulltune.threads import Workers

AMBIGUOUS = "openfst-text"
"""The format of forests that any columns of numbers look like."""
LOOKED_AT = 32
"""Files of a folder that are opened, to see their format, as one part of the work."""
NUMBERS = re.compile("([0-9]+)")
KEPT_OPEN = 64
"""This many files stay open from the look at their format to their reading; others are opened twice."""


@dataclass(frozen=True)
class FoundFile:
    """A file to be read, and its format."""

    source: Source
    format: str
    first: int = 0
    """The sentence that the ids of the file count from."""

    @property
    def has_forests(self) -> bool:
        """Whether the file holds forests rather than lists."""
        if self.format == "packed":
            return packed_kind(self.source.head()) != LISTS
        return self.format in FOREST_FORMATS


@dataclass
class FoundFiles:
    """The files of all names, patterns and folders, in order."""

    format: str | None
    columns: Columns
    threads: int
    found: list[FoundFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _opened: list[Source] = field(default_factory=list)
    _first: int = 0

    def add(self, path: Path, first: int = 0) -> None:
        """Add a file, the files that match a pattern, or those of a folder, whose ids count from ``first``."""
        self._first = first
        matching = matching_files(path)
        for match in matching:
            source = self._source(match)
            if os.path.isdir(match):
                names = names_in(FilePath(match))
                kind = self.format or sniff_folder(FilePath(match), *names)
                is_of_forests = matching == [path] and (kind in FOREST_FORMATS or kind == "packed")
            else:
                kind, is_of_forests = self.format or sniff(source, self.columns), False
            if is_of_forests:
                self._add_folder(FilePath(path), *names)
            else:
                self._take(source, kind)

    def close(self) -> None:
        """Close the files that were opened and not read to their ends."""
        for source in self._opened:
            source.close()

    def _source(self, path: Path) -> Source:
        self._opened.append(Source(path))
        return self._opened[-1]

    def _take(self, source: Source, kind: str) -> None:
        self.found.append(FoundFile(source, kind, self._first))
        if len(self.found) > KEPT_OPEN:
            source.let_go()

    def _add_folder(self, folder: FilePath, files: Sequence[str], folders: Sequence[str]) -> None:
        start = os.fspath(folder / "-")[:-1]
        sources = [self._source(start + name) for name in sorted(files, key=natural_key)]
        formats = self._formats(sources)
        if set(formats) - {None, AMBIGUOUS}:  # beside other forests it may be a file of references with numbers
            formats = [None if kind == AMBIGUOUS else kind for kind in formats]
        suffixes: set[str] = set()
        if None in formats:
            suffixes = {suffix_of(file.name) for file, kind in zip(sources, formats, strict=True) if kind}
        self.left_out += [f"{start}{name}/" for name in sorted(folders, key=natural_key)]
        for source, kind in zip(sources, formats, strict=True):
            if kind is not None:
                self._take(source, kind)
            elif suffix_of(source.name) in suffixes - {""}:
                raise InputError(
                    f"{source.name}: cannot tell the format, but its name ends like those of the forests beside it; "
                    "if it is none, give the forests by a pattern"
                )
            else:
                source.let_go()
                self.left_out.append(source.name)

    def _formats(self, sources: Sequence[Source]) -> list[str | None]:
        """The format of each file beside forests; threads share the files, which are opened."""
        if self.format:
            return [self.format] * len(sources)

        def of_some(first: int) -> list[str | None]:
            some = range(first, min(first + LOOKED_AT, len(sources)))
            return [_sniff_in_folder(sources[k], keep=k < KEPT_OPEN) for k in some]

        found = Workers(self.threads).map(of_some, range(0, len(sources), LOOKED_AT))
        return [kind for some in found for kind in some]


def _sniff_in_folder(source: Source, *, keep: bool) -> str | None:
    """The format of a file beside forests, or None: one of forests, or moses, which looks like nothing else."""
    first = source.head(ENOUGH)
    if not keep:
        source.let_go()
    found = recognised_forests(first)
    if found is None and b"|||" in first.split(b"\n", 1)[0]:
        return "moses"
    return found


def matching_files(path: Path) -> list[Path]:
    """The files that match a pattern, in natural order; a name that is no pattern stays as it is."""
    name = os.fspath(path)
    if not glob.has_magic(name) or os.path.exists(name):
        return [path]
    found: list[Path] = [*sorted((match for match in glob.glob(name) if os.path.isfile(match)), key=natural_key)]
    if not found:
        raise InputError(f"{name}: no file matches this pattern")
    return found


def natural_key(name: Path) -> list[Any]:
    """A sort key for names that orders the numbers in them by value."""
    parts: list[Any] = NUMBERS.split(os.fspath(name))  # texts, which may be empty, with a number between each two
    parts[1::2] = [(int(number), number) for number in parts[1::2]]
    return parts
