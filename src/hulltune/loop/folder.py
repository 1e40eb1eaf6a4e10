"""The folder of a run: what is finished is there for good, and what is not can be done again.

    state.json       all that is known, replaced as a whole
    iter-001/        what the decoder got and wrote in the first iteration, and what it said
    iter-002.unfinished/   a decoder at work, or one that failed
    heldout-start/, heldout-tuned/

A folder of an iteration gets its name when its output has been read without a fault; the state is replaced after that.
Whenever the loop is killed, at most the step at hand is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.result_files import as_record, load_record, save_record
from hulltune.loop.result import Iteration

FORMAT = "hulltune loop 1"
STATE = "state.json"
LOCK = "lock"


@dataclass(frozen=True)
class State:
    """What has been done: iterations (the last one perhaps not tuned yet) and held-out scores."""

    settings: Mapping[str, Any]
    iterations: tuple[Iteration, ...] = ()
    stopped: str | None = None
    heldout: Mapping[str, float] = field(default_factory=dict)
    heldout_empty: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0


class RunFolder:
    """A folder with the state of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be made a folder ({error.strerror})") from None

    def load(self, settings: Mapping[str, Any]) -> State:
        """The state that was reached, or a new one. Settings that would change what was found must be the same."""
        file = self.path / STATE
        if not file.exists():
            if any(entry.name != LOCK for entry in self.path.iterdir()):
                raise InputError(f"{self.path}: is neither empty nor a run that could go on; name another folder")
            return State(settings)
        try:
            state = load_record(file, FORMAT, "the state of a run", State, _state)
        except InputError as error:
            raise InputError(f"{error}; name another folder") from None
        if not state.iterations and self.finished(iteration_name(1)) is None:
            return State(settings)  # nothing was found yet that other settings could spoil
        for name, value in settings.items():
            if state.settings.get(name) != value:
                raise InputError(
                    f"{self.path}: this run was started with another {name} ({_short(state.settings.get(name))}, "
                    f"not {_short(value)}); name another folder, or start it as before"
                )
        return state

    def save(self, state: State) -> None:
        """Replace the state; whoever looks sees the one before or this one."""
        save_record(as_record(state, FORMAT), self.path / STATE)

    def finished(self, name: str) -> Path | None:
        """The folder of a decoding that was finished, if it was."""
        return self.path / name if (self.path / name).is_dir() else None

    @contextlib.contextmanager
    def unfinished(self, name: str) -> Iterator[Path]:
        """A new folder for a decoding, which gets its name when all is well. After a failure it stays, to be seen."""
        folder = self.path / f"{name}.unfinished"
        try:
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir()
        except OSError as error:
            raise InputError(f"{folder}: cannot be made ({error.strerror})") from None
        yield folder
        os.replace(folder, self.path / name)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse a second loop in the same folder; the system forgets the lock when a process ends, however it does."""
        try:
            import fcntl
        except ImportError:  # no such locks on this system
            yield
            return
        with (self.path / LOCK).open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"{self.path}: another loop is at work in this folder") from None
            yield


def outputs(folder: Path) -> list[Path]:
    """What a decoder wrote into the folder of an iteration."""
    return sorted(path for path in folder.iterdir() if path.name.startswith("output"))


def iteration_name(number: int) -> str:
    """The folder of an iteration."""
    return f"iter-{number:03d}"


def _state(data: dict[str, Any]) -> State:
    return State(**{**data, "iterations": tuple(Iteration(**record) for record in data["iterations"])})


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
