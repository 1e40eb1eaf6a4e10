"""Word of kernels that have to be compiled, for those who show how a run is going. Numba is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

listeners: list[Callable[[str], None]] = []
"""Who is told the name of each kernel before it is compiled; ``kernels._jit`` calls them."""


@contextmanager
def told_of_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` with the name of each kernel that is compiled in here, before it is: most runs find all of them
    compiled.
    """
    listeners.append(tell)
    try:
        yield
    finally:
        listeners.remove(tell)
