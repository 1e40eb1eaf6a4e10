"""The decoder in the form that the loop calls: weights in, lists, lattices or forests out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from decoder.task import small_translator
from decoder.translation import Translator, weight_vector
from decoder.unfolding import unfolded
from hulltune import Dataset, Forest, InputError, kbest, read
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.streams import Problems, numbered_lines

BEAM = 6
"""Items that survive for each category and span."""
FORMS = ("lists", "lattices", "forests")


class Decoder:
    """A decoder for the loop: called with weights, it translates the sentences of a file or of a list.

    The ``form`` of the translations is the ``size`` best different ones of each sentence ("lists"), or all derivations
    that the beam kept, as "lattices" or "forests".

    >>> from decoder import START_WEIGHTS, Decoder, made_task
    >>> decoder = Decoder(made_task(2, seed=1).sources, size=5)
    >>> lists = decoder(START_WEIGHTS)
    >>> len(lists), lists.corpus.edges
    (2, 10)
    """

    def __init__(
        self,
        sources: str | os.PathLike[str] | Sequence[str],
        *,
        size: int = 100,
        form: str = "lists",
        beam: int = BEAM,
        translator: Translator | None = None,
    ) -> None:
        if form not in FORMS:
            raise InputError(f"form: expected one of {', '.join(FORMS)}, got {form!r}")
        if isinstance(sources, (str, os.PathLike)):
            sources = [line for _, line in numbered_lines(sources, Problems())]
        self.sources, self.size, self.form = list(sources), size, form
        self.translator = small_translator(beam=beam) if translator is None else translator

    def __call__(self, weights: Mapping[str, float]) -> Dataset | list[Forest]:
        """The translations of all sentences; forests share a vocabulary."""
        vocabulary = Vocabulary()
        forests = [self.translator.forest(source.split(), weights, vocabulary=vocabulary) for source in self.sources]
        if self.form == "lists":
            return candidates(forests, weights, self.size)
        return [unfolded(forest) for forest in forests] if self.form == "lattices" else forests


def candidates(forests: Sequence[Forest], weights: Mapping[str, float], size: int) -> Dataset:
    """The ``size`` best different outputs of each forest, with the features and the score of their best derivations."""
    found = kbest(forests, weight_vector(weights), size, distinct=True)
    return read(
        {"candidates": [{"text": " ".join(one.tokens), "features": one.features, "score": one.score} for one in ranked]}
        for ranked in (found[sentence] for sentence in range(len(found)))
    )
