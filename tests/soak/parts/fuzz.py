"""Inputs of every kind, mutated: each is answered, or refused with one line.

Mutations know the structure (lines, fields, numbers, JSON, the parts of packed files), and are guided by the answers:
an input with a message that was not seen before joins the good inputs, and is mutated further.

What breaks the promise: any error but InputError, a message of several lines, a warning, an answer that takes longer
than LIMIT, a process that dies, and another answer where checksums should have noticed.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import time
import traceback
import warnings
from dataclasses import asdict
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from hulltune import InputError
from hulltune.errors import Note
from tests.soak.findings import Failure, Findings, Task
from tests.soak.inputs import Kind, all_kinds

ABOUT = "mutated packed files, texts of every format, stores, results and weights"
SHARE = 3.0
LIMIT = 20.0
"""Seconds after which an answer is late; the first use of a kind may compile kernels."""
FIRST_LIMIT = 300.0
STUCK = 60.0
"""Seconds without a sign of life after LIMIT, after which a process is ended."""
SLOW = ("store", "answers")
"""Kinds that are tried less often: they wait for the disk."""
LEAST = 50
"""Inputs that each process tries at least: it takes some seconds to begin."""
MOST_SEEDS = 300
MOST_MEMORY = 24 << 30
KEPT = Path("out/soak")
"""The folder for inputs that broke the promise."""
_VARYING = re.compile(r"""'[^']*'|"[^"]*"|\d+(\.\d+)?|/\S+""")


class LateError(Exception):
    """No answer within the time."""


def soak(task: Task) -> Findings:
    """Fuzz in several processes until the time is over; a process that dies is a failure, and is replaced."""
    context = multiprocessing.get_context("spawn")
    found = Findings()
    number = 0
    running: dict[int, BaseProcess] = {}
    while task.left > 0 or running:
        while len(running) < task.jobs and task.left > 1:
            folder = task.folder / str(number)
            folder.mkdir()
            process: BaseProcess = context.Process(target=_work, args=(folder, task.left, task.seed + number))
            process.start()
            running[number] = process
            number += 1
        time.sleep(0.5)
        for place, process in list(running.items()):
            folder = task.folder / str(place)
            alive = folder / "input"
            silent = time.time() - (alive.stat().st_mtime if alive.exists() else time.time())
            if process.is_alive() and silent < (LIMIT if task.left > 0 else 0.0) + FIRST_LIMIT + STUCK:
                continue
            if process.is_alive():
                process.kill()
            process.join()
            del running[place]
            findings = folder / "findings.json"
            if findings.exists():
                found.add(_loaded(findings))
            if process.exitcode != 0:
                kept = _keep(alive.read_bytes() if alive.exists() else b"")
                found.failures.append(Failure("a process", f"ended with {process.exitcode}", f"the input {kept}"))
    return found


def _loaded(path: Path) -> Findings:
    record = json.loads(path.read_text())
    return Findings(record["tried"], record["ended"], [Failure(**each) for each in record["failures"]])


def _work(folder: Path, seconds: float, seed: int) -> None:
    """Fuzz in this process, and write the findings again and again."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    found = Findings()
    fuzzer = Fuzzer(folder, seed, found)
    ends, written = time.monotonic() + seconds, time.monotonic()
    while time.monotonic() < ends or sum(found.tried.values()) < LEAST:
        fuzzer.try_one()
        if time.monotonic() - written > 5.0:
            (folder / "findings.json").write_text(json.dumps(asdict(found)))
            written = time.monotonic()
    (folder / "findings.json").write_text(json.dumps(asdict(found)))


class Fuzzer:
    """Mutated inputs of all kinds, one after the other."""

    def __init__(self, folder: Path, seed: int, found: Findings) -> None:
        self.dice = random.Random(seed)
        self.found, self._path = found, folder / "input"
        (folder / "good").mkdir()
        self.kinds: dict[str, Kind] = all_kinds(folder / "good")
        self.good = {name: len(kind.seeds) for name, kind in self.kinds.items()}
        self._seen: set[tuple[str, str]] = set()
        self._failed: set[str] = set()
        self._used: set[str] = set()

    def try_one(self, name: str | None = None) -> None:
        """Try one mutated input of a kind, by default of a random one."""
        dice = self.dice
        if name is None:
            name = dice.choice(list(self.kinds))
            if name in SLOW and dice.random() < 0.8:
                name = dice.choice(list(self.kinds))
        kind = self.kinds[name]
        seeds = kind.seeds[: self.good[name]] if dice.random() < 0.6 else kind.seeds
        data = kind.mutate(dice.choice(seeds), kind.seeds, dice)
        _write(self._path, data)
        end = self._end_of(name, kind)
        self.found.count(name, end.partition(":")[0])
        if end not in ("answered", "failed") and (name, end) not in self._seen:
            self._seen.add((name, end))
            if len(kind.seeds) < MOST_SEEDS:
                kind.seeds.append(data)

    def _end_of(self, name: str, kind: Kind) -> str:
        """The way in which an input ended: answered, failed, or refused with this message."""
        try:
            with _limited(LIMIT if name in self._used else FIRST_LIMIT), warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", Note)
                kind.use(self._path, self.dice)
            return "answered"
        except InputError as error:
            message = str(error)
            if "\n" in message or not message or len(message) > 1000:
                self._fail(name, f"a message of {len(message)} characters: {message[:200]!r}")
                return "failed"
            return "refused: " + _VARYING.sub("…", message)
        except (Exception, LateError) as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            self._fail(name, f"{type(error).__name__} at {place}: {str(error)[:200]}", f"{type(error)}{place}")
            return "failed"
        finally:
            self._used.add(name)

    def _fail(self, name: str, happened: str, key: str | None = None) -> None:
        """Note a failure, one of a kind only, and keep its input."""
        if (key or happened) not in self._failed:
            self._failed.add(key or happened)
            self.found.failures.append(Failure(name, happened, f"the input {_keep(self._path.read_bytes())}"))


def _write(path: Path, data: bytes) -> None:
    """Write a file without truncating it first: some file systems then wait for the disk."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.write(file, data)
        os.ftruncate(file, len(data))
    finally:
        os.close(file)


def _keep(data: bytes) -> Path:
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / hashlib.blake2b(data, digest_size=6).hexdigest()
    path.write_bytes(data)
    return path


class _limited:  # noqa: N801  # a context manager
    """Raises LateError if the block takes too long. Compiled code is not interrupted; it is then noticed afterwards."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        raise LateError(f"no answer in {self._seconds:g} s")
