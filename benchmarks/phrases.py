"""Simulated n-best lists of a phrase-based decoder: hypotheses of a sentence share phrases, so their features are
correlated as in real lists; with more features, of which few help, or with thousands of sparse ones.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hulltune import Dataset
from hulltune.data.dataset import own_first_choices
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.data.lists import list_corpus, packed_texts

Floats = NDArray[np.float64]
WORDS = 4000
OPTIONS = 6
DENSE = ("distortion", *(f"order{k}" for k in range(6)), "lm", "words", *(f"phrase{k}" for k in range(4)), "phrases")
DECODER = np.array([0.3, *[0.3] * 6, 0.5, 1.0, *[0.2] * 4, 0.1])
"""The weights that made the lists."""


def phrase_lists(
    sentences: int, hypotheses: int, *, more: int = 0, sparse: int = 0, seed: int = 1
) -> tuple[Dataset, tuple[tuple[str, ...], ...]]:
    """Lists of ``hypotheses`` hypotheses with 14 features, and their references.

    A sentence is a row of phrases with OPTIONS translations each; a hypothesis picks one for every phrase, and its
    features are sums over them. ``more`` further features are in turn rare counts, noisy copies and noise. ``sparse``
    further features mark translations; each has a quality of its own, and what it marks has more or fewer errors.
    """
    rng = np.random.default_rng([seed, sentences, hypotheses, more, sparse])
    shares = np.cumsum(1.0 / np.arange(2.0, WORDS + 2.0))
    vocabulary = np.array([f"w{k}" for k in range(WORDS)])
    popularity = np.cumsum(1.0 / np.arange(5.0, sparse + 5.0)) if sparse else np.zeros(0)
    quality = rng.standard_normal(sparse)
    references, texts, matrices = [], [], []
    marked: list[NDArray[np.int64]] = []
    for _ in range(sentences):
        reference = np.searchsorted(shares, rng.random(int(rng.integers(10, 33))) * shares[-1])
        references.append((" ".join(vocabulary[reference]),))
        cuts = np.flatnonzero(rng.random(len(reference) - 1) < 0.5) + 1
        phrases = np.split(reference, cuts)
        marks = np.searchsorted(popularity, rng.random((len(phrases), OPTIONS)) * popularity[-1]) if sparse else None
        hardness = rng.uniform(0.4, 1.3) * np.linspace(0.5, 1.75, OPTIONS)
        wrong = np.tile(hardness, (len(phrases), 1))
        if marks is not None:
            wrong = wrong * np.exp(-0.5 * quality[marks])
        options = [[_translation(rng, phrase, min(rate, 1.6), shares) for rate in rates]
                   for phrase, rates in zip(phrases, wrong, strict=True)]  # fmt: skip
        errors = np.array([[errors for _, errors in row] for row in options])
        lengths = np.array([[len(words) for words, _ in row] for row in options])
        features = _features(rng, errors, lengths)
        chosen = _chosen(rng, features @ DECODER, hypotheses)
        places = np.arange(len(phrases))
        for row in chosen:
            words = [word for place, option in zip(places, row, strict=True) for word in options[place][option][0]]
            texts.append(" ".join(vocabulary[words]) if words else "x")
        matrices.append(features[places, chosen].sum(axis=1))
        if marks is not None:
            marked += list(len(DENSE) + marks[places, chosen])
    counts = np.array([len(matrix) for matrix in matrices])
    values = np.round(np.concatenate(matrices), 6)
    scores = values @ DECODER
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    names = [*DENSE, *(f"more{k}" for k in range(more)), *(f"rule{k}" for k in range(sparse))]
    table: DenseFeatures | SparseFeatures = DenseFeatures(
        np.asfortranarray(np.hstack([values, _further(rng, values, more)]))
    )
    if sparse:
        table = _with_marks(values, marked, len(names))
    lists = Dataset(
        ids=range(sentences),
        corpus=list_corpus(ends, *packed_texts(texts), table, tuple(names)),
        first_choices=own_first_choices(ends, scores),
        references=tuple(references),
        scores=scores,
        copies=np.ones(len(texts), dtype=np.int32),
    )
    return lists, tuple(references)


def _translation(rng: Generator, phrase: NDArray[np.int64], rate: float, shares: Floats) -> tuple[list[int], int]:
    """The words of a phrase with about ``rate`` · 0.55 of them replaced, left out or doubled, and the errors made."""
    words: list[int] = []
    errors = 0
    for word, luck in zip(phrase.tolist(), (rng.random(len(phrase)) / max(rate, 1e-9)).tolist(), strict=True):
        other = int(np.searchsorted(shares, rng.random() * shares[-1]))
        words += [other] if luck < 0.35 else [] if luck < 0.45 else [word, other] if luck < 0.55 else [word]
        errors += luck < 0.55
    return words, errors


def _features(rng: Generator, errors: NDArray[np.int64], lengths: NDArray[np.int64]) -> Floats:
    """The dense features of every option: (phrases, options, features)."""
    shape = errors.shape
    made = np.zeros((*shape, len(DENSE)))
    made[..., 0] = np.where(rng.random(shape) < 0.15, -rng.integers(1, 6, shape), 0)
    for first in (1, 4):
        strength = 0.15 if first == 1 else 0.0
        cost = -np.abs(rng.normal(0.6 + strength * errors, 0.5))
        np.put_along_axis(made, (first + rng.integers(0, 3, shape))[..., None], cost[..., None], axis=2)
    made[..., 7] = -(2.2 * lengths + 0.9 * errors + np.abs(rng.normal(0.0, 1.6, shape)))
    made[..., 8] = lengths
    made[..., 9:13] = -np.abs(rng.normal((1.0 + 0.5 * errors + 0.3 * lengths)[..., None], 1.1, (*shape, 4)))
    made[..., 13] = 1.0
    return made


def _chosen(rng: Generator, scores: Floats, hypotheses: int) -> NDArray[np.int64]:
    """The best distinct choices of an option for each phrase among random ones near the best: a row each."""
    found = np.zeros((0, len(scores)), dtype=np.int64)
    for heat in (1.0, 2.0, 4.0, 8.0):
        drawn = (scores + heat * rng.gumbel(size=(3 * hypotheses, *scores.shape))).argmax(axis=2)
        found = np.unique(np.concatenate([found, drawn]), axis=0)
        if len(found) >= 1.6 * hypotheses:
            break
    totals = scores[np.arange(len(scores)), found].sum(axis=1)
    return found[np.argsort(-totals, kind="stable")[:hypotheses]]


def _further(rng: Generator, values: Floats, count: int) -> Floats:
    """Features that mostly mislead: in turn counts on a tenth of the rows, a copy with much noise, and noise."""
    made = np.zeros((len(values), count))
    for k in range(count):
        if k % 3 == 0:
            made[:, k] = rng.integers(1, 3, len(values)) * (rng.random(len(values)) < 0.1)
        elif k % 3 == 1:
            made[:, k] = values[:, int(rng.integers(values.shape[1]))] + 2.0 * rng.standard_normal(len(values))
        else:
            made[:, k] = rng.standard_normal(len(values))
    return np.round(made, 4)


def _with_marks(values: Floats, marked: list[NDArray[np.int64]], width: int) -> SparseFeatures:
    """The dense features and a count of every mark, as sparse rows."""
    columns, numbers, sizes = [], [], [0]
    for row, marks in zip(values, marked, strict=True):
        kept, counts = np.unique(marks, return_counts=True)
        columns += [np.arange(len(row)), kept]
        numbers += [row, counts.astype(np.float64)]
        sizes.append(len(row) + len(kept))
    return SparseFeatures(
        np.cumsum(sizes).astype(np.int64), np.concatenate(columns).astype(np.int32), np.concatenate(numbers), width
    )
