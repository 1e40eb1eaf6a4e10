"""Features that are computed from the lists alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset
from hulltune.errors import unknown_name
from hulltune.names import BUILTIN_FEATURES


def check_builtin_features(names: Sequence[str]) -> None:
    """Refuse a name that is none of BUILTIN_FEATURES."""
    for name in names:
        if name not in BUILTIN_FEATURES:
            raise unknown_name("built-in feature", name, BUILTIN_FEATURES)


def add_builtin_features(lists: Dataset, names: Sequence[str]) -> Dataset:
    """The lists with some of BUILTIN_FEATURES added; linear in the texts, but for "consensus", which sorts them."""
    check_builtin_features(names)
    return lists.with_more_features(names, [_column(lists, name) for name in names]) if names else lists


def _column(lists: Dataset, name: str) -> Floats:
    from hulltune.kernels import texts

    corpus = lists.corpus
    if name == "rank":
        return corpus.edge_ids.astype(np.float64) + 1.0
    tokens = np.full(corpus.edges, -1, dtype=np.int64)  # the text of each hypothesis, −1 for the empty one
    tokens[np.diff(corpus.label_offsets) > 0] = corpus.labels
    if name == "consensus":
        sentences = np.repeat(np.arange(len(corpus)), np.diff(corpus.sentence_edges))
        keys = sentences * (len(corpus.vocabulary) + 1) + tokens
        _, places = np.unique(keys, return_inverse=True)
        votes = np.bincount(places.reshape(-1), weights=lists.copies)
        return np.asarray(votes[places.reshape(-1)], dtype=np.float64)
    counts = texts.count_words_and_characters(*corpus.vocabulary.as_packed())
    sizes = np.append(counts[1 if name == "chars" else 0], 0)[tokens].astype(np.float64)
    if name != "log_length":
        return sizes
    distinct, places = np.unique(sizes, return_inverse=True)
    # By Python's logarithm: the last bit of NumPy's depends on the processor.
    return np.array([math.log1p(size) for size in distinct.tolist()])[places.reshape(-1)]
