"""Doubts about judgements: what is told of queries that do not count, and of scores that seem to run backwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.wording import counted, listed

if TYPE_CHECKING:
    from hulltune.data.dataset import Dataset, References

MOST_COMPARED = 2000
"""Doubts come from this many queries at most."""
FEWEST = 5
"""Scores of fewer queries say nothing."""
BACKWARDS = 0.35
"""A feature by which a relevant document beats another one less often than this is doubted; by chance it is a half."""


def doubts_of_judgements(dataset: Dataset, references: References) -> Iterator[str]:
    """What is told of a dataset of ranked documents, and of the judgements that it got."""
    judged = dataset.references or ()
    missing = sum(1 for group in judged if not group)
    if missing:
        first = next(name for name, group in zip(dataset.ids, judged, strict=True) if not group)
        yield f"{counted(missing, 'query')} without judgements, such as {first}: not counted, as in trec_eval"
    unused = len(references) - (len(judged) - missing)
    if unused > 0:
        yield f"{counted(unused, 'judged query')} without documents: left out, as in trec_eval"
    grades = [[float(text.split(" ", 1)[0]) for text in group] for group in judged]
    empty = sum(1 for group in grades if group and max(group) <= 0.0)
    if empty:
        yield f"{counted(empty, 'query')} without a relevant document: counted as 0"
    yield from _backwards(dataset)


def _backwards(dataset: Dataset) -> Iterator[str]:
    """What is told of features by which relevant documents come last."""
    some = np.arange(min(len(dataset), MOST_COMPARED))
    edges = dataset.corpus.sentence_edges[: len(some) + 1]
    references = (dataset.references or ())[: len(some)]
    relevant = [{text.split(" ", 1)[1] for text in group if float(text.split(" ", 1)[0]) > 0.0} for group in references]
    owners = np.repeat(some, np.diff(edges))
    texts = dataset.texts(np.arange(edges[-1]))
    is_relevant = np.array(
        [text in relevant[owner] for owner, text in zip(owners.tolist(), texts, strict=True)], dtype=np.bool_
    )
    counts = np.bincount(owners, is_relevant, len(some))
    comparable = (counts > 0) & (counts < np.diff(edges))
    if comparable.sum() < FEWEST:
        return
    names = dataset.feature_names
    columns = dataset.corpus.features.some_columns(np.arange(len(names)))
    shares = np.array([_share_won(column[: edges[-1]], owners, is_relevant, comparable) for column in columns])
    odd = [name for name, share in zip(names, shares, strict=True) if share < BACKWARDS]
    if len(odd) == len(names) > 0:
        yield (
            "relevant documents come last by every feature: are the scores distances, of which the smallest is the "
            "best (--negate all), or do the grades run backwards?"
        )
    elif odd:
        yield (
            f"relevant documents come last by {listed(odd)}: are these distances, of which the smallest is the best? "
            f"(--negate {','.join(odd)})"
        )


def _share_won(scores: Floats, owners: Int64s, is_relevant: Bools, comparable: Bools) -> float:
    """How often a relevant document scores higher than another one of its query, the mean over queries; a tie counts
    half.
    """
    marks = is_relevant.astype(np.float64)
    order = np.lexsort((scores, owners))
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(len(scores), dtype=np.float64)
    same = np.append(False, (np.diff(scores[order]) == 0.0) & (np.diff(owners[order]) == 0))
    groups = np.cumsum(~same) - 1
    means = np.bincount(groups, np.arange(len(scores), dtype=np.float64)) / np.bincount(groups)
    ranks[order] = means[groups]
    sizes, count = np.bincount(owners), len(comparable)
    firsts = (np.cumsum(sizes) - sizes)[owners]
    relevant = np.bincount(owners, marks, count)
    sums = np.bincount(owners, marks * (ranks - firsts), count)
    won = sums - relevant * (relevant - 1.0) / 2.0
    return float(np.mean((won / np.maximum(relevant * (sizes - relevant), 1.0))[comparable]))
