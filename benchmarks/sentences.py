"""Measure how many sentences tuning needs: the gain on held-out sentences by the number of those that were tuned on.

Run: python -m benchmarks.sentences [--repeats N]
Writes benchmarks/results/sentences.json. In every repeat the sentences are shuffled; one half is held out, and the
first of the other half are tuned on. Real lists come from ../shared/data beside the checkout, and are left out where
that is missing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

import numpy as np
from decoder import START_WEIGHTS, Decoder, made_task

import hulltune
from benchmarks.harness import finish, options_of
from hulltune import Climb, Dataset

DATA = Path(__file__).resolve().parents[1] / "../shared/data"
SIZES = (25, 50, 100, 200, 400)
REAL = {"German–English": ("de_en", "nbest.txt.gz", "bleu"), "speech": ("asr_tts", "nbest.txt.gz", "wer")}


def sets() -> dict[str, tuple[Dataset, str]]:
    """The lists to tune, each with its metric."""
    found = {}
    for name, (folder, file, metric) in REAL.items():
        if (DATA / folder / file).exists():
            found[name] = hulltune.read(DATA / folder / file, DATA / folder / "refs.txt"), metric
        else:
            print(f"{name}: left out, there is no ../shared/data/{folder}/{file} beside the checkout")
    task = made_task(800, seed=3)
    lists = Decoder(task.sources, size=50)(START_WEIGHTS)
    found["small decoder"] = hulltune.read(lists, list(task.references)), "bleu"
    return found


def gains(data: Dataset, metric: str, sentences: int, repeat: int) -> tuple[float, float, float]:
    """Gains over the baseline: of the tuned weights on their sentences, of equal and of tuned weights on the others."""
    order = np.random.default_rng([repeat, 7]).permutation(len(data))
    half = len(data) // 2
    chosen, others = data.take(np.sort(order[:sentences])), data.take(np.sort(order[half:]))
    result = hulltune.tune(chosen, metric=metric, heldout=others, search=Climb(restarts=19), oracle=False, also=())
    sign = 1.0 if result.higher_is_better else -1.0
    held = result.heldout
    assert held is not None
    assert held.start is not None
    there = held.baseline
    return sign * (result.score - result.baseline), sign * (held.start - there), sign * (held.score - there)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="how often sentences are shuffled [10]")
    options = parser.parse_args()
    repeats = options.repeats
    result: dict[str, Any] = {"repeats": repeats, "sets": []}
    for name, (data, metric) in sets().items():
        rows = []
        for sentences in (size for size in SIZES if size <= len(data) // 2):
            found = np.array([gains(data, metric, sentences, repeat) for repeat in range(repeats)])
            means, deviations = found.mean(axis=0), found.std(axis=0, ddof=1)
            row: dict[str, float] = {"sentences": sentences, "held out": len(data) - len(data) // 2}
            for place, key in enumerate(("tuned on", "equal weights", "tuned")):
                row[key], row[f"{key}, deviation"] = float(means[place]), float(deviations[place])
            rows.append(row)
            print(name, {key: round(value, 4) for key, value in row.items()}, flush=True)
        result["sets"].append({"data": name, "metric": metric, "features": len(data.feature_names), "rows": rows})
    return finish(options, "sentences", result)


if __name__ == "__main__":
    sys.exit(main())
