"""The sentence of each forest: by its place, by a number in a name, or by a file of names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path as FilePath

from hulltune.data.dataset import Member, last_number, number_in_name
from hulltune.errors import InputError
from hulltune.formats.forest_files import NamedForest, Path
from hulltune.formats.found_files import FoundFile
from hulltune.formats.streams import Source, open_bytes, without_suffix


class SentenceNames:
    """The sentence of each forest, found by its place, its name or a file of names: ``ids`` of ``read``."""

    def __init__(self, ids: str | os.PathLike[str]) -> None:
        self._ids = os.fspath(ids)
        self.listed = None if self._ids in ("order", "name", "name1") else ListedNames(ids)
        self.kind = self._ids if self.listed is None else "name"
        self._first = 0
        self._position = -1

    def sentence(self, file: FoundFile, forest: NamedForest, count: int) -> int:
        """The sentence of the next forest, one of ``count`` in its file."""
        if file.first != self._first:
            self._first, self._position = file.first, -1
        self._position += 1
        if self.listed is not None:
            return file.first + self._line(file.source, forest, count, self.listed)
        if self._ids == "order":
            return file.first + self._position
        return file.first + self._number(file.source.name, forest, count)

    def _number(self, name: str, forest: NamedForest, count: int) -> int:
        """The sentence by the number in the name of a file or, if that has several forests, of a forest."""
        own = last_number(forest.name or "")
        of_file = number_in_name(name)
        number = own if count > 1 or of_file is None else of_file
        if number is None:
            if count > 1:
                raise InputError(
                    f"{name}: {count} forests, of which one has no number in its name ({forest.name!r}); "
                    "use --ids order"
                )
            raise InputError(f"{name}: no number in the name of the file to tell its sentence by; use --ids order")
        if self._ids == "name1":
            if number == 0:
                raise InputError(f"{name}: sentence 0, but --ids name1 counts from 1; use --ids name")
            number -= 1
        return number

    def _line(self, file: Source, forest: NamedForest, count: int, listed: ListedNames) -> int:
        """The line with the name of a forest or of its file."""
        stem = without_suffix(FilePath(file)).stem
        names = [forest.name] if count > 1 else [stem, FilePath(file).name, forest.name]
        place = listed.place(names)
        if place is None:
            name = forest.name if count > 1 else stem
            raise InputError(f"{file.name}: {self._ids} has no line for {name!r}; expected the names of all forests")
        return place


class ListedNames:
    """The lines of a file of names: a name is the first word of a line, or all of it (a name with blanks)."""

    def __init__(self, path: Path) -> None:
        self._file = os.fspath(path)
        with open_bytes(path) as stream:
            lines = [line.strip() for line in stream.read().decode("utf-8", errors="replace").splitlines()]
        self._count = len(lines)
        self._places: dict[str, list[int]] = {}
        for number, line in enumerate(lines):
            if not line:
                raise InputError(f"{self._file}:{number + 1}: an empty line; expected the name of a forest")
            for name in {line, line.split()[0]}:
                self._places.setdefault(name, []).append(number)

    def __len__(self) -> int:
        return self._count

    def place(self, names: Sequence[str | None]) -> int | None:
        """The line, from 0, of the first of these names that there is, or None. Names on several lines tell nothing."""
        found = [(name, self._places[name]) for name in names if name is not None and name in self._places]
        place = next((places[0] for _, places in found if len(places) == 1), None)
        if place is None and found:
            name, (first, second, *_) = found[0]
            raise InputError(f"{self._file}:{second + 1}: {name!r} again, after line {first + 1}")
        return place


def member_of(file: FoundFile, name: str | None) -> Member:
    """The origin of a forest. Numbers in a part become numbers of the whole, so that references find them."""
    path = file.source.name
    if not file.first:
        return Member(path, name)
    if without_suffix(FilePath(path)).stem.isdigit():
        path = os.path.dirname(path)
    return Member(path, f"{int(name) + file.first}" if name is not None and name.isdigit() else name)
