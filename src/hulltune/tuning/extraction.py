"""Forests made smaller: lists of their derivations, and forests without the edges that only bad derivations use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import DenseFeatures
from hulltune.data.lists import packed_texts
from hulltune.formats.ranked import ranked_lines
from hulltune.formats.rows import Rows, to_dataset
from hulltune.lines.derivations import DerivationLists
from hulltune.search.pruning import Pruning, prune
from hulltune.tuning.reranking import RankedDerivations

Floats = NDArray[np.float64]


def derivation_lines(
    ids: Sequence[SentenceId], found: DerivationLists, output: str, *, unique: bool = False
) -> Iterator[tuple[str, bool]]:
    """Derivations as lines of n-best lists ("moses", "jsonl") or texts (see ranked_lines), a sentence at a time.

    Of sparse features, those that are 0 in all derivations of a sentence are left out. With ``unique``, of derivations
    with the same output the first counts alone.
    """
    for sentence, name in enumerate(ids):
        first, last = int(found.offsets[sentence]), int(found.offsets[sentence + 1])
        names, values = _dense_sums(found, first, last)
        rows = RankedDerivations((name,), names, values, found.texts[first:last])
        places = np.arange(last - first)
        if unique:
            first_rows: dict[str, int] = {}
            for row, text in enumerate(rows.texts):
                first_rows.setdefault(text, row)
            places = np.array(list(first_rows.values()), dtype=np.int64)
        yield from ranked_lines(rows, np.array([0, len(places)]), places, found.scores[first:last][places], output)


def candidate_lists(ids: Sequence[SentenceId], found: DerivationLists) -> Dataset:
    """Derivations as candidate lists with their model scores; those with the same output and features count once."""
    text, offsets = packed_texts(found.texts)
    names, values = _dense_sums(found, 0, len(found.texts))

    def fill(matrix: NDArray[Any], destination: NDArray[np.int64]) -> None:
        matrix[destination] = values

    rows = Rows(
        ids=list(ids),
        keys=found.sentences,
        feature_names=names,
        fill=fill,
        text=text,
        text_lengths=np.diff(offsets),
        scores=found.scores.copy(),
    )
    return to_dataset(rows)


def _dense_sums(found: DerivationLists, first: int, last: int) -> tuple[tuple[str, ...], Floats]:
    """The summed features of some derivations as a matrix; of sparse ones, the columns that occur."""
    features = found.features.rows(first, last)
    names = found.corpus.feature_names
    if isinstance(features, DenseFeatures):
        return names, np.asarray(features.values, dtype=np.float64)
    used, columns = np.unique(features.columns, return_inverse=True)
    matrix = np.zeros((last - first, len(used)))
    matrix[np.repeat(np.arange(last - first), np.diff(features.offsets)), columns] = features.values
    return tuple(names[column] for column in used.tolist()), matrix


def prune_forests(
    dataset: Dataset,
    weights: Any,
    *,
    beam: float | None = None,
    density: float | None = None,
    share: bool = True,
    threads: int | None = None,
) -> tuple[Dataset, Pruning]:
    """The dataset without edges that only bad derivations use (see prune), and what that kept."""
    pruning = prune(dataset.corpus, weights, beam=beam, density=density, share=share, threads=threads)
    kept, edges = pruning.kept, dataset.corpus.sentence_edges
    before = np.concatenate([[0], np.cumsum(kept)])
    choices = np.full(len(dataset), -1, dtype=np.int64)
    for sentence in np.flatnonzero(dataset.first_choices >= 0):
        edge = edges[sentence] + dataset.first_choices[sentence]
        if kept[edge]:
            choices[sentence] = before[edge] - before[edges[sentence]]
    smaller = replace(
        dataset,
        corpus=pruning.corpus,
        first_choices=choices,
        scores=None if dataset.scores is None else dataset.scores[kept],
        copies=None if dataset.copies is None else dataset.copies[kept],
    )
    return smaller, pruning
