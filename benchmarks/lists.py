"""Synthetic n-best lists of any size: made-up words under Zipf's law, edits of the references, noisy features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hulltune import Dataset
from hulltune.data.dataset import own_first_choices
from hulltune.data.features import DenseFeatures
from hulltune.data.lists import list_corpus, lists_of_texts
from hulltune.metrics import Metric
from hulltune.search.problem import Problem

WORDS = 20_000
NOISE = 3.0  # noise of a feature, in errors: no feature alone finds the best hypothesis
WORD_COUNT = 1  # the feature that counts words, as in decoders: whole numbers, so that there are ties


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Lists of ``hypotheses`` hypotheses each, with one reference each."""

    lists: Dataset
    references: tuple[tuple[str, ...], ...]
    hypotheses: int

    def problem(
        self,
        metric: Metric,
        *,
        sentences: int | None = None,
        hypotheses: int | None = None,
        features: int | None = None,
    ) -> Problem:
        """A problem of the first sentences (all by default), the first hypotheses of each and the first features."""
        lists = self.lists
        sentences, hypotheses = min(sentences or len(lists), len(lists)), hypotheses or self.hypotheses
        features = features or len(lists.feature_names)
        rows = (np.arange(sentences)[:, None] * self.hypotheses + np.arange(hypotheses)).reshape(-1)
        assert lists.scores is not None
        part = lists_of_texts(
            range(sentences),
            np.arange(sentences + 1, dtype=np.int64) * hypotheses,
            lists.texts(rows),
            lists.corpus.features.matrix()[rows, :features],
            lists.feature_names[:features],
            scores=lists.scores[rows],
            references=self.references[:sentences],
        )
        return Problem.of(part, metric)

    def write(self, lists: Path, references: Path) -> None:
        """Write the lists in the format of Moses, and the references."""
        names, values, scores = self.lists.feature_names, self.lists.corpus.features.matrix(), self.lists.scores
        assert scores is not None
        with lists.open("w", encoding="utf-8") as file:
            for row in range(self.lists.corpus.edges):
                numbers = zip(names, values[row].tolist(), strict=True)
                features = " ".join(f"{name}= {value:.4f}" for name, value in numbers)
                text = self.lists.text(row)
                file.write(f"{row // self.hypotheses} ||| {text} ||| {features} ||| {scores[row]:.4f}\n")
        references.write_text("".join(f"{texts[0]}\n" for texts in self.references), encoding="utf-8")


def synthetic(sentences: int, hypotheses: int, features: int, *, seed: int = 1) -> Synthetic:
    """Lists over references of about 20 words. A hypothesis has a tenth to seven tenths of the words wrong: most of
    these replaced, some left out, some inserted. Every other feature depends on the number of errors, later ones
    less; every feature has much noise and its own scale. O(size), sentence by sentence.
    """
    rng = np.random.default_rng([seed, sentences, hypotheses, features])
    spelling = _spelling()
    reference_texts, texts, lengths, matrices = [], [], [], []
    for _ in range(sentences):
        reference = _draw(rng, (int(np.clip(rng.normal(20.0, 6.0), 5.0, 40.0)),))
        reference_texts.append((spelling[reference].tobytes().decode().rstrip(),))
        tokens, errors = _edited(reference, hypotheses, rng)
        counts = (tokens >= 0).sum(axis=1)
        texts.append(_texts(tokens[tokens >= 0], counts, spelling))
        lengths.append(counts * spelling.shape[1] - 1)
        matrices.append(_features(errors, counts, features, rng))
    values = np.asfortranarray(np.concatenate(matrices))
    offsets = np.arange(sentences + 1, dtype=np.int64) * hypotheses
    text_offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    names = tuple(f"f{k}" for k in range(features))
    scores = np.round(values.sum(axis=1), 4)  # the scores of a decoder with all weights 1
    lists = Dataset(
        ids=range(sentences),
        corpus=list_corpus(offsets, np.concatenate(texts), text_offsets, DenseFeatures(values), names),
        first_choices=own_first_choices(offsets, scores),
        scores=scores,
        copies=np.ones(len(values), dtype=np.int32),
    )
    return Synthetic(lists, tuple(reference_texts), hypotheses)


def _spelling() -> NDArray[np.uint8]:
    """Words of five letters and a space, one per row."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    words = ["".join(letters) for letters in product(consonants, vowels, consonants, vowels, consonants)]
    chosen = np.random.default_rng(0).permutation(len(words))[:WORDS]
    return np.frombuffer("".join(f"{words[k]} " for k in chosen).encode(), dtype=np.uint8).reshape(WORDS, -1)


_SHARES = np.cumsum(1.0 / np.arange(1.0, WORDS + 1.0))


def _draw(rng: Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Random words under Zipf's law."""
    words: NDArray[np.int64] = np.searchsorted(_SHARES, rng.random(shape) * _SHARES[-1])
    return words


def _edited(
    reference: NDArray[np.int64], hypotheses: int, rng: Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hypotheses as rows of words with gaps (−1), and the number of edits that made each."""
    shape = hypotheses, len(reference)
    rate = rng.uniform(0.1, 0.7, (hypotheses, 1))
    edit = rng.random(shape) / rate  # under 0.7 replaced, under 0.85 left out
    inserted = rng.random(shape) / rate < 0.15
    tokens = np.full((hypotheses, 2 * len(reference)), -1)
    left_out = (edit >= 0.7) & (edit < 0.85)
    left_out[:, 0] = False  # so that no hypothesis is empty
    tokens[:, ::2] = np.where(edit < 0.7, _draw(rng, shape), reference)
    tokens[:, ::2][left_out] = -1
    tokens[:, 1::2] = np.where(inserted, _draw(rng, shape), -1)
    return tokens, ((edit < 0.7) | left_out).sum(axis=1) + inserted.sum(axis=1)


def _texts(words: NDArray[np.int64], counts: NDArray[np.int64], spelling: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of texts laid end to end, without the space after the last word of each."""
    letters = spelling[words]
    keep = np.ones(letters.shape, dtype=bool)
    keep[np.cumsum(counts) - 1, -1] = False
    return letters[keep]


def _features(
    errors: NDArray[np.int64], counts: NDArray[np.int64], features: int, rng: Generator
) -> NDArray[np.float64]:
    """Feature values with four decimals, as in a file; a part is common to all hypotheses of a sentence."""
    matrix = NOISE * rng.standard_normal((len(errors), features)) + 20.0 * rng.standard_normal(features)
    for k in range(0, features, 2):
        matrix[:, k] -= errors / (1 + k // 2)
    matrix *= 2.0 ** (np.arange(features) % 5 - 2)
    if features > WORD_COUNT:
        matrix[:, WORD_COUNT] = counts
    return np.round(matrix, 4)
