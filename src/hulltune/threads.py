"""Threads that share the parts of a work. They live as long as the process, so that a call in them costs microseconds.

Nothing here waits for a lock of Python's: an interrupt may come at any point and leaves none behind.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from hulltune.arrays import as_whole
from hulltune.errors import InputError, check_most
from hulltune.names import MOST_THREADS

PATIENCE = 2.0
"""Seconds to wait after an interrupt for threads that work."""

_Part = TypeVar("_Part")
_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")


class Workers:
    """So many threads that share the parts of a work, by default one for each CPU; the calling thread is one of them.

    A thread that is done with a part takes the next one. The calling thread does all parts by itself if no other is
    free: calls may be nested, and many threads may make them.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.count = check_threads(threads)

    def map(self, call: Callable[[_Part], _Answer], parts: Iterable[_Part]) -> list[_Answer]:
        """The answer of ``call`` to each part, in order.

        After an error no further part is begun; the error of the first part that has one is raised once no thread works
        on any.
        """
        parts = list(parts)
        helpers = min(self.count, len(parts)) - 1
        if helpers < 1:
            return [call(part) for part in parts]
        work = Work(call, parts)
        _pool.have(helpers)
        for _ in range(helpers):
            _pool.calls.put(work.help)
        return work.finish()

    def begin(self, call: Callable[[_Part], _Answer], parts: Iterable[_Part], at_once: int = 1) -> Work[_Part, _Answer]:
        """Begin a work of which other threads do up to ``at_once`` parts at a time, while the calling one waits.

        There are threads for these parts even if other works that were begun keep some busy, and ``count`` of them at
        least. None of them waits for another one: a thread that finds no part left helps wherever else parts are taken.
        """
        work = Work(call, parts, at_once)
        _pool.have(_pool.busy + max(self.count, work.busy))
        _pool.busy += work.busy
        for _ in range(work.busy):
            _pool.calls.put(work.help)
        return work


def check_threads(threads: int | None) -> int:
    """The number of threads, by default that of the CPUs."""
    if threads is None:
        return available_cpus()
    number = as_whole(threads)
    if number is None or number < 1:
        raise InputError(f"threads: expected a positive number, got {threads!r}")
    check_most("threads", number, MOST_THREADS)
    return number


def available_cpus() -> int:
    """The CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


ALONE = Workers(1)
"""The calling thread, without any other."""


class Inbox(Generic[_Item]):
    """Items that other threads put, for one thread to take.

    ``SimpleQueue.get`` with a time limit may wait for ever: if a signal comes just before the time is up, Python (3.12
    and earlier) goes on with a negative time, which means none. Locks do not.
    """

    def __init__(self) -> None:
        self._items: SimpleQueue[_Item] = SimpleQueue()
        self._news = threading.Lock()
        self._news.acquire()

    def put(self, item: _Item) -> None:
        """Put an item, and wake the thread that waits for it."""
        self._items.put(item)
        try:
            self._news.release()
        except RuntimeError:  # released before: the thread that takes will see this item, too
            return

    def take(self, seconds: float | None = None) -> _Item:
        """The next item; Empty if none comes within so many seconds."""
        if seconds is None:
            return self._items.get()
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            try:
                return self._items.get_nowait()
            except Empty:
                if left <= 0.0:
                    raise
            self._news.acquire(timeout=left)


class Work(Generic[_Part, _Answer]):
    """Parts of a work, of which each is taken by one thread. ``busy`` threads of the pool are kept until it is done."""

    def __init__(self, call: Callable[[_Part], _Answer], parts: Iterable[_Part], at_once: int = 0) -> None:
        self._call, self._parts = call, list(parts)
        self._places = iter(range(len(self._parts)))  # one step of it is atomic
        self._answers: dict[int, _Answer] = {}
        self._errors: dict[int, BaseException] = {}
        self._ended: Inbox[None] = Inbox()
        self._waiting = len(self._parts)
        self.busy = min(at_once, len(self._parts))

    def help(self, *, own: bool = False) -> None:
        """Do parts as long as there are any left. Only the thread that waits for all counts its ``own`` ones itself."""
        for place in self._places:
            try:
                if not self._errors:
                    self._answers[place] = self._call(self._parts[place])
            except BaseException as error:
                self._errors[place] = error
            if own:
                self._waiting -= 1
            else:
                self._ended.put(None)

    def finish(self) -> list[_Answer]:
        """Do parts, wait for those that others do, and return all answers."""
        try:
            self.help(own=True)
            self.is_done()
        except BaseException as error:  # an interrupt between two parts, by which one of them may be lost
            self._errors[len(self._parts)] = error
            self.help(own=True)
            self.is_done(PATIENCE)
        return self.answers()

    def is_done(self, seconds: float | None = None) -> bool:
        """Whether all parts have ended; waits for it, up to so many seconds after the last one that has."""
        try:
            while self._waiting:
                self._ended.take(seconds)
                self._waiting -= 1
        except Empty:
            return False
        if self.busy:
            _pool.busy, self.busy = _pool.busy - self.busy, 0
        return True

    def answers(self) -> list[_Answer]:
        """The answers in order; all parts must have ended. Raises the error of the first part that has one."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._answers[place] for place in range(len(self._parts))]


class _Pool:
    """Threads that call what is put into ``calls``."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self.busy = 0
        """About how many threads are kept by works that were begun and have not been seen to end."""
        self._count = 0

    def have(self, count: int) -> None:
        """Start threads until there are so many."""
        while self._count < count:
            self._count += 1
            threading.Thread(target=self._run, name=f"hulltune-{self._count}", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.calls.get()()


def _replace_pool() -> None:
    global _pool
    _pool = _Pool()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_pool)  # a child has the pool of its parent, but not its threads
