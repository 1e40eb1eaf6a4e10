"""Pieces of the input: the cut, the work of a decoder on one of them, and the check of what it wrote."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from hulltune.data.dataset import Dataset
from hulltune.errors import InputError
from hulltune.formats.read import read_with
from hulltune.formats.reading import Part
from hulltune.formats.result_files import as_record, load_record, save_record
from hulltune.formats.streams import open_bytes
from hulltune.loop.command import LAST_LINES, CommandDecoder, DecoderError, Running
from hulltune.loop.hypotheses import keep
from hulltune.options import Reading
from hulltune.tuning.inputs import DataLike
from hulltune.wording import counted

CUT = "pieces.json"
FORMAT = "hulltune pieces 1"


@dataclass(frozen=True)
class Piece:
    """Some neighbouring sentences of the input."""

    number: int
    first: int
    """The place of its first sentence in the input, from 0."""
    count: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"piece-{self.number + 1:04d}"

    @property
    def lines(self) -> str:
        """Its lines of the input, counted from 1, in words."""
        last = self.first + self.count
        return f"line {last}" if self.count == 1 else f"lines {self.first + 1:,} to {last:,}"


@dataclass(frozen=True)
class Cut:
    """The pieces of a decoding, and the weights that it decodes with. A decoding that is resumed keeps its cut."""

    sentences: int
    pieces: int
    weights: Mapping[str, float]

    def __iter__(self) -> Iterator[Piece]:
        size, more = divmod(self.sentences, self.pieces)
        first = 0
        for number in range(self.pieces):
            count = size + (number < more)
            yield Piece(number, first, count)
            first += count

    def save(self, folder: Path) -> None:
        """Write the cut into the folder of its decoding."""
        save_record(as_record(self, FORMAT), folder / CUT)

    @staticmethod
    def load(folder: Path) -> Cut | None:
        """The cut of a decoding; None if it was not cut, or the file was not written in full."""
        if not (folder / CUT).exists():
            return None
        return load_record(folder / CUT, FORMAT, "the pieces of a decoding", Cut, lambda data: Cut(**data))


class Work(Protocol):
    """The decoding of a piece, which can be sent to another process."""

    @property
    def may_be_silent(self) -> bool:
        """Whether the decoder may have nothing to say: the piece is of blank lines only."""

    def __call__(self, folder: Path, running: Running) -> None:
        """Write the output into ``folder``; DecoderError if the decoder fails or ``running`` was stopped."""


@dataclass(frozen=True)
class CommandWork:
    """A command that decodes a piece: its lines, or (with None) the whole input as it is."""

    decoder: CommandDecoder
    weights: Mapping[str, float]
    iteration: int
    job: int
    lines: bytes | None

    @property
    def may_be_silent(self) -> bool:
        """Whether the piece is of blank lines only."""
        return self.lines is not None and not self.lines.strip()

    def __call__(self, folder: Path, running: Running) -> None:
        """Run the command on the lines, in a file with the suffix of the input."""
        decoder, silent = self.decoder, self.may_be_silent
        if self.lines is not None:
            assert decoder.input is not None
            path = folder.absolute() / f"input{Path(decoder.input).suffix}"
            path.write_bytes(self.lines)
            decoder = replace(decoder, input=path)
        decoder.decode(self.weights, folder, self.iteration, job=self.job, running=running, may_be_silent=silent)


@dataclass(frozen=True)
class FunctionWork:
    """A function that decodes a piece: some inputs, or (with None) all sentences, which it knows itself."""

    function: Callable[..., DataLike]
    weights: Mapping[str, float]
    inputs: Sequence[Any] | None
    count: int
    may_be_silent: bool = False

    def __call__(self, folder: Path, running: Running) -> None:
        """Call the function, and write what it returns."""
        inputs = () if self.inputs is None else (self.inputs,)
        try:
            returned = self.function(dict(self.weights), *inputs)
        except Exception as error:
            lines = traceback.format_exc().splitlines()[-LAST_LINES:]
            raise DecoderError(f"the decoder raised {type(error).__name__}: {error}", tuple(lines)) from error
        running.check()  # the folder may belong to another run by now
        try:
            keep(returned, folder, lasting=True, count=self.count, packed=True)
        except InputError as error:
            raise DecoderError(f"the decoder's output cannot be used: {error}") from None


@dataclass(frozen=True)
class Inputs:
    """The input of a decoder, which can be cut into pieces."""

    decoder: Any
    """A CommandDecoder or a function."""
    inputs: Sequence[Any] | None
    """The inputs of a function, one a sentence."""
    sentences: int

    def works(
        self, pieces: Sequence[Piece], weights: Mapping[str, float], iteration: int
    ) -> Callable[[Piece, int], Work]:
        """A function from a piece and the number of a job to the work. O(input)."""
        decoder = self.decoder
        if isinstance(decoder, CommandDecoder):
            lines = self._lines() if len(pieces) > 1 else None

            def command(piece: Piece, job: int) -> Work:
                own = None if lines is None else b"".join(lines[piece.first : piece.first + piece.count])
                return CommandWork(decoder, weights, iteration, job, own)

            return command
        if len(pieces) > 1 and self.inputs is None:
            raise InputError(
                "jobs: a function from weights alone cannot decode a piece; give the inputs, too (inputs=…), and it is "
                "called with the weights and some of them"
            )

        def call(piece: Piece, job: int) -> Work:
            own = None if self.inputs is None else self.inputs[piece.first : piece.first + piece.count]
            return FunctionWork(decoder, weights, own, piece.count)

        return call

    def _lines(self) -> list[bytes]:
        """The lines of the input of a command, as they are."""
        path = self.decoder.input
        if path is None:
            raise InputError("jobs: the decoder has no input that could be cut into pieces; give one, or a single job")
        if not Path(path).is_file():
            raise InputError(f"jobs: the input {os.fspath(path)} is no file of lines, so it cannot be cut into pieces")
        with open(path, "rb") as file:
            lines = file.readlines()
        if len(lines) != self.sentences or any(b"\0" in line for line in lines):
            size = f"{counted(len(lines), 'line')} for {counted(self.sentences, 'reference')}"
            raise InputError(
                f"jobs: {os.fspath(path)} has {size}; to be cut into pieces, it must be a text with as many lines, and "
                "not compressed"
            )
        return lines


def check_inputs(name: str, inputs: Sequence[Any] | None, references: int) -> None:
    """Refuse inputs of a function that are more or fewer than the references."""
    if inputs is not None and len(inputs) != references:
        raise InputError(
            f"{name}: got {counted(len(inputs), 'input')} for {counted(references, 'reference')}; expected one for each"
        )


@dataclass(frozen=True)
class CheckedPart:
    """The output of a piece as a part of the whole, and the names of its sentences, where they have names."""

    part: Part
    names: frozenset[str]


def checked_part(piece: Piece, files: Sequence[Path], reading: Reading, *, may_be_silent: bool = True) -> CheckedPart:
    """The output of a piece; InputError if it does not belong to the sentences of the piece.

    A decoder that sees a piece numbers its sentences from 0. One that takes numbers from its input (an id in each line)
    gives those of the whole. Both can be told apart, because no piece is longer than those before it.
    """
    files = [path for path in files if path.is_dir() or not _is_empty(path)]
    if not files:
        if not may_be_silent:
            raise InputError("it is empty; a sentence without output is taken as empty only beside others")
        return CheckedPart(Part((), piece.first), frozenset())
    found = read_with(reading, files)
    names = frozenset(name for name in found.ids if isinstance(name, str))
    if names:
        if len(found) > piece.count:
            raise InputError(f"{counted(len(found), 'sentence')}, but the piece has {counted(piece.count, 'line')}")
        return CheckedPart(Part(tuple(files), piece.first), names)
    return CheckedPart(Part(tuple(files), _counted_from(found, piece)), names)


def _is_empty(path: Path) -> bool:
    """Whether a file has no content, unpacked if it is compressed."""
    with open_bytes(path) as stream:
        return not stream.read(1)


def _counted_from(found: Dataset, piece: Piece) -> int:
    """The sentence that the ids of a piece count from: the first of the piece, or 0."""
    unnamed = set(found.unnamed)
    numbers = [number for number in found.ids if isinstance(number, int) and number not in unnamed]
    if not found.is_lists and not found.has_lists and found.ids_by == "order":
        if len(found) != piece.count:
            raise InputError(
                f"{counted(len(found), 'forest')}, but the piece has {counted(piece.count, 'line')}; expected one for "
                "each, in order (--ids name takes the line from the number in the name of a file)"
            )
        return piece.first
    last = piece.first + piece.count
    if found.listed is None and all(number < piece.count for number in numbers):
        return piece.first
    if all(piece.first <= number < last for number in numbers):
        return 0
    raise InputError(
        f"ids from {min(numbers)} to {max(numbers)}, but the piece has {counted(piece.count, 'line')}; expected ids "
        f"from 0 to {piece.count - 1}, or, as in the whole input, from {piece.first} to {last - 1}"
    )
