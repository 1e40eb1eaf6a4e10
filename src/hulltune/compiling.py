"""Announcements of kernels that are about to be compiled, for progress displays. Numba is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

listeners: list[Callable[[str], None]] = []
"""Functions that ``kernels._jit`` calls with the name of each kernel before it is compiled."""


@contextmanager
def told_of_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` with the name of each kernel that is compiled inside this context, just before it is.

    Most runs never call it: compiled kernels are kept on disk.
    """
    listeners.append(tell)
    try:
        yield
    finally:
        listeners.remove(tell)
