"""Packed files; data/packed.py has their layout and checks."""

from __future__ import annotations

import os
from contextlib import closing

from hulltune.data.dataset import Dataset
from hulltune.data.packed import VERSION, Packed, packed_kind, write_packed
from hulltune.formats.streams import Source
from hulltune.formats.writing import written_atomically

__all__ = ["VERSION", "looks_like", "open_packed", "pack", "verify_packed"]


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a packed file."""
    return packed_kind(head) is not None


def open_packed(path: str | os.PathLike[str]) -> Dataset:
    """The dataset of a packed file, whose features and texts are read when they are needed; from a pipe or compressed
    file at once.

    >>> from hulltune.formats import open_packed, pack
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> pack(task.lists, "dev.hull")
    >>> len(open_packed("dev.hull"))
    20
    """
    return _packed(path).dataset()


def verify_packed(path: str | os.PathLike[str]) -> None:
    """Raise InputError if any byte of a packed file is not as it was written.

    >>> from hulltune.formats import pack, verify_packed
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> pack(task.lists, "dev.hull")
    >>> verify_packed("dev.hull")
    """
    _packed(path).verify()


def _packed(path: str | os.PathLike[str]) -> Packed:
    source = path if isinstance(path, Source) else Source(path)
    with closing(source):
        return Packed(source.content(), source.name)


def pack(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset as a packed file; it appears complete or not at all.

    >>> from hulltune.formats import open_packed, pack
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> pack(task.lists, "dev.hull")
    >>> open_packed("dev.hull")
    Dataset(lists: 20 sentences, 200 hypotheses, 6 features)
    """
    with written_atomically(path) as file:
        write_packed(dataset, file)
