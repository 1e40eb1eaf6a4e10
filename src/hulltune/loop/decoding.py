"""Decodings: run the decoder, read and check its output, or take the output of an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hulltune.data.dataset import Dataset, References
from hulltune.errors import InputError
from hulltune.formats.reading import Reading
from hulltune.loop.command import LOG, CommandDecoder, DecoderError, last_lines
from hulltune.loop.folder import RunFolder, outputs
from hulltune.loop.hypotheses import keep
from hulltune.tuning.inputs import DataLike

Decoder = Callable[[Mapping[str, float]], DataLike] | CommandDecoder
"""A function from weights to lists or forests (anything that ``tune`` takes), or a command."""


@dataclass(frozen=True)
class Decodings:
    """The decodings of a run, each in a folder with its name."""

    folder: RunFolder
    reading: Reading
    """The options for reading the output of a command."""
    lasting: bool
    """Whether the folder outlives the run, so that the run can be resumed."""

    def decode(
        self,
        decoder: Decoder,
        name: str,
        weights: Mapping[str, float],
        number: int,
        references: References,
        *,
        choose: bool = False,
        use: Callable[[Dataset, list[Path]], None] | None = None,
    ) -> tuple[Dataset, list[Path]]:
        """The output of the decoder, and its files. A decoding is done once its output was read without a fault and its
        folder has its final name.

        The output has all sentences with a reference; one for which the decoder wrote nothing is empty. With
        ``choose``, some sentence must have several outputs. ``use`` is called with the output and its files before they
        get their final name, and raises InputError if the run has no use for them: a repaired decoder can then go on.
        """
        done = self.folder.finished(name)
        if done is not None:
            files = outputs(done)
            reading = self.reading if isinstance(decoder, CommandDecoder) else Reading()
            return _complete(reading.read(files), references), files
        self.folder.reached(f"before decoding {name}")
        with self.folder.unfinished(name) as folder:
            if isinstance(decoder, CommandDecoder):
                files = decoder.decode(weights, folder, number)
                try:
                    found = _complete(self.reading.read(files), references)
                    _check(found, weights, choose=choose)
                    if use is not None:
                        use(found, files)
                except InputError as error:
                    raise DecoderError(
                        f"the decoder's output cannot be used: {error}", last_lines(folder / LOG)
                    ) from None
            else:
                found, files = keep(decoder(dict(weights)), folder, lasting=self.lasting, count=len(references))
                found = _complete(found, references)
                _check(found, weights, choose=choose)
                if use is not None:
                    use(found, files)
            self.folder.reached(f"after decoding {name}")
        self.folder.reached(f"after naming {name}")
        return found, [self.folder.path / name / path.name for path in files]


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
