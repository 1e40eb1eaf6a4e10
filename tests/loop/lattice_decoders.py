"""The decoders of ``decoders.py`` as commands that write lattices, in which features are costs.

``main`` writes a file a sentence, numbered from 0. The features b and
c are the acoustic and the language cost (SLF), or the first and the second one (OpenFst); a is of no use, and left out.
Every path begins with the filler "uh".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.loop.decoders import WORDS, shown

FILLER = "uh"
NUMBERS = {word: number for number, word in enumerate([FILLER, *WORDS], start=1)}
FEATURES = {"slf": ("acoustic", "language"), "openfst": ("score_0", "score_1")}


def arcs(candidates: list[dict[str, Any]]) -> tuple[list[tuple[int, int, str, float, float]], int]:
    """A path of its own for every candidate, with its costs on the first arc; and how many states there are."""
    found, states = [], 2  # the start is 0, the end is 1
    for candidate in candidates:
        words = [FILLER, *candidate["text"].split()]
        before = 0
        for place, word in enumerate(words):
            after = 1 if place + 1 == len(words) else states
            states += after != 1
            costs = (-candidate["features"]["b"], -candidate["features"]["c"]) if place == 0 else (0.0, 0.0)
            found.append((before, after, word, *costs))
            before = after
    return found, states


def slf(candidates: list[dict[str, Any]]) -> str:
    found, states = arcs(candidates)
    lines = ["VERSION=1.0", "start=0 end=1", f"N={states} L={len(found)}", *(f"I={node}" for node in range(states))]
    for number, (before, after, word, first, second) in enumerate(found):
        lines.append(f"J={number} S={before} E={after} W={word} a={first!r} l={second!r}")
    return "\n".join(lines) + "\n"


def openfst(candidates: list[dict[str, Any]]) -> str:
    found, _ = arcs(candidates)
    lines = [f"{before} {after} {NUMBERS[word]} {x!r},{y!r}" for before, after, word, x, y in found]
    return "\n".join([*lines, "1"]) + "\n"


def symbols() -> str:
    return "".join(f"{word} {number}\n" for word, number in {"<eps>": 0, **NUMBERS}.items())


def main(kind: str, weights_file: str, folder: str) -> None:
    found: Mapping[str, float] = json.loads(Path(weights_file).read_text(encoding="utf-8"))["weights"]
    first, second = (found.get(name, 0.0) for name in FEATURES[kind])
    write = {"slf": slf, "openfst": openfst}[kind]
    for number, record in enumerate(shown({"b": first, "c": second}, 8)):
        Path(folder, f"{number}.{kind}").write_text(write(record["candidates"]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
