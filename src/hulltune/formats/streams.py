"""Files as bytes and as numbered lines, plain or compressed, with faults turned into one-line messages."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

from hulltune.errors import InputError
from hulltune.formats.problems import Problems

BLOCK = 1 << 20
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if it is compressed (told by its content, not by its name).

    A pipe can be read once, but files are opened twice, to tell their format and to read them: so its bytes are kept.
    ``-`` is the standard input.
    """
    name = os.fspath(path)
    try:
        with _opened(name) as file:
            head = file.read(6)
            file.seek(0)
            kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "plain")
            with _unpacked(file, kind, name) as stream:
                yield stream
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


_pipes: dict[object, bytes] = {}


def _opened(name: str) -> IO[bytes]:
    """A file to read from any place."""
    if name == "-":
        if name not in _pipes:
            _pipes[name] = sys.stdin.buffer.read()
        return io.BytesIO(_pipes[name])
    key: object = None
    if stat.S_ISFIFO(os.stat(name).st_mode):
        status = os.stat(name)
        key = status.st_dev, status.st_ino
        if key in _pipes:
            return io.BytesIO(_pipes[key])
    file = open(name, "rb")  # noqa: SIM115  # the caller closes it
    if key is None and file.seekable():
        return file
    with file:
        _pipes[key] = file.read()
    return io.BytesIO(_pipes[key])


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
    """From Python's own module (3.14 and later), or else from the package zstandard."""
    for module_name in ("compression.zstd", "zstandard"):
        try:
            module: Any = importlib.import_module(module_name)
        except ImportError:
            continue
        if module_name == "zstandard":
            return cast(IO[bytes], _CheckedZstandard(module, file))
        return cast(IO[bytes], module.ZstdFile(file))
    raise InputError(f"{name}: is compressed with zstd; pip install 'hulltune[zstd]', or unpack it first")


class _CheckedZstandard(io.RawIOBase):
    """A zstd stream that says so when the file is cut off, where the package would just end."""

    def __init__(self, module: Any, file: IO[bytes]) -> None:
        super().__init__()
        self._error = module.ZstdError
        self._decompressor = module.ZstdDecompressor()
        self._file = file
        self._object = self._decompressor.decompressobj()
        self._ready = b""
        self._inside = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; all that are left for −1."""
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
    """The stream in pieces of whole lines, about BLOCK bytes each; the last line gets the line end it lacks."""
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
    """The message for bytes that are no UTF-8."""
    return f"not UTF-8 (byte 0x{error.object[error.start]:02x}); convert the file to UTF-8"


def head(path: str | os.PathLike[str], size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked."""
    with open_bytes(path) as stream:
        return stream.read(size).removeprefix(BYTE_ORDER_MARK)


def without_suffix(path: str | os.PathLike[str]) -> Path:
    """The path without the suffix of a compression."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in SUFFIXES else path


@contextmanager
def written_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of ``path`` only when it is complete; nobody sees a half-written one.

    A link stays, and what it leads to is replaced. What is no file (a pipe, a terminal, /dev/stdout) is written to, as
    replacing it would take it from everybody. ``-`` is the standard output.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: is a folder; expected the name of a file to write")
    to_output = os.fspath(path) == "-"
    if to_output or (target.exists() and not target.is_file()):
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with nullcontext(sys.stdout.buffer) if to_output else open(target, "wb") as special:
                shutil.copyfileobj(file, special)
                special.flush()
        return
    if target.is_symlink():
        target = Path(os.path.realpath(target))
    try:
        handle, unfinished = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".unfinished", dir=target.parent)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, target)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
