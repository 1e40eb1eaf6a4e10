"""The built-in decoder in the form that the loop calls: weights in, lists, lattices or forests out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hulltune.data.dataset import Dataset
from hulltune.data.forest import Forest
from hulltune.defaults import BEAM
from hulltune.demo.model import built_in_translator
from hulltune.demo.output import translate_to_forests, translate_to_lattices, translate_to_lists
from hulltune.errors import InputError
from hulltune.formats.streams import Problems, numbered_lines


class BuiltInDecoder:
    """A decoder for the loop: called with weights, it translates the sentences of a file or of a list.

    >>> from hulltune.demo import START_WEIGHTS, BuiltInDecoder, built_in_task
    >>> decoder = BuiltInDecoder(built_in_task(2, seed=1).sources, size=5)
    >>> lists = decoder(START_WEIGHTS)
    >>> len(lists), lists.corpus.edges
    (2, 10)
    """

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
            raise InputError("lattices, forests: expected one of them at most, got both")
        if isinstance(sources, (str, os.PathLike)):
            sources = [line for _, line in numbered_lines(sources, Problems())]
        self.sources, self.size, self.beam = list(sources), size, beam
        self.lattices, self.forests = lattices, forests
        self.left_out: dict[int, int] = {}
        """The sentences whose lattice was too large in some call, with the number of edges last left out."""
        self.translator = built_in_translator(beam=beam)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process make its own: rules of the grammar cannot be sent."""
        made = partial(
            BuiltInDecoder, size=self.size, lattices=self.lattices, forests=self.forests, beam=self.beam
        )  # fmt: skip
        return made, (self.sources,)

    @property
    def inputs(self) -> range:
        """The inputs of ``tune_loop`` for several jobs: the numbers of the sentences."""
        return range(len(self.sources))

    def __call__(self, weights: Mapping[str, float], inputs: Sequence[int] | None = None) -> Dataset | list[Forest]:
        """The ``size`` best translations of each sentence, or all that the beam kept as a lattice or a forest."""
        numbers = self.inputs if inputs is None else inputs
        sources = [self.sources[number] for number in numbers]
        if self.forests:
            return list(translate_to_forests(self.translator, sources, weights))
        if self.lattices:
            lattices = list(translate_to_lattices(self.translator, sources, weights))
            left_out = ((number, one.left_out) for number, one in zip(numbers, lattices, strict=True))
            self.left_out.update((number, count) for number, count in left_out if count)
            return [one.forest for one in lattices]
        return translate_to_lists(self.translator, sources, weights, size=self.size)
