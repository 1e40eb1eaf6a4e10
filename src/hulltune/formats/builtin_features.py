"""Features that can be had from the lists alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import unknown_name
from hulltune.formats.candidates import CandidateLists
from hulltune.names import BUILTIN_FEATURES


def add_builtin_features(lists: CandidateLists, names: Sequence[str]) -> CandidateLists:
    """The lists with some of BUILTIN_FEATURES added; linear in the texts."""
    for name in names:
        if name not in BUILTIN_FEATURES:
            raise unknown_name("built-in feature", name, BUILTIN_FEATURES)
    if not names:
        return lists
    return lists.with_features(names, [_column(lists, name) for name in names])


def _column(lists: CandidateLists, name: str) -> NDArray[np.float64]:
    from hulltune.kernels import texts

    if name == "rank":
        return lists.ranks.astype(np.float64) + 1.0
    if name == "consensus":
        hashes = texts.hash_texts(lists.text_bytes, lists.text_offsets)
        nothing = np.zeros((lists.rows, 0), order="F")
        first = texts.first_equals(lists.text_bytes, lists.text_offsets, nothing, hashes, lists.offsets)
        votes = np.bincount(first, weights=lists.copies, minlength=lists.rows)
        return np.asarray(votes[first], dtype=np.float64)
    counts = texts.count_words_and_characters(lists.text_bytes, lists.text_offsets).astype(np.float64)
    if name == "log_length":
        return np.asarray(np.log1p(counts[0]))
    return np.asarray(counts[0 if name == "words" else 1])
