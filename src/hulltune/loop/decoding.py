"""Decodings: run the decoder, read and check its output, or take the output of an earlier run."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset, References
from hulltune.errors import InputError, OptionError
from hulltune.formats.read import Part, read_parts, read_with
from hulltune.formats.streams import open_bytes
from hulltune.loop.command import CommandDecoder
from hulltune.loop.folder import RunFolder, outputs
from hulltune.loop.hypotheses import keep
from hulltune.loop.jobs import CUT, Cut, InputPiece, Jobs, decode_pieces
from hulltune.loop.processes import LAST_LINES, LOG, DecoderError, DecoderProcesses, last_lines
from hulltune.options import Reading
from hulltune.tuning.inputs import DataLike
from hulltune.wording import counted

Decoder = Callable[..., DataLike] | CommandDecoder
"""A command, or a function from weights (and some inputs) to lists or forests (anything that ``tune`` takes)."""


@dataclass(frozen=True)
class DecodingTask:
    """A decoder, and the references of the sentences that it decodes."""

    decoder: Decoder
    references: References
    inputs: Sequence[Any] | None = None
    """The inputs of a function, one for each sentence; None if it knows them itself."""

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.references)


@dataclass(frozen=True)
class Decodings:
    """The decodings of a run, each in a folder with its name."""

    folder: RunFolder
    reading: Reading
    """The options for reading the output of a command."""
    jobs: Jobs
    processes: DecoderProcesses = field(default_factory=DecoderProcesses)

    def decode(
        self,
        task: DecodingTask,
        name: str,
        weights: Mapping[str, float],
        number: int,
        *,
        choose: bool = False,
        use: Callable[[Dataset], None] | None = None,
        told: Callable[[int, int], None] = lambda done, pieces: None,
    ) -> Dataset:
        """The output of the decoder. A decoding is done once its output was read without a fault and its
        folder has its final name.

        The output has all sentences with a reference; one for which the decoder wrote nothing is empty. With
        ``choose``, some sentence must have several outputs. ``use`` is called with the output before its files
        get their final name, and raises InputError if the run has no use for them: a repaired decoder can then go on.
        ``told`` is called with the number of pieces that are decoded, and of all of them, where the input is cut.
        """
        decoder = task.decoder
        reading = self.reading if isinstance(decoder, CommandDecoder) else Reading()
        done = self.folder.finished(name)
        if done is not None:
            return _complete(read_parts(reading, _parts_in(done, reading)), task.references)
        self.folder.reached(f"before decoding {name}")
        left = Cut.of(self.folder.unfinished_path(name))
        if left is not None and (left.sentences, left.weights) != (task.sentences, weights):
            left = None  # the pieces that an earlier run has left are of no use
        cut = left
        if cut is None and not self.jobs.is_one:
            cut = Cut(task.sentences, self.jobs.pieces_of(task.sentences), dict(weights))
        with self.folder.unfinished(name, keep=left is not None) as folder:
            found = None
            parts: tuple[Part, ...] = ()
            if cut is not None:
                self._decode_pieces(task, cut, folder, number, told)
            elif isinstance(decoder, CommandDecoder):
                parts = (Part(tuple(decoder.decode(weights, folder, number))),)
            else:
                returned = decoder(dict(weights), *(() if task.inputs is None else (task.inputs,)))
                found, files = keep(returned, folder, count=task.sentences)
                parts = (Part(tuple(files)),)
            # What a function itself returns for all sentences stays an InputError, with the place where it was raised.
            with _usable(folder) if cut is not None or isinstance(decoder, CommandDecoder) else nullcontext():
                parts = parts or _parts_in(folder, reading)
                found = _complete(read_parts(reading, parts) if found is None else found, task.references)
                _check(found, weights, choose=choose)
                if use is not None:
                    use(found)
            self.folder.reached(f"after decoding {name}")
        self.folder.reached(f"after naming {name}")
        return found

    def _decode_pieces(
        self, task: DecodingTask, cut: Cut, folder: Path, iteration: int, told: Callable[[int, int], None]
    ) -> None:
        """Decode all pieces of which the folder has no output yet."""
        decode = _piece_decoder(task, cut, iteration, self.processes)
        reading = self.reading if isinstance(task.decoder, CommandDecoder) else Reading()
        cut.save(folder / CUT)
        home = RunFolder(folder)
        left = [piece for piece in cut if home.finished(piece.name) is None]
        told(cut.pieces - len(left), cut.pieces)

        def work(piece: InputPiece, job: int) -> None:
            with home.unfinished(piece.name) as place:
                may_be_silent = decode(piece, job, place)
                with _usable(place):
                    checked_part(piece, outputs(place), reading, may_be_silent=may_be_silent)
                self.folder.reached(f"after decoding {piece.name}")
            self.folder.reached(f"after naming {piece.name}")

        def count(piece: InputPiece) -> None:
            left.remove(piece)
            told(cut.pieces - len(left), cut.pieces)

        decode_pieces(self.jobs, left.copy(), work, stop=self.processes.stop, told=count)


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Make an InputError about the output of the decoder a DecoderError, with the last lines of the log."""
    try:
        yield
    except OptionError:  # no fault of the decoder
        raise
    except InputError as error:
        (folder / CUT).unlink(missing_ok=True)  # pieces of a decoder that has to be repaired are of no use
        raise DecoderError(f"the decoder's output cannot be used: {error}", last_lines(folder / LOG)) from None


def _complete(found: Dataset, references: References) -> Dataset:
    """The output with all sentences of the references, checked against them. Lists are completed when matched."""
    complete = found if found.is_lists else found.aligned_to(len(references))
    complete.matched(references)  # raises an error if they do not fit
    return complete


def _check(found: Dataset, weights: Mapping[str, float], *, choose: bool) -> None:
    """Refuse weights of other features, which would all count as 0, and (with ``choose``) outputs without a choice."""
    if weights and not set(weights) & set(found.feature_names):
        raise InputError(
            f"it has none of the features that the weights are for ({', '.join(list(weights)[:8])}); "
            f"its features are {', '.join(found.feature_names[:8])}"
        )
    if choose and np.max(np.diff(found.corpus.edge_offsets), initial=0) <= 1:
        raise InputError(
            "no sentence has more than one candidate, so weights make no difference; expected n-best lists or forests"
        )


# Pieces of the input.


def _piece_decoder(
    task: DecodingTask, cut: Cut, iteration: int, processes: DecoderProcesses
) -> Callable[[InputPiece, int, Path], bool]:
    """A function that a job decodes a piece with, into a folder; it returns whether the piece may have no output."""
    decoder, inputs = task.decoder, task.inputs
    if isinstance(decoder, CommandDecoder):
        own_decoder, lines = decoder, _lines(decoder, cut.sentences) if cut.pieces > 1 else None

        def run(piece: InputPiece, job: int, folder: Path) -> bool:
            mine, is_blank = own_decoder, False
            if lines is not None:
                own = b"".join(lines[piece.first : piece.first + piece.count])
                is_blank = not own.strip()
                path = folder.absolute() / f"input{Path(mine.input or '').suffix}"
                path.write_bytes(own)
                mine = replace(mine, input=path)
            mine.decode(cut.weights, folder, iteration, job=job, processes=processes, may_be_silent=is_blank)
            return is_blank

        return run
    function = decoder
    if cut.pieces > 1 and inputs is None:
        raise InputError(
            "jobs: a function from weights alone cannot decode a piece; give the inputs, too (inputs=…), and it is "
            "called with the weights and some of them"
        )

    def call(piece: InputPiece, job: int, folder: Path) -> bool:
        try:
            some = () if inputs is None else (inputs[piece.first : piece.first + piece.count],)
            returned = function(dict(cut.weights), *some)
        except Exception as error:
            lines = traceback.format_exc().splitlines()[-LAST_LINES:]
            raise DecoderError(f"the decoder raised {type(error).__name__}: {error}", tuple(lines)) from error
        processes.check()  # the folder may belong to another run by now
        with _usable(folder):
            keep(returned, folder, count=piece.count, is_piece=True)
        return False

    return call


def _lines(decoder: CommandDecoder, sentences: int) -> list[bytes]:
    """The lines of the input of a command, as they are. O(input)."""
    path = decoder.input
    if path is None:
        raise InputError("jobs: the decoder has no input that could be cut into pieces; give one, or a single job")
    if not Path(path).is_file():
        raise InputError(f"jobs: the input {os.fspath(path)} is no file of lines, so it cannot be cut into pieces")
    with open(path, "rb") as file:
        lines = file.readlines()
    if len(lines) != sentences or any(b"\0" in line for line in lines):
        size = f"{counted(len(lines), 'line')} for {counted(sentences, 'reference')}"
        raise InputError(
            f"jobs: {os.fspath(path)} has {size}; to be cut into pieces, it must be a text with as many lines, and "
            "not compressed"
        )
    return lines


def _parts_in(folder: Path, reading: Reading) -> tuple[Part, ...]:
    """The outputs in the folder of a decoding. No two pieces may give a sentence the same name."""
    cut = Cut.of(folder)
    if cut is None:
        return (Part(tuple(outputs(folder))),)
    parts = []
    named: set[str] = set()
    for piece in cut:
        part, names = checked_part(piece, outputs(folder / piece.name), reading)
        if not named.isdisjoint(names):
            raise InputError(
                f"{piece.lines}: a sentence {min(named & names)!r}, as in an earlier piece; expected other names, or "
                "numbers from 0"
            )
        named |= names
        parts.append(part)
    return tuple(parts)


def checked_part(
    piece: InputPiece, files: Sequence[Path], reading: Reading, *, may_be_silent: bool = True
) -> tuple[Part, frozenset[str]]:
    """The output of a piece as a part of the whole, and the names of its sentences, where they have names; InputError
    if it does not belong to the sentences of the piece.

    A decoder that sees a piece numbers its sentences from 0. One that takes numbers from its input (an id in each line)
    gives those of the whole. Both can be told apart, because no piece is longer than those before it.
    """
    files = [path for path in files if path.is_dir() or not _is_empty(path)]
    if not files:
        if not may_be_silent:
            raise InputError("it is empty; a sentence without output is taken as empty only beside others")
        return Part((), piece.first), frozenset()
    found = read_with(reading, files)
    names = frozenset(name for name in found.ids if isinstance(name, str))
    if names and len(found) > piece.count:
        raise InputError(f"{counted(len(found), 'sentence')}, but the piece has {counted(piece.count, 'line')}")
    return Part(tuple(files), piece.first if names else _counted_from(found, piece)), names


def _is_empty(path: Path) -> bool:
    """Whether a file has no content, unpacked if it is compressed."""
    with open_bytes(path) as stream:
        return not stream.read(1)


def _counted_from(found: Dataset, piece: InputPiece) -> int:
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
