"""The options of ``read`` as one object."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.errors import InputError, unknown_name
from hulltune.formats.builtin_features import check_builtin_features
from hulltune.formats.columns import Columns
from hulltune.formats.forest_files import ForestOptions, Path
from hulltune.formats.registry import get_format
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import Problems
from hulltune.memory import memory_left, size_text
from hulltune.names import FOREST_FEATURES, IDS


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


@dataclass(frozen=True)
class Reading:
    """Options for reading lists and forests, see ``read``. Those of one kind are refused for the other.

    >>> from pathlib import Path
    >>> from hulltune import Reading
    >>> _ = Path("dev.nbest").write_text("0 ||| a house ||| lm=-2 ||| -2")
    >>> Reading(format="moses", features=("words",)).read("dev.nbest").feature_names
    ('lm', 'words')
    """

    format: str | None = None
    missing: float | None = None
    ids: str | os.PathLike[str] = "order"
    negate: bool | Iterable[str] | None = None
    drop: Iterable[str] | None = None
    symbols: Path | None = None
    on_error: str = "raise"
    add: Sequence[tuple[Path, str]] = ()
    features: Sequence[str] = ()
    dtype: Any = np.float64
    id_column: str | None = None
    text_column: str | None = None
    ref_column: str | Sequence[str] = ()
    source_column: str | None = None
    ignore: str | Sequence[str] = ()
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.format is not None:
            get_format(self.format)
        if self.missing is not None and self.missing != 0:
            raise InputError(f"missing: got {self.missing!r}; expected None (a missing feature is an error) or 0")
        if self.ids not in IDS and not os.path.isfile(self.ids):
            raise unknown_name("way to count sentences (ids), and no file:", os.fspath(self.ids), IDS)
        if self.symbols is not None and not os.path.exists(self.symbols):
            raise InputError(f"{os.fspath(self.symbols)}: no such file; expected a table of words (symbols)")
        check_builtin_features(self.features)
        Problems(self.on_error)
        if np.dtype(self.dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise InputError(f"dtype: got {np.dtype(self.dtype)}; expected float64 or float32")
        for name in ("ref_column", "ignore"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        for name in ("negate", "drop", "add", "features", "ref_column", "ignore"):  # iterated over more than once
            value = getattr(self, name)
            if isinstance(value, Iterable) and not isinstance(value, (tuple, frozenset)):
                object.__setattr__(self, name, tuple(value))

    def read(self, source: Any) -> Dataset:
        """The dataset of a source; see ``read``."""
        from hulltune.formats.read import read_with

        try:
            return read_with(self, source)
        except MemoryError:
            raise InputError(_does_not_fit(source)) from None

    def read_parts(self, parts: Sequence[Part]) -> Dataset:
        """The dataset of all parts, which is that of one file with all their sentences."""
        from hulltune.formats.read import read_parts_with

        try:
            return read_parts_with(self, parts)
        except MemoryError:
            raise InputError(_does_not_fit([path for part in parts for path in part.paths])) from None

    def meaning(self) -> dict[str, Any]:
        """The options that change the words or features read, as JSON values."""
        return {
            "negate": self.negate if self.negate is None or isinstance(self.negate, bool) else sorted(self.negate),
            "drop": None if self.drop is None else sorted(self.drop),
            "symbols": None if self.symbols is None else os.path.abspath(self.symbols),
        }

    @property
    def columns(self) -> Columns:
        """The columns with a meaning of their own."""
        return Columns(
            id=self.id_column,
            text=self.text_column,
            ref=tuple(self.ref_column),
            source=self.source_column,
            ignore=tuple(self.ignore),
        )

    @property
    def forest_options(self) -> ForestOptions:
        """The options for readers of forests."""
        negate = self.negate
        return ForestOptions(
            negate=negate if negate is None or isinstance(negate, bool) else frozenset(negate),
            drop=None if self.drop is None else frozenset(self.drop),
            symbols=self.symbols,
        )

    def collector(self) -> RowCollector:
        """A collector of hypotheses for readers of lists."""
        return RowCollector(missing=self.missing, columns=self.columns)

    def check_for_lists(self) -> None:
        """Refuse options for forests."""
        for name in ("ids", "negate", "drop", "symbols"):
            if self._differs(name):
                raise OptionError(name, "is for forests, and these are lists; leave it out")

    def check_for_forests(self) -> None:
        """Refuse options for lists."""
        for name in ("add", "on_error", *COLUMNS):
            if self._differs(name):
                raise OptionError(name, "is for lists; forests are read as they are, whole or not at all")
        for name in self.features:
            if name not in FOREST_FEATURES:
                raise OptionError("features", f"{name} is for lists; forests take {', '.join(FOREST_FEATURES)}")

    def check_for_columns(self, formats: Collection[str]) -> None:
        """Refuse names of columns for lists that have none."""
        for name in formats:
            if name not in WITH_COLUMNS:
                for option in self.columns.named:
                    raise OptionError(option, f"is for tables and JSON lines, and this is {name}; leave it out")

    def check_for_memory(self, what: str, *names: str) -> None:
        """Refuse all options but these for ``what``, which comes from memory and no file."""
        for option in fields(self):
            if option.name not in (*names, "threads") and self._differs(option.name):
                raise OptionError(option.name, f"is for files, and this is {what}")

    def _differs(self, name: str) -> bool:
        if name == "dtype":
            return bool(np.dtype(self.dtype) != np.float64)
        return bool(getattr(self, name) != getattr(Reading, name))
