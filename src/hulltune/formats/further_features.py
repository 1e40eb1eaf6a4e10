"""Features beside those of the data: scores in further files, and what the words alone give."""

from __future__ import annotations

import itertools
import math
import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.errors import InputError, unknown_name
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import Rows
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.names import BUILTIN_FEATURES, FOREST_FEATURES
from hulltune.wording import counted


def read_column(path: str | os.PathLike[str], name: str, rows: Rows) -> Floats:
    """The scores of a file as the feature ``name`` of ``rows``, which are all hypotheses in the order of their files.

    With a number a line, line i belongs to hypothesis i. With lines ``id rank value``, every hypothesis must be named
    once; ranks count from 0, or from 1 where no rank is 0.
    """
    file = os.fspath(path)
    if not name or any(character.isspace() for character in name):
        raise InputError(f"the name of a feature is {name!r}; expected something without white space")
    lines = ((f"{file}:{line}", text.split()) for line, text in numbered_lines(path, Problems()))
    first = next(lines, None)
    if first is None:
        raise InputError(f"{file}: the file is empty; expected {counted(len(rows.keys), 'score')}")
    where, fields = first
    if len(fields) not in (1, 3):
        raise InputError(f"{where}: got {shown(' '.join(fields))}; expected a number, or 'id rank value'")
    read = _by_line if len(fields) == 1 else _by_rank
    return read(file, itertools.chain([first], lines), rows)


def _score(where: str, token: str) -> float:
    value = plain_number(token)
    if value is None or not math.isfinite(value):
        raise InputError(f"{where}: got {shown(token)}; expected a finite number")
    return value


def _by_line(file: str, lines: Iterator[tuple[str, list[str]]], rows: Rows) -> Floats:
    values = array("d", [_score(where, " ".join(fields)) for where, fields in lines])
    if rows.gaps is None:
        raise InputError(
            f"{file}: cannot be matched by line, as an unknown number of hypotheses was skipped; "
            "repair the lists, or give 'id rank value'"
        )
    written = len(rows.keys) + len(rows.gaps)
    if len(values) != written:
        raise InputError(
            f"{file}: {counted(len(values), 'score')}, but the lists have {counted(written, 'hypothesis')}; "
            "expected one each"
        )
    return np.delete(np.array(values, dtype=np.float64), rows.gaps)


def _by_rank(file: str, lines: Iterator[tuple[str, list[str]]], rows: Rows) -> Floats:
    scores: dict[tuple[SentenceId, int], float] = {}
    for where, fields in lines:
        if len(fields) != 3 or not (fields[1].isascii() and fields[1].isdigit()):
            raise InputError(f"{where}: got {shown(' '.join(fields))}; expected 'id rank value'")
        key = (sentence_id(fields[0]), int(fields[1][:18]))
        if key in scores:
            raise InputError(f"{where}: id {fields[0]} rank {fields[1]} occurs twice")
        scores[key] = _score(where, fields[2])
    base = min(rank for _, rank in scores)
    if base > 1:
        raise InputError(f"{file}: no rank 0 or 1; expected ranks that count from 0 or from 1")
    values = np.empty(len(rows.keys))
    ranks = [base] * len(rows.ids)
    for row, sentence in enumerate(rows.keys.tolist()):
        key = (rows.ids[sentence], ranks[sentence])
        ranks[sentence] += 1
        if key not in scores:
            raise InputError(f"{file}: no score for id {key[0]} rank {key[1]}; expected one for every hypothesis")
        values[row] = scores.pop(key)
    for name, rank in scores:
        raise InputError(f"{file}: a score for id {name} rank {rank}, but the lists have no such hypothesis")
    return values


def add_builtin_features(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The dataset with some of BUILTIN_FEATURES added; linear in the texts, but for "consensus", which sorts them.

    Of these, forests take those of FOREST_FEATURES, which are sums over edges.

    >>> from hulltune.formats import add_builtin_features
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> add_builtin_features(task.lists, ["words", "rank"]).feature_names[-2:]
    ('words', 'rank')
    """
    for name in names:
        if name not in BUILTIN_FEATURES:
            raise unknown_name("built-in feature", name, BUILTIN_FEATURES)
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
