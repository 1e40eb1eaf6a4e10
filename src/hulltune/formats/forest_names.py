"""The sentence of each forest: by its place, by a number in a name, or by a file of names."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path as FilePath

from hulltune.data.dataset import Member, number_in_name
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
        own = _last_number(forest.name or "")
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
            self._lines = [line.strip() for line in stream.read().decode("utf-8", errors="replace").splitlines()]
        if "" in self._lines:
            number = self._lines.index("") + 1
            raise InputError(f"{self._file}:{number}: an empty line; expected the name of a forest")
        self._whole: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._fault: InputError | None = None
        """The first word that two lines begin with: a fault unless names have blanks, and are whole lines."""
        for number, line in enumerate(self._lines):
            word = line.split()[0]
            first = self._words.setdefault(word, number)
            if first != number:
                again = InputError(f"{self._file}:{number + 1}: {word!r} again, after line {first + 1}")
                if line in self._whole:
                    raise again
                self._fault = self._fault or again
            self._whole[line] = number

    def __len__(self) -> int:
        return len(self._lines)

    def place(self, names: Sequence[str | None]) -> int | None:
        """The line, from 0, of the first of these names that there is, or None."""
        for name in names:
            if name is not None and name in self._whole and " " in name:
                return self._whole[name]
        if self._fault is not None:
            raise self._fault
        return next((self._words[name] for name in names if name in self._words), None)


def _last_number(name: str) -> int | None:
    numbers = re.findall(r"[0-9]+", name)
    return int(numbers[-1]) if numbers else None


def member_of(file: FoundFile, name: str | None) -> Member:
    """The origin of a forest. Numbers in a part become numbers of the whole, so that references find them."""
    path = file.source.name
    if not file.first:
        return Member(path, name)
    if without_suffix(FilePath(path)).stem.isdigit():
        path = os.path.dirname(path)
    return Member(path, f"{int(name) + file.first}" if name is not None and name.isdigit() else name)
