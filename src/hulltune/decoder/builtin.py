"""The built-in decoder as the loop calls it: weights in, lists or forests out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from hulltune.decoder.model import BEAM, built_in_translator
from hulltune.decoder.output import translate_to_forests, translate_to_lists
from hulltune.forest.forest import Forest
from hulltune.io.candidates import CandidateLists
from hulltune.io.problems import Problems
from hulltune.io.streams import numbered_lines


class BuiltInDecoder:
    """Translates the sentences of a file, or given ones, with whatever weights it is called with."""

    def __init__(
        self,
        sources: str | os.PathLike[str] | Sequence[str],
        *,
        size: int = 100,
        forests: bool = False,
        beam: int = BEAM,
    ) -> None:
        if isinstance(sources, (str, os.PathLike)):
            sources = [line for _, line in numbered_lines(sources, Problems())]
        self.sources, self.size, self.forests = list(sources), size, forests
        self.translator = built_in_translator(beam=beam)

    def __call__(self, weights: Mapping[str, float]) -> CandidateLists | list[Forest]:
        """The ``size`` best translations of each sentence, or their forests."""
        if self.forests:
            return list(translate_to_forests(self.translator, self.sources, weights))
        return translate_to_lists(self.translator, self.sources, weights, size=self.size)
