"""The built-in decoder as the loop calls it: weights in, lists, lattices or forests out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from hulltune.data.dataset import Dataset
from hulltune.data.forest import Forest
from hulltune.defaults import BEAM
from hulltune.demo.model import built_in_translator
from hulltune.demo.output import translate_to_forests, translate_to_lattices, translate_to_lists
from hulltune.errors import InputError
from hulltune.formats.streams import Problems, numbered_lines


class BuiltInDecoder:
    """Translates the sentences of a file, or given ones, with whatever weights it is called with."""

    def __init__(
        self,
        sources: str | os.PathLike[str] | Sequence[str],
        *,
        size: int = 100,
        lattices: bool = False,
        forests: bool = False,
        beam: int = BEAM,
    ) -> None:
        if lattices and forests:
            raise InputError("lattices, forests: expected one of them at most")
        if isinstance(sources, (str, os.PathLike)):
            sources = [line for _, line in numbered_lines(sources, Problems())]
        self.sources, self.size = list(sources), size
        self.lattices, self.forests = lattices, forests
        self.left_out: dict[int, int] = {}
        """Sentences whose lattice would have been too large at any call, and the edges last left out of each."""
        self.translator = built_in_translator(beam=beam)

    def __call__(self, weights: Mapping[str, float]) -> Dataset | list[Forest]:
        """The ``size`` best translations of each sentence, or all that the beam kept as a lattice or a forest."""
        if self.forests:
            return list(translate_to_forests(self.translator, self.sources, weights))
        if self.lattices:
            found = list(translate_to_lattices(self.translator, self.sources, weights))
            self.left_out.update((number, each.left_out) for number, each in enumerate(found) if each.left_out)
            return [each.forest for each in found]
        return translate_to_lists(self.translator, self.sources, weights, size=self.size)
