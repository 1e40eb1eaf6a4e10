"""Files as bytes and as numbered lines, plain or compressed; faults become one-line messages."""

from __future__ import annotations

import bz2
import errno
import gzip
import importlib
import io
import lzma
import os
import secrets
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, cast

from hulltune.data.dataset import Skipped
from hulltune.errors import InputError, unknown_name
from hulltune.memory import LEAST_LEFT, memory_left, size_text
from hulltune.names import ON_ERROR

BLOCK = 1 << 20
PIECE = 1 << 24
"""The number of bytes after which a reader looks at the memory that is left."""
HEAD = 1 << 16
"""The number of bytes at the start of a file by which its format is recognised."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The errors of a disk that is full, of a quota that is used up, and of a file that may not grow."""
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DRAFT = ".unfinished"  # the end of the names of files that are being written
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}


class Source(os.PathLike[str]):
    """A file that is opened once: look at its head first, then read it from its start.

    Compressed files (recognised by their content, not by their name) are unpacked. A pipe can be read only once; ``-``
    is the standard input.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self._files = ExitStack()
        self._stream: _Stream | None = None
        self._raw: IO[bytes] | None = None
        """The file itself, if it is not compressed."""
        self._head = b""
        self._is_whole = False
        self._is_pipe = False
        self._was_read = False

    def __fspath__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    def head(self, size: int = HEAD) -> bytes:
        """The first bytes of the file, without a byte order mark."""
        if len(self._head) < size and not self._is_whole:
            more = self._opened().read(size - len(self._head))
            self._is_whole = len(self._head) + len(more) < size
            self._head += more
            if self._is_whole:  # nothing is left to be read
                self.close()
        return self._head[:size].removeprefix(BYTE_ORDER_MARK)

    def let_go(self) -> None:
        """Close a file that can be opened again: a process may have only so many open."""
        if not self._is_pipe and self._stream is not None:
            self.close()

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The bytes of the file from its start."""
        if self._was_read and self._is_pipe:
            raise InputError(f"{self.name}: a pipe can be read only once")
        self._was_read = True
        if self._is_whole:
            yield io.BytesIO(self._head)
            return
        if self._stream is None:
            self._head = b""  # the new stream begins at the start
        stream = self._opened()
        stream.put_back(self._head)
        self._head = b""
        try:
            yield cast(IO[bytes], stream)
        finally:
            self.close()

    def content(self) -> Content:
        """The bytes of the file in any order: read when they are asked for, or now if it is a pipe or compressed."""
        self.head()
        if self._raw is not None and not self._is_pipe:
            with _faults(self.name):
                return Content(self.name, os.dup(self._raw.fileno()))
        with self.opened() as stream:
            return Content(self.name, stream.read())

    def _opened(self) -> _Stream:
        if self._stream is None:
            try:
                with _faults(self.name):
                    self._stream = self._open()
            except InputError:
                self.close()
                raise
        return self._stream

    def _open(self) -> _Stream:
        """The unpacked bytes; the file stays open until ``close``."""
        if self.name == "-":
            file: IO[bytes] = sys.stdin.buffer
            self._is_pipe = True
        else:
            file = self._files.enter_context(open(self.name, "rb"))  # noqa: SIM115  # see close
            self._is_pipe = not file.seekable()
        start = file.read(6)
        kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "plain")
        if not self._is_pipe:
            file.seek(0)
        elif kind != "plain":
            file = cast(IO[bytes], _Stream(self.name, file, start))
        if kind == "plain":
            self._raw = file
            return _Stream(self.name, file, start if self._is_pipe else b"")
        unpacked = self._files.enter_context(_unpacked(file, kind, self.name))
        return _Stream(self.name, unpacked)

    def close(self) -> None:
        """Close the file, whatever is left in it."""
        self._files.close()
        self._stream = self._raw = None


class Content:
    """The bytes of a file in any order. An open file is read, not mapped: a mapped one that somebody truncates ends the
    process.
    """

    def __init__(self, name: str, data: bytes | int) -> None:
        """Take the bytes, or the number of an open file, which is closed with this object."""
        self._name, self._data = name, data
        self.size = len(data) if isinstance(data, bytes) else os.fstat(data).st_size

    def read_into(self, start: int, memory: memoryview) -> None:
        """Fill the memory with the bytes from ``start`` on."""
        if isinstance(self._data, bytes):
            memory[:] = self._data[start : start + len(memory)]
            return
        filled = 0
        while filled < len(memory):
            with _faults(self._name):
                count = _read_at(self._data, start + filled, memory[filled:])
            if count == 0:
                raise InputError(f"{self._name}: the file was cut off while it was in use; pack it again")
            filled += count

    def __del__(self) -> None:
        if isinstance(getattr(self, "_data", None), int):
            os.close(cast(int, self._data))


def _read_at(file: int, start: int, memory: memoryview) -> int:
    """Read some bytes of an open file from ``start`` on, and return their number."""
    if hasattr(os, "preadv"):  # does not move the place of the file, which a forked process would share
        return os.preadv(file, [memory], start)
    os.lseek(file, start, os.SEEK_SET)
    data = os.read(file, len(memory))
    memory[: len(data)] = data
    return len(data)


class _Stream:
    """A stream to which bytes can be put back. Faults of the file become one-line messages; faults of the code that
    uses the bytes do not.
    """

    def __init__(self, name: str, file: IO[bytes], start: bytes = b"") -> None:
        self._name, self._file, self._start = name, file, start
        self._count = 0

    def put_back(self, data: bytes) -> None:
        """Put bytes in front, to be read again."""
        self._start = data + self._start

    def read(self, size: int = -1) -> bytes:
        """The next ``size`` bytes, fewer only at the end; all the rest for −1."""
        start, self._start = self._start, b""
        if 0 <= size <= len(start):
            self._start = start[size:]
            return start[:size]
        if size < 0:
            return self._all(start)
        with _faults(self._name):
            rest = self._file.read(size - len(start))
        self._took(len(rest))
        return start + rest if start else rest

    def _all(self, start: bytes) -> bytes:
        """All the rest, piece by piece: a small file may unpack to more than fits into memory."""
        whole = io.BytesIO()
        whole.write(start)
        while True:
            with _faults(self._name):
                piece = self._file.read(PIECE)
            if not piece:
                return whole.getvalue()
            self._took(len(piece))
            whole.write(piece)

    def _took(self, count: int) -> None:
        """Count bytes, and stop now and then if the memory is nearly used up."""
        before, self._count = self._count, self._count + count
        if self._count // PIECE > before // PIECE:
            left = memory_left()
            if left is not None and left < LEAST_LEFT:
                raise InputError(
                    f"{self._name}: too large for the memory: {size_text(self._count)} of it (unpacked) are read, and "
                    f"{size_text(left)} is left; use a part of it, or more memory"
                )


@contextmanager
def _faults(name: str) -> Iterator[None]:
    """Turn the faults of a file into messages."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{name}: is a directory; expected a file") from None
    except PermissionError:
        raise InputError(f"{name}: may not be read (permission denied)") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{name}: the compressed file is cut off or damaged ({error})") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error})") from None


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if it is compressed. A Source that was looked at is not opened again."""
    with (path if isinstance(path, Source) else Source(path)).opened() as stream:
        yield stream


@contextmanager
def open_bytes_at(path: str | os.PathLike[str], offset: int) -> Iterator[IO[bytes]]:
    """The bytes of a file from ``offset`` on, as they are stored."""
    name = os.fspath(path)
    with ExitStack() as files:
        with _faults(name):
            file = files.enter_context(open(path, "rb"))
            size = file.seek(0, os.SEEK_END)
            file.seek(offset)
        if offset >= size:
            raise InputError(f"{name}: byte {offset} is asked for, but the file has {size}; is it cut off?")
        yield cast(IO[bytes], _Stream(name, file))


def _unpacked(file: IO[bytes], kind: str, name: str) -> IO[bytes]:
    if kind == "gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if kind == "bz2":
        return cast(IO[bytes], bz2.BZ2File(file))
    if kind == "xz":
        return cast(IO[bytes], lzma.LZMAFile(file))
    if kind == "zst":
        return _zstandard(file, name)
    return file


def _zstandard(file: IO[bytes], name: str) -> IO[bytes]:
    """The unpacked stream, by Python's own module (3.14 and later) or by the package zstandard."""
    for module_name in ("compression.zstd", "zstandard"):
        try:
            module: Any = importlib.import_module(module_name)
        except ImportError:
            continue
        if module_name == "zstandard":
            return cast(IO[bytes], _CheckedZstandard(module, file))
        return cast(IO[bytes], module.ZstdFile(file))
    raise InputError(f"{name}: is compressed with zstd: pip install zstandard, or unpack it first")


class _CheckedZstandard(io.RawIOBase):
    """A zstd stream that raises EOFError if the file is cut off; the package would just end."""

    def __init__(self, module: Any, file: IO[bytes]) -> None:
        super().__init__()
        self._error = module.ZstdError
        self._decompressor = module.ZstdDecompressor()
        self._file = file
        self._object = self._decompressor.decompressobj()
        self._ready = b""
        self._inside = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; all the rest for −1."""
        parts = [self._ready]
        length = len(self._ready)
        while size < 0 or length < size:
            packed = self._object.unused_data if self._object.eof else b""
            if self._object.eof:
                self._object, self._inside = self._decompressor.decompressobj(), False
            packed = packed or self._file.read(BLOCK)
            if not packed:
                if self._inside:
                    raise EOFError("ends within a frame")
                break
            self._inside = True
            try:
                parts.append(self._object.decompress(packed))
            except self._error as error:
                raise EOFError(str(error)) from None
            length += len(parts[-1])
        data = b"".join(parts)
        self._ready = data[size:] if size >= 0 else b""
        return data[:size] if size >= 0 else data


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """The stream in pieces of whole lines, about BLOCK bytes each; the last line gets a line end if it has none."""
    parts: list[bytes] = []
    first = True
    while True:
        block = stream.read(BLOCK)
        if first:
            block, first = block.removeprefix(BYTE_ORDER_MARK), False
        if not block:
            break
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, memoryview(block)[:cut]])
            parts = [block[cut:]] if cut < len(block) else []
        else:
            parts.append(block)
    if parts:
        yield b"".join([*parts, b"\n"])


class Problems:
    """Lines at fault: the first one is raised or, with ``on_error="skip"``, all are skipped and collected."""

    def __init__(self, on_error: str = "raise") -> None:
        if on_error not in ON_ERROR:
            raise unknown_name("way to handle errors", on_error, ON_ERROR)
        self.skip = on_error == "skip"
        self.skipped: list[Skipped] = []

    def report(self, file: str, line: int, reason: str) -> None:
        """Raise InputError for a fault at a line, or add it to ``skipped``."""
        fault = Skipped(file, line, reason)
        if not self.skip:
            raise InputError(str(fault))
        self.skipped.append(fault)


def numbered_lines(path: str | os.PathLike[str], problems: Problems) -> Iterator[tuple[int, str]]:
    """The lines of a text file from number 1, without line ends. A line that is not UTF-8 is a fault."""
    number = 0
    with open_bytes(path) as stream:
        for block in blocks(stream):
            for line in block[:-1].split(b"\n"):
                number += 1
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    problems.report(os.fspath(path), number, not_utf8(error))
                    continue
                yield number, text.removesuffix("\r")


def not_utf8(error: UnicodeDecodeError) -> str:
    """The message for bytes that are not UTF-8."""
    return f"not UTF-8 (byte 0x{error.object[error.start]:02x}); convert the file to UTF-8"


def head(path: str | os.PathLike[str], size: int = HEAD) -> bytes:
    """The first bytes of a file, unpacked."""
    if isinstance(path, Source):
        return path.head(size)
    source = Source(path)
    try:
        return source.head(size)
    finally:
        source.close()


def first_lines(data: bytes, count: int = 400) -> list[str]:
    """The first lines of a file that begins with these bytes, without the last one, which may be cut off."""
    lines = data.decode("utf-8", errors="replace").split("\n", count)
    return [line.rstrip("\r") for line in (lines[:-1] if len(lines) > 1 else lines)]


def first_line(data: bytes) -> str:
    """The first line that is not blank, of a file that begins with these bytes; "" if there is none."""
    for start in (1 << 12, len(data)):
        part = data[:start]
        lines = first_lines(part)
        found = next((line for line in lines if line.strip()), "")
        if found and (b"\n" in part or len(part) == len(data)):
            return found
    return ""


def without_suffix(path: str | os.PathLike[str]) -> Path:
    """The path without a suffix of compression."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in SUFFIXES else path


def suffix_of(name: str) -> str:
    """The suffix of a name, before one of compression; "" if there is none. Many names take less time than Paths."""
    base, suffix = os.path.splitext(name)
    if suffix in SUFFIXES:
        suffix = os.path.splitext(base)[1]
    return "" if suffix == "." else suffix


def names_in(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the files in a folder, and of the folders in it; without hidden ones, in no order."""
    files, folders = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            with suppress(OSError):  # a link that leads nowhere
                if entry.is_file():
                    files.append(entry.name)
                elif entry.is_dir():
                    folders.append(entry.name)
    return files, folders


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
