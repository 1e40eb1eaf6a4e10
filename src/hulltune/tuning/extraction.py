"""Smaller data from forests: lists of their derivations, and forests without the edges that only bad ones use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import DenseFeatures, Features, SparseFeatures, as_sparse
from hulltune.data.lists import packed_texts
from hulltune.formats.moses import LINE_BREAK, moses_line
from hulltune.formats.rows import Rows, to_dataset
from hulltune.lines.derivations import DerivationLists
from hulltune.tuning.pruning import Pruning, prune
from hulltune.tuning.text_tables import csv_text


def derivation_lines(
    ids: Sequence[SentenceId], found: DerivationLists, output: str, *, unique: bool = False
) -> Iterator[tuple[str, bool]]:
    """Lines of ranked derivations, a sentence at a time, each with a flag: False if a line break in its text became a
    space. ``output`` is a format of n-best lists, "moses" or "jsonl", or "tsv", a table with headings, or "text".

    As text, only the best of each sentence is written, and an empty line for a sentence without derivations, so that
    line i is sentence i. Sparse features that are 0 in all derivations of a sentence (of all sentences in a table) are
    left out. With ``unique``, only the first of the derivations with equal outputs is written. Records and tables tell
    the index of a hypothesis: its place in the list as written, from 0.
    """
    if output == "tsv":
        yield from ((line, True) for line in _table(ids, found, unique=unique))
        return
    for sentence, name in enumerate(ids):
        first, last = int(found.offsets[sentence]), int(found.offsets[sentence + 1])
        texts = found.texts[first:last]
        if output == "text":
            text = texts[0] if texts else ""
            line = LINE_BREAK.sub(" ", text)
            yield line, line == text
            continue
        names, values = _dense_sums(found, first, last)
        places = _first_places(texts) if unique else range(last - first)
        rows = [
            (texts[place], dict(zip(names, values[place].tolist(), strict=True)), float(found.scores[first + place]))
            for place in places
        ]
        if output == "moses":
            for row in rows:
                yield moses_line(name, *row), True
        else:
            indices = [_index(found, sentence, first + place) for place in places]
            candidates = [
                {"text": text, **({} if index is None else {"index": index}), "features": features, "score": score}
                for (text, features, score), index in zip(rows, indices, strict=True)
            ]
            yield json.dumps({"id": name, "candidates": candidates}, ensure_ascii=False), True


def _table(ids: Sequence[SentenceId], found: DerivationLists, *, unique: bool) -> Iterator[str]:
    """Derivations as lines with tabs, headings first: id, index, score, text and a column for each feature.

    Fields with tabs, quotes or line breaks are quoted, as spreadsheets and pandas do. A sentence without derivations
    has a line with nothing but its id.
    """
    names, sums = _used_features(found.features, found.corpus.feature_names)
    yield _fields(["id", "index", "score", "text", *names])
    for sentence, name in enumerate(ids):
        first, last = int(found.offsets[sentence]), int(found.offsets[sentence + 1])
        places = _first_places(found.texts[first:last]) if unique else range(last - first)
        if first == last:
            yield _fields([name, None, None, "", *[None] * len(names)])
        for d in (first + place for place in places):
            row = [float(found.scores[d]), found.texts[d], *sums.rows(d, d + 1).toarray()[0].tolist()]
            yield _fields([name, _index(found, sentence, d), *row])


def _fields(row: Sequence[Any]) -> str:
    """A line of a table."""
    return csv_text([row], "\t").rstrip("\n")


def _index(found: DerivationLists, sentence: int, derivation: int) -> int | None:
    """The place of a hypothesis in its list as written; None for a derivation of a forest."""
    corpus = found.corpus
    if corpus.node_offsets[sentence + 1] - corpus.node_offsets[sentence] != 1:
        return None
    edge = found.edges[found.edge_offsets[derivation]]
    return int(corpus.edge_ids[corpus.sentence_edges[sentence] + edge])


def _first_places(texts: Sequence[str]) -> Sequence[int]:
    """The place of the first of each group of equal texts."""
    places: dict[str, int] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, place)
    return list(places.values())


def candidate_lists(ids: Sequence[SentenceId], found: DerivationLists) -> Dataset:
    """Derivations as candidate lists with their model scores; equal outputs with equal features count once."""
    text, offsets = packed_texts(found.texts)
    names, sums = _used_features(found.features, found.corpus.feature_names)

    def fill(matrix: NDArray[Any], destination: Int64s) -> None:
        if isinstance(sums, SparseFeatures):
            matrix[np.repeat(destination, np.diff(sums.offsets)), sums.columns] = sums.values
        else:
            matrix[destination] = sums.values

    rows = Rows(
        ids=list(ids),
        keys=found.sentences,
        feature_names=names,
        filled=sums.values.size,
        fill=fill,
        as_rows=lambda dtype: as_sparse(sums),
        text=text,
        text_lengths=np.diff(offsets),
        scores=found.scores.copy(),
    )
    return to_dataset(rows)


def _dense_sums(found: DerivationLists, first: int, last: int) -> tuple[tuple[str, ...], Floats]:
    """The names and summed features of some derivations, as a matrix; for sparse features only the columns used."""
    names, features = _used_features(found.features.rows(first, last), found.corpus.feature_names)
    return names, features.toarray()


def _used_features(features: Features, names: tuple[str, ...]) -> tuple[tuple[str, ...], Features]:
    """The features and their names; without the columns that no sparse row has."""
    if isinstance(features, DenseFeatures):
        return names, features
    used, columns = np.unique(features.columns, return_inverse=True)
    values = features.values.astype(np.float64)
    rows = SparseFeatures(features.offsets, columns.reshape(-1).astype(np.int32), values, len(used))
    return tuple(names[column] for column in used.tolist()), rows


def prune_forests(
    dataset: Dataset,
    weights: Any,
    *,
    beam: float | None = None,
    density: float | None = None,
    share: bool = True,
    threads: int | None = None,
) -> tuple[Dataset, Pruning]:
    """The dataset without the edges that only bad derivations use, and the Pruning; see ``prune``."""
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
        qualities={name: values[kept] for name, values in dataset.qualities.items()},
    )
    return smaller, pruning
