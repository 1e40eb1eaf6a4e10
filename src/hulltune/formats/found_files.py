"""The files of names, patterns and folders, each with its format."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Finder:
    """Finds the files of names, patterns and folders, in order."""

    format: str | None
    """The format of all of them; None where their content tells it."""
    columns: Columns
    threads: int

    def find(self, path: Path, first: int = 0) -> tuple[list[FoundFile], list[str]]:
        """The files of a name, those that match a pattern or those of a folder, whose ids count from ``first``; and
        what is left out of a folder.
        """
        found: list[FoundFile] = []
        for match in (matching := matching_files(path)):
            source = Source(match)
            if not os.path.isdir(match):
                found.append(FoundFile(source, self.format or sniff(source, self.columns), first))
                continue
            files, folders = names_in(FilePath(match))
            kind = self.format or sniff_folder(FilePath(match), files, folders)
            if matching == [path] and (kind in FOREST_FORMATS or kind == "packed"):
                start = os.fspath(FilePath(path) / "-")[:-1]
                sources = [Source(start + name) for name in sorted(files, key=natural_key)]
                formats = self._beside_forests(sources)
                pairs = list(zip(sources, formats, strict=True))
                found = [FoundFile(one, its_format, first) for one, its_format in pairs if its_format is not None]
                left_out = [one.name for one, its_format in pairs if its_format is None]
                return found, [*(f"{start}{name}/" for name in sorted(folders, key=natural_key)), *left_out]
            found.append(FoundFile(source, kind, first))
        return found, []

    def _beside_forests(self, sources: Sequence[Source]) -> list[str | None]:
        """The format of each file of a folder of forests, None for one to be left out; threads share the files."""
        if self.format:
            return [self.format] * len(sources)
        shares = [sources[first : first + LOOKED_AT] for first in range(0, len(sources), LOOKED_AT)]
        found = Workers(self.threads).map(lambda some: list(map(_sniff_in_folder, some)), shares)
        formats = [kind for some in found for kind in some]
        if set(formats) - {None, AMBIGUOUS}:  # beside other forests it may be a file of references with numbers
            formats = [None if kind == AMBIGUOUS else kind for kind in formats]
        if None in formats:
            suffixes = {suffix_of(file.name) for file, kind in zip(sources, formats, strict=True) if kind} - {""}
            for file, kind in zip(sources, formats, strict=True):
                if kind is None and suffix_of(file.name) in suffixes:
                    raise InputError(
                        f"{file.name}: cannot tell the format, but its name ends like those of the forests beside it; "
                        "if it is none, give the forests by a pattern"
                    )
        return formats


def _sniff_in_folder(source: Source) -> str | None:
    """The format of a file beside forests, or None: one of forests, or moses, which looks like nothing else."""
    first = source.head(ENOUGH)
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
