"""Reranking: the best output of each sentence under some weights, the order of all outputs as lines, and the metric.

Scores are compared on the exact grid of the search, so that search and reranking never differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hulltune.arrays import Floats, as_number
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError, check_most
from hulltune.formats.moses import LINE_BREAK, moses_line
from hulltune.formats.read import read
from hulltune.lines.derivations import DerivationLists, kbest
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import ErrorCounts, error_counts
from hulltune.metrics.store import Store, opened
from hulltune.names import MOST_BEST
from hulltune.threads import Workers
from hulltune.tuning.inputs import (
    DataLike,
    ReferencesLike,
    WeightsLike,
    as_problem,
    as_weights,
    normalisation_of,
    weight_vector,
    weights_for,
)
from hulltune.tuning.picks import Reranked
from hulltune.tuning.text_tables import csv_text

Candidate = TypeVar("Candidate", bound=Mapping[str, Any])


def rerank(data: DataLike, weights: WeightsLike, *, threads: int | None = None) -> Reranked:
    """The best text of every sentence under ``weights``, or "" where there is nothing to choose from, as a list whose
    ``picks`` tell the index, the score and the features of each. Of equally good ones the first of a list wins, and in
    a forest the first by the order of edges, from the root down. O(edges × features).

    >>> from hulltune import rerank
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> outputs = rerank(task.lists, {"forward": 1.0, "backward": 1.0, "fluency": 2.0})
    >>> len(outputs), outputs[0] == outputs.picks[0].text, outputs.picks[0].index
    (20, True, 0)
    """
    dataset = read(data, threads=threads)
    vector = weights_for(dataset, weights)
    return Reranked.of(dataset, vector, threads=threads)


def pick(candidates: Sequence[Candidate], weights: WeightsLike, *, missing: float | None = None) -> Candidate:
    """The best of some candidates under ``weights``, as it was given: for a product that has one list at a time.

    A candidate has its features by name, in "features" or beside its text. Those without a weight do not count. One
    that is missing is an error, unless ``missing`` says what it is. Of equally good candidates the first is picked.
    O(candidates × weights), without arrays or threads; weights of a file are read in each call.

    >>> from hulltune import pick
    >>> pick([{"text": "a", "lm": -3.0, "words": 1}, {"text": "a b", "lm": -3.5, "words": 2}], {"lm": 1, "words": 0.75})
    {'text': 'a b', 'lm': -3.5, 'words': 2}
    """
    by_name = as_weights(weights)
    if not isinstance(by_name, Mapping):
        raise InputError("weights: expected weights by name, a result of tuning or a file")
    if (normalised := normalisation_of(weights)) not in (None, "none"):
        raise InputError(f"weights: are of scores normalised by {normalised!r}; read and rerank whole rankings")
    if not candidates:
        raise InputError("candidates: there is nothing to pick from")
    numbers = dict(zip(by_name, feature_vector(by_name, list(by_name), "weights").tolist(), strict=True))
    scores = [_weighted_sum(number, candidate, numbers, missing) for number, candidate in enumerate(candidates)]
    return candidates[scores.index(max(scores))]


def _weighted_sum(
    number: int, candidate: Mapping[str, Any], weights: Mapping[str, float], missing: float | None
) -> float:
    """The sum of a candidate's features times their weights, rounded once after all products."""
    features = candidate.get("features", candidate)
    terms = []
    for name, weight in weights.items():
        value = as_number(features.get(name, missing))
        if value is None or not math.isfinite(value * weight):
            got = f"the feature {name!r} is {features[name]!r}" if name in features else f"lacks feature {name!r}"
            raise InputError(
                f"candidate {number}: {got}; expected a finite number (missing=0 takes what is missing as 0)"
            )
        terms.append(value * weight)
    return math.fsum(terms)


def rank(
    dataset: Dataset, weights: WeightsLike, *, best: int | None = None, threads: int | None = None
) -> DerivationLists:
    """The ``best`` outputs of each sentence, from best to worst; equally good ones stay in the order of their list.

    None ranks whole lists; forests need a number.
    """
    if best is None:
        if not dataset.is_lists:
            raise InputError("best: expected a number, because forests have too many outputs to rank them all")
        best = int(np.diff(dataset.corpus.sentence_edges).max(initial=1))
    if best < 1:
        raise InputError(f"best: expected at least 1, got {best}")
    check_most("best", best, MOST_BEST)
    vector = weights_for(dataset, weights)
    return kbest(dataset.corpus, vector, best, threads=threads)


def count_errors(
    data: DataLike,
    weights: WeightsLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric = "wer",
    threads: int | None = None,
) -> ErrorCounts:
    """The errors of the data reranked with ``weights``, by kind, and the number of sentences with errors: the counts
    behind a WER, CER, MER or TER.

    >>> from hulltune import count_errors
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> counts = count_errors(task.lists, task.optimum, metric="wer")
    >>> counts.errors, counts.substitutions, counts.deletions, counts.insertions, counts.reference_length
    (38, 21, 7, 10, 281)
    """
    problem = as_problem(data, references, metric)
    vector = weight_vector(problem, weights)
    found = error_counts(problem.metric, problem.picks(vector, workers=Workers(threads)).statistics)
    if found is None:
        raise InputError(f"metric: {problem.metric.name} counts no errors; expected wer, cer, mer or ter")
    return found


def score(
    data: DataLike,
    weights: WeightsLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric = "bleu",
    threads: int | None = None,
    store: Store | str | Path | None = None,
) -> float:
    """The metric of the data reranked with ``weights``: for tuned weights, exactly the score that ``tune`` reports.
    ``store`` keeps what an expensive metric says across runs, and has what it said to ``tune``.

    >>> from hulltune import score
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> round(score(task.lists, {"forward": 1.0}, metric="wer"), 4)
    0.2064
    >>> round(score(task.lists, task.optimum, metric="wer"), 4)
    0.1352
    """
    with opened(store) as kept:
        problem = as_problem(data, references, metric, kept)
        return problem.score(weight_vector(problem, weights), workers=Workers(threads))


# Ranked derivations as lines of a file.


def written_ids(dataset: Dataset, output: str) -> Sequence[SentenceId]:
    """The ids in lines of a format (see ``derivation_lines``): the names of the sentences. Lists have the ids of the
    data instead of names that are numbers, which would be read as places.
    """
    numbered = output not in BEST_TEXT and any(str(name).isdigit() for name in dataset.names)
    return dataset.ids if numbered else dataset.names


def derivation_lines(
    ids: Sequence[SentenceId], found: DerivationLists, output: str, *, unique: bool = False
) -> Iterator[tuple[str, bool]]:
    """Lines of ranked derivations, a sentence at a time, each with a flag: False if a line break in its text became a
    space. ``output`` is a format of n-best lists, "moses" or "jsonl", or "tsv", a table with headings, or a run as
    trec_eval reads it, "trec"; or "text", and with the name of each sentence "kaldi" (before the text) or "trn"
    (behind).

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
        if output in BEST_TEXT:
            text = texts[0] if texts else ""
            line = LINE_BREAK.sub(" ", text)
            told = BEST_TEXT[output].format(id=name if output == "text" else _word(name, output), text=line)
            yield told if output == "text" else told.strip(" "), line == text
            continue
        if output == "trec":
            for place, (text, score) in enumerate(zip(texts, found.scores[first:last].tolist(), strict=True), start=1):
                yield f"{_word(name, output)} Q0 {_word(text, output)} {place} {score!r} hulltune", True
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
            indices = [_index(found, first + place) for place in places]
            candidates = [
                {"text": text, **({} if index is None else {"index": index}), "features": features, "score": score}
                for (text, features, score), index in zip(rows, indices, strict=True)
            ]
            yield json.dumps({"id": name, "candidates": candidates}, ensure_ascii=False), True


BEST_TEXT = {"text": "{text}", "kaldi": "{id} {text}", "trn": "{text} ({id})"}
"""A line of the best text of a sentence."""


def _word(name: SentenceId, output: str) -> str:
    """A name that has no blanks."""
    text = str(name)
    if not text or len(text.split()) != 1:
        raise InputError(
            f"--as {output}: {text[:60]!r} has blanks or nothing in it, and a line has fields between blanks"
        )
    return text


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
            yield _fields([name, _index(found, d), *row])


def _fields(row: Sequence[Any]) -> str:
    """A line of a table."""
    return csv_text([row], "\t").rstrip("\n")


def _index(found: DerivationLists, derivation: int) -> int | None:
    """The place of a hypothesis in its list as written; None for a derivation of a forest."""
    index = int(found.indices[derivation])
    return None if index < 0 else index


def _first_places(texts: Sequence[str]) -> Sequence[int]:
    """The place of the first of each group of equal texts."""
    places: dict[str, int] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, place)
    return list(places.values())


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
