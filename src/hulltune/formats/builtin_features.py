"""Features that are computed from the words of lists and forests alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset
from hulltune.errors import InputError, unknown_name
from hulltune.names import BUILTIN_FEATURES, FOREST_FEATURES


def check_builtin_features(names: Sequence[str]) -> None:
    """Refuse a name that is none of BUILTIN_FEATURES."""
    for name in names:
        if name not in BUILTIN_FEATURES:
            raise unknown_name("built-in feature", name, BUILTIN_FEATURES)


def add_builtin_features(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The dataset with some of BUILTIN_FEATURES added; linear in the texts, but for "consensus", which sorts them.

    Of these, forests take those of FOREST_FEATURES, which are sums over edges.

    >>> from hulltune.formats import add_builtin_features
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> add_builtin_features(task.lists, ["words", "rank"]).feature_names[-2:]
    ('words', 'rank')
    """
    check_builtin_features(names)
    if not names:
        return dataset
    if dataset.is_lists:
        return dataset.with_more_features(names, [_column(dataset, name) for name in names])
    for name in names:
        if name not in FOREST_FEATURES:
            raise InputError(
                f"features: {name!r} is no sum over the edges of forests; they take {', '.join(FOREST_FEATURES)}"
            )
        if name in dataset.feature_names:
            raise InputError(f"features: the forests have a feature {name!r} already, as SLF does; leave it out")
    with_words = dataset.with_more_features(names, [_words_of_edges(dataset) for _ in names])
    model = None if dataset.model is None else {**dataset.model, **dict.fromkeys(names, 0.0)}
    return replace(with_words, model=model)


def _words_of_edges(dataset: Dataset) -> Floats:
    """The number of words that each edge puts out itself; the text of a list's hypothesis may have several.

    An edge that does not put out each of its tails once is refused: there the words of an output are no sum.
    """
    from hulltune.kernels.outputs import texts

    corpus = dataset.corpus
    of_tails = corpus.labels < 0
    edges = np.repeat(np.arange(corpus.edges), np.diff(corpus.label_offsets))[of_tails]
    tails = corpus.tail_offsets[edges] - 1 - corpus.labels[of_tails]
    if len(tails) != len(corpus.tails) or len(np.unique(tails)) != len(tails):
        raise InputError(
            "features: an edge does not put out each of its tails once, so that 'words' is no sum of edges"
        )
    sizes = np.append(texts.count_words_and_characters(*corpus.vocabulary.as_packed())[0], 0)
    counts = np.concatenate([[0], np.cumsum(sizes[np.maximum(corpus.labels, -1)])])  # −1: a tail
    return np.diff(counts[corpus.label_offsets]).astype(np.float64)


def _column(lists: Dataset, name: str) -> Floats:
    from hulltune.kernels.outputs import texts

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
