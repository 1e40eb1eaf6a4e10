"""Time the decoding of lists with few features and with many, beside a matrix product of NumPy; both take turns.

Run: python benchmarks/decoding.py
Writes benchmarks/results/decoding.json. One thread; times are CPU times, and the best turn counts. Both find the same
winners. NumPy has its features row by row, the kernel column by column.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from benchmarks.lists import synthetic
from benchmarks.timing import interleaved, table, write_json
from hulltune.metrics import Bleu
from hulltune.threads import ALONE

SHAPES = ((1000, 100, 14), (500, 100, 100), (1000, 100, 100))
"""Sentences, hypotheses, features."""


def measure(sentences: int, hypotheses: int, features: int) -> dict[str, Any]:
    """Milliseconds of one decoding, of the kernel and of NumPy."""
    problem = synthetic(sentences, hypotheses, features, seed=2).problem(Bleu())
    weights = np.random.default_rng(1).normal(size=features)
    rows = np.ascontiguousarray(problem.corpus.features.toarray())

    def by_numpy() -> Any:
        return (rows @ weights).reshape(sentences, hypotheses).argmax(axis=1)

    def by_kernel() -> Any:
        return problem._winners(weights, ALONE)

    starts = problem.corpus.sentence_edges[:-1]
    assert np.array_equal(by_numpy() + starts, by_kernel()), "the winners differ"
    best = interleaved({"hulltune": by_kernel, "NumPy": by_numpy}, seconds=2.0, clock=time.process_time)
    return {"shape": [sentences, hypotheses, features], **{name: 1e3 * seconds for name, seconds in best.items()}}


def main() -> None:
    rows = [measure(*shape) for shape in SHAPES]
    shown = [[" × ".join(map(str, row["shape"])), f"{row['hulltune']:.2f}", f"{row['NumPy']:.2f}"] for row in rows]
    print(table("milliseconds of a decoding", ["lists", "hulltune", "NumPy"], shown))
    print(f"\nwritten: {write_json('decoding', {'rows': rows}).name}")


if __name__ == "__main__":
    main()
