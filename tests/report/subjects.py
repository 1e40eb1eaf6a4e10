"""Small problems for the tests of reports: lists with ties, lattices and hypergraphs, and a mixture of them."""

from __future__ import annotations

import numpy as np

from hulltune import Dataset, Forest
from hulltune.arrays import Floats
from hulltune.data.lists import lists_of_texts
from hulltune.search.problem import Problem
from hulltune.simulate import made_up_words
from hulltune.tuning.inputs import as_dataset
from tests.tuning.corpora import random_forests, random_lists

KINDS = ("lists", "forests", "mixed")


def problem_of(kind: str, seed: int = 1, metric: str = "wer", *, sentences: int = 12) -> Problem:
    """A problem of lists (with empty ones), of forests, or of both, over three features."""
    if kind == "lists":
        return Problem.of(as_dataset(random_lists(seed, sentences=sentences, empty=True)), metric)
    forests, references = random_forests(seed, sentences)
    if kind == "mixed":
        rng = np.random.default_rng(seed)
        for place in range(0, sentences, 3):
            texts = [" ".join(rng.permutation(references[place].split()).tolist()) for _ in range(7)]
            values = rng.normal(size=(7, 3))
            forests[place] = Forest.from_nbest(texts, values, feature_names=forests[place].feature_names)
    return Problem.of(as_dataset(forests, references), metric)


def weights_of(problem: Problem, seed: int = 1) -> Floats:
    """Random weights."""
    found: Floats = np.random.default_rng([seed, 9]).normal(size=len(problem.feature_names))
    return found


def large_lists(sentences: int, *, candidates: int = 25, features: int = 10, words: int = 25) -> Dataset:
    """Lists of random words and random features: every page of them is as large as it may be."""
    rng = np.random.default_rng(1)
    vocabulary = np.array(made_up_words(2000))
    drawn = vocabulary[rng.integers(0, len(vocabulary), size=(sentences, candidates + 1, words))]
    drawn = np.where(rng.random(drawn.shape) < 0.6, drawn[:, -1:], drawn)  # the last is the reference
    return lists_of_texts(
        range(sentences),
        np.arange(sentences + 1, dtype=np.int64) * candidates,
        [" ".join(each) for each in drawn[:, :-1].reshape(-1, words).tolist()],
        np.asfortranarray(rng.normal(size=(sentences * candidates, features))),
        tuple(f"f{k}" for k in range(features)),
        references=tuple((" ".join(each),) for each in drawn[:, -1].tolist()),
    )
