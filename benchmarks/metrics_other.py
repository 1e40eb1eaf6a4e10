"""Time METEOR, F-measure, AER, accuracy, given scores and the memory on synthetic sentences, one core.

    python -m benchmarks.metrics_other

Prints microseconds per output for statistics and nanoseconds per row for scores. Sentences have about 24
words with frequencies as in natural text (Zipf); outputs are references with a fifth of the words changed,
removed or moved.
Where nltk is installed, its METEOR without WordNet is timed on the same sentences.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import finish, options_of
from hulltune.metrics import Accuracy, FMeasure, Given, Metric, ScoreTable, Store, TextMemory, get_metric

SENTENCES, OUTPUTS_EACH = 100, 50


def best_of(function: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of a few runs, in seconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def sentence(random: np.random.Generator) -> list[str]:
    ranks = np.minimum(random.zipf(1.25, int(random.integers(8, 41))), 20_000)
    return [f"w{rank}" for rank in ranks]


def changed(words: list[str], random: np.random.Generator) -> list[str]:
    result = words[:]
    for _ in range(max(1, len(words) // 5)):
        place = int(random.integers(len(result)))
        kind = random.integers(3)
        word = result.pop(place)
        if kind == 0:
            result.insert(place, f"w{int(random.zipf(1.25)) % 20_000}")
        elif kind == 1 or len(result) < 2:
            result.insert(int(random.integers(len(result) + 1)), word)
    return result


def alignment(size: int, random: np.random.Generator) -> str:
    return " ".join(f"{k}-{max(0, k + int(random.integers(-1, 2)))}" for k in range(size))


def tags(size: int, random: np.random.Generator) -> str:
    return " ".join(random.choice(["O", "O", "O", "B-X", "I-X", "B-Y"], size))


def bracketed(words: list[str]) -> str:
    if len(words) == 1:
        return f"(W {words[0]})"
    middle = len(words) // 2
    return f"(P {bracketed(words[:middle])} {bracketed(words[middle:])})"


def time_statistics(
    name: str, metric: Metric, references: list[str], numbers: np.ndarray[Any, Any], outputs: list[str]
) -> None:
    prepared = metric.prepare([[reference] for reference in references])
    seconds = best_of(lambda: prepared.statistics(numbers, outputs))
    rows = np.tile(prepared.statistics(numbers, outputs), (20, 1))
    scoring = best_of(lambda: metric.score(rows))
    print(f"{name:34}{1e6 * seconds / len(outputs):10.2f} µs/output{1e9 * scoring / len(rows):10.1f} ns/score")


def time_nltk(references: list[list[str]], numbers: np.ndarray[Any, Any], outputs: list[list[str]]) -> None:
    try:
        single_meteor_score = importlib.import_module("nltk.translate.meteor_score").single_meteor_score
    except ImportError:
        print("nltk is not installed: its METEOR is not timed")
        return

    class NoWordNet:
        def synsets(self, word: str) -> list[Any]:
            return []

    def score_all() -> None:
        for number, output in zip(numbers[:500], outputs[:500], strict=True):
            single_meteor_score(references[number], output, wordnet=NoWordNet())

    print(f"{'nltk meteor, no wordnet':34}{1e6 * best_of(score_all, 1) / 500:10.2f} µs/output")


def time_lazy(references: list[str], numbers: np.ndarray[Any, Any], outputs: list[str]) -> None:
    groups = [[reference] for reference in references]
    memory = TextMemory(Accuracy(), groups)
    first = best_of(lambda: memory.rows_of(numbers, outputs), 1)
    again = best_of(lambda: memory.rows_of(numbers, outputs), 7)
    print(f"{'memory: first time':34}{1e6 * first / len(outputs):10.2f} µs/output")
    print(f"{'memory: known':34}{1e6 * again / len(outputs):10.2f} µs/output")
    with tempfile.TemporaryDirectory() as folder:
        for label in ("memory: computed and stored", "memory: read from the store"):
            with Store(Path(folder) / "store.sqlite") as store:
                stored = TextMemory(Accuracy(), groups, store=store)
                seconds = best_of(partial(stored.rows_of, numbers, outputs), 1)
            print(f"{label:34}{1e6 * seconds / len(outputs):10.2f} µs/output")


def main() -> int:
    options = options_of(__doc__).parse_args()
    random = np.random.default_rng(1)
    references = [sentence(random) for _ in range(SENTENCES)]
    numbers = np.repeat(np.arange(SENTENCES), OUTPUTS_EACH)
    outputs = [changed(references[number], random) for number in numbers]
    reference_texts, texts = [" ".join(r) for r in references], [" ".join(o) for o in outputs]
    time_statistics("meteor", get_metric("meteor"), reference_texts, numbers, texts)
    time_nltk(references, numbers, outputs)
    time_statistics("fmeasure, words", FMeasure(), reference_texts, numbers, texts)
    for name, write in (("bio", tags), ("aer", alignment)):
        metric = get_metric("aer") if name == "aer" else FMeasure(items=name)
        gold = [write(len(r), random) for r in references]
        time_statistics(name, metric, gold, numbers, [write(len(o), random) for o in outputs])
    trees = [bracketed(r) for r in references]
    time_statistics("brackets", FMeasure(items="brackets"), trees, numbers, [bracketed(o) for o in outputs])
    time_statistics("accuracy", Accuracy(), reference_texts, numbers, texts)
    time_statistics("accuracy, qa", Accuracy(normalize="qa"), reference_texts, numbers, texts)
    table = ScoreTable(numbers.tolist(), texts, [len(text) / 10 for text in texts])
    time_statistics("given", Given(scores=table), reference_texts, numbers, texts)
    time_lazy(reference_texts, numbers, texts)
    return finish(options)


if __name__ == "__main__":
    sys.exit(main())
