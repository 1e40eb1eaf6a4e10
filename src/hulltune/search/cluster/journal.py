"""The answers of a run on disk: a run that was killed goes on where it was.

A search is decided by its seed and by the answers to its questions. So a run that begins again with the same seed puts
the same questions; those that are in the journal are answered from there, to the bit, and cost next to nothing. The
rest of the run is as if nothing had happened.

The file begins with a line that tells what it is about. Each record is the hash of a question, the number of bytes of
the answer, their CRC-32, and the answer. A record that was cut off by the end of its writer is dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hulltune._version import __version__
from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.search.cluster.shard_files import packed_bytes
from hulltune.search.elsewhere import Lines, Searcher, Steps
from hulltune.search.problem import Problem
from hulltune.search.shards import Runner
from hulltune.search.steps import steps_here

FILE = "answers.journal"
FORMAT = "hulltune answers 1"
BLOCK = 4096
"""Sentences are hashed so many at a time, which bounds the memory for it."""
_RECORD = struct.Struct("<16sQI")


class Here:
    """A searcher that searches in this process."""

    def total(self, problem: Problem, weights: Floats, runner: Runner) -> NDArray[Any]:
        """The summed statistics of the winners under ``weights``."""
        return problem.picks(weights, runner=runner).total

    def best_steps(self, problem: Problem, lines: Lines, runner: Runner) -> Steps:
        """The best step along each line."""
        return steps_here(problem, lines, runner)


class Recorded:
    """A searcher that remembers the answers of another one in a file."""

    def __init__(self, searcher: Searcher, file: IO[bytes], known: dict[bytes, bytes]) -> None:
        self._searcher, self._file, self._known = searcher, file, known
        self._lock = threading.Lock()

    def total(self, problem: Problem, weights: Floats, runner: Runner) -> NDArray[Any]:
        """The summed statistics of the winners under ``weights``."""
        key = _key(b"total", weights)
        if key not in self._known:
            self._remember(key, (self._searcher.total(problem, weights, runner),))
        (total,) = _arrays(self._known[key])
        return total

    def best_steps(self, problem: Problem, lines: Lines, runner: Runner) -> Steps:
        """The best step along each line."""
        policy = repr(lines.policy).encode()
        penalty = b"" if problem.penalty is None else problem.penalty.along(lines.origin, lines.directions).tobytes()
        key = _key(
            policy + penalty, lines.origin, lines.directions, lines.intervals, np.array(lines.current_loss),
            lines.scales, lines.points,
        )  # fmt: skip
        if key not in self._known:
            self._remember(key, self._searcher.best_steps(problem, lines, runner))
        etas, losses, sampled = _arrays(self._known[key])
        return etas, losses, sampled

    def _remember(self, key: bytes, answer: tuple[NDArray[Any], ...]) -> None:
        file = io.BytesIO()
        for array in answer:
            np.save(file, array, allow_pickle=False)
        content = file.getvalue()
        with self._lock:
            if key not in self._known:
                self._known[key] = content
                # One write: a process that is killed leaves a whole record, or one that is seen to be cut off.
                self._file.write(_RECORD.pack(key, len(content), zlib.crc32(content)) + content)


@contextlib.contextmanager
def recorded(searcher: Searcher, problem: Problem, folder: Path) -> Iterator[Recorded]:
    """A searcher whose answers are kept in a folder; those that are there already are given at once."""
    about = {"format": FORMAT, "version": __version__, "data": _digest(problem), "metric": problem.metric.signature}
    path = folder / FILE
    with _alone(folder), _opened(path) as file:
        known = _known(file, about, path)
        yield Recorded(searcher, file, known)


def _digest(problem: Problem) -> str:
    """The hash of the sentences of a problem, with all that scores them."""
    if problem.dataset is None:
        raise InputError("folder: the problem was not made of a dataset; make it with Problem.of")
    digest = hashlib.blake2b(digest_size=16)
    for first in range(0, len(problem.corpus), BLOCK):
        sentences = np.arange(first, min(first + BLOCK, len(problem.corpus)))
        digest.update(packed_bytes(problem.dataset, sentences))
    return digest.hexdigest()


def _key(kind: bytes, *arrays: NDArray[Any]) -> bytes:
    digest = hashlib.blake2b(kind, digest_size=16)
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(array.tobytes())
    return digest.digest()


def _arrays(content: bytes) -> tuple[NDArray[Any], ...]:
    file = io.BytesIO(content)
    arrays = []
    while file.tell() < len(content):
        arrays.append(np.load(file, allow_pickle=False))
    return tuple(arrays)


def _known(file: IO[bytes], about: dict[str, str], path: Path) -> dict[bytes, bytes]:
    """The answers in a journal, which is begun if it is new, and cut off after its last whole record."""
    head = json.dumps(about).encode() + b"\n"
    first = file.readline()
    if not first.endswith(b"\n"):  # new, or its writer was killed at once
        file.seek(0)
        file.truncate()
        file.write(head)
        return {}
    _check_head(first, about, path)
    known: dict[bytes, bytes] = {}
    while True:
        place = file.tell()
        start = file.read(_RECORD.size)
        if len(start) < _RECORD.size:
            break
        key, size, checksum = _RECORD.unpack(start)
        content = file.read(size)
        if len(content) < size or zlib.crc32(content) != checksum:
            break
        known[key] = content
    file.seek(place)
    file.truncate()
    return known


def _check_head(head: bytes, about: dict[str, str], path: Path) -> None:
    try:
        found = json.loads(head)
    except ValueError:
        found = {}
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f"{path}: not the journal of a run; name another folder")
    for name, value in about.items():
        if found.get(name) != value:
            raise InputError(
                f"{path}: the run in this folder had another {name} ({found.get(name)}, not {value}); "
                "name another folder, or start it as before"
            )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        path.touch()
        opened = path.open("r+b", buffering=0)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    with opened as file:
        yield file


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Refuse a second run in the folder. The system drops the lock when the process ends, even if it is killed."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    try:
        lock = (folder / "lock").open("wb")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to ({error.strerror})") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another run is at work in this folder; name another one") from None
        yield
