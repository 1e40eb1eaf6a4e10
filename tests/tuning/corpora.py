"""Small candidate lists and forests for the tests of tuning, made from random numbers or by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hulltune import Climb, Dataset, Forest, ForestBuilder, read
from hulltune.data.lists import lists_of_texts
from hulltune.search.strategy import Strategy
from hulltune.tuning.strategies import STRATEGIES

FOREST_FEATURES = ["lm", "tm", "length"]
WORDS = ["ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du"]


def random_records(
    seed: int, *, sentences: int = 12, candidates: int = 8, features: int = 3, empty: bool = False
) -> list[dict[str, Any]]:
    """Records of the native format; features are small whole numbers and halves, so that ties abound."""
    rng = np.random.default_rng(seed)
    records = []
    for sentence in range(sentences):
        reference = [WORDS[k] for k in rng.integers(0, len(WORDS), size=5)]
        listed = []
        for _ in range(candidates):
            noisy = [word if rng.random() < 0.6 else WORDS[int(rng.integers(0, 10))] for word in reference]
            right = sum(a == b for a, b in zip(noisy, reference, strict=True))
            values = np.rint(rng.normal(size=features) * 4 + right * np.arange(features)) / 2
            listed.append({"text": " ".join(noisy), "features": {f"f{k}": float(v) for k, v in enumerate(values)}})
        if empty and sentence % 5 == 2:
            listed = []
        records.append({"id": sentence, "refs": [" ".join(reference)], "candidates": listed})
    return records


def random_lists(seed: int, **sizes: Any) -> Dataset:
    return read(random_records(seed, **sizes))


def random_lattice(reference: list[str], rng: np.random.Generator) -> Forest:
    """A lattice over the reference: each word, one of three others, or nothing; features know a little."""
    builder = ForestBuilder(feature_names=FOREST_FEATURES)
    builder.add_edge(0, output=[])
    for place, word in enumerate(reference):
        for other in [word, *rng.choice(WORDS, size=3).tolist()]:
            noise = rng.normal(size=2) * 2
            features = [float(noise[0] + (other == word)), float(noise[1] + (other == word)), 1.0]
            builder.add_edge(place + 1, [place], features=features, output=[0, other])
        builder.add_edge(place + 1, [place], features=[float(rng.normal()), 0.0, 0.0], output=[0])
    return builder.build(root=len(reference))


def random_tree(reference: list[str], rng: np.random.Generator) -> Forest:
    """A hypergraph: two halves, each of some outputs, in either order."""
    builder = ForestBuilder(feature_names=FOREST_FEATURES)
    middle = len(reference) // 2
    for node, words in enumerate((reference[:middle], reference[middle:])):
        for drop in range(4):
            kept = [word for k, word in enumerate(words) if k != drop]
            builder.add_edge(node, features=[float(rng.normal() + len(kept)), float(rng.normal()), float(len(kept))],
                             output=kept)  # fmt: skip
    for order, bonus in (([0, 1], 1.0), ([1, 0], 0.0)):
        builder.add_edge("S", [0, 1], features=[float(rng.normal()), bonus + float(rng.normal()), 0.0], output=order)
    return builder.build(root="S")


def random_forests(seed: int, sentences: int = 12) -> tuple[list[Forest], list[str]]:
    """Hypergraphs and lattices in turn, and a reference for each."""
    rng = np.random.default_rng(seed)
    references = [[WORDS[k] for k in rng.integers(0, len(WORDS), size=6)] for _ in range(sentences)]
    forests = [(random_lattice if i % 2 else random_tree)(reference, rng) for i, reference in enumerate(references)]
    return forests, [" ".join(reference) for reference in references]


def random_rankings(seed: int, *, queries: int = 12, documents: int = 8) -> Dataset:
    """Documents of queries with grades of 0 to 2, and three scores that know a little of them."""
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 3, size=(queries, documents))
    scores = rng.normal(size=(queries * documents, 3)) * 2 + grades.reshape(-1, 1) * np.arange(3)
    return lists_of_texts(
        [f"q{number}" for number in range(queries)],
        np.arange(queries + 1) * documents,
        [f"d{number}" for number in range(documents)] * queries,
        scores,
        ("f0", "f1", "f2"),
        references=tuple(tuple(f"{grade} d{number}" for number, grade in enumerate(row)) for row in grades.tolist()),
    )


QUICK: dict[str, Any] = {"metric": "wer", "search": Climb(restarts=3, directions=6), "threads": 1, "also": ()}


def quick_search(name: str, **options: Any) -> Strategy:
    """A strategy by name, with few restarts and directions where it has these options."""
    chosen = STRATEGIES[name]
    known = {field.name for field in dataclasses.fields(chosen)}  # type: ignore[arg-type]  # all are dataclasses
    wanted = {"restarts": 3, "directions": 6, **options}
    return chosen(**{key: value for key, value in wanted.items() if key in known})
