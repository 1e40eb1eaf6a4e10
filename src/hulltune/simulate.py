"""Made-up data: a reranking task whose best weights are known, and rankings of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.dataset import Dataset, Provenance
from hulltune.data.lists import lists_of_texts
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError, check_most
from hulltune.names import MOST_MADE

OPTIMUM: Mapping[str, float] = {
    "forward": 1.0, "backward": 1.0, "fluency": 2.0, "hint": 0.0, "length": 0.0, "noise": 0.0,
}  # fmt: skip
GRID = 64.0
"""The nuisances are multiples of 1 / GRID, so that they cancel to the last bit."""


@dataclass(frozen=True, eq=False)
class SimulatedTask:
    """Candidate lists with references, and weights that are optimal for word errors.

    Two nuisances u and v hide the number of errors e of a candidate in three features, and cancel only in one
    combination of them:

    - forward = −e + u, backward = −e − u + v, fluency = −v / 2: useless apart, perfect together, as
      forward + backward + 2 fluency = −2 e, exactly.
    - hint = −e plus much noise: helps a little where the others are wrong.
    - length, the number of words, and noise: no help.

    So the weights ``optimum`` pick a candidate with the fewest errors from every list. No weights have a smaller WER:
    it equals the oracle's. The lists' own score is forward alone.
    """

    lists: Dataset
    references: tuple[tuple[str, ...], ...]
    optimum: Mapping[str, float]


def simulated_task(*, sentences: int = 200, candidates: int = 40, seed: int = 1) -> SimulatedTask:
    """A task of this size. Equal seeds give equal tasks; other seeds give held-out data of the same kind.

    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> task.lists
    Dataset(lists: 20 sentences, 200 hypotheses, 6 features)
    >>> [round(weight) for weight in task.optimum.values()]
    [1, 1, 2, 0, 0, 0]
    """
    for name, size in (("sentences", sentences), ("candidates", candidates)):
        if size < 1:
            raise InputError(f"{name}: expected at least 1, got {size}")
        check_most(name, size, MOST_MADE)
    rng = np.random.default_rng([seed, 1])
    vocabulary = made_up_words(500)
    references, texts = [], []
    for _ in range(sentences):
        reference = _words(rng, vocabulary, int(rng.integers(6, 19)))
        references.append((" ".join(reference),))
        texts += [" ".join(_corrupted(rng, reference, vocabulary)) for _ in range(candidates)]
    owner = np.repeat(np.arange(sentences), candidates)
    errors = _word_errors(references, owner, texts)
    count = len(texts)
    u, v = np.rint(rng.standard_normal((2, count)) * 3.0 * GRID) / GRID
    hint = -errors + 4.0 * rng.standard_normal(count)
    length = np.array([len(text.split()) for text in texts], dtype=np.float64)
    columns = [-errors + u, -errors - u + v, -v / 2.0, hint, length, rng.standard_normal(count)]
    order = np.lexsort((-columns[0], owner))  # sorted like a decoder's lists, by its own score
    features = np.asfortranarray(np.column_stack(columns)[order])
    lists = lists_of_texts(  # no two candidates are equal: their real-valued features differ
        range(sentences),
        np.arange(sentences + 1, dtype=np.int64) * candidates,
        [texts[k] for k in order],
        features,
        tuple(OPTIMUM),
        scores=features[:, 0].copy(),
        references=tuple(references),
        provenance=(Provenance("simulated", "simulated"),),
    )
    return SimulatedTask(lists, tuple(references), dict(OPTIMUM))


def simulated_rankings(*, queries: int = 100, documents: int = 60, seed: int = 1) -> Dataset:
    """Three made-up rankers over judged documents: "bm25" and "dense" err apart, "age" knows little.

    A document's grade is 0, 1 or 2. Scores are made comparable as those of runs are, so weights are those of a fusion.

    >>> from hulltune import tune
    >>> from hulltune.simulate import simulated_rankings
    >>> result = tune(simulated_rankings(queries=20), metric="ndcg@10")
    >>> result.score > result.single.score
    True
    """
    for name, size in (("queries", queries), ("documents", documents)):
        if size < 1:
            raise InputError(f"{name}: expected at least 1, got {size}")
        check_most(name, size, MOST_MADE)
    rng, count = np.random.default_rng([seed, 2]), queries * documents
    grades = np.where(rng.random(count) < 0.1, rng.integers(1, 3, count), 0)
    noise = rng.standard_normal((3, count))
    scores = np.column_stack([grades + 0.9 * noise[0], grades + 0.7 * noise[1], 0.2 * grades + noise[2]])
    offsets = np.arange(queries + 1, dtype=np.int64) * documents
    texts = [f"d{number}" for number in range(count)]
    judged = [f"{grade} {text}" for grade, text in zip(grades.tolist(), texts, strict=True)]
    normalisation = Normalisation()
    lists = lists_of_texts(
        [f"q{number}" for number in range(1, queries + 1)],
        offsets,
        texts,
        normalisation.of_scores(scores, offsets, "simulated"),
        ("bm25", "dense", "age"),
        references=tuple(tuple(judged[first : first + documents]) for first in range(0, count, documents)),
        provenance=(Provenance("simulated", "simulated"),),
    )
    return replace(lists, normalisation=str(normalisation))


def made_up_words(count: int) -> list[str]:
    """Distinct pronounceable words, shortest first; there are 4,970."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = list(syllables)
    for first in syllables:
        words += [first + second for second in syllables]
    return words[:count]


def _words(rng: np.random.Generator, vocabulary: Sequence[str], count: int) -> list[str]:
    """Words drawn by Zipf's law."""
    shares = 1.0 / np.arange(1.0, len(vocabulary) + 1.0)
    return [vocabulary[k] for k in rng.choice(len(vocabulary), size=count, p=shares / shares.sum())]


def _corrupted(rng: np.random.Generator, words: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
    """The words with a few replaced, dropped, doubled or added."""
    noisy = list(words)
    for _ in range(1 + int(rng.poisson(0.25 * len(words)))):
        place = int(rng.integers(0, len(noisy)))
        what = rng.random()
        if what < 0.5:
            noisy[place] = vocabulary[int(rng.integers(0, len(vocabulary)))]
        elif what < 0.75 and len(noisy) > 1:
            del noisy[place]
        else:
            noisy.insert(place, vocabulary[int(rng.integers(0, 40))])
    return noisy


def _word_errors(references: Sequence[tuple[str, ...]], owner: Int64s, texts: Sequence[str]) -> Floats:
    from hulltune.metrics.registry import get_metric

    metric = get_metric("wer")
    statistics = metric.prepare(references).statistics(owner, texts)
    wrong = [k for k, name in enumerate(metric.columns) if name != "hits"]
    errors: Floats = statistics[:, wrong].sum(axis=1).astype(np.float64)
    return errors
