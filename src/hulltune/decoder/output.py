"""Translate many sentences: into candidate lists, or into the forests themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hulltune.decoder.translation import FEATURES, Translator, weight_vector
from hulltune.forest.corpus import Corpus
from hulltune.forest.forest import Forest
from hulltune.forest.vocabulary import Vocabulary
from hulltune.io.candidates import CandidateLists
from hulltune.io.records import lists_from_records


def translate_to_forests(
    translator: Translator, sources: Sequence[str], weights: Mapping[str, float]
) -> Iterator[Forest]:
    """The forest of each sentence; they share a vocabulary."""
    vocabulary = Vocabulary()
    for source in sources:
        yield translator.forest(source.split(), weights, vocabulary=vocabulary)


def translate_to_lists(
    translator: Translator, sources: Sequence[str], weights: Mapping[str, float], *, size: int = 100
) -> CandidateLists:
    """The ``size`` best different translations of each sentence, with their features and scores."""
    from hulltune.lines.kbest import kbest

    corpus = Corpus.pack(list(translate_to_forests(translator, sources, weights)))
    best = kbest(corpus, weight_vector(weights), size, distinct=True, threads=1)
    values = best.features.toarray().tolist()
    records = []
    for first, last in zip(best.offsets[:-1].tolist(), best.offsets[1:].tolist(), strict=True):
        candidates = [
            {
                "text": best.texts[row],
                "features": dict(zip(FEATURES, values[row], strict=True)),
                "score": float(best.scores[row]),
            }
            for row in range(first, last)
        ]
        records.append({"candidates": candidates})
    return lists_from_records(records)
