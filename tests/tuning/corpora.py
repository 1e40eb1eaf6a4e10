"""Small candidate lists for the tests of tuning, made from random numbers or by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.io import CandidateLists
from hulltune.io.records import lists_from_records

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


def random_lists(seed: int, **sizes: Any) -> CandidateLists:
    return lists_from_records(random_records(seed, **sizes))


def write_moses(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


QUICK: dict[str, Any] = {"metric": "wer", "restarts": 3, "directions": 6, "threads": 1, "others": ()}
