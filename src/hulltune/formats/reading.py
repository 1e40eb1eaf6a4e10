"""What the options of ``read`` mean to readers: which of them suit the data, and what readers take from them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, Path
from hulltune.formats.records import Columns
from hulltune.formats.rows import RowCollector
from hulltune.memory import memory_left, size_text
from hulltune.names import FOREST_FEATURES
from hulltune.options import Reading

COLUMNS = ("id_column", "text_column", "ref_column", "source_column", "ignore")
"""The options that say what columns mean."""
WITH_COLUMNS = ("csv", "tsv", "parquet", "jsonl")
"""The formats of lists that have columns or keys with names."""


class OptionError(InputError):
    """An option that does not apply to the data that are read: its name and the reason."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option, self.reason = option, reason


@dataclass(frozen=True)
class Part:
    """Files with a part of all sentences: id n, or the place n where the order tells, is sentence ``first + n``."""

    paths: tuple[Path, ...]
    first: int = 0


def columns_of(reading: Reading) -> Columns:
    """The columns with a meaning of their own."""
    return Columns(
        id=reading.id_column,
        text=reading.text_column,
        ref=tuple(reading.ref_column),
        source=reading.source_column,
        ignore=tuple(reading.ignore),
    )


def forest_options_of(reading: Reading) -> ForestOptions:
    """The options for readers of forests."""
    negate = reading.negate
    return ForestOptions(
        negate=negate if negate is None or isinstance(negate, bool) else frozenset(negate),
        drop=None if reading.drop is None else frozenset(reading.drop),
        symbols=reading.symbols,
    )


def collector_of(reading: Reading) -> RowCollector:
    """A collector of hypotheses for readers of lists."""
    return RowCollector(missing=reading.missing, columns=columns_of(reading))


def check_for_lists(reading: Reading) -> None:
    """Refuse options for forests."""
    for name in ("ids", "negate", "drop", "symbols"):
        if name in reading.given:
            raise OptionError(name, "is for forests, and these are lists; leave it out")


def check_for_forests(reading: Reading) -> None:
    """Refuse options for lists."""
    for name in ("add", "on_error", *COLUMNS):
        if name in reading.given:
            raise OptionError(name, "is for lists; forests are read as they are, whole or not at all")
    for name in reading.features:
        if name not in FOREST_FEATURES:
            raise OptionError("features", f"{name} is for lists; forests take {', '.join(FOREST_FEATURES)}")


def check_for_columns(reading: Reading, formats: Collection[str]) -> None:
    """Refuse names of columns for lists that have none."""
    for name in formats:
        if name not in WITH_COLUMNS:
            for option in columns_of(reading).named:
                raise OptionError(option, f"is for tables and JSON lines, and this is {name}; leave it out")


def check_for_memory(reading: Reading, what: str, *names: str) -> None:
    """Refuse all options but these for ``what``, which comes from memory and no file."""
    for name in reading.given:
        if name not in (*names, "threads"):
            raise OptionError(name, f"is for files, and this is {what}")


@contextmanager
def sizes_told(source: Any) -> Iterator[None]:
    """Turn a lack of memory into an InputError that tells the size of the source."""
    try:
        yield
    except MemoryError:
        raise InputError(_does_not_fit(source)) from None


def _does_not_fit(source: Any) -> str:
    """The message for a source that does not fit into memory, with its size if it has one."""
    paths = [source] if isinstance(source, (str, os.PathLike)) else source if isinstance(source, (list, tuple)) else []
    names = [os.fspath(path) for path in paths if isinstance(path, (str, os.PathLike))]
    size = sum(os.path.getsize(name) for name in names if os.path.isfile(name))
    what = (
        f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''} ({size_text(size)} as stored)"
        if names
        else "the data"
    )
    left = memory_left()
    room = "" if left is None else f" ({size_text(left)} is left)"
    return f"{what}: out of memory while reading{room}; use a part of it, more memory, or float32 features"
