"""Small decoders to loop with: a fixed space of hypotheses of which the best under the weights are shown."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

SENTENCES = 12
NAMES = ("a", "b", "c")
START = {"a": 1.0, "b": 0.0, "c": 0.0}
WORDS = ["the", "dog", "cat", "sees", "a", "small", "big", "tree", "house", "one", "two"]


def references(seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choice(WORDS) for _ in range(6)) for _ in range(SENTENCES)]


def space(seed: int = 1) -> list[list[tuple[str, tuple[float, ...]]]]:
    """60 hypotheses per sentence. Feature b is their quality plus noise, c half of it plus noise, a noise alone."""
    rng = random.Random(seed + 100)
    found = []
    for reference in references(seed):
        words = reference.split()
        hypotheses = []
        for _ in range(60):
            wrong = rng.randint(0, 5)
            text = list(words)
            for place in rng.sample(range(6), wrong):
                text[place] = rng.choice(WORDS)
            good = sum(x == y for x, y in zip(text, words, strict=True))
            features = (rng.gauss(0, 2), good + rng.gauss(0, 2.5), good / 2 + rng.gauss(0, 3))
            hypotheses.append((" ".join(text), tuple(round(value, 4) for value in features)))
        found.append(hypotheses)
    return found


def shown(weights: Mapping[str, float], size: int = 5, seed: int = 1) -> list[dict[str, Any]]:
    """The best hypotheses under the weights, as records."""
    records = []
    for hypotheses in space(seed):
        best = sorted(hypotheses, key=lambda h: -sum(weights.get(n, 0.0) * v for n, v in zip(NAMES, h[1], strict=True)))
        records.append(
            {
                "candidates": [
                    {"text": text, "features": dict(zip(NAMES, values, strict=True))} for text, values in best[:size]
                ]
            }
        )
    return records


def lines_of(records: Iterable[tuple[object, dict[str, Any]]], weights: Mapping[str, float]) -> Iterator[str]:
    """Lines of a Moses list, from the records of sentences with their names."""
    for name, record in records:
        for candidate in record["candidates"]:
            score = sum(weights.get(feature, 0.0) * value for feature, value in candidate["features"].items())
            values = " ".join(f"{feature}={value!r}" for feature, value in candidate["features"].items())
            yield f"{name} ||| {candidate['text']} ||| {values} ||| {score!r}\n"


def moses_text(weights: Mapping[str, float], size: int = 5, seed: int = 1) -> str:
    """The Moses list of all sentences."""
    return "".join(lines_of(enumerate(shown(weights, size, seed)), weights))


def main(weights: str, output: str, size: str = "5", seed: str = "1") -> None:
    """Decode as a command: read weights as JSON, write a Moses list."""
    import json
    from pathlib import Path

    found = json.loads(Path(weights).read_text(encoding="utf-8"))["weights"]
    print(f"decoding with {found}", file=sys.stderr)
    Path(output).write_text(moses_text(found, int(size), int(seed)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
