"""Files and folders that are written whole: they appear complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

from hulltune.errors import InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The errors of a disk that is full, of a quota that is used up, and of a file that may not grow."""
DRAFT = ".unfinished"  # the end of the names of files that are being written


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` only when it is complete; nobody sees a half-written one.

    A link stays, and its target is replaced. A pipe, a terminal or a device (/dev/stdout) is written to, as replacing
    it would take it from everybody. ``-`` is the standard output.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: is a folder; expected the name of a file to write")
    to_output = os.fspath(path) == "-"
    with _no_room(target):
        if to_output or (target.exists() and not target.is_file()):
            with tempfile.TemporaryFile() as file:
                yield file
                file.seek(0)
                with nullcontext(sys.stdout.buffer) if to_output else open(target, "wb") as special:
                    shutil.copyfileobj(file, special)
                    special.flush()
            return
        target = Path(os.path.realpath(target)) if target.is_symlink() else target
        try:
            handle, unfinished = _new_file(target)
        except OSError as error:
            raise InputError(f"{target}: cannot be written ({error.strerror})") from None
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, target)
            sync_folder(target.parent)
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def folder_written_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write into. A new one gets the name ``path`` only when it is complete.

    In a folder that exists already, files are replaced one after the other.
    """
    target = Path(path)
    if target.exists():
        yield target
        return
    unfinished = _draft_of(target)
    try:
        unfinished.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{target}: cannot be made a folder ({error.strerror})") from None
    try:
        with _no_room(target):
            yield unfinished
            sync_folder(unfinished)
            try:
                os.replace(unfinished, target)
            except OSError:
                if not target.is_dir():
                    raise
                raise InputError(
                    f"{target}: another run has made this folder in the meantime; run it again to replace its files"
                ) from None
            sync_folder(target.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def _no_room(target: Path) -> Iterator[None]:
    """Turn the errors of a full disk into a message."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise InputError(f"{target}: cannot be written ({error.strerror}); make room, and run it again") from None


def _draft_of(target: Path) -> Path:
    """A name for what will take the place of ``target``."""
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}{DRAFT}")


def is_draft(path: Path) -> bool:
    """Whether a name is that of a file that was being written when its process was killed."""
    return path.name.startswith(".") and path.name.endswith(DRAFT)


def _new_file(target: Path) -> tuple[int, Path]:
    """An open file beside ``target``, which will take its place: with its mode, or with what the umask leaves."""
    while True:
        name = _draft_of(target)
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        except FileExistsError:
            continue
        if target.exists():
            with suppress(OSError):
                os.chmod(name, stat.S_IMODE(target.stat().st_mode) & 0o777)
        return handle, name


def sync_folder(folder: Path) -> None:
    """Have the system write the names of a folder to the disk, so that a power cut does not undo a renaming."""
    with suppress(OSError):  # some systems cannot open folders, and some disks cannot sync them: they do so anyway
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
