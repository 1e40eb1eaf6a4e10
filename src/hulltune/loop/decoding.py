"""Decodings: run the decoder, read and check its output, or take the output of an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset, References
from hulltune.errors import InputError
from hulltune.formats.read import read_parts
from hulltune.formats.reading import Part
from hulltune.loop.command import LOG, CommandDecoder, DecoderError, last_lines
from hulltune.loop.folder import RunFolder, outputs
from hulltune.loop.hypotheses import keep
from hulltune.loop.jobs import Jobs
from hulltune.loop.pieces import CUT, Cut, Inputs, Piece, checked_part
from hulltune.loop.runners import Runner
from hulltune.options import Reading
from hulltune.tuning.inputs import DataLike

Decoder = Callable[..., DataLike] | CommandDecoder
"""A command, or a function from weights (and some inputs) to lists or forests (anything that ``tune`` takes)."""


@dataclass(frozen=True)
class Decodings:
    """The decodings of a run, each in a folder with its name."""

    folder: RunFolder
    reading: Reading
    """The options for reading the output of a command."""
    lasting: bool
    """Whether the folder outlives the run, so that the run can be resumed."""
    jobs: Jobs
    runner: Runner

    def decode(
        self,
        decoder: Decoder,
        name: str,
        weights: Mapping[str, float],
        number: int,
        references: References,
        *,
        inputs: Sequence[Any] | None = None,
        choose: bool = False,
        use: Callable[[Dataset, Sequence[Part]], None] | None = None,
        told: Callable[[int, int], None] = lambda done, pieces: None,
    ) -> tuple[Dataset, tuple[Part, ...]]:
        """The output of the decoder, and its files. A decoding is done once its output was read without a fault and its
        folder has its final name.

        The output has all sentences with a reference; one for which the decoder wrote nothing is empty. With
        ``choose``, some sentence must have several outputs. ``use`` is called with the output and its files before they
        get their final name, and raises InputError if the run has no use for them: a repaired decoder can then go on.
        A function gets ``inputs``, if there are any. ``told`` is called with the number of pieces that are decoded, and
        of all of them, where the input is cut.
        """
        is_command = isinstance(decoder, CommandDecoder)
        reading = self.reading if is_command else Reading()
        done = self.folder.finished(name)
        if done is not None:
            known = _parts_in(done, reading)
            return _complete(read_parts(reading, known), references), known
        self.folder.reached(f"before decoding {name}")
        cut = left = self._cut_left(name, weights, len(references))
        if cut is None and not self.jobs.is_one:
            cut = Cut(len(references), self.jobs.pieces_of(len(references)), dict(weights))
        with self.folder.unfinished(name, keep=left is not None) as folder:
            found = None
            parts: tuple[Part, ...] = ()
            if cut is not None:
                self._in_pieces(Inputs(decoder, inputs, len(references)), cut, folder, number, reading, told)
            elif isinstance(decoder, CommandDecoder):
                parts = (Part(tuple(decoder.decode(weights, folder, number))),)
            else:
                returned = decoder(dict(weights), *(() if inputs is None else (inputs,)))
                found, files = keep(returned, folder, lasting=self.lasting, count=len(references))
                parts = (Part(tuple(files)),)
            try:
                parts = parts or _parts_in(folder, reading)
                found = _complete(read_parts(reading, parts) if found is None else found, references)
                _check(found, weights, choose=choose)
                if use is not None:
                    use(found, parts)
            except InputError as error:
                (folder / CUT).unlink(missing_ok=True)  # pieces of a decoder that has to be repaired are of no use
                if not is_command and cut is None:
                    raise
                said = last_lines(folder / LOG) if (folder / LOG).exists() else ()
                raise DecoderError(f"the decoder's output cannot be used: {error}", said) from None
            self.folder.reached(f"after decoding {name}")
        self.folder.reached(f"after naming {name}")
        return found, tuple(_moved(part, folder, self.folder.path / name) for part in parts)

    def _cut_left(self, name: str, weights: Mapping[str, float], sentences: int) -> Cut | None:
        """The cut that an earlier run has left, if its pieces are of use: those of the same sentences and weights."""
        cut = Cut.load(self.folder.unfinished_path(name))
        return cut if cut is not None and (cut.sentences, cut.weights) == (sentences, weights) else None

    def _in_pieces(
        self,
        inputs: Inputs,
        cut: Cut,
        folder: Path,
        iteration: int,
        reading: Reading,
        told: Callable[[int, int], None],
    ) -> None:
        """Decode all pieces of which the folder has no output yet."""
        pieces = list(cut)
        work = inputs.works(pieces, cut.weights, iteration)
        cut.save(folder)
        home = RunFolder(folder)
        left = [piece for piece in pieces if home.finished(piece.name) is None]
        told(len(pieces) - len(left), len(pieces))

        def decode(piece: Piece, job: int) -> None:
            with home.unfinished(piece.name) as place:
                own = work(piece, job)
                self.runner.run(own, place)
                try:
                    checked_part(piece, outputs(place), reading, may_be_silent=own.may_be_silent)
                except InputError as error:
                    said = last_lines(place / LOG) if (place / LOG).exists() else ()
                    raise DecoderError(f"the decoder's output cannot be used: {error}", said) from None
                self.folder.reached(f"after decoding {piece.name}")
            self.folder.reached(f"after naming {piece.name}")

        def count(piece: Piece) -> None:
            left.remove(piece)
            told(len(pieces) - len(left), len(pieces))

        if left:
            self.runner.ready()
            self.jobs.run(left.copy(), decode, stop=self.runner.stop, told=count)


def _parts_in(folder: Path, reading: Reading) -> tuple[Part, ...]:
    """The outputs in the folder of a decoding. No two pieces may give a sentence the same name."""
    cut = Cut.load(folder)
    if cut is None:
        return (Part(tuple(outputs(folder))),)
    checked = [checked_part(piece, outputs(folder / piece.name), reading) for piece in cut]
    named: set[str] = set()
    for piece, one in zip(cut, checked, strict=True):
        if not named.isdisjoint(one.names):
            name = min(named & one.names)
            raise InputError(
                f"{piece.lines}: a sentence {name!r}, as in an earlier piece; expected other names, or numbers from 0"
            )
        named |= one.names
    return tuple(one.part for one in checked)


def _moved(part: Part, before: Path, after: Path) -> Part:
    return replace(part, paths=tuple(after / Path(path).relative_to(before) for path in part.paths))


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
