"""Candidate lists as a corpus: forests of one node, an edge a hypothesis, its text one token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bytes, Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Provenance, References, SentenceId, own_first_choices
from hulltune.data.features import DenseFeatures, Features
from hulltune.data.forest import Pruned
from hulltune.data.vocabulary import Vocabulary


def list_corpus(
    offsets: Int64s,
    text: Bytes,
    text_offsets: Int64s,
    features: Features,
    feature_names: tuple[str, ...],
    *,
    ranks: Int64s | None = None,
    hashes: NDArray[np.uint64] | None = None,
) -> Corpus:
    """The corpus of lists: hypotheses ``offsets[i]`` up to ``offsets[i + 1]`` are those of sentence i.

    The UTF-8 text of hypothesis r is ``text[text_offsets[r]:text_offsets[r + 1]]``; equal texts of a list become one
    token. ``text`` is overwritten: the tokens move together in its memory. ``ranks`` are the places in the lists as
    written; ``hashes`` are those of texts.hash_texts, if they are known. O(hypotheses + bytes), and no Python
    object for any of them.
    """
    from hulltune.kernels.outputs import texts

    count = len(text_offsets) - 1
    hashes = texts.hash_texts(text, text_offsets) if hashes is None else hashes
    nothing = np.zeros((count, 0), order="F")
    first = texts.first_equals(text, text_offsets, nothing, hashes, offsets)
    filled = text_offsets[1:] > text_offsets[:-1]
    is_token = filled & (first == np.arange(count))
    tokens = np.flatnonzero(is_token)
    numbers = np.cumsum(is_token, dtype=np.int32)
    numbers -= 1
    labels = numbers[first]
    del first, numbers
    if len(tokens) < count:
        token_offsets = np.zeros(len(tokens) + 1, dtype=np.int64)
        texts.gather_texts(text, text_offsets, tokens, text, token_offsets)
        text, text_offsets = text[: token_offsets[-1]], token_offsets
    label_offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(filled, out=label_offsets[1:])
    return Corpus(
        node_offsets=np.arange(len(offsets), dtype=np.int64),
        edge_offsets=offsets,
        tail_offsets=np.zeros(count + 1, dtype=np.int64),
        tails=np.zeros(0, dtype=np.int32),
        features=features,
        feature_names=feature_names,
        label_offsets=label_offsets,
        labels=labels if label_offsets[-1] == count else labels[filled],
        vocabulary=Vocabulary.packed(text, text_offsets),
        edge_ids=places_in_lists(offsets) if ranks is None else ranks,
        pruned=(Pruned(),) * (len(offsets) - 1),
    )


def places_in_lists(offsets: Int64s) -> Int64s:
    """The place of every hypothesis in its list, from 0."""
    places = np.arange(offsets[-1], dtype=np.int64)
    places -= np.repeat(offsets[:-1], np.diff(offsets))
    return places


def packed_texts(texts: Sequence[str]) -> tuple[Bytes, Int64s]:
    """Texts as UTF-8 laid end to end, and their offsets."""
    encoded = [text.encode("utf-8") for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8), offsets


def lists_of_texts(
    ids: Sequence[SentenceId],
    offsets: Int64s,
    texts: Sequence[str],
    features: NDArray[Any],
    feature_names: tuple[str, ...],
    *,
    scores: Floats | None = None,
    references: References | None = None,
    provenance: tuple[Provenance, ...] = (),
) -> Dataset:
    """The dataset of lists in memory; no two hypotheses of a list may be equal."""
    corpus = list_corpus(offsets, *packed_texts(texts), DenseFeatures(np.asfortranarray(features)), feature_names)
    return Dataset(
        ids=ids,
        corpus=corpus,
        first_choices=own_first_choices(offsets, scores),
        references=references,
        scores=scores,
        copies=np.ones(len(texts), dtype=np.int32),
        provenance=provenance,
    )
