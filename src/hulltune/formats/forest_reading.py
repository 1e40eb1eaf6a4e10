"""Many files of forests at once, read by threads, or by processes where there is much to read.

Readers spend much of their time in Python, of which one thread at a time can run: two threads read a folder of lattices
1.1 times as fast as one, and more would be no help. So of several threads one reads, and each of the others hands files
to a process of its own, which takes a third of a second to start, and then reads as fast as this one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import stat
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from hulltune.arrays import Int32s
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, NamedForest
from hulltune.formats.packed import open_packed
from hulltune.formats.registry import reader
from hulltune.formats.streams import Source
from hulltune.threads import Workers

PER_PROCESS = 50 << 20
"""Bytes of files for which a process is worth its start: most of a second of reading."""
BATCH = 4 << 20
"""Bytes of files that are read as one part of the work, and share a vocabulary until all are read."""
PARTS_PER_THREAD = 4
LOOKED_AT = 128
"""Files whose sizes are asked for as one part of the work."""
COMMAND = (
    sys.executable,
    "-c",
    f"import sys; sys.path[:] = filter(None, sys.path); from {__name__} import main; main()",
)
"""The command of a process that reads. Python 3.10 looks for modules where it starts, whatever the environment says."""

PIPE = 1 << 20
"""Bytes that a pipe holds: the most that Linux grants to anybody. Of its usual 64 kB each is a switch of processes."""

FileAndFormat: TypeAlias = tuple[Source, str]


class _Part(NamedTuple):
    """Files to be read one after the other."""

    files: list[FileAndFormat]
    for_all: bool
    """Whether another process can read them as well. A pipe can be read only once, and a packed file is not read but
    opened.
    """


@dataclass(frozen=True)
class _Batch:
    """The forests of each of some files, and their words."""

    forests: list[list[NamedForest]]
    vocabulary: Vocabulary

    def renumbered(self, vocabulary: Vocabulary, numbers: Int32s) -> list[list[NamedForest]]:
        """The forests with the words of another vocabulary, which have these numbers there."""
        return [[self._renumbered(named, vocabulary, numbers) for named in forests] for forests in self.forests]

    def _renumbered(self, named: NamedForest, vocabulary: Vocabulary, numbers: Int32s) -> NamedForest:
        forest = named.forest
        if forest.vocabulary is not self.vocabulary:  # a packed file
            return named
        labels = np.where(forest.labels >= 0, numbers[np.maximum(forest.labels, 0)], forest.labels)
        return replace(named, forest=replace(forest, labels=labels, vocabulary=vocabulary))


def read_forest_files(
    files: Sequence[FileAndFormat], options: ForestOptions, vocabulary: Vocabulary, *, threads: int
) -> list[list[NamedForest]]:
    """The forests of each file. Words get the numbers that they would get if the files were read one after the other,
    whatever the number of threads.
    """
    looks = [files[first : first + LOOKED_AT] for first in range(0, len(files), LOOKED_AT)]
    workers = Workers(threads)
    found_sizes = workers.map(lambda some: [_size(source, form) for source, form in some], looks)
    sizes = [size for some in found_sizes for size in some]
    parts = _parts(files, sizes, threads)
    count = min(threads - 1, sum(filter(None, sizes)) // PER_PROCESS, sum(part.for_all for part in parts))
    with contextlib.closing(_Helpers(count)) as helpers:

        def read(part: _Part) -> _Batch:
            batch = helpers.read(part.files, options) if part.for_all else None
            return _read(part.files, options) if batch is None else batch

        found = workers.map(read, parts)
    numberings = [np.array([*vocabulary.ids(batch.vocabulary.tokens), 0], dtype=np.int32) for batch in found]
    renumbered = workers.map(lambda place: found[place].renumbered(vocabulary, numberings[place]), range(len(found)))
    return [forests for batch in renumbered for forests in batch]


def _size(source: Source, form: str) -> int | None:
    """The bytes of a file that another process can read as well; None for another file."""
    if form == "packed" or source.name == "-":
        return None
    try:
        status = os.stat(source.name)
    except OSError:
        return None  # a reader will say so
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _parts(files: Sequence[FileAndFormat], sizes: Sequence[int | None], threads: int) -> list[_Part]:
    """Files in their order, cut into parts of about one size: small enough that all threads have enough of them. Files
    without a size are for this process alone.
    """
    most = min(BATCH, sum(filter(None, sizes)) // (PARTS_PER_THREAD * threads))
    parts: list[_Part] = []
    held = 0
    for file, size in zip(files, sizes, strict=True):
        for_all = size is not None
        if not parts or parts[-1].for_all != for_all or held + (size or 0) > most:
            parts.append(_Part([], for_all))
            held = 0
        parts[-1].files.append(file)
        held += size or 0
    return parts


def _read(files: Sequence[FileAndFormat], options: ForestOptions) -> _Batch:
    own = Vocabulary()
    return _Batch([list(_forests_of(source, form, options, own)) for source, form in files], own)


def _forests_of(source: Source, form: str, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a file; a packed file takes no options."""
    if form != "packed":
        yield from reader(form)(source, options, vocabulary)
        return
    if options != ForestOptions():
        raise InputError(
            f"{source.name}: a packed file is read as it is; "
            "negate features, drop words and give symbols when it is packed"
        )
    packed = open_packed(source)
    for name, forest in zip(packed.ids, packed.corpus, strict=True):
        yield NamedForest(forest, str(name))


class _Helpers:
    """Processes that read batches of files. What one of them cannot read, for whatever reason, is left to the caller,
    who meets the fault by reading it again: messages and warnings are those of one process.
    """

    def __init__(self, count: int) -> None:
        self._free: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        if getattr(sys, "frozen", False) or not sys.executable:  # in a frozen program that is its own name
            return
        with contextlib.suppress(OSError):  # no room for so many
            for _ in range(count):
                self._all.append(start())
                self._free.put(self._all[-1])

    def read(self, files: Sequence[FileAndFormat], options: ForestOptions) -> _Batch | None:
        """The forests of files, or None: no helper is free, or it failed."""
        try:
            helper = self._free.get_nowait()
        except queue.Empty:
            return None
        try:
            send(helper.stdin, ([(source.name, form) for source, form in files], options))
            batch: _Batch | None = pickle.load(_there(helper.stdout))
        except (EOFError, OSError, pickle.UnpicklingError):  # it is gone, and is not asked again
            return None
        self._free.put(helper)
        return batch

    def close(self) -> None:
        """End all processes: they hold nothing that is needed."""
        for helper in self._all:
            helper.kill()
        for helper in self._all:
            helper.wait()
            for stream in (helper.stdin, helper.stdout):
                with contextlib.suppress(OSError):
                    _there(stream).close()


def start() -> subprocess.Popen[bytes]:
    """Start a process that reads. OSError if there is no room.

    It finds the same packages as this one and no others (a file in the folder of the user may be called like one), no
    key of the terminal interrupts it, and nobody sees what it prints.
    """
    places = os.pathsep.join(place or os.getcwd() for place in sys.path)
    process = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": places, "PYTHONSAFEPATH": "1"},
        start_new_session=True,
    )
    with contextlib.suppress(ImportError, AttributeError, OSError):  # slower, that is all
        import fcntl

        for stream in (process.stdin, process.stdout):
            fcntl.fcntl(_there(stream), fcntl.F_SETPIPE_SZ, PIPE)
    return process


def send(stream: IO[bytes] | None, message: Any) -> None:
    """Write a message; OSError if the other end is gone."""
    pickle.dump(message, _there(stream), protocol=5)
    _there(stream).flush()


def _there(stream: IO[bytes] | None) -> IO[bytes]:
    """The pipe of a process that was started with it."""
    assert stream is not None
    return stream


def main() -> None:
    """Read batches for another process until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what libraries print is no answer
    with contextlib.suppress(EOFError, OSError):  # the asker is gone
        while True:
            files, options = pickle.load(incoming)
            send(outgoing, _answer([(Source(name), form) for name, form in files], options))


def _answer(files: Sequence[FileAndFormat], options: ForestOptions) -> _Batch | None:
    """The forests of files, or None if there is anything to tell about them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return _read(files, options)
    except Exception:
        return None
