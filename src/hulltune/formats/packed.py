"""Packed files, opened by memory map: their layout and what is checked of them is in data/packed.py."""

from __future__ import annotations

import os
from contextlib import closing

from hulltune.data.dataset import Dataset
from hulltune.data.packed import VERSION, Packed, packed_kind, write_packed
from hulltune.formats.streams import Source, written_atomically

__all__ = ["VERSION", "looks_like", "open_packed", "pack", "verify_packed"]


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a packed file."""
    return packed_kind(head) is not None


def pack(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset as a packed file; it appears complete or not at all."""
    with written_atomically(path) as file:
        write_packed(dataset, file)


def open_packed(path: str | os.PathLike[str]) -> Dataset:
    """The dataset of a packed file: its pages are read when they are needed. A pipe, or a compressed file, is read
    at once.
    """
    return _packed(path).dataset()


def verify_packed(path: str | os.PathLike[str]) -> None:
    """Raise InputError unless every byte of a packed file is as it was written."""
    _packed(path).verify()


def _packed(path: str | os.PathLike[str]) -> Packed:
    source = path if isinstance(path, Source) else Source(path)
    with closing(source), source.mapped() as memory:
        return Packed(memory, source.name)
