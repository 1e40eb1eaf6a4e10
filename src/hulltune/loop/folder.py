"""The folder of a run: finished steps stay, and an unfinished one can be done again.

    state.json             the state of the run, replaced as a whole
    iter-001/              the weights, the output and the log of the decoder in the first iteration
    iter-002.unfinished/   a decoder at work, or one that failed
    iter-002.unfinished/piece-0001/   a piece of the input that is done, where several decoders share it
    heldout-iter-001/      the decoding of held-out sentences with the weights of an iteration

The folder of an iteration gets its name when its output has been read without a fault; then the state is replaced. If
the loop is killed, at most the present step is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hulltune.errors import InputError
from hulltune.formats.result_files import Saved
from hulltune.formats.writing import is_draft, sync_folder
from hulltune.loop.processes import is_at_work
from hulltune.loop.result import Iteration

STATE = "state.json"
LOCK = "lock"
UNFINISHED = ".unfinished"


@dataclass(frozen=True)
class RunState(Saved):
    """The finished steps of a run: iterations (the last one perhaps not tuned yet)."""

    KIND: ClassVar = "hulltune loop 1"
    CALLED: ClassVar = "the state of a run"
    settings: Mapping[str, Any]
    iterations: tuple[Iteration, ...] = ()
    stopped: str | None = None
    seconds: float = 0.0


class RunFolder:
    """A folder with the state of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be made a folder ({error.strerror})") from None

    def load(self, settings: Mapping[str, Any]) -> RunState:
        """The saved state, or a new one. A saved run goes on only with equal settings."""
        file = self.path / STATE
        if not file.exists():
            # A run that was killed while it wrote its first state has left a draft of it.
            if any(entry.name != LOCK and not is_draft(entry) for entry in self.path.iterdir()):
                raise InputError(f"{self.path}: neither an empty folder nor that of a run; name another folder")
            return RunState(settings)
        try:
            state = RunState.load(file)
        except InputError as error:
            raise InputError(f"{error}; name another folder") from None
        if not state.iterations and self.finished(iteration_name(1)) is None:
            return RunState(settings)  # nothing was decoded yet, so other settings do no harm
        for name, value in settings.items():
            if state.settings.get(name) != value:
                words = "other" if name in ("constraints", "references") else "another"
                before = state.settings.get(name)
                told = f" ({_short(before)}, not {_short(value)})" if name not in ("references", "input") else ""
                raise InputError(
                    f"{self.path}: this run was started with {words} {name}{told}; name another folder, or start it as "
                    "before"
                )
        return state

    def finished(self, name: str) -> Path | None:
        """The folder of a finished decoding; None if it is not finished."""
        return self.path / name if (self.path / name).is_dir() else None

    def unfinished_path(self, name: str) -> Path:
        """The folder of a decoding that is at work, or has failed."""
        return self.path / f"{name}{UNFINISHED}"

    @contextlib.contextmanager
    def unfinished(self, name: str, *, keep: bool = False) -> Iterator[Path]:
        """A folder for a decoding: a new one, or with ``keep`` that of an earlier run.

        It gets its final name on success; after a failure it stays for inspection.
        """
        folder = self.unfinished_path(name)
        for place in (folder, *folder.glob(f"*{UNFINISHED}")):
            if is_at_work(place):
                raise InputError(
                    f"{place}: the decoder that an earlier, killed run has started is still at work there; "
                    "wait until it ends, or end it, and run the command again"
                )
        try:
            if folder.exists() and not keep:
                shutil.rmtree(folder)
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be made a folder ({error.strerror})") from None
        yield folder
        _synced(folder)
        os.replace(folder, self.path / name)
        sync_folder(self.path)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse a second loop in the folder. The system drops the lock when the process ends, even if it is killed."""
        try:
            import fcntl
        except ImportError:  # Windows has no such locks
            yield
            return
        with (self.path / LOCK).open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"{self.path}: another loop is at work in this folder; name another one") from None
            yield

    @staticmethod
    def reached(place: str) -> None:
        """Do nothing. Called between all steps that change the disk: tests end the loop at each of these places."""


def _synced(folder: Path) -> None:
    """Have the system write all files of a folder to the disk: a folder with its final name is complete for good."""
    for entry in folder.iterdir():
        if entry.is_dir():
            _synced(entry)
        else:
            with entry.open("rb") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def outputs(folder: Path) -> list[Path]:
    """The output files of a decoder in the folder of an iteration."""
    return sorted(path for path in folder.iterdir() if path.name.startswith("output"))


def iteration_name(number: int) -> str:
    """The name of the folder of an iteration."""
    return f"iter-{number:03d}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
