"""One decoding: run the decoder, read what it found, and see whether it can be used, or take what is there already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hulltune.data.dataset import Dataset, References
from hulltune.errors import InputError
from hulltune.formats.reading import Reading
from hulltune.loop import places
from hulltune.loop.command import LOG, CommandDecoder, DecoderError, last_lines
from hulltune.loop.folder import RunFolder, outputs
from hulltune.loop.hypotheses import keep
from hulltune.tuning.inputs import DataLike

Decoder = Callable[[Mapping[str, float]], DataLike] | CommandDecoder
"""A function from weights to lists or forests (whatever ``tune`` takes), or a command."""


@dataclass(frozen=True)
class Decodings:
    """The decodings of a run, each in a folder of its name."""

    folder: RunFolder
    reading: Reading
    """How the output of a command is read."""
    lasting: bool

    def decode(
        self,
        decoder: Decoder,
        name: str,
        weights: Mapping[str, float],
        number: int,
        references: References,
        *,
        choose: bool = False,
    ) -> tuple[Dataset, list[Path]]:
        """What the decoder finds: it counts as done once it was read without a fault and its folder has its name.

        All sentences with a reference are there: one that the decoder wrote nothing for is empty. To ``choose`` from,
        there must be several outputs of a sentence.
        """
        done = self.folder.finished(name)
        if done is not None:
            files = outputs(done)
            reading = self.reading if isinstance(decoder, CommandDecoder) else Reading()
            return _complete(reading.read(files), references), files
        places.reached(f"before decoding {name}")
        with self.folder.unfinished(name) as folder:
            if isinstance(decoder, CommandDecoder):
                files = decoder.decode(weights, folder, number)
                try:
                    found = _complete(self.reading.read(files), references)
                    _check(found, weights, choose=choose)
                except InputError as error:
                    raise DecoderError(
                        f"the decoder's output cannot be used: {error}", last_lines(folder / LOG)
                    ) from None
            else:
                found, files = keep(decoder(dict(weights)), folder, lasting=self.lasting, count=len(references))
                found = _complete(found, references)
                _check(found, weights, choose=choose)
            places.reached(f"after decoding {name}")
        places.reached(f"after naming {name}")
        return found, [self.folder.path / name / path.name for path in files]


def _complete(found: Dataset, references: References) -> Dataset:
    """All sentences, those without output too, of which something must be there. Lists are completed when matched."""
    complete = found if found.is_lists else found.aligned_to(len(references))
    complete.matched(references)
    return complete


def _check(found: Dataset, weights: Mapping[str, float], *, choose: bool) -> None:
    """Whether the weights are of these outputs: those of other features would all count as 0, and pick anything."""
    if weights and not set(weights) & set(found.feature_names):
        raise InputError(
            f"the weights are for none of its features ({', '.join(found.feature_names[:8])}); "
            f"they are for {', '.join(list(weights)[:8])}"
        )
    if choose and np.max(np.diff(found.corpus.edge_offsets), initial=0) <= 1:
        raise InputError(
            "no sentence has more than one candidate, so that weights make no difference; expected n-best lists "
            "or forests"
        )
