"""Files to read, as bytes and as numbered lines, plain or compressed; faults become one-line messages."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from hulltune.data.dataset import Skipped
from hulltune.errors import InputError, unknown_name
from hulltune.memory import LEAST_LEFT, memory_left, size_text
from hulltune.names import ON_ERROR

BLOCK = 1 << 20
PIECE = 1 << 24
"""The number of bytes after which a reader looks at the memory that is left."""
HEAD = 1 << 16
"""The number of bytes at the start of a file by which its format is recognised."""
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Source(os.PathLike[str]):
    """A file of which one looks at the head first, and then reads it from its start.

    Compressed files (recognised by their content, not by their name) are unpacked. A pipe can be read only once, and
    stays open after the look; ``-`` is the standard input. A small file is not opened again.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self._files = ExitStack()
        self._stream: io.BufferedReader | None = None
        self._stored: IO[bytes] | None = None
        """The file as it is stored, if it is neither compressed nor a pipe."""
        self._head: bytes | None = None
        self._is_whole = False
        """Whether the head is all of the file."""
        self._is_pipe = False
        self._was_read = False

    def __fspath__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    def head(self, size: int = HEAD) -> bytes:
        """The first bytes of the file, without a byte order mark. A later look sees no more than the first one."""
        if self._head is None:
            try:
                self._head = self._opened(size).peek(size)
                self._is_whole = len(self._head) < size
            finally:
                if self._head is None or self._is_whole or not self._is_pipe:
                    self.close()
        return self._head[:size].removeprefix(BYTE_ORDER_MARK)

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The bytes of the file from its start."""
        if self._was_read and self._is_pipe:
            raise InputError(f"{self.name}: a pipe can be read only once")
        self._was_read = True
        if self._is_whole and self._head is not None:
            yield io.BytesIO(self._head)
            return
        try:
            yield self._opened()
        finally:
            self.close()

    @contextmanager
    def opened_at_any_place(self) -> Iterator[IO[bytes]]:
        """The file itself or, of a pipe or compressed file, its bytes in memory, to be read in any order."""
        if not self._is_whole:
            self._opened()
        if self._stored is None:
            with self.opened() as stream:
                yield io.BytesIO(stream.read())
            return
        self._stored.seek(0)
        try:
            yield self._stored
        finally:
            self.close()

    def _opened(self, size: int = HEAD) -> io.BufferedReader:
        """The unpacked bytes, of which ``size`` can be looked at; the file stays open until ``close``."""
        if self._stream is None:
            try:
                with _faults(self.name):
                    self._stream = self._open(size)
            except InputError:
                self.close()
                raise
        return self._stream

    def _open(self, size: int) -> io.BufferedReader:
        file: Any = sys.stdin.buffer if self.name == "-" else open(self.name, "rb", buffering=0)  # noqa: SIM115
        if self.name != "-":
            self._files.enter_context(file)  # closed with the Source
        self._is_pipe = self.name == "-" or not file.seekable()
        stream: io.BufferedReader = io.BufferedReader(_Bytes(self.name, file), size)
        start = stream.peek()
        unpacker = next((unpacker for magic, unpacker in _UNPACKERS.items() if start.startswith(magic)), None)
        if unpacker is None:
            self._stored = None if self._is_pipe else file
            return stream
        return io.BufferedReader(_Bytes(self.name, self._files.enter_context(unpacker(stream, self.name))), size)

    def close(self) -> None:
        """Close the file, whatever is left in it."""
        self._files.close()
        self._stream = self._stored = None


class _Bytes(io.RawIOBase):
    """The bytes of a file, of which each read gives as many as are asked for, until the end.

    Faults of the file become one-line messages; faults of the code that uses the bytes do not.
    """

    def __init__(self, name: str, file: Any) -> None:
        super().__init__()
        self._name, self._file, self._count = name, file, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, memory: Any) -> int:
        """Fill the memory, but for the end of the file."""
        filled = 0
        with _faults(self._name):
            while filled < len(memory) and (count := self._file.readinto(memoryview(memory)[filled:])):
                filled += count
        self._took(filled)
        return filled

    def readall(self) -> bytes:
        """All the rest, piece by piece: a small file may unpack to more than fits into memory."""
        whole = io.BytesIO()
        while piece := self.read(BLOCK):  # a large piece takes its memory first, also for a small file
            whole.write(piece)
        return whole.getvalue()

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
def open_bytes_at(path: str | os.PathLike[str], offset: int) -> Iterator[io.BufferedReader]:
    """The bytes of a file from ``offset`` on, as they are stored."""
    name = os.fspath(path)
    with ExitStack() as files:
        with _faults(name):
            file = files.enter_context(open(path, "rb", buffering=0))
            size = file.seek(0, os.SEEK_END)
            file.seek(offset)
        if offset >= size:
            raise InputError(f"{name}: byte {offset} is asked for, but the file has {size}; is it cut off?")
        yield io.BufferedReader(_Bytes(name, file))


def _zstandard(file: IO[bytes], name: str) -> Any:
    """The unpacked stream, by Python's own module (3.14 and later) or by the package zstandard."""
    for module_name in ("compression.zstd", "zstandard"):
        try:
            module: Any = importlib.import_module(module_name)
        except ImportError:
            continue
        return _CheckedZstandard(module, file) if module_name == "zstandard" else module.ZstdFile(file)
    raise InputError(f"{name}: is compressed with zstd: pip install zstandard, or unpack it first")


class _CheckedZstandard(io.RawIOBase):
    """A zstd stream that raises EOFError if the file is cut off; the reader of the package would just end."""

    def __init__(self, module: Any, file: IO[bytes]) -> None:
        super().__init__()
        self._module, self._file = module, file
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readinto(self, memory: Any) -> int:
        """Some of the next bytes, at least one; 0 at the end."""
        while not self._ready:
            is_between = self._frame is None or self._frame.eof
            left = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
            packed = left or self._file.read(BLOCK)
            if not packed:
                if is_between:
                    return 0
                raise EOFError("ends within a frame")
            if is_between:
                self._frame = self._module.ZstdDecompressor().decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except self._module.ZstdError as error:
                raise EOFError(str(error)) from None
        count = min(len(memory), len(self._ready))
        memory[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


_UNPACKERS: dict[bytes, Callable[[Any, str], Any]] = {
    b"\x1f\x8b": lambda file, _: gzip.GzipFile(fileobj=file),
    b"BZh": lambda file, _: bz2.BZ2File(file),
    b"\xfd7zXZ\x00": lambda file, _: lzma.LZMAFile(file),  # noqa: SIM115  # closed with the Source
    b"\x28\xb5\x2f\xfd": _zstandard,
}
"""What unpacks files that begin with these bytes."""


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


class LineError(Exception):
    """What is wrong with a line of a list; the loop over the lines reports it with its place."""


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


def numbered_lines(path: str | os.PathLike[str], problems: Problems) -> Generator[tuple[int, str], None, None]:
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
    return (path if isinstance(path, Source) else Source(path)).head(size)


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
